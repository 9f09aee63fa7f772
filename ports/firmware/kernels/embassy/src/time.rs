//! embassy's time driver, as the makers of hardware layers write it: embassy's own queue of timers,
//! over this machine's clock and alarm.

use core::{cell::RefCell, task::Waker};

use board::{alarm, clock};
use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

struct Time {
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static TIME: Time = Time { queue: Mutex::new(RefCell::new(Queue::new())) });

impl Time {
    /// Wakes the tasks that are due, and sets the alarm for the next one.
    fn expire(&self, token: CriticalSection<'_>) {
        let next = self.queue.borrow_ref_mut(token).next_expiration(clock::now());
        if next < u64::MAX {
            alarm::KERNEL.set(next);
        }
    }
}

impl Driver for Time {
    #[inline]
    fn now(&self) -> u64 {
        clock::now()
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|token| {
            if self.queue.borrow_ref_mut(token).schedule_wake(at, waker) {
                self.expire(token);
            }
        });
    }
}

#[unsafe(no_mangle)]
extern "C" fn ALARM() {
    alarm::KERNEL.stop();
    critical_section::with(|token| TIME.expire(token));
}
