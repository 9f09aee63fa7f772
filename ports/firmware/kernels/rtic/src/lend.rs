//! Lends bodies to declared tasks: each task has a slot, and a free one takes the body.

use chronoscope_suite::Refusal;

use crate::{
    app::{SIZES, TASKS},
    slot::{self, FREE, LEVELS, Slot, release},
};

const fn starts() -> [usize; LEVELS + 1] {
    let mut starts = [0; LEVELS + 1];
    let mut level = 0;
    while level < LEVELS {
        starts[level + 1] = starts[level] + SIZES[level];
        level += 1;
    }
    starts
}

/// The index of each level's first slot, and the number of all slots.
const STARTS: [usize; LEVELS + 1] = starts();

static SLOTS: [Slot; STARTS[LEVELS]] = [const { Slot::new() }; STARTS[LEVELS]];

/// Frees all slots, and sets up the port's memory. Called once, before the first task.
pub fn start() {
    slot::start();
    critical_section::with(|token| {
        for (free, size) in FREE.iter().zip(SIZES) {
            free.borrow(token).set(u32::MAX >> (32 - size));
        }
    });
}

/// Starts a declared task of this level with this body.
///
/// # Errors
/// [`Refusal`] when all of the level run, or memory is full.
#[inline]
pub fn spawn<F>(level: usize, body: F, parent: Option<&'static Slot>) -> Result<(), Refusal>
where
    F: Future<Output = ()> + 'static,
{
    // The first that is free: a handler polls its tasks in this order.
    let bit = critical_section::with(|token| {
        let free = FREE[level].borrow(token);
        let bit = free.get() & free.get().wrapping_neg();
        free.set(free.get() ^ bit);
        bit
    });
    if bit == 0 {
        return Err(Refusal::full());
    }
    let place = bit.trailing_zeros() as usize;
    let slot = &SLOTS[STARTS[level] + place];
    slot.bit.set(bit);
    slot.parent.set(parent);
    // RTIC refuses a task that has given its slot back and not yet returned, which only a more
    // urgent one can meet.
    let started =
        slot.hold(body).and_then(|()| TASKS[level][place](slot).map_err(|_| Refusal::full()));
    if started.is_err() {
        release(level, bit);
    }
    started
}
