//! A counting semaphore. `rtic-sync` has none, only a `Signal` that keeps the latest value; this is
//! made as that is, of `rtic-common`'s waker registration and a critical section, with a counter
//! for the value.

use core::{cell::Cell, future::poll_fn, task::Poll};

use critical_section::Mutex;
use rtic_common::waker_registration::CriticalSectionWakerRegistration;

/// A semaphore that tasks of any priority and handlers may give. It keeps one waker, since one task
/// waits for a semaphore in every experiment.
pub struct Semaphore {
    count: Mutex<Cell<u32>>,
    waiter: CriticalSectionWakerRegistration,
}

impl Semaphore {
    pub const fn new(count: u32) -> Self {
        Self {
            count: Mutex::new(Cell::new(count)),
            waiter: CriticalSectionWakerRegistration::new(),
        }
    }

    #[inline]
    pub fn give(&self) {
        critical_section::with(|token| {
            let count = self.count.borrow(token);
            count.set(count.get() + 1);
            self.waiter.wake();
        });
    }

    #[inline(always)]
    pub fn take(&self) -> impl Future<Output = ()> + Send {
        poll_fn(|context| {
            critical_section::with(|token| {
                let count = self.count.borrow(token);
                match count.get() {
                    0 => {
                        self.waiter.register(context.waker());
                        Poll::Pending
                    }
                    left => {
                        count.set(left - 1);
                        Poll::Ready(())
                    }
                }
            })
        })
    }
}
