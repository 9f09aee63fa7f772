//! The driver of `embassy-time`: its timers wait in the kernel's own slots.
//!
//! Every task's record has one [`Alarm`], set to the earliest time that an embassy timer of the
//! task has asked for. When it expires, the task is polled; timers that are not due ask again. So
//! the number of timers has no limit, setting one takes constant time as for every timer, and a
//! dropped timer costs at most one superfluous poll. (The queue of
//! `embassy-time-queue-utils` either has a fixed length, searched with interrupts masked, or needs
//! the records of embassy's own executor.)

use crate::{
    arch::masked,
    clock::now,
    info::current,
    records::{Alarm, Header, TIMERS, Task, Timer},
    waker::{of_coroutines, of_threads},
};
use core::task::Waker;

impl Alarm {
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
        let timer = &task.alarm.timer;
        masked(|m| {
            if timer.due_if_set(m).is_none_or(|due| at < due) {
                timer.cancel(m);
                timer.task.set(m, Some(task));
                // In this window, with the alarm: another context may poll with the same waker.
                TIMERS.set_in_window(m, timer, at);
            }
        });
    }
}

/// The task of a waker made by the kernel, a coroutine's or a thread's.
///
/// # Panics
/// If the waker is not the kernel's: a combinator in between has passed one of its own.
fn task_behind(waker: &Waker) -> Task {
    let ours = [&of_coroutines::VTABLE, &of_threads::VTABLE]
        .iter()
        .any(|table| core::ptr::eq(waker.vtable(), *table));
    assert!(ours, "task {}: a timer of embassy's under a foreign waker", current().name());
    // SAFETY: both tables belong to wakers made from headers.
    unsafe { &*waker.data().cast::<Header>() }
}

#[cfg(test)]
mod tests {
    use super::DRIVER;
    use core::task::Waker;
    use embassy_time_driver::Driver;

    #[test]
    #[should_panic(expected = "a timer of embassy's under a foreign waker")]
    fn a_timer_under_a_foreign_waker_is_refused() {
        DRIVER.schedule_wake(1, Waker::noop());
    }
}
