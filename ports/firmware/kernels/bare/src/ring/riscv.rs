//! The switch on RISC-V.

use core::{arch::asm, cell::Cell};

/// The alignment of stacks at every call, in bytes.
pub const ALIGNMENT: usize = 16;

/// Bytes at the end of a suspended thread's stack that hold its saved state: the resume address is
/// at the low end.
pub const LEFT: usize = 16;

/// Switches from one stack to another. The compiler saves only the registers that it still needs.
///
/// # Safety
/// The stack `to` must end with the state that this function has saved, or with the address of a
/// function that never returns.
#[inline(always)]
pub unsafe fn switch(from: &Cell<usize>, to: &Cell<usize>) {
    // SAFETY: as the caller says. All registers are given as lost, but for s0 and s1, which the
    // compiler keeps for itself, and gp and tp, which never change.
    unsafe {
        asm!(
            "addi sp, sp, -16",
            "lla a2, 2f",
            "sw s1, 8(sp)",
            "sw s0, 4(sp)",
            "sw a2, 0(sp)",
            "sw sp, 0(a0)",
            "lw sp, 0(a1)",
            "lw a2, 0(sp)",
            "jr a2",
            "2:",
            "lw s1, 8(sp)",
            "lw s0, 4(sp)",
            "addi sp, sp, 16",
            inout("a0") from.as_ptr() => _, inout("a1") to.as_ptr() => _, out("a2") _,
            out("a3") _, out("a4") _, out("a5") _, out("a6") _, out("a7") _,
            out("t0") _, out("t1") _, out("t2") _, out("t3") _, out("t4") _, out("t5") _, out("t6") _,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _, out("s8") _, out("s9") _,
            out("s10") _, out("s11") _, out("ra") _,
        );
    }
}
