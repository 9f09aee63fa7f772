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
    arch::{self, Mask},
    info::current,
    kernel,
    me::Me,
    records::{IDLE_LEVEL, KERNEL, Level, Lock, TIMERS, Task, Timer, Waiter},
    shared::Masked,
    time::TimedOut,
    trace::{self, Event},
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    mem::MaybeUninit,
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
        let owns =
            arch::masked(|m| self.lock.owner.get(m).is_some_and(|it| it.is(KERNEL.current(m))));
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
    /// The level to which the owner is raised in any case.
    pub(crate) fn ceiling(&self) -> Level {
        self.ceiling
    }

    #[inline(always)]
    pub(crate) fn give_to(&self, m: Masked, task: Task) {
        self.owner.set(m, Some(task));
        self.next.set(m, task.held.get(m));
        task.held.set(m, Some(NonNull::from(self)));
        trace::emit(Event::Lock, task);
    }

    /// Blocks the thread until `owner`, another thread, hands the lock to it.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn wait_for(&self, m: Masked, mask: Mask, owner: Task) {
        let me = KERNEL.current(m);
        assert_may_wait(mask, me, owner, "Mutex::lock");
        let name = me.name(m);
        let has_ended = owner.is(KERNEL.nobody());
        assert!(!has_ended, "task {name}: locks a mutex whose owner has ended");
        let mut place = MaybeUninit::uninit();
        let (waiter, _) = self.enter(m, me, &mut place);
        if waiter.is_waiting(m) {
            kernel::block(m, me);
        }
    }

    /// Blocks the thread until the lock is handed to it. Returns `false` if `due` came first.
    /// Interrupts were on before they were masked.
    fn wait_until(&self, m: Masked, me: Task, due: u64) -> bool {
        let mut place = MaybeUninit::uninit();
        let mut timer = MaybeUninit::uninit();
        let timer = Timer::in_place(&mut timer, me);
        let (waiter, mask) = self.enter(m, me, &mut place);
        let m = TIMERS.set(m, mask, timer, due);
        while waiter.is_waiting(m) && timer.is_set(m) {
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

    /// Enters the running thread into the queue, and lets the owner, and those for which that one
    /// waits, inherit its priority. Interrupts are on meanwhile, and masked again on return: the
    /// lock may have been handed over by then.
    fn enter<'a>(
        &self,
        m: Masked,
        me: Task,
        place: &'a mut MaybeUninit<Waiter>,
    ) -> (&'a Waiter, Mask) {
        let waiter = Waiter::in_place(place, me);
        self.waiters.insert(m, waiter);
        me.waiter.set(m, Some(NonNull::from(waiter)));
        me.waits_for.set(m, Some(NonNull::from(self)));
        // In a closure of a ceiling: the lock may come with other waiters, who raise its owner.
        me.floor.set(m, me.floor.get(m).outdated());
        arch::unmask(m);
        self.settle_owner();
        let (mask, _) = Mask::set();
        (waiter, mask)
    }

    #[inline(always)]
    fn unlock(&self, m: Masked, mask: Mask) {
        let me = KERNEL.current(m);
        if me.held.get(m) == Some(NonNull::from(self)) {
            me.held.set(m, self.next.get(m));
        } else {
            self.unlink(m, me);
        }
        trace::emit(Event::Unlock, me);
        match self.waiters.first(m) {
            None => self.owner.set(m, None),
            // SAFETY: interrupts are masked, `first` is in the queue, and `me` is the running task.
            Some(first) => unsafe { arch::pass_on(self, me, NonNull::from(first), mask) },
        }
    }

    /// Removes the lock from its owner's list. A step for each lock taken later and still held.
    pub(crate) fn unlink(&self, m: Masked, owner: Task) {
        let this = Some(NonNull::from(self));
        let mut link = &owner.held;
        while link.get(m) != this {
            match link.get(m) {
                // SAFETY: locks in the list are static or borrowed by their use.
                Some(lock) => link = unsafe { &(*lock.as_ptr()).next },
                None => return,
            }
        }
        link.set(m, self.next.get(m));
    }

    /// Updates the priority of the owner, and of the owner for which that one waits in turn.
    /// Unmasks interrupts after every step.
    pub(crate) fn settle_owner(&self) {
        let mut lock = Some(NonNull::from(self));
        while let Some(this) = lock {
            let (mask, m) = Mask::set();
            // SAFETY: a mutex that a thread waits for is static.
            let owner = unsafe { this.as_ref() }.owner.get(m);
            lock = owner
                .filter(|owner| !owner.is(KERNEL.nobody()))
                .and_then(|owner| if settle(m, owner) { owner.waits_for.get(m) } else { None });
            mask.restore();
        }
    }
}

