//! Groups, watches, signals, condition variables, streams, message buffers, callback timers and
//! async mutexes, used by threads and handlers; and reports of their misuse.
#![no_std]
#![no_main]

use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{
    AsyncMutex, AtMaximum, Callback, Callbacks, Condvar, Coroutine, Group, Me, MessageBuffer,
    Mutex, Priority, Semaphore, SharedStack, Signal, Stream, Thread, TimedOut, TooLong, Want,
    Watch, delay_until, time,
};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<2048> = SharedStack::new();
static DIRECTOR: Thread<4096> = Thread::new();
static THREADS: [Thread<1024>; 4] = [const { Thread::new() }; 4];
static MISUSED: [Thread<1536>; 3] = [const { Thread::new() }; 3];
static COROUTINE: Coroutine<512> = Coroutine::new();
static GROUP: Group = Group::new();
static WATCH: Watch<u32> = Watch::new(0);
static SIGNAL: Signal<u32> = Signal::new();
static CHANGED: Condvar = Condvar::new();
static VALUE: Mutex<u32> = Mutex::new(0);
static STREAM: Stream<24> = Stream::new();
static MESSAGES: MessageBuffer<40> = MessageBuffer::new();
static LOCK: AsyncMutex<u32> = AsyncMutex::new(0);
static KEPT: AsyncMutex<()> = AsyncMutex::new(());
static DONE: AtomicU32 = AtomicU32::new(0);
static RAISED: AtomicU32 = AtomicU32::new(0);

const MS: u64 = nanoseconds(1_000_000);

fn soon() -> u64 {
    time::now() + MS
}

fn thread(i: usize, priority: u8, body: impl FnOnce(&Me) + Send + 'static) {
    let body = |me: &Me| {
        body(me);
        DONE.fetch_add(1, Relaxed);
    };
    assert!(THREADS[i].spawn(Priority::new(priority), "thread", body).is_ok());
}

/// Waits until this many threads have ended.
fn ended(me: &Me, count: u32) {
    while DONE.load(Relaxed) < count || THREADS.iter().any(|thread| thread.info().is_alive()) {
        me.delay_until(soon());
    }
    assert_eq!(DONE.swap(0, Relaxed), count);
}

fn groups(me: &Me) {
    assert_eq!(GROUP.wait_until(me, Want::any(1), soon()), Err(TimedOut));
    for i in 0..3 {
        thread(i, 8 + i as u8, move |me| assert_eq!(GROUP.wait(me, Want::all(5)), 5));
    }
    thread(3, 3, |me| assert_eq!(GROUP.wait_until(me, Want::any(6).take(), soon()), Ok(4)));
    me.delay_until(time::now() + MS / 4);
    GROUP.set(1);
    assert_eq!(DONE.load(Relaxed), 0);
    RAISED.store(4, Relaxed);
    board::raise(0); // its handler sets 4, and wakes all
    assert_eq!((DONE.load(Relaxed), GROUP.flags()), (3, 1), "the more urgent ones have run");
    ended(me, 4);
    assert_eq!(GROUP.clear(!0), 1);
    assert_eq!(GROUP.try_wait(Want::any(!0)), 0);
    println!("groups: ok");
}

fn watches_and_signals(me: &Me) {
    for i in 0..2 {
        thread(i, 8, |me| {
            let mut receiver = WATCH.receiver();
            let mut sum = receiver.changed(me);
            for _ in 0..3 {
                sum += receiver.changed_until(me, time::now() + 9 * MS).unwrap_or(1000);
            }
            assert_eq!(receiver.changed_until(me, soon()), Err(TimedOut));
            assert_eq!(sum, 6);
        });
    }
    for value in 1..4 {
        me.delay_until(soon());
        WATCH.set(value);
    }
    assert_eq!(SIGNAL.take_until(me, soon()), Err(TimedOut));
    RAISED.store(8, Relaxed);
    board::raise(0);
    board::raise(0);
    assert_eq!((SIGNAL.take(me), SIGNAL.try_take()), (8, None));
    ended(me, 2);
    println!("watches and signals: ok");
}

