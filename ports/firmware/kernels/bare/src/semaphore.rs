//! A counter with one waiting thread. A handler may give only while the interrupted thread is in
//! none of these functions, as in the rounds of `interrupt`.

use core::cell::Cell;

use crate::ring::{Context, current, resume, suspend};

pub struct Semaphore {
    count: Cell<u32>,
    waiter: Cell<Option<&'static Context>>,
}

// SAFETY: threads do not pre-empt each other, and handlers give between their calls only.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    pub const fn new(count: u32) -> Self {
        Self { count: Cell::new(count), waiter: Cell::new(None) }
    }

    #[inline(always)]
    pub fn give(&self) {
        self.count.set(self.count.get() + 1);
        if let Some(waiter) = self.waiter.take() {
            resume(waiter);
        }
    }

    #[inline(always)]
    pub fn take(&self) {
        while self.count.get() == 0 {
            self.waiter.set(Some(current()));
            suspend();
        }
        self.count.set(self.count.get() - 1);
    }
}
