//! A mutex for threads, with priority inheritance.
//!
//! While a more urgent thread waits for a mutex, its owner runs at that thread's priority; and if the owner
//! itself waits for another mutex, so does that one's owner, and so on. Coroutines use a
//! [`Ceiling`](crate::Ceiling): a coroutine in mid-poll may lie below another's poll on the shared
//! stack, where a higher priority would not help it.

use crate::{
    arch::{self, Mask},
    kernel::{self, KERNEL},
    shared::{Masked, Shared},
    task::{Level, Task},
    thread::Me,
    time::{TIMERS, TimedOut, Timer},
    trace::{self, Event},
    wait::{WaitQueue, Waiter},
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    mem::{ManuallyDrop, MaybeUninit},
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

/// What of a mutex does not depend on the value it guards.
pub(crate) struct Lock {
    owner: Shared<Option<Task>>,
    waiters: WaitQueue,
    /// The next mutex that the same thread holds.
    next: Shared<Option<NonNull<Lock>>>,
}

/// A value that one thread at a time may use.
pub struct Mutex<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time reach the value, which may move between threads.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    #[must_use]
    pub const fn new(value: T) -> Self {
        let lock =
            Lock { owner: Shared::new(None), waiters: WaitQueue::new(), next: Shared::new(None) };
        Self { lock, value: UnsafeCell::new(value) }
    }

    /// Locks the mutex; blocks the thread until it is free. Locking it twice deadlocks, and panics in a debug build.
    #[inline]
    pub fn lock(&'static self, _: &Me) -> Guard<T> {
        let m = arch::mask();
        let me = KERNEL.current(m);
        if self.lock.owner.get(m).is_some() {
            self.lock.wait(m, me, None);
        } else {
            self.lock.give_to(m, me);
        }
        arch::unmask(m);
        Guard(self, PhantomData)
    }

    /// As [`lock`](Self::lock), until `due` at the latest.
    ///
    /// # Errors
    /// When `due` came first.
    pub fn lock_until(&'static self, _: &Me, due: u64) -> Result<Guard<T>, TimedOut> {
        let m = arch::mask();
        let me = KERNEL.current(m);
        let locked = if self.lock.owner.get(m).is_some() {
            self.lock.wait(m, me, Some(due))
        } else {
            self.lock.give_to(m, me);
            true
        };
        arch::unmask(m);
        if locked { Ok(Guard(self, PhantomData)) } else { Err(TimedOut) }
    }

    /// Locks the mutex if it is free.
    pub fn try_lock(&'static self, _: &Me) -> Option<Guard<T>> {
        let m = arch::mask();
        let free = self.lock.owner.get(m).is_none();
        if free {
            self.lock.give_to(m, KERNEL.current(m));
        }
        arch::unmask(m);
        // Made only if it is free: dropping a guard unlocks.
        free.then(|| Guard(self, PhantomData))
    }
}

/// The locked value. Dropping it unlocks the mutex. It stays with its thread.
pub struct Guard<T: 'static>(&'static Mutex<T>, PhantomData<*mut ()>);

impl<T> Deref for Guard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the thread that has the guard owns the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the thread that has the guard owns the lock, and borrows the guard mutably.
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
    fn give_to(&self, m: Masked, task: Task) {
        self.owner.set(m, Some(task));
        self.next.set(m, task.held.get(m));
        task.held.set(m, Some(NonNull::from(self)));
        trace::emit(Event::Lock, task);
    }

    /// Waits to be given the lock; `false` when `due` came first.
    fn wait(&self, m: Masked, me: Task, due: Option<u64>) -> bool {
        debug_assert!(
            !self.owner.get(m).is_some_and(|owner| owner.is(me)),
            "a thread locks its mutex twice"
        );
        let mut place = MaybeUninit::uninit();
        let waiter = Waiter::in_place(&mut place, me);
        let timer = ManuallyDrop::new(Timer::new(me));
        self.waiters.insert(m, waiter);
        me.waiter.set(m, Some(NonNull::from(waiter)));
        me.waits_for.set(m, Some(NonNull::from(self)));
        arch::unmask(m);
        self.settle_owner();
        let (mask, mut m) = Mask::set();
        if let Some(due) = due {
            m = TIMERS.set(m, mask, &timer, due);
        }
        // While interrupts were let in, an inherited priority may have come.
        waiter.move_to_level_of_task(m);
        while waiter.is_waiting(m) && (due.is_none() || timer.is_set(m)) {
            kernel::block(m, me);
        }
        timer.cancel(m);
        waiter.leave(m);
        me.waits_for.set(m, None);
        let served = waiter.is_served(m);
        if !served {
            arch::unmask(m);
            self.settle_owner();
            arch::mask();
        }
        served
    }

    fn unlock(&self, m: Masked, mask: Mask) {
        let me = KERNEL.current(m);
        self.forget(m, me);
        trace::emit(Event::Unlock, me);
        let heir = self.waiters.pop(m).map(Waiter::task);
        self.owner.set(m, None);
        if let Some(heir) = heir {
            self.give_to(m, heir);
            kernel::wake(m, heir);
            settle(m, me);
            kernel::reschedule(m, mask);
        }
    }

    /// Takes the lock off its owner's list: as many steps as the owner holds mutexes that it locked later.
    fn forget(&self, m: Masked, owner: Task) {
        let this = Some(NonNull::from(self));
        let mut link = &owner.held;
        while link.get(m) != this {
            match link.get(m) {
                // SAFETY: held mutexes are static.
                Some(lock) => link = unsafe { &(*lock.as_ptr()).next },
                None => return,
            }
        }
        link.set(m, self.next.get(m));
    }

    /// Gives the owner, and whoever it waits for in turn, the priority that is due. Interrupts come in after every step.
    fn settle_owner(&self) {
        let mut lock = Some(NonNull::from(self));
        while let Some(this) = lock {
            let (mask, m) = Mask::set();
            // SAFETY: mutexes that are waited for are static.
            let owner = unsafe { this.as_ref() }.owner.get(m);
            lock = owner
                .and_then(|owner| if settle(m, owner) { owner.waits_for.get(m) } else { None });
            mask.restore();
        }
    }
}

/// Gives a task the priority that is due to it: its own, or that of the most urgent that waits for it.
/// `true` when it has changed. As many steps as it holds mutexes.
pub(crate) fn settle(m: Masked, task: Task) -> bool {
    let mut level: Level = task.base(m);
    let mut link = task.held.get(m);
    while let Some(lock) = link {
        // SAFETY: held mutexes are static.
        let lock = unsafe { lock.as_ref() };
        level = lock.waiters.top_level(m).map_or(level, |top| top.min(level));
        link = lock.next.get(m);
    }
    if level == task.level.get(m) {
        return false;
    }
    let running = KERNEL.current(m).is(task);
    KERNEL.ready.relevel(m, task, level, running);
    trace::emit(Event::Priority, task);
    #[cfg(feature = "time-slice")]
    crate::slice::begin_if_shared(m, KERNEL.current(m));
    if let (false, Some(waiter)) = (KERNEL.ready.contains(m, task), task.waiter.get(m)) {
        // SAFETY: a task that is not ready waits, and what it waits in stands on its stack until it runs.
        unsafe { waiter.as_ref() }.move_to_level_of_task(m);
    }
    true
}
