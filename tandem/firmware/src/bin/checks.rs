//! Checks of inheritance along a chain, time limits, a clock that wraps, ceilings and critical
//! sections; finally a stack overflow, whose report names the task.
#![no_std]
#![no_main]

use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{
    Ceiling, Coroutine, Event, Mutex, Priority, Queue, Semaphore, SharedStack, Thread, TimedOut,
    delay_until,
    time::{self, Driver},
};
use tandem_firmware::{
    board::{self, Clock, nanoseconds},
    println,
};

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static THREADS: [Thread<1024>; 4] = [const { Thread::new() }; 4];
static COROUTINE: Coroutine<256> = Coroutine::new();
static FIRST: Mutex<u32> = Mutex::new(0);
static SECOND: Mutex<u32> = Mutex::new(0);
static CEILING: Ceiling<u32> = Ceiling::new(Priority::new(9), 0);
static GATE: Semaphore = Semaphore::new(0);
static EMPTY: Semaphore = Semaphore::new(0);
static QUEUE: Queue<u32, 1> = Queue::new();
static EVENT: Event = Event::new();
static HOG: AtomicU32 = AtomicU32::new(0);
static THREAD_RAN: AtomicU32 = AtomicU32::new(0);
static COROUTINE_RAN: AtomicU32 = AtomicU32::new(0);
static HANDLED: AtomicU32 = AtomicU32::new(0);

const MS: u64 = nanoseconds(1_000_000);

fn priority(thread: usize) -> u8 {
    THREADS[thread].info().priority().map_or(0, Priority::value)
}

/// `low` holds FIRST; `middle` holds SECOND and waits for FIRST; `high` waits for SECOND. A busy
/// task of a priority in between must not run.
fn inheritance_along_a_chain(me: &tandem::Me) {
    let low = THREADS[0].spawn(Priority::new(1), "low", |me| {
        let first = FIRST.lock(me);
        GATE.take(me);
        assert_eq!(HOG.load(Relaxed), 0, "the hog ran while a more urgent thread waited");
        drop(first);
        assert_eq!(priority(0), 1);
    });
    me.delay_until(time::now() + MS);
    let middle = THREADS[1].spawn(Priority::new(2), "middle", |me| {
        let _second = SECOND.lock(me);
        let _first = FIRST.lock(me);
        assert_eq!(priority(1), 5, "the waiting thread's priority came through");
    });
    me.delay_until(time::now() + MS);
    assert_eq!((priority(0), priority(1)), (2, 2));
    let high = THREADS[2].spawn(Priority::new(5), "high", |me| {
        assert!(SECOND.lock_until(me, time::now() + MS).is_err());
        assert_eq!((priority(0), priority(1)), (2, 2), "what was lent is given back");
        *SECOND.lock(me) += 1;
        assert_eq!(HOG.load(Relaxed), 0);
    });
    let hog = THREADS[3].spawn(Priority::new(4), "hog", |me| {
        me.delay_until(time::now() + 5 * MS);
        HOG.store(1, Relaxed);
    });
    assert!([low, middle, high, hog].iter().all(Result::is_ok));
    me.delay_until(time::now() + MS / 2);
    assert_eq!((priority(0), priority(1), priority(2)), (5, 5, 5));
    me.delay_until(time::now() + 2 * MS);
    assert_eq!((priority(0), priority(1)), (5, 5));
    GATE.give();
    me.delay_until(time::now() + 10 * MS);
    assert!(THREADS.iter().all(|thread| !thread.info().is_alive()));
    assert!(FIRST.try_lock(me).is_some() && *SECOND.lock(me) == 1);
    println!("inheritance: ok");
}

