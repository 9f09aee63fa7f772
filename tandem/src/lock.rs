//! The lock of a mutex or of a ceiling, which does not depend on the type of its value.

use crate::{
    arch::{self, Mask},
    info::current,
    kernel,
    paths::tasks,
    records::{KERNEL, Level, Lock, TIMERS, Task, Timer, UNFILED, Waiter},
    shared::Masked,
    trace::{self, Event},
};
use core::{mem::MaybeUninit, ptr::NonNull};

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
    pub(crate) fn wait_for(&self, m: Masked, mask: Mask, owner: Task) {
        let me = KERNEL.current(m);
        assert_may_wait(mask, me, owner, "Mutex::lock");
        let name = me.name(m);
        let has_ended = owner.is(KERNEL.nobody());
        assert!(!has_ended, "task {name}: locks a mutex whose owner has ended");
        let mut place = MaybeUninit::uninit();
        let (waiter, _) = self.enter(m, me, &mut place);
        if waiter.is_waiting(m) {
            tasks::block(m, me);
        }
    }

    /// Blocks the thread until the lock is handed to it. Returns `false` if `due` came first.
    /// Interrupts were on before they were masked.
    pub(crate) fn wait_until(&self, m: Masked, me: Task, due: u64) -> bool {
        let mut place = MaybeUninit::uninit();
        let mut timer = MaybeUninit::uninit();
        let timer = Timer::in_place(&mut timer, me);
        let (waiter, mask) = self.enter(m, me, &mut place);
        let m = TIMERS.set(m, mask, timer, due);
        while waiter.is_waiting(m) && timer.is_set(m) {
            tasks::block(m, me);
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
pub(crate) fn assert_may_wait(mask: Mask, me: Task, owner: Task, call: &str) {
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
    let before = task.level.get(m);
    if level == before {
        return false;
    }
    let running = KERNEL.current(m).is(task);
    KERNEL.ready.relevel(m, task, level, running);
    trace::emit(Event::Priority, task);
    if level < before && !running && !KERNEL.ready.contains(m, task) {
        raise_timers(m, task);
    }
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

/// Has the timers of a task that waits filed at its level, to which it has been raised. Their slots are
/// not known, so each that is in use counts as theirs until it is filed.
#[cold]
#[inline(never)]
pub(crate) fn raise_timers(m: Masked, task: Task) {
    let rings = TIMERS.occupied.get(m);
    let earlier = TIMERS.raised_in.get(m) & rings;
    let raised = if earlier == 0 { 0 } else { TIMERS.raised.get(m) };
    TIMERS.raised.set(m, raised | task.bit.get(m));
    TIMERS.raised_in.set(m, earlier | rings);
    // The bit of `UNFILED` is the sign.
    if rings.cast_signed() < 0 {
        let unfiled = &TIMERS.levels[UNFILED];
        unfiled.set(m, unfiled.get(m) | task.bit.get(m));
        TIMERS.filer.get(m).into_iter().for_each(|filer| raise_filer(m, filer, task.level.get(m)));
    }
}

/// Raises the task that files timers, if it is less urgent than `level`. The caller makes the switch, if
/// the most urgent task is another one then. Callable in handlers, where that task may be the interrupted
/// one, and before [`start`](crate::start).
pub(crate) fn raise_filer(m: Masked, filer: Task, level: Level) {
    if level >= filer.base(m) {
        return;
    }
    // The own level: a ceiling's end, also in a handler, returns the task to that.
    filer.set_base(m, level);
    if KERNEL.started(m).is_none() {
        KERNEL.ready.relevel(m, filer, level, false);
    } else if settle(m, filer) {
        arch::search_again(m);
    }
}
