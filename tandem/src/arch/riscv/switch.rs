//! The switch: one format for every suspended context, two ways into it, two ways out.
//!
//! A suspended context is thirteen words on the task's stack, `s0`-`s11` and the address to go on at, and in its
//! header the stack pointer. A task that gives the processor up gets there by a plain call. A pre-empted task gets there
//! because the epilogue of the trap pushes the same below the trap's own frame; when it is resumed, [`resume_preempted`]
//! restores that frame and returns from the trap.
//!
//! Interrupts are masked throughout; the context that is resumed lets them in.

use crate::{
    arch::offset::{CURRENT, POLL, SWITCHES, TOP},
    kernel::{KERNEL, after_poll, check_order, on_run},
    task::{Header, Task},
};
use core::arch::{asm, naked_asm};

/// The size of a suspended context.
pub(super) const FRAME: usize = 13 * size_of::<u32>();

/// `mstatus` of a task with interrupts masked: loads and stores are bound like user mode's, for the guard (MPRV, MPP = 0).
#[cfg(not(feature = "unguarded"))]
pub(super) const IN_TASK: u32 = 1 << 17;
#[cfg(feature = "unguarded")]
pub(super) const IN_TASK: u32 = 0;

/// Stores `s2` to `s11` in the context where `sp` points.
macro_rules! store_upper {
    () => {
        "sw s2, 8(sp)\nsw s3, 12(sp)\nsw s4, 16(sp)\nsw s5, 20(sp)
        sw s6, 24(sp)\nsw s7, 28(sp)\nsw s8, 32(sp)\nsw s9, 36(sp)\nsw s10, 40(sp)\nsw s11, 44(sp)"
    };
}
pub(super) use store_upper;

/// Counts a switch to the task in a1.
#[cfg(feature = "count")]
macro_rules! count_switch {
    () => {
        "lw a5, {switches}(a1)\naddi a5, a5, 1\nsw a5, {switches}(a1)"
    };
}
#[cfg(not(feature = "count"))]
macro_rules! count_switch {
    () => {
        "# {switches}"
    };
}

/// Says that the task of a1 runs from here on. Registers and stack are those of the task that ran before, suspended or gone,
/// which is the current one still: if this overflows its stack, it is named.
#[cfg(any(feature = "trace", feature = "time-slice"))]
macro_rules! call_on_run {
    () => {
        "andi sp, sp, -16\nmv s0, a1\nmv a0, a1\njal {on_run}\nmv a1, s0"
    };
}
#[cfg(not(any(feature = "trace", feature = "time-slice")))]
macro_rules! call_on_run {
    () => {
        "# {on_run}"
    };
}

/// Checks that the poll of s0 may lie above that of s1, in builds with the kernel's own checks.
#[cfg(debug_assertions)]
macro_rules! check_order {
    () => {
        "mv a0, s0\nmv a1, s1\njal {check_order}"
    };
}
#[cfg(not(debug_assertions))]
macro_rules! check_order {
    () => {
        "# {check_order}"
    };
}

/// Moves the guard to what a4 says.
#[cfg(not(any(feature = "unguarded", feature = "fence")))]
macro_rules! move_guard {
    () => {
        "csrw pmpaddr0, a4"
    };
}
#[cfg(all(feature = "fence", not(feature = "unguarded")))]
macro_rules! move_guard {
    () => {
        "csrw pmpaddr0, a4\nsfence.vma"
    };
}
#[cfg(feature = "unguarded")]
macro_rules! move_guard {
    () => {
        ""
    };
}

/// Suspends `from`, which is running, and resumes `to`. Returns when `from` is resumed.
///
/// # Safety
/// Interrupts are masked, this is no handler, and `to` has a suspended context or is a coroutine.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: Task, to: Task) {
    naked_asm!(
        ".option push",
        ".option rvc",
        "addi sp, sp, -{FRAME}",
        store_upper!(),
        ".global tandem_suspend", // what is not stored above does not matter
        "tandem_suspend:",
        "sw s0, 0(sp)",
        "sw s1, 4(sp)",
        "sw ra, 48(sp)",
        "sw sp, 0(a0)",
        ".global tandem_load", // a1: what to resume
        "tandem_load:",
        call_on_run!(),
        "lui a2, %hi({kernel} + {current})",
        "sw a1, %lo({kernel} + {current})(a2)",
        count_switch!(),
        "lw sp, 0(a1)", // 0 for a moment if there is no context: nothing can come between
        "lw a4, 4(a1)",
        "beqz sp, 2f",
        "lw ra, 48(sp)",
        "lw s0, 0(sp)",
        "lw s1, 4(sp)",
        "lw s2, 8(sp)",
        "lw s3, 12(sp)",
        "lw s4, 16(sp)",
        "lw s5, 20(sp)",
        "lw s6, 24(sp)",
        "lw s7, 28(sp)",
        "lw s8, 32(sp)",
        "lw s9, 36(sp)",
        "lw s10, 40(sp)",
        "lw s11, 44(sp)",
        "addi sp, sp, {FRAME}",
        move_guard!(),
        "ret",
        // A coroutine between two polls: start one on the shared stack, above the top suspended poll.
        "2:",
        "lui a2, %hi({kernel} + {top})",
        "lw s1, %lo({kernel} + {top})(a2)",
        "sw a1, %lo({kernel} + {top})(a2)",
        "lw sp, 0(s1)",
        move_guard!(),
        "andi sp, sp, -16",
        "mv s0, a1",
        check_order!(),
        "lw a5, {poll}(s0)",
        "mv a0, s0",
        "csrsi mstatus, {MIE}",
        "jalr a5",
        "mv a0, s0",
        "mv a1, s1",
        "jal {after_poll}",
        "mv a1, a0",
        "j tandem_load",
        ".option pop",
        kernel = sym KERNEL,
        after_poll = sym after_poll,
        check_order = sym check_order,
        on_run = sym on_run,
        poll = const POLL,
        current = const CURRENT,
        switches = const SWITCHES,
        top = const TOP,
        FRAME = const FRAME,
        MIE = const super::MIE,
    )
}

/// The same where the compiler is to save of `s2` to `s11` what it needs: in a function that keeps little in them, cheaper. But one that
/// switches only sometimes may pay when it does not.
///
/// # Safety
/// As for [`switch`].
#[inline(always)]
pub(crate) unsafe fn switch_inlined(from: Task, to: Task) {
    // SAFETY: by the caller's word. The label lies in `switch`, which returns with the room on the stack released.
    unsafe {
        asm!(
            "addi sp, sp, -{FRAME}",
            "call tandem_suspend",
            in("a0") from as *const Header,
            in("a1") to as *const Header,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _, out("s8") _, out("s9") _,
            out("s10") _, out("s11") _,
            FRAME = const FRAME,
            clobber_abi("C"),
        );
    }
}

/// Resumes `to` and forgets the running context.
///
/// # Safety
/// As for [`switch`].
#[inline(always)]
pub(crate) unsafe fn load(to: Task) -> ! {
    // SAFETY: the label lies in `switch`; it reads a1 and uses no stack of ours.
    unsafe { asm!("j tandem_load", in("a1") to as *const Header, options(noreturn)) }
}

/// Where a new thread begins: s0 is what to call, s1 its argument.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn begin_thread() {
    naked_asm!("csrsi mstatus, {MIE}", "mv a0, s1", "jr s0", MIE = const super::MIE)
}