/// Hands `lock` to `first`, its most urgent waiter. The running thread, `me`, has removed the lock
/// from its list, and loses the priority inherited through it. A step for each lock that it holds.
///
/// # Safety
/// Interrupts are masked, and `mask` is their state before. They are masked again on return; other
/// tasks may have run in between, with interrupts on.
#[inline(never)]
pub(crate) unsafe extern "C" fn pass_on(lock: &Lock, me: Task, first: NonNull<Waiter>, mask: Mask) {
    // SAFETY: interrupts are masked, and the waiter is in the queue, by this function's contract.
    let (m, first) = unsafe { (Masked::assume(), first.as_ref()) };
    let Some(heir) = lock.waiters.serve(m, first) else { return }; // never a foreign waker
    heir.waits_for.set(m, None);
    lock.give_to(m, heir);
    // Most often, the heir takes the place of the owner, which has no other lock.
    if mask.allows_switch() && me.held.get(m).is_none() && KERNEL.ready.succeed(m, me, heir) {
        kernel::switch(m, me, heir);
    } else {
        settle(m, me); // first, while it is alone at an inherited level
        kernel::wake(m, heir);
        kernel::reschedule(m, mask);
    }
}

/// # Panics
/// If the thread would wait for itself, or in a critical section.
#[inline(always)]
#[track_caller]
fn assert_may_wait(mask: Mask, me: Task, owner: Task, call: &str) {
    if owner.is(me) {
        refuse_lock();
    }
    kernel::assert_may_wait(mask, call);
}

#[cold]
#[inline(never)]
#[track_caller]
fn refuse_lock() -> ! {
    panic!("task {}: a thread locks a mutex that it has locked", current().name())
}

/// Ends a task's hold of the locks whose guards it has forgotten. They stay locked for ever.
///
/// # Panics
/// If a thread waits for one of them.
#[cold]
#[inline(never)]
pub(crate) fn abandon(m: Masked, task: Task) {
    while let Some(lock) = task.held.get(m) {
        // SAFETY: locks in the list are static: those that are borrowed have been released.
        let lock = unsafe { lock.as_ref() };
        lock.unlink(m, task);
        lock.owner.set(m, Some(KERNEL.nobody()));
        if let Some(waiter) = lock.waiters.first(m) {
            let (name, waiting) = (task.name(m), waiter.task(m).name(m));
            panic!("task {name} has ended with a mutex locked, for which task {waiting} waits");
        }
    }
}

/// Updates a task's priority: its own, or the priority of a ceiling in use or of its most urgent
/// waiter, if higher. Returns whether it has changed. A step for each lock that the task holds.
///
/// Marks the rank of the ceiling whose closure the task runs as outdated in any case.
pub(crate) fn settle(m: Masked, task: Task) -> bool {
    let floor = task.floor.get(m);
    task.floor.set(m, floor.outdated());
    let mut level: Level = task.base(m).min(floor.level());
    let mut link = task.held.get(m);
    while let Some(lock) = link {
        // SAFETY: locks in the list are static or borrowed by their use.
        let lock = unsafe { lock.as_ref() };
        level = level.min(lock.ceiling);
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
    // A thread that waits for a mutex may be ready: pre-empted before it blocks, or out of time.
    let waits = task.waits_for.get(m).is_some() || !KERNEL.ready.contains(m, task);
    if let (true, Some(waiter)) = (waits, task.waiter.get(m)) {
        // SAFETY: a live task that is not ready waits, and the waiter of its wait is on its stack
        // until it runs again. So is the waiter of a wait for a mutex.
        unsafe { waiter.as_ref() }.move_to_level_of_task(m);
    }
    true
}