fn conditions(me: &Me) {
    for i in 0..4 {
        thread(i, 7 + i as u8, |me| {
            let mut value = CHANGED.wait_while(me, VALUE.lock(me), |value| *value == 0);
            *value -= 1;
        });
    }
    for done in 1..3 {
        *VALUE.lock(me) += 1;
        CHANGED.notify_one();
        assert_eq!(DONE.load(Relaxed), done, "the most urgent has run");
    }
    {
        let mut value = VALUE.lock(me);
        *value += 2;
        CHANGED.notify_all();
        assert_eq!(DONE.load(Relaxed), 2, "the mutex is locked");
        drop(value);
    }
    ended(me, 4);
    let (value, notified) = CHANGED.wait_until(me, VALUE.lock(me), soon());
    assert!(!notified && *value == 0);
    drop(value);
    notified_by_unlocking(me);
    conditions_with_a_time_limit(me);
    println!("conditions: ok");
}

/// A more urgent thread waits for the mutex, locks it as soon as the wait unlocks it, and notifies.
fn notified_by_unlocking(me: &Me) {
    static GIVEN: Semaphore = Semaphore::new(0);
    // A time limit that does not come leaves the alarm set for an earlier time than the next.
    let limit = time::now() + 50 * MS;
    thread(0, 8, move |me| assert_eq!(GIVEN.take_until(me, limit), Ok(())));
    GIVEN.give();
    let guard = VALUE.lock(me);
    thread(1, 8, |me| {
        *VALUE.lock(me) += 1;
        CHANGED.notify_one();
    });
    let (mut value, notified) = CHANGED.wait_until(me, guard, limit + 50 * MS);
    assert!(notified && *value == 1 && time::now() < limit, "it waited for its time");
    *value = 0;
    drop(value);
    ended(me, 2);
}

fn conditions_with_a_time_limit(me: &Me) {
    let wait = |me: &Me, sum, due| {
        let value = CHANGED.wait_while_until(me, VALUE.lock(me), |value| *value < sum, due);
        value.map(|value| *value)
    };
    assert_eq!(wait(me, 0, 0), Ok(0), "nothing to wait for");
    let due = soon();
    assert_eq!(wait(me, 1, due), Err(TimedOut));
    assert!(time::now() >= due && VALUE.try_lock(me).is_some(), "the mutex is unlocked");
    // Each notification has the condition checked; the second makes it false.
    let due = time::now() + 50 * MS;
    thread(0, 8, move |me| assert_eq!(wait(me, 2, due), Ok(2)));
    for _ in 0..2 {
        assert!(THREADS[0].info().is_alive());
        *VALUE.lock(me) += 1;
        CHANGED.notify_all();
    }
    ended(me, 1);
    assert!(time::now() < due);
    // Without a notification, the condition is checked once more at the time limit.
    let due = soon();
    thread(0, 8, move |me| assert_eq!(wait(me, 3, due), Ok(3)));
    *VALUE.lock(me) += 1;
    ended(me, 1);
    assert!(time::now() >= due);
    *VALUE.lock(me) = 0;
}

