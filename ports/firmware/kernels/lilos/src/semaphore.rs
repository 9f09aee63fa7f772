//! A counter and a `Notify`, as lilos's users write it where a handler gives. `lilos-semaphore` is
//! for tasks alone: its list of waiters is not `Sync`.

use core::{
    future::Future,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use lilos::exec::Notify;

pub struct Semaphore {
    count: AtomicU32,
    given: Notify,
}

impl Semaphore {
    pub const fn new(count: u32) -> Self {
        Self { count: AtomicU32::new(count), given: Notify::new() }
    }

    #[inline(always)]
    pub fn give(&self) {
        self.count.fetch_add(1, Release);
        self.given.notify();
    }

    /// `until_racy` subscribes before it looks: a handler may give in between.
    #[inline(always)]
    pub fn take(&self) -> impl Future<Output = ()> + Send {
        self.given.until_racy(|| {
            self.count.fetch_update(Acquire, Relaxed, |count| count.checked_sub(1)).is_ok()
        })
    }
}
