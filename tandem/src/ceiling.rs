//! A mutex with a priority ceiling: for threads, coroutines and handlers.
//!
//! Who uses the value runs at the ceiling meanwhile, so no other user can: nobody ever waits, deadlock is
//! impossible, and the shared stack keeps its order (a coroutine's priority rises and falls within one poll,
//! while it is the top one). The closure cannot await, and a thread that blocks in it is caught.

use crate::{
    arch::Mask,
    kernel::{self, KERNEL},
    mutex::settle,
    shared::Shared,
    task::{Level, Priority},
};
use core::cell::UnsafeCell;

/// A value that tasks up to a priority may use.
pub struct Ceiling<T> {
    level: Level,
    busy: Shared<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: `busy` lets one user at a time reach the value, which may move between tasks.
unsafe impl<T: Send> Sync for Ceiling<T> {}

impl<T> Ceiling<T> {
    /// `ceiling`: the priority of the most urgent task that uses the value.
    #[must_use]
    pub const fn new(ceiling: Priority, value: T) -> Self {
        Self { level: ceiling.level(), busy: Shared::new(false), value: UnsafeCell::new(value) }
    }

    /// Uses the value. Never waits.
    ///
    /// # Panics
    /// When the value is in use: by a closure further up, by a thread that blocked in its closure, or because
    /// the caller is more urgent than the ceiling.
    #[inline]
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        match self.try_with(body) {
            Some(result) => result,
            None => panic!("a value with a ceiling is in use"),
        }
    }

    /// Uses the value if nobody does. For handlers, which may have interrupted its user.
    #[inline]
    pub fn try_with<R>(&self, body: impl FnOnce(&mut T) -> R) -> Option<R> {
        let (mask, m) = Mask::set();
        if self.busy.get(m) {
            mask.restore();
            return None;
        }
        self.busy.set(m, true);
        let me = KERNEL.current(m);
        let (base, rise) = (me.base.get(m), mask.allows_switch());
        if rise {
            me.base.set(m, base.min(self.level));
            settle(m, me);
        }
        mask.restore();
        // SAFETY: `busy` was clear and is set, so nobody else has the value.
        let result = body(unsafe { &mut *self.value.get() });
        let (mask, m) = Mask::set();
        self.busy.set(m, false);
        if rise {
            me.base.set(m, base);
            settle(m, me);
            kernel::reschedule(m, mask);
        }
        mask.restore();
        Some(result)
    }
}
