//! A mutex with a priority ceiling: for threads, coroutines and handlers.
//!
//! Who uses the value runs at the ceiling meanwhile, so no other user can: nobody ever waits, deadlock is
//! impossible, and the shared stack keeps its order (a coroutine's priority rises and falls within one poll,
//! while it is the top one). The closure cannot await, and a thread that blocks in it is caught. A thread may
//! also lock the value and keep the guard: its stack is its own.

use crate::{
    arch::{self, Mask},
    kernel::{self, KERNEL},
    mutex::settle,
    shared::{Masked, Shared},
    task::{Level, Priority, Task},
    thread::Me,
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

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
        let (base, rise) = (me.base(m), mask.allows_switch());
        if rise {
            self.raise(m, me);
        }
        mask.restore();
        // SAFETY: `busy` was clear and is set, so nobody else has the value.
        let result = body(unsafe { &mut *self.value.get() });
        let (mask, m) = Mask::set();
        self.busy.set(m, false);
        if rise {
            me.use_ceiling(m, false);
            me.set_base(m, base);
            settle(m, me);
            kernel::reschedule(m, mask);
        }
        mask.restore();
        Some(result)
    }

    /// Locks the value for the thread, until the guard is dropped; guards in the reverse of their order. Never waits.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[inline]
    pub fn lock(&'static self, _: &Me) -> CeilingGuard<T> {
        let m = arch::mask();
        assert!(!self.busy.get(m), "a value with a ceiling is in use");
        self.busy.set(m, true);
        let me = KERNEL.current(m);
        let base = me.base(m);
        self.raise(m, me);
        arch::unmask(m);
        CeilingGuard { ceiling: self, base, _not_send: PhantomData }
    }

    fn raise(&self, m: Masked, me: Task) {
        me.use_ceiling(m, true);
        me.set_base(m, me.base(m).min(self.level));
        settle(m, me);
    }
}

/// The locked value. Dropping it unlocks. It stays with its thread.
pub struct CeilingGuard<T: 'static> {
    ceiling: &'static Ceiling<T>,
    /// The thread's own level before.
    base: Level,
    _not_send: PhantomData<*mut ()>,
}

impl<T> Deref for CeilingGuard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread alone has the value: `busy` was clear and is set.
        unsafe { &*self.ceiling.value.get() }
    }
}

impl<T> DerefMut for CeilingGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed mutably.
        unsafe { &mut *self.ceiling.value.get() }
    }
}

impl<T> Drop for CeilingGuard<T> {
    #[inline]
    fn drop(&mut self) {
        let (mask, m) = Mask::set();
        let me = KERNEL.current(m);
        self.ceiling.busy.set(m, false);
        me.use_ceiling(m, false);
        me.set_base(m, self.base);
        settle(m, me);
        kernel::reschedule(m, mask);
        mask.restore();
    }
}
