//! The frame of a trap, and the registers that tell its cause.

use crate::{
    arch::privilege::{CAUSE, EPC, VALUE, WORD},
    records::KERNEL,
    shared::Masked,
};
use core::arch::asm;

/// The bytes of the frame that a trap pushes.
pub(super) const TRAP: usize = 16 * WORD;

/// The cause, the address and the value of an exception.
pub(super) struct Exception {
    pub(super) cause: usize,
    pub(super) at: usize,
    pub(super) value: usize,
}

impl Exception {
    /// The exception that led here.
    ///
    /// # Panics
    /// If it was an interrupt, one that cannot have a handler.
    pub(super) fn of_trap() -> Self {
        let (cause, at, value): (usize, usize, usize);
        // SAFETY: reading these registers has no effect.
        unsafe {
            asm!(
                "csrr {}, {CAUSE}", "csrr {}, {EPC}", "csrr {}, {VALUE}", out(reg) cause,
                out(reg) at, out(reg) value, CAUSE = const CAUSE, EPC = const EPC,
                VALUE = const VALUE, options(nomem, nostack)
            );
        }
        if cause.cast_signed() < 0 {
            // SAFETY: a trap masks interrupts.
            let m = unsafe { Masked::assume() };
            let (number, task) = (cause << 1 >> 1, KERNEL.current_or_idle(m));
            panic!("interrupt {number} has no handler: it interrupted task {}", task.name(m))
        }
        Self { cause, at, value }
    }
}
