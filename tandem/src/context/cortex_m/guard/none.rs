//! No stack guards, by the feature `unguarded`: for a program whose MPU is another's, and for
//! comparisons with kernels that have none. An overflow overwrites the memory below the stack, without a
//! report.

use crate::{arch::mask, records::KERNEL};

/// The bytes below a stack that belong to its guard.
pub(crate) const GUARD: usize = 0;

/// The word of a task's header that other modules use as the place of the guard: the low end of the
/// stack.
pub(super) const fn value(low: usize) -> u32 {
    low as u32
}

/// The lowest address that a task with this value may use.
pub(super) const fn end(value: u32) -> usize {
    value as usize
}

/// Nothing is to be set up.
pub(super) const fn set_up(_: usize) {}

/// Panics with the name of the task. `pc` is the address of the instruction, or 0.
pub(super) unsafe extern "C" fn report(_: u32, pc: u32) -> ! {
    const CFSR: *const u32 = 0xe000_ed28 as *const u32;
    // SAFETY: every ARMv7-M has this register; reading it has no effect.
    let status = unsafe { CFSR.read_volatile() };
    let m = mask();
    let name = KERNEL.current_or_idle(m).name(m);
    panic!("fault in task {name}: CFSR {status:#x}, pc {pc:#x}")
}
