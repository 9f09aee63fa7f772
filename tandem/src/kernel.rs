//! The kernel's state, and the operations that change the running task.
//!
//! # Soundness
//! - `current` is `None` only before [`start`]. [`Kernel::current`] is called only afterwards: with
//!   a `Me`, in a poll, or for a task that waits or has been taken from a timer, none of which
//!   exists earlier. All other code asks [`Kernel::started`] first.
//! - A ready task is suspended (`saved` exists), running, or a coroutine between two polls (`poll`
//!   is set). So a switch to any ready task is valid. `spawn` and the switch keep this.
//! - Interrupts are masked wherever a [`Masked`] is in scope, except while another context runs.

use crate::{
    arch::{self, Mask},
    context::{self, LEAST_STACK},
    info::current,
    records::{KERNEL, Kernel, Life, Task},
    shared::{Masked, Shared},
    trace::{self, Event},
};

impl Kernel {
    #[inline(always)]
    pub(crate) fn current(&'static self, m: Masked) -> Task {
        debug_assert!(self.current.get(m).is_some(), "the kernel has not been started");
        // SAFETY: `start` sets it before any task runs, and nothing clears it. Callers run after
        // `start`: see the head of this file.
        unsafe { self.current.get(m).unwrap_unchecked() }
    }

    /// The running task. `None` before the kernel has been started.
    #[inline(always)]
    pub(crate) fn started(&'static self, m: Masked) -> Option<Task> {
        self.current.get(m)
    }

    /// Forgets that the kernel has been started.
    #[cfg(test)]
    pub(crate) fn stop(&'static self, m: Masked) {
        self.current.set(m, None);
    }

    /// A task that never holds a mutex, waits or ends.
    pub(crate) fn nobody(&'static self) -> Task {
        &self.idle
    }

    /// The running task. Before the kernel has been started, the idle task.
    pub(crate) fn current_or_idle(&'static self, m: Masked) -> Task {
        self.current.get(m).unwrap_or(&self.idle)
    }

    pub(crate) fn runs(&'static self, m: Masked, task: Task) -> bool {
        self.current.get(m).is_some_and(|current| current.is(task))
    }

    #[cfg(any(test, target_os = "none"))]
    pub(crate) fn is_idle(&'static self, m: Masked) -> bool {
        self.current(m).is(&self.idle)
    }

    /// Makes a task ready, as the function [`wake`] does, which has to load the address of this record.
    #[inline(always)]
    pub(crate) fn wake(&'static self, m: Masked, task: Task) -> bool {
        #[cfg(events)]
        if task.bit.get(m) != 0 && !self.ready.contains(m, task) {
            trace::emit(Event::Ready, task);
        }
        let urgent = self.ready.insert(m, task);
        #[cfg(feature = "time-slice")]
        if !urgent
            && crate::slice::is_set()
            && let Some(current) = self.current.get(m)
        {
            crate::slice::begin_if_shared(m, current);
        }
        urgent
    }

    /// Prepares a coroutine for its first poll: no context, and the guard of the shared stack.
    pub(crate) fn share_stack(&'static self, m: Masked, task: Task) {
        task.saved.share_stack_of(m, &self.idle.saved);
        task.saved.clear(m);
    }
}

/// The stack of `SIZE` bytes on which all coroutines are polled and the idle task sleeps.
///
/// `SIZE` must hold the sum of the deepest poll of each priority, plus the frame that an interrupt
/// pushes. A multiple of 8, at least [`LEAST_STACK`].
#[cfg_attr(not(any(feature = "guard-256", all(fpu, guard = "mpu"))), repr(C, align(32)))]
#[cfg_attr(all(not(feature = "guard-256"), fpu, guard = "mpu"), repr(C, align(128)))]
#[cfg_attr(feature = "guard-256", repr(C, align(256)))]
pub struct SharedStack<const SIZE: usize> {
    guard: core::cell::UnsafeCell<core::mem::MaybeUninit<[u8; context::GUARD]>>,
    room: core::cell::UnsafeCell<core::mem::MaybeUninit<[u8; SIZE]>>,
}

// SAFETY: the fields are private, and `start` alone takes their addresses, once, to use them as a
// stack.
unsafe impl<const SIZE: usize> Sync for SharedStack<SIZE> {}

impl<const SIZE: usize> SharedStack<SIZE> {
    /// An empty stack, for a `static`.
    ///
    /// # Panics
    /// If `SIZE` is not a multiple of 8 or is less than [`LEAST_STACK`]; in a constant, at compile time.
    #[must_use]
    pub const fn new() -> Self {
        assert!(
            SIZE.is_multiple_of(8) && SIZE >= LEAST_STACK,
            "a multiple of 8 bytes, at least `LEAST_STACK`"
        );
        Self {
            guard: core::cell::UnsafeCell::new(core::mem::MaybeUninit::uninit()),
            room: core::cell::UnsafeCell::new(core::mem::MaybeUninit::uninit()),
        }
    }
}

