//! The switch on Cortex-M, with FPU.

use core::{arch::asm, cell::Cell};

/// Of stacks, at every call.
pub const ALIGNMENT: usize = 8;

/// What a thread that does not run leaves on its stack, in bytes: the address to go on at, at the low end.
pub const LEFT: usize = 4;

/// Hands the processor from one stack to another. The compiler saves what it still needs, and no more.
///
/// # Safety
/// On top of the stack `to` lies what this function has left there, or the address of a function that never returns.
#[inline(always)]
pub unsafe fn switch(from: &Cell<usize>, to: &Cell<usize>) {
    // SAFETY: as the caller says. All registers are given as lost, but for r6 and r7, which the compiler keeps for
    // itself.
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
