//! A thread yields or blocks.

use crate::{
    arch::privilege::{INTERRUPTS_ON, STATUS, WORD, store},
    context::switch::CONTEXT,
    kernel::begin_block,
    records::{Header, Task},
};
use core::arch::{asm, naked_asm};

/// Lets the next of the running thread's ring run, as `kernel::give_way` on other processors. No
/// effect if interrupts are masked. All in assembly, so that the
/// compiler keeps no value of the kernel's in a register across the switch. Of `s2` to `s11` it
/// saves the ones that it uses: in a loop, once for all iterations. (`call` reaches any address,
/// also from code in RAM; `jal` would take a cycle less.)
///
/// # Safety
/// The caller is a thread.
#[inline(always)]
pub(crate) unsafe fn give_way() {
    // SAFETY: the caller is a thread. The routine preserves `s0`, `s1` and `sp`, and all others are
    // declared as changed. It skips the second instruction if interrupts were masked.
    unsafe {
        asm!(
            "call tandem_give_way",
            "csrsi {STATUS}, {ON}",
            STATUS = const STATUS,
        ON = const INTERRUPTS_ON,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _,
            out("s8") _, out("s9") _,
            out("s10") _, out("s11") _,
            clobber_abi("C"),
        );
    }
}

/// Blocks the running thread, `me`, until it is woken, as `kernel::block_here` on other processors.
/// Of `s2` to `s11`, the compiler saves the ones that it uses, as for [`give_way`].
///
/// # Safety
/// The caller is a thread, with interrupts masked. They are masked again on return; other tasks
/// have run in between.
#[inline(always)]
pub(crate) unsafe fn block(me: Task) {
    // SAFETY: as in `wait_in`.
    unsafe {
        asm!(
            "call {block_losing_upper}",
            block_losing_upper = sym block_losing_upper,
            in("a0") me as *const Header,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _,
            out("s8") _, out("s9") _,
            out("s10") _, out("s11") _,
            clobber_abi("C"),
        );
    }
}

/// The body of [`block`]. When resumed, the thread continues in the caller.
///
/// # Safety
/// As for [`block`]; changes `s2` to `s11`.
#[unsafe(naked)]
unsafe extern "C" fn block_losing_upper(me: Task) {
    naked_asm!(
        "addi sp, sp, -{CONTEXT}",
        store!("ra, {CONTEXT} - 3*{W}(sp)"), // where the context has it
        "jal {begin_block}", // returns from and to in a0 and a1
        "addi sp, sp, {CONTEXT}",
        "j tandem_suspend_to",
        begin_block = sym begin_block,
        CONTEXT = const CONTEXT,
        W = const WORD,
    )
}