fn time_limits(me: &tandem::Me) {
    let due = time::now() + MS;
    assert_eq!(EMPTY.take_until(me, due), Err(TimedOut));
    let late = time::now() - due;
    assert!(late < MS / 100, "{late} ticks late");
    assert_eq!(QUEUE.receive_until(me, time::now() + MS), Err(TimedOut));
    assert_eq!(QUEUE.send_until(me, 1, 0), Ok(()));
    assert_eq!(QUEUE.send_until(me, 2, time::now() + MS), Err(2));
    assert_eq!(QUEUE.receive_until(me, 0), Ok(1));
    assert_eq!(EVENT.wait_until(me, time::now() + MS), Err(TimedOut));
    EVENT.signal(6);
    assert_eq!(EVENT.wait_until(me, 0), Ok(6));
    EMPTY.give();
    assert_eq!(EMPTY.take_until(me, 0), Ok(()));
    // A unit given at the moment of the time limit is neither lost nor counted twice.
    for offset in 0..200 {
        let due = time::now() + nanoseconds(30_000);
        let giver = COROUTINE.spawn(Priority::new(7), "giver", async move {
            delay_until(due - 100 + offset).await;
            EMPTY.give();
        });
        assert!(giver.is_ok());
        let taken = EMPTY.take_until(me, due).is_ok();
        me.delay_until(due + nanoseconds(10_000));
        assert_eq!(EMPTY.try_take(), !taken);
    }
    println!("time limits: ok");
}

/// The board's 32-bit count wraps while a thread and a coroutine sleep and a time limit runs.
fn clock_wraps(me: &tandem::Me) {
    board::set_ticks(u32::MAX - 3 * MS as u32);
    let start = time::now();
    let on_time = |due: u64| assert!(time::now() >= due && time::now() - due < MS / 100);
    let sleeper = COROUTINE.spawn(Priority::new(7), "sleeper", async move {
        for n in 1..7 {
            delay_until(start + n * MS).await;
            on_time(start + n * MS);
            count(&COROUTINE_RAN);
        }
    });
    assert!(sleeper.is_ok());
    me.delay_until(start + 2 * MS + MS / 2);
    assert_eq!(EMPTY.take_until(me, start + 4 * MS + MS / 2), Err(TimedOut));
    on_time(start + 4 * MS + MS / 2);
    assert_eq!(COROUTINE_RAN.load(Relaxed), 4);
    me.delay_until(start + 7 * MS);
    on_time(start + 7 * MS);
    assert!(time::now() >> 32 == (start >> 32) + 1 && COROUTINE_RAN.swap(0, Relaxed) == 6);
    println!("clock wraps: ok");
}

fn ceiling(me: &tandem::Me) {
    let seen = CEILING.with(|value| {
        *value += 1;
        let spawned =
            THREADS[0].spawn(Priority::new(9), "equal", |_| CEILING.with(|value| *value += 10));
        assert!(spawned.is_ok());
        *value
    });
    assert_eq!(seen, 1);
    me.delay_until(time::now() + MS);
    assert_eq!(CEILING.with(|value| *value), 11);
    println!("ceiling: ok");
}

/// Critical sections nest. A task woken in one runs at the end of the outermost, or of the handler
/// that contains it.
fn critical_sections(me: &tandem::Me) {
    let woken = || (THREAD_RAN.load(Relaxed), COROUTINE_RAN.load(Relaxed));
    let thread = THREADS[0].spawn(Priority::new(8), "woken thread", |me| {
        loop {
            GATE.take(me);
            count(&THREAD_RAN);
        }
    });
    let coroutine = COROUTINE.spawn(Priority::new(9), "woken coroutine", async {
        loop {
            EMPTY.taken().await;
            count(&COROUTINE_RAN);
        }
    });
    assert!(thread.is_ok() && coroutine.is_ok());
    let wake = || {
        GATE.give();
        EMPTY.give();
    };
    for round in 0..10 {
        critical_section::with(|_| {
            critical_section::with(|_| wake());
            critical_section::with(|_| board::raise(0));
            for _ in 0..100 {
                assert_eq!(
                    (woken(), HANDLED.load(Relaxed)),
                    ((3 * round, 3 * round), 2 * round),
                    "within the section"
                );
            }
        });
        assert_eq!(
            (woken(), HANDLED.load(Relaxed)),
            ((3 * round + 2, 3 * round + 2), 2 * round + 1),
            "behind it"
        );
        board::raise(0);
        assert_eq!(woken(), (3 * round + 3, 3 * round + 3), "behind the handler");
    }
    me.delay_until(time::now() + MS);
    println!("critical sections: ok");
}

