//! A mutex with a priority ceiling, for threads, coroutines and handlers.
//!
//! A task that uses the value runs at the ceiling meanwhile, so no other user can run: no task ever
//! waits, deadlock is impossible, and the shared stack keeps its order (a coroutine's priority
//! rises and falls within one poll, while it is the top one). The closure cannot await, and a
//! thread that blocks in it is detected by the next user. A thread may also lock the value and keep
//! the guard, since its stack is its own.
//!
//! # Soundness
//! - The lock's owner excludes a second user whatever priorities the users have: it is tested and
//!   set with interrupts masked, and cleared when the closure has returned or the guard is dropped.
//!   The ceiling only makes sure that a correct program never finds it set.
//! - A lock is in its user's list of held locks until its use ends. The closure's lock is borrowed
//!   as long, and a guard's is static.

use crate::{
    arch::Mask,
    kernel::{self, KERNEL},
    mutex::{Lock, settle},
    shared::Masked,
    task::{Priority, Task},
    thread::Me,
    trace::{self, Event},
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

/// A value for tasks up to a given priority, its ceiling.
pub struct Ceiling<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one user at a time reach the value, which may move between tasks.
unsafe impl<T: Send> Sync for Ceiling<T> {}

impl<T> Ceiling<T> {
    /// A value with the ceiling `ceiling`: the priority of the most urgent task that uses it.
    #[must_use]
    pub const fn new(ceiling: Priority, value: T) -> Self {
        Self { lock: Lock::new(ceiling.level()), value: UnsafeCell::new(value) }
    }

    /// Uses the value, at the priority of the ceiling. Never waits.
    ///
    /// For tasks and, before `start`, the main program; in a handler,
    /// [`try_with`](Self::try_with) is the one to call. Raising and lowering the priority takes a
    /// step for each lock that the task holds. `body` must not block.
    ///
    /// # Panics
    /// If the value is in use: by an enclosing closure, by a thread that blocked in its closure, by
    /// a guard that was forgotten, or because the caller is more urgent than the ceiling or is a
    /// handler.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        match self.try_with(body) {
            Some(result) => result,
            None => in_use(),
        }
    }

    /// Uses the value if it is not in use. Returns `None` if it is. Never waits.
    ///
    /// For handlers, which may have interrupted its user, and for tasks. Where interrupts are
    /// masked, in handlers and before `start`, the priority is not raised.
    #[inline]
    pub fn try_with<R>(&self, body: impl FnOnce(&mut T) -> R) -> Option<R> {
        let (mask, m) = Mask::set();
        if !self.lock.is_free(m) {
            mask.restore();
            return None;
        }
        let me = KERNEL.started(m).filter(|_| mask.allows_switch());
        match me {
            Some(me) => raise(m, me, &self.lock),
            None => self.lock.lend(m),
        }
        mask.restore();
        // SAFETY: the lock was free and has been taken with interrupts masked, so no other
        // reference exists.
        let result = body(unsafe { &mut *self.value.get() });
        let (mask, m) = Mask::set();
        match me {
            Some(me) => lower(m, mask, me, &self.lock),
            None => self.lock.free(m),
        }
        mask.restore();
        Some(result)
    }

    /// Locks the value for the thread until the guard is dropped. Never waits. Guards may be
    /// dropped in any order.
    ///
    /// A guard that is forgotten keeps the value in use for ever, and the priority raised until the
    /// thread ends.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[inline]
    #[track_caller]
    pub fn lock(&'static self, _: &Me) -> CeilingGuard<T> {
        let (mask, m) = Mask::set();
        if !self.lock.is_free(m) {
            in_use();
        }
        raise(m, KERNEL.current(m), &self.lock);
        mask.restore();
        CeilingGuard { ceiling: self, _not_send: PhantomData }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn in_use() -> ! {
    panic!("task {}: a value with a ceiling is in use", kernel::current().name())
}

/// Begins a use, in the running task.
fn raise(m: Masked, me: Task, lock: &Lock) {
    lock.give_to(m, me);
    if lock.ceiling() < me.level.get(m) {
        settle(m, me);
    }
}

/// Ends a use, in the running task.
fn lower(m: Masked, mask: Mask, me: Task, lock: &Lock) {
    lock.unlink(m, me);
    lock.free(m);
    trace::emit(Event::Unlock, me);
    if settle(m, me) {
        kernel::reschedule(m, mask);
    }
}

/// Access to the value of a [`Ceiling`] locked by [`Ceiling::lock`]. Dropping it unlocks. Cannot be
/// sent to another thread.
pub struct CeilingGuard<T: 'static> {
    ceiling: &'static Ceiling<T>,
    _not_send: PhantomData<*mut ()>,
}

impl<T> Deref for CeilingGuard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `lock` found the lock free and took it, so the guard's thread alone refers to the
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
        lower(m, mask, KERNEL.current(m), &self.ceiling.lock);
        mask.restore();
    }
}
