//! The kernel on the time driver of a HAL: `tandem::EmbassyClock`. Nobody writes a clock.
//!
//! A thread uses tandem's delays and time limits; a coroutine and a thread use timers of
//! `embassy-time`, which the HAL's driver keeps. All of them see one clock. No wait ends early, and
//! each ends at once when the HAL's alarm comes.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use embassy_time::{Duration, Instant, Ticker, Timer};
use tandem::{
    Coroutine, Me, Priority, Semaphore, SharedStack, Thread, TimedOut, delay_until, time,
};
use tandem_stm32f4::{self as board, event, hal};

static STACK: SharedStack<2048> = SharedStack::new();
static TICKER: Coroutine<512> = Coroutine::new();
static SLEEPERS: [Coroutine<256>; 12] = [const { Coroutine::new() }; 12];
static CHECKER: Thread<2048> = Thread::new();
static TICKED: Semaphore = Semaphore::new(0);
static WOKEN: AtomicU32 = AtomicU32::new(0);

/// The longest time from the HAL's alarm to the task, in microseconds: 12 tasks, and their output.
const LATE: u64 = 1_000;

#[track_caller]
fn assert_due(due: u64) {
    let (now, last) = (time::now(), due.max(hal::last_alarm()));
    assert!(now >= due && now < last + LATE, "{now} µs, due at {due} µs, alarm at {last} µs");
}

/// Timers of embassy's, in the HAL's queue.
async fn tick() {
    let mut ticker = Ticker::every(Duration::from_millis(10));
    for _ in 0..3 {
        ticker.next().await;
        TICKED.give();
    }
}

fn check(me: &Me) {
    let start = time::now();
    let embassy = Instant::now().as_ticks();
    assert!((start..=time::now()).contains(&embassy), "one clock for both");
    // The coroutine's ticks, beside time limits.
    for tick in 1..=3 {
        while TICKED.take_until(me, time::now() + 700) == Err(TimedOut) {}
        assert_due(start + tick * 9_000);
    }
    event!("three ticks of embassy's");
    // From here on, each alarm is the kernel's own: if one is lost, the program does not end.
    for delay in [700, 100, 3_000, 1, 0] {
        let due = time::now() + delay;
        me.delay_until(due);
        assert_due(due);
    }
    me.delay_until(start);
    let due = time::now() + 5_000;
    assert_eq!(TICKED.take_until(me, due), Err(TimedOut));
    assert_due(due);
    event!("delays and a time limit of tandem's");
    // A timer of embassy's in a thread, which the HAL wakes.
    let due = time::now() + 4_000;
    me.block_on(Timer::at(Instant::from_ticks(due)));
    assert_due(due);
    // More timers of the kernel's than the HAL's queue has places.
    let start = time::now();
    for (place, sleeper) in SLEEPERS.iter().enumerate() {
        let due = start + 1_000 + 37 * (place as u64 * 5 % 12);
        let sleep = async move {
            delay_until(due).await;
            assert_due(due);
            WOKEN.fetch_add(1, Relaxed);
        };
        assert!(sleeper.spawn(Priority::new(4), "sleeper", sleep).is_ok());
    }
    for sleeper in &SLEEPERS {
        sleeper.info().join(me);
    }
    event!("{} sleepers were woken", WOKEN.load(Relaxed));
    board::exit(WOKEN.load(Relaxed) == 12)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&STACK, || {
        let spawned = [
            TICKER.spawn(Priority::new(3), "ticker", tick()),
            CHECKER.spawn(Priority::new(2), "checker", check),
        ];
        assert!(spawned.iter().all(Result::is_ok));
    })
}
