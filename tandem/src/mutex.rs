//! A mutex for threads, with priority inheritance.
//!
//! While a more urgent thread waits for a mutex, the owner runs at that thread's priority. If the
//! owner itself waits for another mutex, the owner of that one inherits the priority too, and so
//! on. Coroutines use a [`Ceiling`](crate::Ceiling): a coroutine whose poll is suspended may be
//! buried under another's on the shared stack, where a higher priority would not help it.
//!
//! # Soundness
//! - The value is reached only through a [`Guard`], which exists once per locked mutex and stays
//!   with the owner's thread.
//! - A task's list of held locks contains only locked ones, since the end of a use removes its own.
//!   A mutex that can be locked is static, and a [`Ceiling`](crate::Ceiling) is borrowed as long as
//!   it is in use, so links stay valid.
//! - A guard may be forgotten. When its thread ends, the lock's owner becomes the idle task, which
//!   never ends, waits or unlocks. So an owner is a live task, or the idle task.
//! - `waiter` in the header of a live task that is not ready is `None`, or the waiter of its
//!   current wait: each blocking call sets it before it blocks.

use crate::{
    arch::Mask,
    lock::{self, assert_may_wait},
    me::Me,
    paths::locks,
    records::{IDLE_LEVEL, KERNEL, Lock, Task},
    shared::Masked,
    time::TimedOut,
    trace::{self, Event},
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

/// A value that one thread at a time may use, with priority inheritance.
pub struct Mutex<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time reach the value, and `T: Send` allows it to be used by
// different threads.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// An unlocked mutex with the given value.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self { lock: Lock::new(IDLE_LEVEL), value: UnsafeCell::new(value) }
    }

    /// Locks the mutex; blocks the thread while another owns it.
    ///
    /// Constant time if the mutex is free. If it must wait: 32 steps with interrupts masked, and
    /// one step for each mutex in the chain of owners, with interrupts on between two steps.
    ///
    /// # Panics
    /// If the thread owns the mutex already; if it must wait in a critical section; or if the owner
    /// has ended without dropping its guard.
    #[inline]
    #[track_caller]
    pub fn lock(&'static self, _: &Me) -> Guard<T> {
        let (mask, m) = Mask::set();
        match self.lock.owner.get(m) {
            None => self.lock.give_to(m, KERNEL.current(m)),
            Some(owner) => self.lock.wait_for(m, mask, owner),
        }
        mask.restore();
        Guard(self, PhantomData)
    }

    /// Locks the mutex; blocks the thread until `due` at the latest, in ticks of the board's clock.
    ///
    /// # Errors
    /// If another thread owned it until `due`.
    ///
    /// # Panics
    /// If the thread owns the mutex already, or if it must wait in a critical section.
    #[track_caller]
    pub fn lock_until(&'static self, _: &Me, due: u64) -> Result<Guard<T>, TimedOut> {
        let (mask, m) = Mask::set();
        let me = KERNEL.current(m);
        let locked = if let Some(owner) = self.lock.owner.get(m) {
            assert_may_wait(mask, me, owner, "Mutex::lock_until");
            self.lock.wait_until(m, me, due)
        } else {
            self.lock.give_to(m, me);
            true
        };
        mask.restore();
        if locked { Ok(Guard(self, PhantomData)) } else { Err(TimedOut) }
    }

    /// Locks the mutex if it is free. Never waits, constant time.
    pub fn try_lock(&'static self, _: &Me) -> Option<Guard<T>> {
        let (mask, m) = Mask::set();
        let free = self.lock.owner.get(m).is_none();
        if free {
            self.lock.give_to(m, KERNEL.current(m));
        }
        mask.restore();
        // `then`, not `then_some`: a guard made in vain would unlock the mutex when dropped.
        free.then(|| Guard(self, PhantomData))
    }

    /// Unlocks a mutex whose guard has been forgotten, as a binding to another language does.
    ///
    /// # Panics
    /// If the thread does not own the mutex.
    ///
    /// # Safety
    /// The guard, and every reference taken from it, is used no more.
    #[cfg(feature = "raw")]
    #[track_caller]
    pub unsafe fn force_unlock(&'static self, me: &Me) {
        let (mask, m) = Mask::set();
        if !self.lock.owner.get(m).is_some_and(|owner| owner.is(KERNEL.current(m))) {
            panic!("task {}: unlocks a mutex that it has not locked", me.info().name());
        }
        self.lock.unlock(m, mask);
        mask.restore();
    }

    /// The guard of a mutex whose guard has been forgotten, as a binding to another language does.
    ///
    /// # Panics
    /// If the thread does not own the mutex.
    ///
    /// # Safety
    /// There is no other guard, and every reference taken from the forgotten one is used no more.
    #[cfg(feature = "raw")]
    #[track_caller]
    pub unsafe fn force_guard(&'static self, me: &Me) -> Guard<T> {
        let owns = crate::arch::masked(|m| {
            self.lock.owner.get(m).is_some_and(|it| it.is(KERNEL.current(m)))
        });
        assert!(owns, "task {}: unlocks a mutex that it has not locked", me.info().name());
        Guard(self, PhantomData)
    }
}

/// Access to the value of a locked [`Mutex`]. Dropping it unlocks the mutex and wakes the most
/// urgent waiter. Cannot be sent to another thread.
///
/// If a guard is forgotten, its mutex stays locked for ever.
pub struct Guard<T: 'static>(&'static Mutex<T>, PhantomData<*mut ()>);

impl<T> Guard<T> {
    /// Unlocks the mutex and returns it. Interrupts are masked, and `mask` is their state before.
    pub(crate) fn release(self, m: Masked, mask: Mask) -> &'static Mutex<T> {
        let mutex = self.0;
        core::mem::forget(self);
        mutex.lock.unlock(m, mask);
        mutex
    }
}

impl<T> Deref for Guard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread owns the lock, and has no other guard of it.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's thread owns the lock, and the guard is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<T> {
    #[inline]
    fn drop(&mut self) {
        let (mask, m) = Mask::set();
        self.0.lock.unlock(m, mask);
        mask.restore();
    }
}

impl Lock {
    #[inline(always)]
    fn unlock(&self, m: Masked, mask: Mask) {
        let me = KERNEL.current(m);
        let (next, first) = (self.next.get(m), self.waiters.first(m));
        if me.held.get(m) != Some(NonNull::from(self)) {
            return self.unlock_earlier(m, mask, me);
        }
        me.held.set(m, next);
        trace::emit(Event::Unlock, me);
        match first.map(NonNull::from) {
            None => self.owner.set(m, None),
            // SAFETY: interrupts are masked, `first` is in the queue, and `me` is the running task.
            Some(first) => unsafe {
                if mask.is_open_and_none(next) {
                    locks::pass_on(self, me, first, mask);
                } else {
                    lock::pass_on(self, me, first, mask);
                }
            },
        }
    }

    /// Unlocks a lock that is not the last that its owner has locked.
    #[cold]
    #[inline(never)]
    fn unlock_earlier(&self, m: Masked, mask: Mask, me: Task) {
        self.unlink(m, me);
        trace::emit(Event::Unlock, me);
        match self.waiters.first(m) {
            None => self.owner.set(m, None),
            // SAFETY: as in `unlock`.
            Some(first) => unsafe { lock::pass_on(self, me, NonNull::from(first), mask) },
        }
    }
}
