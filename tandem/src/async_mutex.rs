//! A mutex that a coroutine may hold across an await.
//!
//! It has no priority inheritance. A coroutine's poll may be suspended on the shared stack below
//! another's, and raising the lower one would not bring it to the top (`docs/tandem.md`, "One stack
//! for all coroutines"); and between two polls, a coroutine waits for something that a higher
//! priority does not hasten. So an urgent task may wait as long as the owner takes until it
//! unlocks, less urgent work in between included. Use a [`Ceiling`](crate::Ceiling) where nothing
//! is awaited meanwhile, and give the owner a priority that suits the most urgent user where
//! something is.
//!
//! # Soundness
//! The value is reached only through an [`AsyncGuard`], which exists once per unit of a semaphore
//! of one unit.

use crate::{semaphore::Semaphore, shared::Shared, task::Task, task::masked, thread::Me};
use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
};

/// A value that one task at a time may use, for coroutines, across awaits, and threads.
///
/// The most urgent waiter is served first. There is no priority inheritance; the source's head says
/// why.
pub struct AsyncMutex<T> {
    free: Semaphore,
    /// The task that has locked the mutex, while it is locked.
    owner: Shared<Option<Task>>,
    value: UnsafeCell<T>,
}

// SAFETY: the semaphore lets one guard at a time exist, and `T: Send` allows the value to be used
// by different tasks.
unsafe impl<T: Send> Sync for AsyncMutex<T> {}

impl<T> AsyncMutex<T> {
    /// An unlocked mutex with the given value.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self { free: Semaphore::new(1), owner: Shared::new(None), value: UnsafeCell::new(value) }
    }

    /// Locks the mutex; the coroutine waits while another task has locked it. A future that is
    /// dropped leaves the mutex as it is.
    ///
    /// # Panics
    /// If the task has locked the mutex already, or as [`Semaphore::taken`](crate::Semaphore::taken).
    pub async fn lock(&self) -> AsyncGuard<'_, T> {
        self.assert_not_owner();
        self.free.taken().await;
        self.own()
    }

    /// Locks the mutex; blocks the thread while another task has locked it.
    ///
    /// # Panics
    /// If the thread has locked the mutex already, or if it must wait in a critical section.
    #[track_caller]
    pub fn lock_blocking(&self, me: &Me) -> AsyncGuard<'_, T> {
        self.assert_not_owner();
        self.free.take(me);
        self.own()
    }

    /// Locks the mutex if it is unlocked. Never waits. For tasks and handlers. Constant time.
    pub fn try_lock(&self) -> Option<AsyncGuard<'_, T>> {
        self.free.try_take().then(|| self.own())
    }

    #[track_caller]
    fn assert_not_owner(&self) {
        let me = crate::current();
        let owns = masked(|m| self.owner.get(m).is_some_and(|owner| owner.is(me.0)));
        assert!(!owns, "task {}: locks an AsyncMutex that it has locked", me.name());
    }

    fn own(&self) -> AsyncGuard<'_, T> {
        let me = crate::current().0;
        masked(|m| self.owner.set(m, Some(me)));
        AsyncGuard(self)
    }
}

/// Access to the value of a locked [`AsyncMutex`]. Dropping it unlocks the mutex.
pub struct AsyncGuard<'a, T>(&'a AsyncMutex<T>);

// SAFETY: the guard stands for the value, to which it gives shared access.
unsafe impl<T: Sync> Sync for AsyncGuard<'_, T> {}

impl<T> Deref for AsyncGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this is the only guard of the mutex.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for AsyncGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this is the only guard of the mutex, and is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for AsyncGuard<'_, T> {
    fn drop(&mut self) {
        masked(|m| self.0.owner.set(m, None));
        self.0.free.give();
    }
}
