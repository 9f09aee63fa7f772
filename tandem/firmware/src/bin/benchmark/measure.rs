//! The parts that the benchmark and its rows by hand share: marks, samples, tasks and sleepers.
//!
//! A mark reads the timer and stores the reading. Nothing is subtracted. Each row is measured
//! [`ROUNDS`] times.

use core::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    task::Poll,
};
use tandem::{
    Coroutine, Event, Me, Priority, Queue, Semaphore, SharedStack, Thread, delay_until,
    time::{self, Delay},
};
use tandem_firmware::board::{self, instructions, mark, nanoseconds};

pub const ROUNDS: usize = 400;
pub const LOW: Priority = Priority::new(2);
pub const HIGH: Priority = Priority::new(4);
pub const DIRECTOR: Priority = Priority::new(5);

pub static START: AtomicU32 = AtomicU32::new(0);
pub static END: AtomicU32 = AtomicU32::new(0);
pub static SAMPLES: [AtomicU32; ROUNDS] = [const { AtomicU32::new(0) }; ROUNDS];
pub static TAKEN: AtomicUsize = AtomicUsize::new(0);

#[inline(always)]
pub fn start() {
    START.store(mark(), Relaxed);
}

#[inline(always)]
pub fn end() {
    END.store(mark(), Relaxed);
    take_sample();
}

/// Stores the instructions between the last two marks.
#[inline(always)]
pub fn take_sample() {
    let n = TAKEN.load(Relaxed);
    if n < ROUNDS {
        let at = |mark: &AtomicU32| instructions(mark.load(Relaxed));
        SAMPLES[n].store(at(&END).wrapping_sub(at(&START)), Relaxed);
        TAKEN.store(n + 1, Relaxed);
    }
}

/// The interrupts whose handlers give a semaphore and signal an event.
pub const GIVE: usize = 0;
pub const SIGNAL: usize = 1;

/// The number of samples, the least and the most.
pub fn range() -> (usize, u32, u32) {
    let n = TAKEN.load(Relaxed);
    let (mut least, mut most) = (u32::MAX, 0);
    for sample in &SAMPLES[..n] {
        let sample = sample.load(Relaxed);
        (least, most) = (least.min(sample), most.max(sample));
    }
    (n, least, most)
}

/// The median of the samples. None is left.
pub fn take_median() -> u32 {
    let n = TAKEN.load(Relaxed);
    TAKEN.store(0, Relaxed);
    median(n)
}

/// The median of the first `n` samples.
pub fn median(n: usize) -> u32 {
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

pub static SHARED: SharedStack<1024> = SharedStack::new();
pub static MAIN: Thread<2048> = Thread::new();
pub static THREADS: [Thread<512>; 32] = [const { Thread::new() }; 32];
pub static COROUTINES: [Coroutine<128>; 32] = [const { Coroutine::new() }; 32];
pub static DONE: Semaphore = Semaphore::new(0);
pub static S: Semaphore = Semaphore::new(0);
pub static BACK: Semaphore = Semaphore::new(0);
pub static E1: Event = Event::new();
pub static E2: Event = Event::new();
pub static Q1: Queue<u32, 4> = Queue::new();
pub static Q2: Queue<u32, 4> = Queue::new();

/// Uses the FPU, where there is one, so that a switch must preserve its registers.
pub fn use_fpu() {
    #[cfg(fpu)]
    // SAFETY: changes no register's value.
    unsafe {
        core::arch::asm!("vmov.f32 s0, s0")
    };
}

pub fn thread(i: usize, priority: Priority, body: impl FnOnce(&Me) + Send + 'static) {
    let body = move |me: &Me| {
        use_fpu();
        body(me);
        DONE.give();
    };
    assert!(THREADS[i].spawn(priority, "thread", body).is_ok());
}

pub fn coroutine(i: usize, priority: Priority, body: impl Future<Output = ()> + Send + 'static) {
    assert!(COROUTINES[i].spawn(priority, "coroutine", body).is_ok());
}

/// Waits until the tasks of a row have ended.
pub fn join(me: &Me, tasks: usize) {
    for _ in 0..tasks {
        DONE.take(me);
    }
    while THREADS.iter().any(|t| t.info().is_alive())
        || COROUTINES.iter().any(|c| c.info().is_alive())
    {
        me.delay_until(time::now() + nanoseconds(20_000));
    }
}

pub fn on_tick() {
    start();
    board::stop_alarm();
    time::expire();
}

/// The number of other sleepers, of those that are due earlier, and the names of two rows.
pub const AMONG: [(usize, usize, &str, &str); 5] = [
    (2, 0, "delay, 2 sleepers, due first", "tick, 2 sleepers, due first"),
    (2, 2, "delay, 2 sleepers, due last", "tick, 2 sleepers, due last"),
    (200, 0, "delay, 200 sleepers, due first", "tick, 200 sleepers, due first"),
    (200, 100, "delay, 200 sleepers, due in the middle", "tick, 200 sleepers, due in the middle"),
    (200, 200, "delay, 200 sleepers, due last", "tick, 200 sleepers, due last"),
];

/// Many sleepers in one coroutine. It is sent a time: as many as `BEFORE` says sleep until then,
/// the others far longer.
pub const SLEEPERS: usize = 200;
pub static SLEEPING: Coroutine<{ SLEEPERS * size_of::<Delay>() + 256 }> = Coroutine::new();
pub static SLEEP: Queue<u64, 1> = Queue::new();
pub static BEFORE: AtomicUsize = AtomicUsize::new(0);
pub static AWAKE: AtomicUsize = AtomicUsize::new(0);
pub static DUE: Queue<u64, 1> = Queue::new();

pub async fn sleep_many() {
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
pub fn among_sleepers(
    me: &Me,
    sleepers: usize,
    before: usize,
    is_start: bool,
    delay: impl Fn(&Me, u64) + Send + 'static,
) {
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
            delay(me, due);
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
}
