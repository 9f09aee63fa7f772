//! Waiting for a task's end, changing a thread's priority, measuring its stack, and how long the end
//! of a task masks interrupts for which many wait.
#![no_std]
#![no_main]

use portable_atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use tandem::{
    Coroutine, Me, Mutex, Priority, Semaphore, SharedStack, Thread, TimedOut, delay_until, time,
};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static THREADS: [Thread<1024>; 3] = [const { Thread::new() }; 3];
static COROUTINES: [Coroutine<256>; 2] = [const { Coroutine::new() }; 2];
static GATE: Semaphore = Semaphore::new(0);
static MUTEX: Mutex<()> = Mutex::new(());
static LOG: AtomicU32 = AtomicU32::new(0);
static WAITING: [Coroutine<256>; 119] = [const { Coroutine::new() }; 119];
/// The low word of the time for which the alarm is set, and the longest time by which its handler
/// has come later; of interest while `MEASURES`.
static DUE: AtomicU32 = AtomicU32::new(0);
static LATEST: AtomicU32 = AtomicU32::new(0);
static MEASURES: AtomicBool = AtomicBool::new(false);

const MS: u64 = nanoseconds(1_000_000);

/// Appends a digit to the log.
fn log(digit: u32) {
    LOG.store(LOG.load(Relaxed) * 10 + digit, Relaxed);
}

fn thread(i: usize, priority: u8, body: impl FnOnce(&Me) + Send + 'static) {
    assert!(THREADS[i].spawn(Priority::new(priority), "thread", body).is_ok());
}

fn priority(i: usize) -> Option<u8> {
    THREADS[i].info().priority().map(Priority::value)
}

/// A thread and two coroutines wait for one thread's end; its storage is free in that moment.
fn ends(me: &Me) {
    thread(0, 3, |me| me.delay_until(time::now() + 3 * MS));
    thread(1, 8, |me| {
        THREADS[0].info().join(me);
        thread(0, 9, |_| log(1));
        log(2);
    });
    for (coroutine, digit) in COROUTINES.iter().zip([3, 4]) {
        let spawned = coroutine.spawn(Priority::new(7), "joiner", async move {
            THREADS[0].info().ended().await;
            log(digit);
            delay_until(time::now() + MS).await;
        });
        assert!(spawned.is_ok());
    }
    assert_eq!(THREADS[0].info().join_until(me, time::now() + MS), Err(TimedOut));
    assert_eq!(THREADS[0].info().join_until(me, time::now() + 9 * MS), Ok(()));
    assert_eq!(LOG.swap(0, Relaxed), 1234);
    COROUTINES[0].info().join(me);
    COROUTINES[1].info().join(me);
    THREADS[1].info().join(me);
    THREADS[2].info().join(me); // never spawned
    assert!(!COROUTINES[1].info().is_alive() && !THREADS[1].info().is_alive());
    println!("ends: ok");
}

fn priorities(me: &Me) {
    assert!(!THREADS[0].set_priority(me, Priority::new(9)), "it has ended");
    // A ready thread that becomes more urgent than the caller runs at once.
    thread(0, 3, |me| {
        log(1);
        THREADS[0].set_priority(me, Priority::new(2));
        log(3);
    });
    thread(1, 4, |_| log(4));
    assert!(THREADS[0].set_priority(me, Priority::new(9)));
    log(2);
    assert_eq!(priority(0), Some(2));
    THREADS[0].info().join(me);
    assert_eq!(LOG.swap(0, Relaxed), 1243);
    // Of two threads that wait, the one that has become the more urgent is served first, and the
    // owner of the mutex for which it waits inherits its new priority.
    for i in 0..2 {
        thread(i, 7 + i as u8, move |me| {
            GATE.take(me);
            log(1 + i as u32);
        });
    }
    assert!(THREADS[0].set_priority(me, Priority::new(9)));
    GATE.give();
    GATE.give();
    assert_eq!(LOG.swap(0, Relaxed), 12);
    thread(0, 8, |me| {
        let _guard = MUTEX.lock(me);
        GATE.take(me);
    });
    assert!(THREADS[0].set_priority(me, Priority::new(1)));
    thread(1, 8, |me| drop(MUTEX.lock(me)));
    assert_eq!((priority(0), priority(1)), (Some(8), Some(8)));
    assert!(THREADS[1].set_priority(me, Priority::new(2)));
    assert_eq!((priority(0), priority(1)), (Some(2), Some(2)));
    assert!(THREADS[1].set_priority(me, Priority::new(9)));
    assert_eq!((priority(0), priority(1)), (Some(9), Some(9)));
    assert!(THREADS[0].set_priority(me, Priority::new(3)), "what is inherited stays");
    assert_eq!((priority(0), priority(1)), (Some(9), Some(9)));
    GATE.give();
    THREADS[0].info().join(me);
    THREADS[1].info().join(me);
    println!("priorities: ok");
}

fn stacks(me: &Me) {
    let spawned = THREADS[2].spawn_measured(Priority::new(8), "measured", |me| {
        let used = core::hint::black_box([7_u8; 300]);
        assert_eq!(used[299], 7);
        GATE.take(me);
    });
    assert!(spawned.is_ok());
    let unused = THREADS[2].stack_unused();
    assert!((64..1024 - 300).contains(&unused), "{unused} bytes");
    GATE.give();
    THREADS[2].info().join(me);
    assert!(THREADS[2].stack_unused() <= unused);
    println!("stacks: ok");
}

/// A thread ends, for whose end 119 coroutines wait, and an alarm comes at another moment of that in
/// each round: its handler is delayed by no more than a few steps of the end.
fn windows(me: &Me) {
    const ROUNDS: u64 = 60;
    const LIMIT: u64 = nanoseconds(500);
    for round in 0..ROUNDS {
        thread(0, 3, |me| GATE.take(me));
        for coroutine in &WAITING {
            let wait = async { THREADS[0].info().ended().await };
            assert!(coroutine.spawn(Priority::new(1), "waits", wait).is_ok());
        }
        me.delay_until(time::now() + MS);
        GATE.give();
        let due = time::now() + nanoseconds(1_000 + 100 * round);
        DUE.store(due as u32, Relaxed);
        MEASURES.store(true, Relaxed);
        me.delay_until(due);
        assert!(!MEASURES.load(Relaxed));
        me.delay_until(time::now() + MS);
        assert!(WAITING.iter().all(|coroutine| !coroutine.info().is_alive()));
    }
    let latest = LATEST.load(Relaxed);
    println!("windows: the alarm was late by {} ticks at most", latest);
    assert!(u64::from(latest) <= LIMIT);
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        let director = DIRECTOR.spawn(Priority::new(6), "director", |me| {
            ends(me);
            priorities(me);
            stacks(me);
            windows(me);
            board::expect_panic("task joins itself: waits for its own end");
            let misused = THREADS[0].spawn(Priority::new(2), "joins itself", |me| {
                THREADS[0].info().join(me);
            });
            me.delay_until(time::now() + MS);
            assert!(misused.is_ok() && board::has_panicked());
            println!("misuse: ok");
            board::exit(true)
        });
        assert!(director.is_ok());
    })
}

fn on_alarm() {
    if MEASURES.load(Relaxed) {
        let late = (time::now() as u32).wrapping_sub(DUE.load(Relaxed));
        if late.cast_signed() >= 0 {
            MEASURES.store(false, Relaxed);
            LATEST.fetch_max(late, Relaxed);
        }
    }
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