fn streams(me: &Me) {
    assert_eq!(STREAM.read_until(me, &mut [0], soon()), Err(TimedOut));
    thread(0, 8, |me| {
        let mut expected = 0;
        let mut bytes = [0; 10];
        while expected < 200 {
            let count = STREAM.read_at_least(me, 5, &mut bytes);
            assert!(count >= 5);
            for byte in &bytes[..count] {
                assert_eq!(*byte, expected);
                expected = expected.wrapping_add(1);
            }
        }
    });
    let bytes: [u8; 205] = core::array::from_fn(|i| i as u8);
    STREAM.write(me, &bytes[..90]);
    assert_eq!(STREAM.write_until(me, &bytes[90..], time::now() + 50 * MS), 115);
    ended(me, 1);
    while STREAM.try_read(&mut [0; 7]) > 0 {}
    assert_eq!(STREAM.write_until(me, &[0; 30], soon()), 24);
    while STREAM.try_read(&mut [0; 7]) > 0 {}
    levels_with_a_time_limit(me);
    thread(0, 8, |me| {
        for length in 1..30_usize {
            let mut message = [0; 40];
            assert_eq!(MESSAGES.receive(me, &mut message), Ok(length));
            assert!(message[..length].iter().all(|byte| usize::from(*byte) == length));
        }
        assert_eq!(MESSAGES.receive_until(me, &mut [], soon()), Ok(None));
    });
    for length in 1..30_usize {
        let message = [length as u8; 30];
        if length % 2 == 0 {
            assert_eq!(MESSAGES.send(me, &message[..length]), Ok(()));
        } else {
            assert_eq!(MESSAGES.send_until(me, &message[..length], soon()), Ok(true));
        }
    }
    ended(me, 1);
    assert_eq!(MESSAGES.send(me, &[0; 37]), Err(TooLong));
    // A message that is too long for the receiver does not stay for ever.
    assert_eq!((MESSAGES.send(me, &[0; 9]), MESSAGES.send(me, &[5])), (Ok(()), Ok(())));
    assert_eq!(MESSAGES.receive(me, &mut [0; 4]), Err(TooLong));
    assert_eq!((MESSAGES.skip(), MESSAGES.receive(me, &mut [0; 4])), (Some(9), Ok(1)));
    println!("streams and messages: ok");
}

/// A reader of 12 bytes runs once the twelfth has come, or else at its time with what there is.
fn levels_with_a_time_limit(me: &Me) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let read = |due| {
        COUNT.store(u32::MAX, Relaxed);
        thread(0, 8, move |me| {
            let count = STREAM.read_at_least_until(me, 12, &mut [0; 20], due);
            COUNT.store(count as u32, Relaxed);
        });
    };
    read(time::now() + 50 * MS);
    for (byte, count) in [(1, u32::MAX), (10, u32::MAX), (2, 13)] {
        STREAM.write(me, &[0; 10][..byte]);
        assert_eq!(COUNT.load(Relaxed), count);
    }
    ended(me, 1);
    for bytes in [7, 0] {
        let due = soon();
        read(due);
        STREAM.write(me, &[0; 10][..bytes]);
        me.delay_until(due - MS / 4);
        assert_eq!(COUNT.load(Relaxed), u32::MAX, "it waits for more");
        ended(me, 1);
        assert_eq!(COUNT.load(Relaxed), bytes as u32);
    }
    STREAM.write(me, &[0; 24]);
    // More than the ring can hold, and more than there is space for.
    assert_eq!(STREAM.read_at_least_until(me, 30, &mut [0; 9], 0), 9);
    assert_eq!(STREAM.read_at_least_until(me, 30, &mut [0; 40], 0), 15);
    assert_eq!(STREAM.read_at_least_until(me, 30, &mut [], u64::MAX), 0);
    STREAM.write(me, &[0; 24]);
    assert_eq!(STREAM.read_at_least_until(me, 30, &mut [0; 40], u64::MAX), 24);
}

static TIMERS: Callbacks = Callbacks::new();
static CALLS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static PERIODIC: Callback = Callback::new(&TIMERS, || _ = CALLS[0].fetch_add(1, Relaxed));
static ONCE: Callback = Callback::new(&TIMERS, || {
    CALLS[1].fetch_add(1, Relaxed);
    PERIODIC.stop();
});

fn timers(me: &Me) {
    static TASK: Thread<1024> = Thread::new();
    assert!(TASK.spawn(Priority::new(8), "timers", |me| TIMERS.run(me)).is_ok());
    let start = time::now();
    PERIODIC.start_periodic(start + MS, 2 * MS);
    ONCE.start_once(start + 10 * MS);
    me.delay_until(start + 6 * MS);
    assert_eq!((CALLS[0].load(Relaxed), CALLS[1].load(Relaxed)), (3, 0));
    me.delay_until(start + 20 * MS);
    assert_eq!((CALLS[0].load(Relaxed), CALLS[1].load(Relaxed)), (5, 1));
    assert_eq!((PERIODIC.due(), ONCE.due()), (None, None));
    println!("timers: ok");
}

