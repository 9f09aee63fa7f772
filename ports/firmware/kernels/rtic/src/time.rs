//! The time: a monotonic as `rtic-monotonics` has them, with `rtic-time`'s queue of timers, over
//! this machine's clock and alarm.

use board::{
    alarm, clock,
    lines::{Line, enable, set_urgency},
};
use cortex_m::peripheral::NVIC;
use rtic_time::{
    Timebase,
    fugit::{Duration, MonotonicInstant},
    monotonic::TimerQueueBasedMonotonic,
    timer_queue::{TimerQueue, TimerQueueBackend},
};

type Instant = MonotonicInstant<u64, 1, { clock::HERTZ }>;

/// The monotonic clock: a tick is one nanosecond of virtual time, one instruction.
struct Monotonic;

impl TimerQueueBasedMonotonic for Monotonic {
    type Backend = Backend;
    type Instant = Instant;
    type Duration = Duration<u64, 1, { clock::HERTZ }>;
}

struct Backend;

static TIMERS: TimerQueue<Backend> = TimerQueue::new();

impl TimerQueueBackend for Backend {
    type Ticks = u64;

    #[inline]
    fn now() -> u64 {
        clock::now()
    }

    fn set_compare(instant: u64) {
        alarm::KERNEL.set(instant);
    }

    fn clear_compare_flag() {
        alarm::KERNEL.stop();
    }

    fn pend_interrupt() {
        NVIC::pend(Line::Alarm);
    }

    fn disable_timer() {
        alarm::KERNEL.stop();
    }

    fn timer_queue() -> &'static TimerQueue<Self> {
        &TIMERS
    }
}

/// Lets the alarm interrupt all tasks.
pub fn start() {
    TIMERS.initialize(Backend);
    set_urgency(Line::Alarm, 1);
    enable(Line::Alarm);
}

#[inline(always)]
pub fn delay_until(due: u64) -> impl Future<Output = ()> + Send {
    Monotonic::delay_until(Instant::from_ticks(due))
}

#[unsafe(no_mangle)]
extern "C" fn ALARM() {
    // SAFETY: this is the handler of the queue's timer.
    unsafe { TIMERS.on_monotonic_interrupt() };
}
