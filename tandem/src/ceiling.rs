//! A mutex with a priority ceiling, for threads, coroutines and handlers.
//!
//! A task that uses the value runs at the ceiling meanwhile, so no other user can run: no task ever
//! waits, deadlock is impossible, and the shared stack keeps its order (a coroutine's priority
//! rises and falls within one poll, while it is the top one). The closure cannot await, and a
//! thread that blocks in it is detected by the next user. A thread may also lock the value and keep
//! the guard, since its stack is its own.
//!
//! # Soundness
//! `busy` excludes a second user whatever priorities the users have: it is tested and set with
//! interrupts masked, and cleared when the closure has returned or the guard is dropped. The
//! ceiling only makes sure that a correct program never finds it set.

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

/// A value for tasks up to a given priority, its ceiling.
pub struct Ceiling<T> {
    level: Level,
    busy: Shared<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: `busy` lets one user at a time reach the value, which may move between tasks.
unsafe impl<T: Send> Sync for Ceiling<T> {}

impl<T> Ceiling<T> {
    /// A value with the ceiling `ceiling`: the priority of the most urgent task that uses it.
    #[must_use]
    pub const fn new(ceiling: Priority, value: T) -> Self {
        Self { level: ceiling.level(), busy: Shared::new(false), value: UnsafeCell::new(value) }
    }

    /// Uses the value, at the priority of the ceiling. Never waits.
    ///
    /// For tasks; in a handler, [`try_with`](Self::try_with) is the one to call. Not before
    /// `start`. Raising and lowering the priority takes a step for each mutex that the task holds.
    /// `body` must not block.
    ///
    /// # Panics
    /// If the value is in use: by an enclosing closure, by a thread that blocked in its closure, or
    /// because the caller is more urgent than the ceiling or is a handler.
    #[inline]
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        match self.try_with(body) {
            Some(result) => result,
            None => panic!("a value with a ceiling is in use"),
        }
    }

    /// Uses the value if it is not in use. Returns `None` if it is. Never waits.
    ///
    /// For handlers, which may have interrupted its user, and for tasks. Not before `start`. Where
    /// interrupts are masked and in handlers, the priority is not raised.
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
        // SAFETY: `busy` was clear and has been set with interrupts masked, so no other reference
        // exists.
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

    /// Locks the value for the thread until the guard is dropped. Never waits. Guards must be
    /// dropped in reverse order.
    ///
    /// Not in a critical section. A guard that is forgotten keeps the value in use and the priority
    /// raised.
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

/// Access to the value of a [`Ceiling`] locked by [`Ceiling::lock`]. Dropping it unlocks. Cannot be
/// sent to another thread.
pub struct CeilingGuard<T: 'static> {
    ceiling: &'static Ceiling<T>,
    /// The thread's own level before the lock.
    base: Level,
    _not_send: PhantomData<*mut ()>,
}

impl<T> Deref for CeilingGuard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `lock` found `busy` clear and set it, so the guard's thread alone refers to the
        // value.
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
