//! Costs of the kernel's operations in instructions, between a mark immediately before and one
//! immediately after.
//!
//! A mark reads the timer and stores the reading. Nothing is subtracted; the control is two marks
//! without an operation between them. Each row is measured [`ROUNDS`] times.
#![no_std]
#![no_main]

use core::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    task::Poll,
};
use tandem::{
    Ceiling, Coroutine, Event, Me, Mutex, Priority, Queue, Semaphore, SharedStack, Thread,
    delay_until,
    time::{self, Delay},
    yield_now,
};
use tandem_firmware::{
    board::{self, instructions, mark, nanoseconds},
    println,
};

const ROUNDS: usize = 400;
const LOW: Priority = Priority::new(2);
const HIGH: Priority = Priority::new(4);
const DIRECTOR: Priority = Priority::new(5);

/// The goals of a yield, of a semaphore to a higher thread and of the full shuffle: in builds with
/// time slices too, before a slice has been set.
const SWITCHES: (u32, u32, u32) =
    if cfg!(feature = "time-slice") { (40, 52, 98) } else { (33, 43, 84) };

static START: AtomicU32 = AtomicU32::new(0);
static END: AtomicU32 = AtomicU32::new(0);
static SAMPLES: [AtomicU32; ROUNDS] = [const { AtomicU32::new(0) }; ROUNDS];
static TAKEN: AtomicUsize = AtomicUsize::new(0);

#[inline(always)]
fn start() {
    START.store(mark(), Relaxed);
}

#[inline(always)]
fn end() {
    END.store(mark(), Relaxed);
    let n = TAKEN.load(Relaxed);
    if n < ROUNDS {
        let at = |mark: &AtomicU32| instructions(mark.load(Relaxed));
        SAMPLES[n].store(at(&END).wrapping_sub(at(&START)), Relaxed);
        TAKEN.store(n + 1, Relaxed);
    }
}

fn report(row: &str, goal: u32) {
    let n = TAKEN.load(Relaxed);
    TAKEN.store(0, Relaxed);
    let (mut least, mut most, mut sum) = (u32::MAX, 0, 0);
    for sample in &SAMPLES[..n] {
        let sample = sample.load(Relaxed);
        (least, most, sum) = (least.min(sample), most.max(sample), sum + sample);
    }
    let middle = median(n);
    let verdict = if middle <= goal { "met" } else { "missed" };
    let peers = PEERS.iter().find(|(name, _)| *name == row).map_or("", |(_, peers)| peers);
    println!(
        "{:<44} goal {:>4}  median {:>4}  least {:>4}  most {:>4}  n {}  {}  {}",
        row, goal, middle, least, most, n, verdict, peers
    );
    let _ = sum;
}

/// Figures of other kernels on the Cortex-M4, measured in the same way, each in its best
/// configuration: ChibiOS -O3, ThreadX -O2, FreeRTOS -O3 with LTO.
const PEERS: [(&str, &str); 11] = [
    ("give, uncontended", "ChibiOS 12, ThreadX 15, FreeRTOS 32"),
    ("take, uncontended", "ChibiOS 13, ThreadX 15, FreeRTOS 27"),
    ("yield, 2 threads", "ChibiOS 42, ThreadX 69, FreeRTOS 60"),
    ("semaphore given -> higher thread", "ChibiOS 53, ThreadX 109, FreeRTOS 183"),
    ("semaphore full shuffle", "ChibiOS 94, ThreadX 230, FreeRTOS 458"),
    ("semaphore full shuffle, time limits", "ChibiOS 152, ThreadX 304, FreeRTOS 626"),
    ("handler -> higher thread (semaphore)", "ChibiOS 99, ThreadX 111, FreeRTOS 176"),
    ("mutex unlocked -> higher thread", "ChibiOS 76, ThreadX 276, FreeRTOS 254"),
    ("mutex lock and unlock, uncontended", "ChibiOS 17, ThreadX 74, FreeRTOS 45"),
    ("queue round trip, threads", "ChibiOS 300, ThreadX 315, FreeRTOS 648"),
    ("queue round trip, time limits", "ChibiOS 355, ThreadX 390, FreeRTOS 812"),
];

/// The median of the first `n` samples.
fn median(n: usize) -> u32 {
    let value = |i: usize| SAMPLES[i].load(Relaxed);
    (0..n)
        .map(value)
        .find(|&v| {
            let (below, above) = (
                (0..n).filter(|&i| value(i) < v).count(),
                (0..n).filter(|&i| value(i) > v).count(),
            );
            below <= n / 2 && above <= n / 2
        })
        .unwrap_or(0)
}