impl<const SIZE: usize> Default for SharedStack<SIZE> {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs once the stack of coroutines is known: prepares those that were spawned before `start`.
pub(crate) static EARLY: Shared<Option<fn(Masked)>> = Shared::new(None);

/// Starts the kernel. Runs `set_up` with interrupts masked, then the most urgent task that has been
/// spawned by it or earlier. The calling code becomes the idle task, which sleeps until an
/// interrupt. Unmasks interrupts.
///
/// To be called once, from the main program in thread mode, not from a handler. `set_up` spawns
/// tasks and enables the application's interrupts; nothing it wakes runs before it returns. From
/// then on, the stack of the main program serves interrupt handlers.
///
/// # Panics
/// If the kernel has been started before. On a Cortex-M also if a handler calls it, and in a build
/// with debug assertions if the program's `critical-section` leaves interrupts open, as one that
/// masks them in the NVIC does.
pub fn start<const SIZE: usize>(stack: &'static SharedStack<SIZE>, set_up: impl FnOnce()) -> ! {
    // A release build needs no implementation of `critical-section`.
    #[cfg(all(target_arch = "arm", debug_assertions))]
    arch::check_sections();
    // SAFETY: the stack is aligned by its type, and `start_on` uses it once.
    unsafe { start_on(stack.guard.get() as usize, stack.room.get() as usize + SIZE, set_up) }
}

/// Does the work of [`start`], with the guard and the shared stack in `low..high`.
///
/// # Panics
/// If the kernel has been started before.
///
/// # Safety
/// Nothing else uses that memory. It is aligned as a [`SharedStack`] at its low end, and to 8 at its
/// high end.
#[inline(always)]
pub(crate) unsafe fn start_on(low: usize, high: usize, set_up: impl FnOnce()) -> ! {
    let m = arch::mask();
    if let Some(task) = KERNEL.current.get(m) {
        panic!("task {}: the kernel runs already", task.name(m));
    }
    #[cfg(target_arch = "arm")]
    assert!(!arch::in_handler(), "start: called in a handler");
    KERNEL.ready.set_idle(m, &KERNEL.idle);
    KERNEL.current.set(m, Some(&KERNEL.idle));
    KERNEL.top.set(m, Some(&KERNEL.idle));
    context::set_up(m, &KERNEL.idle, low);
    if let Some(prepare) = EARLY.get(m) {
        prepare(m);
    }
    set_up();
    // SAFETY: the stack is unused and aligned, by this function's contract. Interrupts are masked
    // by `mask` above.
    unsafe { context::become_idle(m, &KERNEL.idle, low, high) }
}

/// Makes a task ready. Returns `true` if it is now the most urgent: then call [`preempt`].
#[inline(always)]
pub(crate) fn wake(m: Masked, task: Task) -> bool {
    KERNEL.wake(m, task)
}

/// Lets a task that has just become the most urgent run: at once, or at the end of the handler or
/// critical section.
#[inline(always)]
pub(crate) fn preempt(m: Masked, mask: Mask, task: Task) {
    if mask.allows_switch() {
        switch(m, KERNEL.current(m), task);
    } else {
        arch::pend(m, Some(task));
    }
}

/// The implementation of `paths::tasks::wake` in Rust.
///
/// # Safety
/// Interrupts are masked, and `mask` is their state before.
#[cfg(not(all(target_arch = "arm", direct, not(feature = "time-slice"))))]
pub(crate) unsafe extern "C" fn wake_here(task: Task, mask: Mask) {
    // SAFETY: interrupts are masked, by this function's contract.
    let m = unsafe { Masked::assume() };
    if wake(m, task) {
        preempt(m, mask, task);
    }
}

/// The implementation of `paths::tasks::wake_and_restore` on RISC-V.
/// # Safety
/// Interrupts are masked, and `mask` is their state before.
#[cfg(riscv)]
#[inline(never)]
pub(crate) unsafe extern "C" fn wake_here_and_restore(task: Task, mask: Mask) {
    // SAFETY: interrupts are masked, by this function's contract.
    let m = unsafe { Masked::assume() };
    if !wake(m, task) {
        mask.restore();
    } else if mask.allows_switch() {
        // SAFETY: interrupts are masked. The woken task was not running, so it is suspended, or a
        // coroutine between two polls.
        unsafe { context::switch_and_unmask(KERNEL.current(m), task) };
    } else {
        arch::pend(m, Some(task)); // interrupts were masked before: no switch here
    }
}

#[inline(always)]
pub(crate) fn switch(_: Masked, from: Task, to: Task) {
    // SAFETY: interrupts are masked, shown by the `Masked` argument. `to` is ready and not running,
    // so it is suspended, or a coroutine between two polls.
    unsafe { context::switch(from, to) };
}

pub(crate) fn share_stack_with_all(m: Masked) {
    KERNEL.ready.for_each(m, |task| {
        if task.poll.get(m).is_some() {
            KERNEL.share_stack(m, task);
        }
    });
}

/// Lets the next thread or coroutine of the running thread's priority run, if there is another that
/// is ready. No effect if interrupts are masked.
///
/// # Safety
/// The caller is a thread.
#[cfg(not(any(riscv, all(direct, not(feature = "time-slice")))))]
#[inline(always)]
pub(crate) unsafe fn give_way() {
    let (mask, m) = Mask::set();
    if !mask.allows_switch() {
        return mask.restore();
    }
    let me = KERNEL.current(m);
    let next = KERNEL.ready.rotate(m, me);
    if !next.is(me) {
        switch(m, me, next);
    }
    arch::unmask(m);
}

/// Ends the program if a thread would wait where interrupts were masked before the call: nothing
/// could wake it, or the critical section would be opened.
///
/// # Panics
/// Unless `mask`, the state before, has interrupts on. Names the task, `call`, and the caller.
#[inline(always)]
#[track_caller]
pub(crate) fn assert_may_wait(mask: Mask, call: &str) {
    if !mask.is_open() {
        refuse_wait(call);
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refuse_wait(call: &str) -> ! {
    panic!("task {}: {call} would wait in a critical section", current().name())
}

/// The implementation of `paths::tasks::block` in Rust.
///
/// # Safety
/// Interrupts are masked, and `me` is the running thread.
#[cfg(not(any(riscv, all(direct, not(feature = "time-slice")))))]
#[inline(always)]
pub(crate) unsafe fn block_here(me: Task) {
    // SAFETY: interrupts are masked, by this function's contract.
    let m = unsafe { Masked::assume() };
    let next = leave(m, me);
    switch(m, me, next);
}

/// Takes the running task out of the ready set. Returns the task that is now the most urgent.
#[inline(always)]
pub(crate) fn leave(m: Masked, me: Task) -> Task {
    trace::emit(Event::Blocked, me);
    KERNEL.ready.remove_head(m, me)
}

/// Called for each task that ends, once a task has waited for an end: so that a program without
/// such waits has no code of them.
pub(crate) static AT_END: Shared<Option<AtEnd>> = Shared::new(None);

pub(crate) type AtEnd = fn(Masked, Mask, Task) -> Masked;

/// Ends the life of `task`, which runs: removes it from the ready set and clears its bit, so that a
/// late waker has no effect. The end is reported before that: a foreign waker may call the kernel,
/// which finds the running task as it must be. Interrupts are masked before and after, and are
/// restored to `mask` between two steps of the report.
pub(crate) fn bury(mut m: Masked, mask: Mask, task: Task) -> Masked {
    if let Some(report) = AT_END.get(m) {
        task.life.set(m, Life::Ending);
        m = report(m, mask, task);
    }
    KERNEL.ready.remove(m, task);
    task.bit.set(m, 0);
    task.life.set(m, Life::Over);
    trace::emit(Event::Ended, task);
    m
}

/// Calls [`reschedule`] if the kernel has been started.
pub(crate) fn reschedule_if_started(m: Masked, mask: Mask) {
    if KERNEL.started(m).is_some() {
        reschedule(m, mask);
    }
}

/// Switches to the most urgent task if it is not the running one, as after a priority was lowered.
pub(crate) fn reschedule(m: Masked, mask: Mask) {
    let (me, next) = (KERNEL.current(m), KERNEL.ready.most_urgent(m));
    if !next.is(me) {
        preempt(m, mask, next);
    }
}

/// Ends a coroutine, from within its own poll, which returns at once. Leaves interrupts masked.
///
/// After a poll, the kernel reads `again`; if it is set, it makes `next` the head of the ring at
/// `level`. An ended task has left every ring, so its `next` and `level` are set to the most urgent
/// task and its level: the rotation then has no effect.
#[cold]
#[inline(never)]
pub(crate) fn end_coroutine(task: Task) {
    let (mask, m) = Mask::set();
    let m = bury(m, mask, task);
    let next = KERNEL.ready.most_urgent(m);
    task.next.set(m, Some(next));
    task.set_level(m, next.level.get(m));
    task.bit.set(m, 0);
    task.again.set(m, true);
}

/// Forgets all tasks.
#[cfg(test)]
pub(crate) fn reset(m: Masked) {
    KERNEL.ready.reset(m);
    KERNEL.ready.set_idle(m, &KERNEL.idle);
    KERNEL.current.set(m, Some(&KERNEL.idle));
    KERNEL.top.set(m, Some(&KERNEL.idle));
}

/// A switch to be made.
#[repr(C)]
pub(crate) struct Switch {
    pub(crate) from: Task,
    pub(crate) to: Task,
}

/// Takes the running thread, `me`, out of the ready set.
///
/// # Safety
/// The caller is that thread, with interrupts masked.
#[cfg(riscv)]
pub(crate) unsafe extern "C" fn begin_block(me: Task) -> Switch {
    // SAFETY: interrupts are masked, by this function's contract.
    let m = unsafe { Masked::assume() };
    Switch { from: me, to: leave(m, me) }
}
