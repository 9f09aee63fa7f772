//! Time slices: threads of one priority take turns. With the feature `time-slice`.
//!
//! A slice begins when a thread starts to run beside a ready equal, or an equal comes to stand beside it, and ends
//! with its turn. So the alarm is set for a slice only while two tasks want the processor at one priority. Coroutines
//! take their turns, but a poll is never divided. Nor is the use of a [`Ceiling`](crate::Ceiling), for an equal might
//! use the same, or a priority that is only lent: the slice then begins anew.

use crate::{
    arch,
    kernel::KERNEL,
    ready::neighbour,
    shared::{Masked, Shared},
    task::{Task, masked},
    time,
};

const NEVER: u64 = u64::MAX;

struct Slices {
    length: Shared<u64>,
    end: Shared<u64>,
}

static SLICES: Slices = Slices { length: Shared::new(NEVER), end: Shared::new(NEVER) };

/// Sets how long a thread runs, in ticks of the board's clock, before a ready equal does. `u64::MAX`, as at first: until it waits.
pub fn set_time_slice(ticks: u64) {
    masked(|m| SLICES.length.set(m, ticks));
}

/// When the running slice ends.
pub(crate) fn end(m: Masked) -> u64 {
    SLICES.end.get(m)
}

fn is_shared(m: Masked, task: Task) -> bool {
    KERNEL.ready.contains(m, task)
        && task.poll.get(m).is_none()
        && !neighbour(m, &task.next).is(task)
}

/// `task` runs from here on. What is left of another's slice is forgotten.
pub(crate) fn begin(m: Masked, task: Task) {
    SLICES.end.set(m, NEVER);
    begin_if_shared(m, task);
}

/// Begins a slice of the running task, unless one has begun, if an equal is ready.
#[inline(never)]
pub(crate) fn begin_if_shared(m: Masked, task: Task) {
    if SLICES.length.get(m) < NEVER && SLICES.end.get(m) == NEVER && is_shared(m, task) {
        SLICES.end.set(m, time::now().saturating_add(SLICES.length.get(m)));
        time::arm_again(m);
    }
}

/// Called by the alarm's handler: gives the next of the ring its turn if the running thread's slice is over.
pub(crate) fn expire(now: u64) {
    masked(|m| {
        if now < SLICES.end.get(m) {
            return;
        }
        SLICES.end.set(m, NEVER);
        let me = KERNEL.current(m);
        if !is_shared(m, me) {
            return;
        }
        if me.ceilings.get(m) == 0 && me.level.get(m) == me.base(m) {
            KERNEL.ready.rotate(m, me);
            arch::pend(m, None);
        } else {
            begin_if_shared(m, me);
        }
    });
}
