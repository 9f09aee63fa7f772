//! The driver of `embassy-time`: its timers wait in the kernel's own list.
//!
//! Every task's record holds one [`Alarm`], set to the earliest time that any of embassy's timers in the task asks for.
//! When it comes, the task is polled; timers whose time has not come ask again. So there is no limit to
//! the number of timers, setting one opens windows for interrupts like every other search in that list, and a
//! timer that is dropped costs at most one poll too many. (The queue of `embassy-time-queue-utils` either has
//! a fixed length, searched with interrupts masked, or needs the records of embassy's own executor.)

use crate::{
    arch::Mask,
    block_on, coroutine,
    shared::Shared,
    task::{Header, Task},
    time::{TIMERS, Timer, now},
};
use core::task::Waker;

/// The earliest time for which the futures in a task wait.
pub(crate) struct Alarm {
    timer: Timer,
    /// Its place in the list is being sought.
    busy: Shared<bool>,
}

impl Alarm {
    pub(crate) const fn new() -> Self {
        Self { timer: Timer::unused(), busy: Shared::new(false) }
    }

    #[inline(always)]
    pub(crate) fn is(&self, timer: &Timer) -> bool {
        core::ptr::eq(&raw const self.timer, timer)
    }
}

struct Driver;

embassy_time_driver::time_driver_impl!(static DRIVER: Driver = Driver);

impl embassy_time_driver::Driver for Driver {
    fn now(&self) -> u64 {
        now()
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        let task = task_behind(waker);
        let alarm = &task.alarm;
        let (mask, m) = Mask::set();
        if alarm.busy.get(m) {
            // Two contexts poll with one waker, against all custom. Waking at once is always allowed: who is polled asks again.
            block_on::wake_future(m, mask, task);
        } else if alarm.timer.due_if_set(m).is_none_or(|due| at < due) {
            alarm.busy.set(m, true);
            alarm.timer.cancel(m);
            alarm.timer.task.set(m, Some(task));
            let m = TIMERS.set(m, mask, &alarm.timer, at);
            alarm.busy.set(m, false);
        }
        mask.restore();
    }
}

/// # Panics
/// When the waker is not this kernel's: a combinator that hands its parts wakers of its own is between.
fn task_behind(waker: &Waker) -> Task {
    let ours = [&coroutine::VTABLE, &block_on::VTABLE]
        .iter()
        .any(|table| core::ptr::eq(waker.vtable(), *table));
    assert!(ours, "a timer of embassy's under a foreign waker");
    // SAFETY: both tables belong to wakers made of tasks.
    unsafe { &*waker.data().cast::<Header>() }
}

/// A board's clock and embassy's notion of it must agree: choose the feature `tick-hz-…` of `embassy-time` accordingly.
pub const fn check_rate(hertz: u64) {
    assert!(
        hertz == embassy_time_driver::TICK_HZ,
        "the board's clock and `embassy-time` differ in ticks per second"
    );
}
