//! The switch on Cortex-M, with FPU.

use core::{arch::asm, cell::Cell};

/// The alignment of stacks at every call, in bytes.
pub const ALIGNMENT: usize = 8;

/// Bytes at the end of a suspended thread's stack that hold its saved state: the resume address is
/// at the low end.
pub const LEFT: usize = 4;

/// Switches from one stack to another. The compiler saves only the registers that it still needs.
///
/// # Safety
/// The stack `to` must end with the state that this function has saved, or with the address of a
/// function that never returns.
#[inline(always)]
pub unsafe fn switch(from: &Cell<usize>, to: &Cell<usize>) {
    // SAFETY: as the caller says. All registers are given as lost, but for r6 and r7, which the
    // compiler keeps for itself.
    unsafe {
        asm!(
            "push {{r6, r7}}",
            "adr r2, 2f",
            "adds r2, #1", // Thumb code
            "push {{r2}}",
            "str sp, [r0]",
            "ldr sp, [r1]",
            "pop {{pc}}",
            ".p2align 2",
            "2:",
            "pop {{r6, r7}}",
            inout("r0") from.as_ptr() => _, inout("r1") to.as_ptr() => _, out("r2") _,
            out("r3") _, out("r4") _, out("r5") _, out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            out("r12") _, out("lr") _,
            out("d0") _, out("d1") _, out("d2") _, out("d3") _, out("d4") _, out("d5") _, out("d6") _, out("d7") _,
            out("d8") _, out("d9") _, out("d10") _, out("d11") _, out("d12") _, out("d13") _, out("d14") _,
            out("d15") _,
        );
    }
}
