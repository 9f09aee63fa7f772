//! The polls on the shared stack, and the record of the task that runs.
//!
//! # One stack for all coroutines
//! A poll never waits, so a coroutine needs a stack only while it is polled. All polls share one
//! stack. *Invariant:* from the bottom of the shared stack up, each poll is strictly more urgent
//! than the one below it, and the task of each is ready. *Hence* the top poll is always the first
//! to continue, and no poll that could run is buried. `docs/tandem.md` proves it; [`check_order`]
//! checks it in debug builds.

#[cfg(feature = "time-slice")]
use crate::arch::masked;
#[cfg(any(not(target_arch = "arm"), thumb1))]
use crate::arch::{self, Mask};
#[cfg(any(events, feature = "time-slice", thumb1, not(target_arch = "arm")))]
use crate::trace::{self, Event};
use crate::{
    records::{IDLE_LEVEL, KERNEL, Task},
    shared::Masked,
};

/// Records that `task` runs from here on: trace event and time slice. Called at every switch, by
/// the assembly of `context` too, with interrupts masked or from PendSV.
#[cfg(any(events, feature = "time-slice", thumb1, not(target_arch = "arm")))]
pub(crate) extern "C" fn on_run(task: Task) {
    trace::emit(Event::Run, task);
    #[cfg(feature = "time-slice")]
    if crate::slice::is_set() {
        masked(|m| crate::slice::begin(m, task));
    }
}

/// Ends the poll of `task` on the shared stack. Polls further coroutines as long as a coroutine
/// without a context is the most urgent. Returns the first suspended task that is the most urgent,
/// with interrupts masked; the caller resumes it.
///
/// `below` is the task of the suspended poll underneath. Cortex-M has the same loop in assembly.
///
/// # Safety
/// The caller runs on the shared stack, and the poll of `task` has just returned there.
#[cfg(any(not(target_arch = "arm"), thumb1))]
pub(crate) unsafe extern "C" fn after_poll(mut task: Task, below: Task) -> Task {
    loop {
        let (mask, m) = Mask::set();
        debug_assert!(
            mask.is_open() || task.bit.get(m) == 0,
            "task {}: a poll has returned with interrupts masked",
            task.name(m)
        );
        let next = put_away(m, task);
        if next.saved.exists(m) {
            KERNEL.top.set(m, Some(below));
            return next;
        }
        task = next;
        // SAFETY: interrupts are masked by `Mask::set` above.
        unsafe { check_order(task, below) };
        KERNEL.current.set(m, Some(task));
        KERNEL.top.set(m, Some(task));
        on_run(task);
        #[cfg(feature = "count")]
        task.switches.set(m, task.switches.get(m).wrapping_add(1));
        poll(m, task);
    }
}

/// Takes a coroutine out of the ready set after a poll, or moves it behind its equals if it is to
/// be polled again. Returns the most urgent task.
#[cfg(any(not(target_arch = "arm"), thumb1))]
#[inline(always)]
fn put_away(m: Masked, task: Task) -> Task {
    task.saved.clear(m);
    if task.again.get(m) {
        task.again.set(m, false);
        return KERNEL.ready.rotate(m, task);
    }
    trace::emit(Event::Blocked, task);
    KERNEL.ready.remove_head(m, task)
}

/// Polls a coroutine, with interrupts on.
#[cfg(any(not(target_arch = "arm"), thumb1))]
#[inline(always)]
fn poll(m: Masked, task: Task) {
    let poll = task.poll.get(m);
    debug_assert!(poll.is_some());
    // SAFETY: a ready task without a context is a coroutine, and `Coroutine::spawn` sets `poll`
    // before it makes the coroutine ready.
    let poll = unsafe { poll.unwrap_unchecked() };
    arch::unmask(m);
    // SAFETY: `spawn` stored the function for this task's storage. A task is polled by nothing but
    // the kernel, and has one poll at a time.
    unsafe { poll(task) }
}

/// The switch to a coroutine where there is no assembly: polls `task` on top of the running poll.
/// Returns the task to resume.
#[cfg(not(target_os = "none"))]
pub(crate) fn poll_above(m: Masked, task: Task) -> Task {
    let below = KERNEL.top.get(m).unwrap_or(&KERNEL.idle);
    // SAFETY: interrupts are masked, shown by the `Masked` argument.
    unsafe { check_order(task, below) };
    KERNEL.current.set(m, Some(task));
    KERNEL.top.set(m, Some(task));
    on_run(task);
    poll(m, task);
    // SAFETY: the poll of `task` on this stack has just returned.
    let next = unsafe { after_poll(task, below) };
    KERNEL.current.set(m, Some(next));
    on_run(next);
    next
}

/// Asserts the invariant of the shared stack for the next poll and the one below it, in debug
/// builds.
///
/// # Safety
/// Interrupts are masked, or the caller is PendSV. PendSV is interrupted only by handlers, which
/// add tasks to the ready set and remove none.
pub(crate) unsafe extern "C" fn check_order(task: Task, below: Task) {
    // SAFETY: no other access takes place, by this function's contract.
    let m = unsafe { Masked::assume() };
    let (upper, lower) = (task.level.get(m), below.level.get(m));
    debug_assert!(upper < lower, "polls on the shared stack rise in urgency");
    debug_assert!(
        lower == IDLE_LEVEL || KERNEL.ready.contains(m, below),
        "a poll waits only for more urgent tasks"
    );
}