static SHARED: SharedStack<1024> = SharedStack::new();
static MAIN: Thread<2048> = Thread::new();
static THREADS: [Thread<512>; 32] = [const { Thread::new() }; 32];
static COROUTINES: [Coroutine<128>; 32] = [const { Coroutine::new() }; 32];
static DONE: Semaphore = Semaphore::new(0);
static S: Semaphore = Semaphore::new(0);
static BACK: Semaphore = Semaphore::new(0);
static E1: Event = Event::new();
static E2: Event = Event::new();
static Q1: Queue<u32, 4> = Queue::new();
static Q2: Queue<u32, 4> = Queue::new();

/// Uses the FPU, where there is one, so that a switch must preserve its registers.
fn use_fpu() {
    #[cfg(fpu)]
    // SAFETY: changes no register's value.
    unsafe {
        core::arch::asm!("vmov.f32 s0, s0")
    };
}

fn thread(i: usize, priority: Priority, body: impl FnOnce(&Me) + Send + 'static) {
    let body = move |me: &Me| {
        use_fpu();
        body(me);
        DONE.give();
    };
    assert!(THREADS[i].spawn(priority, "thread", body).is_ok());
}

fn coroutine(i: usize, priority: Priority, body: impl Future<Output = ()> + Send + 'static) {
    assert!(COROUTINES[i].spawn(priority, "coroutine", body).is_ok());
}

/// Waits until the tasks of a row have ended.
fn join(me: &Me, tasks: usize) {
    for _ in 0..tasks {
        DONE.take(me);
    }
    while THREADS.iter().any(|t| t.info().is_alive())
        || COROUTINES.iter().any(|c| c.info().is_alive())
    {
        me.delay_until(time::now() + nanoseconds(20_000));
    }
}

/// Measures yields: each task's mark after its yield ends the sample that the previous task began.
fn yields(me: &Me, n: usize) {
    for i in 0..n {
        thread(i, LOW, move |me| {
            for _ in 0..=ROUNDS / n + 1 {
                start();
                me.yield_now();
                end();
            }
        });
    }
    join(me, n);
}

fn coroutine_yields(me: &Me, n: usize) {
    for i in 0..n {
        coroutine(i, LOW, async move {
            for _ in 0..=ROUNDS / n + 1 {
                start();
                yield_now().await;
                end();
            }
            DONE.give();
        });
    }
    join(me, n);
}

fn uncontended(me: &Me) {
    for _ in 0..ROUNDS {
        start();
        end();
    }
    report("control: two marks", 0);
    for _ in 0..ROUNDS {
        start();
        S.give();
        end();
    }
    report("give, uncontended", 12);
    for _ in 0..ROUNDS {
        start();
        S.take(me);
        end();
    }
    report("take, uncontended", 10);
}

fn given_to_higher(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
            end();
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            start();
            S.give();
        }
    });
    join(me, 2);
    report("semaphore given -> higher thread", SWITCHES.1);
}

fn shuffle(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            start();
            S.give();
            end();
        }
    });
    join(me, 2);
    report("semaphore full shuffle", SWITCHES.2);
}

const GIVE: usize = 0;
const SIGNAL: usize = 1;

extern "C" fn on_give() {
    start();
    S.give();
}

extern "C" fn on_signal() {
    start();
    E1.signal(1);
}

fn handler_to_thread(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
            end();
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            board::raise(GIVE);
        }
    });
    join(me, 2);
    report("handler -> higher thread (semaphore)", 80);
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            E1.wait(me);
            end();
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            board::raise(SIGNAL);
        }
    });
    join(me, 2);
    report("handler -> higher thread (event)", 80);
}

fn handler_to_coroutine(me: &Me) {
    coroutine(0, HIGH, async {
        for _ in 0..ROUNDS {
            S.taken().await;
            end();
        }
        DONE.give();
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            board::raise(GIVE);
        }
    });
    join(me, 2);
    report("handler -> higher coroutine (semaphore)", 60);
    coroutine(0, HIGH, async {
        for _ in 0..ROUNDS {
            E1.signalled().await;
            end();
        }
        DONE.give();
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            board::raise(SIGNAL);
        }
    });
    join(me, 2);
    report("handler -> higher coroutine (event)", 60);
}

