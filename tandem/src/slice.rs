//! Time slices: threads of one priority take turns. With the feature `time-slice`.
//!
//! A slice begins when a thread starts to run while an equal is ready, or when an equal becomes
//! ready beside it. It ends with the thread's turn. So the alarm is set for a slice only while two
//! tasks of one priority are ready. Coroutines take their turns, but a poll is never divided. A
//! slice that ends while its thread uses a [`Ceiling`](crate::Ceiling), which an equal might use,
//! or has an inherited priority, begins again.

use crate::{
    arch::{self, masked},
    clock::{_tandem_shortest, arm, now},
    info::current,
    ready::neighbour,
    records::{IDLE_LEVEL, KERNEL, Rank, Task},
    shared::{Masked, Shared},
};

const NEVER: u64 = u64::MAX;

struct Slices {
    length: Shared<u64>,
    end: Shared<u64>,
}

static SLICES: Slices = Slices { length: Shared::new(NEVER), end: Shared::new(NEVER) };

/// A slice has been set, by [`set_time_slice`]. Never `false` again.
static IS_SET: Shared<bool> = Shared::new(false);

/// Returns whether a slice has been set. May be called anywhere.
#[inline(always)]
pub(crate) fn is_set() -> bool {
    // SAFETY: a byte. Where a handler sets the first slice right afterwards, the running turn has no
    // limit, as one that began before.
    unsafe { IS_SET.peek() }
}

/// Sets the time that a thread runs before an equal that is ready does, in ticks of the board's
/// clock. Initially `u64::MAX`, no limit. The running slice keeps its end. May be called anywhere.
///
/// The end of a slice takes about 200 instructions on a Cortex-M4 and 230 on RV32, beside the
/// slice's length. So a slice of 2,500 instructions costs a tenth of the time, which is the least
/// useful length. A slice that is much shorter than its end would leave next to no time, or none, to
/// the threads that share it and to all that are less urgent.
///
/// # Panics
/// If `ticks` is less than [`Driver::SHORTEST`](crate::time::Driver::SHORTEST).
#[track_caller]
pub fn set_time_slice(ticks: u64) {
    let least = _tandem_shortest();
    assert!(
        ticks >= least,
        "task {}: a time slice has at least {least} ticks of the clock",
        current().name()
    );
    masked(|m| {
        SLICES.length.set(m, ticks);
        IS_SET.set(m, true);
    });
}

/// The time at which the running slice ends.
pub(crate) fn end(m: Masked) -> u64 {
    SLICES.end.get(m)
}

fn is_shared(m: Masked, task: Task) -> bool {
    KERNEL.ready.contains(m, task)
        && task.poll.get(m).is_none()
        && !neighbour(m, &task.next).is(task)
}

/// Begins the turn of `task`, which runs from here on. The rest of the previous slice is discarded.
pub(crate) fn begin(m: Masked, task: Task) {
    SLICES.end.set(m, NEVER);
    begin_if_shared(m, task);
}

/// Begins a slice of the running task, if none has begun and an equal is ready.
#[inline(never)]
pub(crate) fn begin_if_shared(m: Masked, task: Task) {
    if SLICES.length.get(m) < NEVER && SLICES.end.get(m) == NEVER && is_shared(m, task) {
        SLICES.end.set(m, now().saturating_add(SLICES.length.get(m)));
        arm(m, SLICES.end.get(m));
    }
}

/// Ends the running slice if its time has come, and gives the next task of the ring its turn.
/// Called by the alarm's handler.
pub(crate) fn expire(m: Masked, now: u64) {
    if now < SLICES.end.get(m) {
        return;
    }
    SLICES.end.set(m, NEVER);
    let me = KERNEL.current(m);
    if !is_shared(m, me) {
        return;
    }
    if !uses_ceiling(m, me) && me.level.get(m) == me.base(m) {
        KERNEL.ready.rotate(m, me);
        arch::pend(m, None);
    } else {
        begin_if_shared(m, me);
    }
}

/// Returns whether a task uses a ceiling. A step for each lock that it holds.
fn uses_ceiling(m: Masked, task: Task) -> bool {
    if task.floor.get(m) != Rank::NONE {
        return true;
    }
    let mut link = task.held.get(m);
    while let Some(lock) = link {
        // SAFETY: locks in the list are static or borrowed by their use.
        let lock = unsafe { lock.as_ref() };
        if lock.ceiling < IDLE_LEVEL {
            return true;
        }
        link = lock.next.get(m);
    }
    false
}