fn locks(me: &Me) {
    let coroutine = COROUTINE.spawn(Priority::new(9), "coroutine", async {
        for _ in 0..5 {
            let mut value = LOCK.lock().await;
            let before = *value;
            delay_until(soon()).await;
            *value = before + 1;
            drop(value);
            delay_until(soon()).await;
        }
    });
    assert!(coroutine.is_ok());
    for _ in 0..5 {
        let mut value = LOCK.lock_blocking(me);
        let before = *value;
        me.delay_until(soon());
        *value = before + 1;
    }
    while COROUTINE.info().is_alive() {
        me.delay_until(soon());
    }
    assert_eq!(LOCK.try_lock().map(|value| *value), Some(10));
    let hold = |me: &Me| {
        let _guard = LOCK.lock_blocking_until(me, 0);
        me.delay_until(time::now() + 3 * MS);
    };
    thread(0, 8, hold);
    let due = soon();
    assert_eq!(LOCK.lock_blocking_until(me, due).map(|value| *value), Err(TimedOut));
    assert!(time::now() >= due && THREADS[0].info().is_alive());
    assert_eq!(LOCK.lock_blocking_until(me, due + 50 * MS).map(|value| *value), Ok(10));
    assert!(time::now() < due + 50 * MS);
    ended(me, 1);
    // A handler interrupts this thread, locks the mutex and keeps it: the thread does not own it.
    RAISED.store(16, Relaxed);
    board::raise(0);
    assert_eq!(KEPT.lock_blocking_until(me, soon()).map(drop), Err(TimedOut));
    println!("locks: ok");
}

type Misuse = (&'static str, fn(&Me));

/// Calls that end with a report. The thread of each spins from then on, less urgent than the next.
const MISUSES: [Misuse; 3] = [
    ("task misuser: locks an AsyncMutex that it has locked", |me| {
        let _first = LOCK.lock_blocking(me);
        let _second = LOCK.lock_blocking(me);
    }),
    ("task misuser: Group::wait would wait in a critical section", |me| {
        critical_section::with(|_| _ = GROUP.wait(me, Want::any(1)));
    }),
    ("task misuser: another task runs these timers", |me| TIMERS.run(me)),
];

fn misuses(me: &Me) {
    for (priority, (thread, (report, body))) in (2..).zip(MISUSED.iter().zip(MISUSES)) {
        board::expect_panic(report);
        let spawned = thread.spawn(Priority::new(priority), "misuser", body);
        me.delay_until(time::now() + 5 * MS);
        assert!(spawned.is_ok() && board::has_panicked(), "no report: {report}");
    }
    println!("misuse: ok");
}

/// A waiting thread gets the unit at once, and the count stays within its maximum.
fn maxima(me: &Me) {
    static BOUNDED: Semaphore = Semaphore::new(0);
    thread(0, 8, |me| BOUNDED.take(me));
    let given = [(); 3].map(|()| BOUNDED.give_up_to(1));
    assert_eq!(given, [Ok(()), Ok(()), Err(AtMaximum)]);
    ended(me, 1);
    assert_eq!(BOUNDED.count(), 1);
    println!("maxima: ok");
}

fn director(me: &Me) {
    groups(me);
    watches_and_signals(me);
    conditions(me);
    streams(me);
    maxima(me);
    timers(me);
    locks(me);
    misuses(me);
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        assert!(DIRECTOR.spawn(Priority::new(6), "director", director).is_ok());
    })
}

extern "C" fn on_raise() {
    match RAISED.load(Relaxed) {
        8 => SIGNAL.signal(8),
        16 => core::mem::forget(KEPT.try_lock()),
        flags => GROUP.set(flags),
    }
}

fn on_alarm() {
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raise];