fn wake_equal(me: &Me) {
    coroutine(0, LOW, async {
        for _ in 0..ROUNDS {
            E1.signalled().await;
            end();
            E2.signal(1);
        }
        DONE.give();
    });
    coroutine(1, LOW, async {
        for _ in 0..ROUNDS {
            start();
            E1.signal(1);
            E2.signalled().await;
        }
        DONE.give();
    });
    join(me, 2);
    report("wake, coroutine -> coroutine, same priority", 80);
    thread(0, LOW, |me| {
        for _ in 0..ROUNDS {
            E1.wait(me);
            end();
            E2.signal(1);
        }
    });
    thread(1, LOW, |me| {
        for _ in 0..ROUNDS {
            start();
            E1.signal(1);
            E2.wait(me);
        }
    });
    join(me, 2);
    report("wake, thread -> thread, same priority", 80);
}

fn queues(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            Q1.receive(me);
            end();
        }
    });
    thread(1, LOW, |me| {
        for i in 0..ROUNDS {
            start();
            Q1.send(me, i as u32);
        }
    });
    join(me, 2);
    report("queue, 4 bytes, low -> high thread", 100);
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            let word = Q1.receive(me);
            Q2.send(me, word);
        }
    });
    thread(1, LOW, |me| {
        for i in 0..ROUNDS {
            start();
            Q1.send(me, i as u32);
            Q2.receive(me);
            end();
        }
    });
    join(me, 2);
    report("queue round trip, threads", 270);
    coroutine(0, HIGH, async {
        for _ in 0..ROUNDS {
            let word = Q1.received().await;
            Q2.sent(word).await;
        }
        DONE.give();
    });
    coroutine(1, LOW, async {
        for i in 0..ROUNDS {
            start();
            Q1.sent(i as u32).await;
            Q2.received().await;
            end();
        }
        DONE.give();
    });
    join(me, 2);
    report("queue round trip, coroutines", 270);
}

/// Waits with a time limit that does not come.
fn time_limits(me: &Me) {
    const NEVER: u64 = 1 << 50;
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            assert!(S.take_until(me, NEVER).is_ok());
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            start();
            S.give();
            end();
        }
    });
    join(me, 2);
    report("semaphore full shuffle, time limits", 140);
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            if let Ok(word) = Q1.receive_until(me, NEVER) {
                assert!(Q2.send_until(me, word, NEVER).is_ok());
            }
        }
    });
    thread(1, LOW, |me| {
        for i in 0..ROUNDS {
            start();
            assert!(Q1.send_until(me, i as u32, NEVER).is_ok());
            assert!(Q2.receive_until(me, NEVER).is_ok());
            end();
        }
    });
    join(me, 2);
    report("queue round trip, time limits", 300);
}

/// A semaphore given to an equal that waits, which runs when the giver waits.
fn given_to_equal(me: &Me) {
    thread(0, LOW, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
            end();
            BACK.give();
        }
    });
    thread(1, LOW, |me| {
        for _ in 0..ROUNDS {
            start();
            S.give();
            BACK.take(me);
        }
    });
    join(me, 2);
    report("semaphore given -> waiting equal", 60);
}

fn locks(me: &Me) {
    static MUTEX: Mutex<u32> = Mutex::new(0);
    static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
            let guard = MUTEX.lock(me);
            end();
            drop(guard);
        }
    });
    thread(1, LOW, |me| {
        for _ in 0..ROUNDS {
            let guard = MUTEX.lock(me);
            S.give();
            start();
            drop(guard);
        }
    });
    join(me, 2);
    report("mutex unlocked -> higher thread", 75);
    for _ in 0..ROUNDS {
        start();
        drop(MUTEX.lock(me));
        end();
    }
    report("mutex lock and unlock, uncontended", 30);
    for _ in 0..ROUNDS {
        start();
        CEILING.with(|value| *value = value.wrapping_add(1));
        end();
    }
    report("Ceiling::with, uncontended", 40);
}

fn on_tick() {
    start();
    board::stop_alarm();
    time::expire();
}

fn sleepers(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            me.delay_until(time::now() + nanoseconds(100_000));
            end();
        }
    });
    join(me, 1);
    report("tick -> sleeping thread", 90);
    coroutine(0, HIGH, async {
        for _ in 0..ROUNDS {
            delay_until(time::now() + nanoseconds(100_000)).await;
            end();
        }
        DONE.give();
    });
    join(me, 1);
    report("tick -> sleeping coroutine", 110);
}

