//! Lines of interrupts: each rise gives a semaphore, by which a process waits for it.
//!
//! The program that starts the first process decides which interrupts have lines: it calls [`rise`]
//! in their handlers. A process of the first family binds a line to a semaphore; a process of its
//! that takes the semaphore is the driver, and its priority says before whom it runs. A rise of a
//! line that nobody has bound is dropped; of rises that nobody has taken yet, none is lost.

use super::{abi::FIRST, object, records::Kind};
use crate::{
    arch::Mask,
    kernel,
    shared::{Masked, Shared},
};

/// The number of lines.
const LINES: usize = 8;

/// No handle.
const UNBOUND: usize = usize::MAX;

/// The handles of the semaphores.
static BOUND: [Shared<usize>; LINES] = [const { Shared::new(UNBOUND) }; LINES];

/// Binds a line to a semaphore of the first family, in place of an earlier one. Returns whether
/// there is such a line.
pub(super) fn bind(m: Masked, line: usize, handle: usize) -> bool {
    BOUND.get(line).map(|bound| bound.set(m, handle)).is_some()
}

/// Gives the semaphore that is bound to a line. For handlers of interrupts, and for threads; the
/// process that it wakes runs at the handler's end. Constant time.
///
/// # Panics
/// If there are fewer lines.
pub fn rise(line: usize) {
    let bound = &BOUND[line];
    let (mask, m) = Mask::set();
    let object = object::find(m, FIRST, bound.get(m), Kind::Semaphore);
    if let Some(next) = object.and_then(|object| object.give(m)) {
        kernel::preempt(m, mask, next);
    }
    mask.restore();
}
