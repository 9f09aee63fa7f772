//! The stack limits of ARMv6-M, which has neither a stack limit register nor, on most chips, an
//! MPU: the switch compares the stack pointer of the task that it suspends with the end of its
//! stack, and ends the program if it is below.
//!
//! So an overflow is found at the next switch, after it may have changed memory below the stack. A
//! call that went too deep and has returned by then is not found. Nothing limits the handlers'
//! stack.
//!
//! # Soundness
//! This module only reads.

use crate::{arch::mask, records::KERNEL};

/// The bytes of a stack below its end: for the frame that the kernel stores below a context.
pub(crate) const GUARD: usize = 32;

/// The end of the stack beginning at `low`.
pub(super) const fn value(low: usize) -> u32 {
    (low + GUARD) as u32
}

/// The lowest address that a task with this value may use.
pub(super) const fn end(value: u32) -> usize {
    value as usize
}

pub(super) fn set_up(_: usize) {}

/// The handler of hard faults, the only ones that ARMv6-M has.
///
/// Calls `report` at the top of the main stack and discards its content, since nothing returns to
/// it. A Cortex-M0 has no VTOR; its address reads as 0, where the vectors are.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn HardFault() {
    core::arch::naked_asm!(
        "mov r0, lr",
        "lsrs r0, r0, #3", // bit 2, the stack of the frame, is the carry
        "mrs r0, psp",
        "bcs 2f",
        "mov r0, sp",
        "2: ldr r0, [r0, #24]", // the frame's pc
        "ldr r1, =0xe000ed08", // VTOR
        "ldr r1, [r1]",
        "ldr r1, [r1]", // the initial main stack pointer
        "mov sp, r1",
        "bl {report}",
        report = sym report,
    )
}

/// Panics with the name of the task. `pc` is the address of the instruction.
unsafe extern "C" fn report(pc: u32) -> ! {
    let m = mask();
    panic!("fault in task {}: pc {pc:#x}", KERNEL.current_or_idle(m).name(m))
}

/// Called by the switch, on the main stack, when a task has left its stack.
pub(super) unsafe extern "C" fn no_room() -> ! {
    let m = mask();
    panic!("stack overflow in task {}", KERNEL.current_or_idle(m).name(m))
}