/// A task that wakes a more urgent one with interrupts masked by hand is pre-empted by the next
/// interrupt, even if its handler wakes no task. In odd rounds the woken task has run before that
/// interrupt, which then must have no effect.
fn masked_by_hand(me: &tandem::Me) {
    const ROUNDS: u32 = 10;
    /// An atomic of `core`: the ones of `portable-atomic` use critical sections, whose end would
    /// make the switch.
    static RAN: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
    static ANSWER: Semaphore = Semaphore::new(0);
    static ASKED: Semaphore = Semaphore::new(0);
    let woken = THREADS[2].spawn(Priority::new(7), "woken by hand", |me| {
        for round in 1..=ROUNDS {
            ASKED.take(me);
            RAN.store(round, Relaxed);
            ANSWER.give();
        }
    });
    assert!(woken.is_ok());
    for round in 1..=ROUNDS {
        me.delay_until(time::now() + MS / 2);
        let start = time::now();
        // An alarm without a timer: the kernel sets none for tasks less urgent than this one.
        critical_section::with(|_| Clock::arm(start + MS));
        board::mask_by_hand(|| ASKED.give());
        if round % 2 == 0 {
            while RAN.load(Relaxed) < round {
                assert!(time::now() < start + 3 * MS, "an interrupt has come");
            }
        }
        ANSWER.take(me);
        assert_eq!(RAN.load(Relaxed), round);
        while time::now() < start + 3 * MS {}
    }
    assert!(!THREADS[2].info().is_alive());
    println!("masked by hand: ok");
}

/// Wakes both tasks in critical sections of its own. They run when the handler ends.
extern "C" fn on_raise() {
    let before = (THREAD_RAN.load(Relaxed), COROUTINE_RAN.load(Relaxed));
    critical_section::with(|_| {
        critical_section::with(|_| GATE.give());
        EMPTY.give();
    });
    assert_eq!(before, (THREAD_RAN.load(Relaxed), COROUTINE_RAN.load(Relaxed)));
    count(&HANDLED);
}

fn count(what: &AtomicU32) {
    what.fetch_add(1, Relaxed);
}

/// Without a guard, the overflow is found by a switch: the handler wakes two tasks at each step.
fn overflow(depth: u32) -> u32 {
    if cfg!(any(thumb1, target_arch = "riscv64")) {
        board::raise(0);
    }
    let local = core::hint::black_box([depth; 8]);
    if local[0] == u32::MAX { 0 } else { overflow(depth + 1) + local[3] }
}

/// A thread that spins at the end of its stack, and the memory below it. A trap pushes its frame
/// there, and whether the kernel's part of a pre-emption fits is known only then.
#[cfg(any(target_arch = "riscv64", all(target_arch = "riscv32", target_feature = "a")))]
mod at_the_end {
    use super::{AtomicU32, MS, Priority, Relaxed, Thread, board, println, time};

    const PATTERN: u32 = 0xa5a5_a5a5;

    #[repr(C, align(32))]
    struct Watched {
        below: [AtomicU32; 64],
        thread: Thread<1024>,
    }

    static WATCHED: Watched =
        Watched { below: [const { AtomicU32::new(PATTERN) }; 64], thread: Thread::new() };

    /// Ends the program as one without a fault if memory below the stack has changed.
    fn check() {
        if WATCHED.below.iter().any(|word| word.load(Relaxed) != PATTERN) {
            println!("memory below the stack has changed");
            board::exit(true);
        }
    }

    /// Runs the thread until a timer pre-empts it.
    pub fn pre_empt(me: &tandem::Me) {
        board::at_panic(check);
        let spawned = WATCHED.thread.spawn(Priority::new(1), "deep", |me| {
            // SAFETY: the stack is used no further, except by traps.
            unsafe {
                core::arch::asm!(
                    "sub sp, sp, {}", "1: j 1b", in(reg) me.stack_left() & !15, options(noreturn)
                );
            }
        });
        assert!(spawned.is_ok());
        me.delay_until(time::now() + MS);
    }
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        let director = DIRECTOR.spawn(Priority::new(6), "director", |me| {
            inheritance_along_a_chain(me);
            time_limits(me);
            clock_wraps(me);
            ceiling(me);
            critical_sections(me);
            masked_by_hand(me);
            println!("now a stack overflows, and its task is named:");
            #[cfg(any(
                target_arch = "riscv64",
                all(target_arch = "riscv32", target_feature = "a")
            ))]
            at_the_end::pre_empt(me);
            let deep = THREADS[1]
                .spawn(Priority::new(8), "deep", |_| _ = core::hint::black_box(overflow(0)));
            assert!(deep.is_ok());
            board::exit(false)
        });
        assert!(director.is_ok());
    })
}

fn on_alarm() {
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raise];