/// The number of other sleepers, of those that are due earlier, and the names of two rows.
const AMONG: [(usize, usize, &str, &str); 5] = [
    (2, 0, "delay, 2 sleepers, first", "tick, 2 sleepers, first"),
    (2, 2, "delay, 2 sleepers, last", "tick, 2 sleepers, last"),
    (200, 0, "delay, 200 sleepers, first", "tick, 200 sleepers, first"),
    (200, 100, "delay, 200 sleepers, middle", "tick, 200 sleepers, middle"),
    (200, 200, "delay, 200 sleepers, last", "tick, 200 sleepers, last"),
];

/// Many sleepers in one coroutine. It is sent a time: as many as `BEFORE` says sleep until then,
/// the others far longer.
const SLEEPERS: usize = 200;
static SLEEPING: Coroutine<{ SLEEPERS * size_of::<Delay>() + 256 }> = Coroutine::new();
static SLEEP: Queue<u64, 1> = Queue::new();
static BEFORE: AtomicUsize = AtomicUsize::new(0);
static AWAKE: AtomicUsize = AtomicUsize::new(0);
static DUE: Queue<u64, 1> = Queue::new();

async fn sleep_many() {
    let mut delays = pin!([const { None::<Delay> }; SLEEPERS]);
    loop {
        let early = SLEEP.received().await;
        let (sleepers, before) = (AWAKE.load(Relaxed), BEFORE.load(Relaxed));
        for i in 0..SLEEPERS {
            // SAFETY: the array is pinned, and a delay is not moved out of it.
            let place = unsafe { &mut delays.as_mut().get_unchecked_mut()[i] };
            *place = None;
            if i >= sleepers {
                continue;
            }
            let due = early + if i < before { i as u64 } else { nanoseconds(1_000_000_000_000) };
            // SAFETY: as above.
            let mut delay = unsafe { Pin::new_unchecked(place.insert(delay_until(due))) };
            let _ = poll_fn(|context| Poll::Ready(delay.as_mut().poll(context))).await;
        }
        if sleepers == 0 {
            return;
        }
    }
}

/// A thread's delay beside other sleepers, of which `before` are due earlier. Measures the start of
/// the delay up to the next thread, or the tick up to the sleeper.
fn among_sleepers(me: &Me, row: &str, sleepers: usize, before: usize, is_start: bool) {
    const ROUNDS: usize = 40;
    AWAKE.store(sleepers, Relaxed);
    BEFORE.store(before, Relaxed);
    assert!(SLEEPING.spawn(Priority::new(3), "sleeping", sleep_many()).is_ok());
    thread(0, HIGH, move |me| {
        for _ in 0..ROUNDS {
            let due = DUE.receive(me);
            if is_start {
                start();
            }
            me.delay_until(due);
            if !is_start {
                end();
            }
            BACK.give();
        }
    });
    thread(1, LOW, move |me| {
        for _ in 0..ROUNDS {
            let early = time::now() + nanoseconds(2_000_000);
            SLEEP.send(me, early);
            DUE.send(me, early + nanoseconds(500_000));
            if is_start {
                end();
            }
            BACK.take(me);
        }
        AWAKE.store(0, Relaxed);
        SLEEP.send(me, 0);
    });
    join(me, 2);
    report(row, 90);
}

fn director(me: &Me) {
    uncontended(me);
    for (n, row) in [(2, "yield, 2 threads"), (10, "yield, 10 threads"), (32, "yield, 32 threads")]
    {
        yields(me, n);
        report(row, SWITCHES.0);
    }
    for (n, row) in
        [(2, "yield, 2 coroutines"), (10, "yield, 10 coroutines"), (32, "yield, 32 coroutines")]
    {
        coroutine_yields(me, n);
        report(row, 35);
    }
    given_to_higher(me);
    shuffle(me);
    handler_to_thread(me);
    handler_to_coroutine(me);
    wake_equal(me);
    given_to_equal(me);
    queues(me);
    time_limits(me);
    locks(me);
    sleepers(me);
    for (sleepers, before, start, tick) in AMONG {
        among_sleepers(me, start, sleepers, before, true);
        among_sleepers(me, tick, sleepers, before, false);
    }
    println!("RAM of a thread beside its stack: {} bytes", size_of::<Thread<512>>() - 512);
    println!("RAM of a coroutine beside its future: {} bytes", size_of::<Coroutine<64>>() - 64);
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(GIVE);
    board::enable_interrupt(SIGNAL);
    tandem::start(&SHARED, || assert!(MAIN.spawn(DIRECTOR, "director", director).is_ok()))
}

tandem_firmware::alarm!(on_tick);
tandem_firmware::interrupts![on_give, on_signal];
