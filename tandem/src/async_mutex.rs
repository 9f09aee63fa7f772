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

use crate::{
    arch::{Mask, masked},
    me::Me,
    records::{Info, KERNEL, Task},
    semaphore::Semaphore,
    shared::Shared,
    time::TimedOut,
};
use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
};

/// A value that one task at a time may use, for coroutines, across awaits, and threads.
///
/// The most urgent waiter is served first. There is no priority inheritance; the guide says
/// why.
pub struct AsyncMutex<T> {
    free: Semaphore,
    /// The task that has locked the mutex. `None` while it is unlocked, or locked by a handler.
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

    /// Locks the mutex; the coroutine waits while another task or a handler has locked it. A future
    /// that is dropped leaves the mutex as it is.
    ///
    /// # Panics
    /// If the task has locked the mutex already, or as [`Semaphore::taken`](crate::Semaphore::taken).
    pub async fn lock(&self) -> AsyncGuard<'_, T> {
        self.assert_not_owned_by(running_task());
        self.free.taken().await;
        self.own(running_task())
    }

    /// Locks the mutex; blocks the thread while another task or a handler has locked it.
    ///
    /// # Panics
    /// If the thread has locked the mutex already, or if it must wait in a critical section.
    #[track_caller]
    pub fn lock_blocking(&self, me: &Me) -> AsyncGuard<'_, T> {
        let task = Some(me.info().0);
        self.assert_not_owned_by(task);
        self.free.take(me);
        self.own(task)
    }

    /// Locks the mutex; blocks the thread until `due` at the latest, in ticks of the board's clock.
    ///
    /// # Errors
    /// If another task or a handler had locked it until `due`.
    ///
    /// # Panics
    /// As [`lock_blocking`](Self::lock_blocking).
    #[track_caller]
    pub fn lock_blocking_until(&self, me: &Me, due: u64) -> Result<AsyncGuard<'_, T>, TimedOut> {
        let task = Some(me.info().0);
        self.assert_not_owned_by(task);
        self.free.take_until(me, due)?;
        Ok(self.own(task))
    }

    /// Locks the mutex if it is unlocked. Never waits. For tasks and handlers. Constant time.
    ///
    /// Where interrupts are masked, as in a handler, the mutex is locked by no task: a task that
    /// locks it again waits, without a report.
    pub fn try_lock(&self) -> Option<AsyncGuard<'_, T>> {
        self.free.try_take().then(|| self.own(running_task()))
    }

    #[track_caller]
    fn assert_not_owned_by(&self, task: Option<Task>) {
        let Some(me) = task else { return };
        let owns = masked(|m| self.owner.get(m).is_some_and(|owner| owner.is(me)));
        assert!(!owns, "task {}: locks an AsyncMutex that it has locked", Info(me).name());
    }

    fn own(&self, task: Option<Task>) -> AsyncGuard<'_, T> {
        masked(|m| self.owner.set(m, task));
        AsyncGuard(self)
    }
}

/// The task that makes this call. `None` in a handler and before `start`. Also `None` where
/// interrupts are masked, since RISC-V does not distinguish a critical section from a handler.
fn running_task() -> Option<Task> {
    let (mask, m) = Mask::set();
    let task = KERNEL.started(m).filter(|_| mask.allows_switch());
    mask.restore();
    task
}

/// Access to the value of a locked [`AsyncMutex`]. Dropping it unlocks the mutex.
///
/// A guard may be moved to another task. The mutex still counts as locked by the task that has
/// locked it: if that one locks it again, the program ends with a report; if the task that has the
/// guard does, it waits for itself.
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
