//! The switch: one format for every suspended context, and each restores what it has saved besides.
//!
//! A suspended context is four words on the task's stack, `s0`, `s1`, the address to go on at and a spare one, and in its
//! header the stack pointer. What else must survive lies above them and is restored by the code at that address: nothing,
//! where the compiler was told that the switch loses `s2` to `s11` ([`switch_inlined`], [`wait_in`]); these ten, where it was not
//! ([`switch`]); these ten and the trap's frame, of a task that was pre-empted.
//!
//! Interrupts are masked throughout; the context that is resumed lets them in.

use crate::{
    arch::offset::{CURRENT, POLL, SWITCHES, TOP},
    kernel::{KERNEL, after_poll, check_order, on_run},
    task::{Header, Task},
    wait::{WaitQueue, Waiter, begin_wait},
};
use core::arch::{asm, naked_asm};

/// The size of a suspended context, and of one with `s2` to `s11` above it.
pub(super) const CONTEXT: usize = 4 * size_of::<u32>();
pub(super) const FRAME: usize = CONTEXT + 10 * size_of::<u32>() + 8;

/// `mstatus` of a task with interrupts masked: loads and stores are bound like user mode's, for the guard (MPRV, MPP = 0).
#[cfg(not(feature = "unguarded"))]
pub(super) const IN_TASK: u32 = 1 << 17;
#[cfg(feature = "unguarded")]
pub(super) const IN_TASK: u32 = 0;

/// Stores `s2` to `s11` above the context where `sp` points.
macro_rules! store_upper {
    () => {
        "sw s2, 16(sp)\nsw s3, 20(sp)\nsw s4, 24(sp)\nsw s5, 28(sp)
        sw s6, 32(sp)\nsw s7, 36(sp)\nsw s8, 40(sp)\nsw s9, 44(sp)\nsw s10, 48(sp)\nsw s11, 52(sp)"
    };
}
pub(super) use store_upper;

/// Loads them from there.
macro_rules! load_upper {
    () => {
        "lw s2, 16(sp)\nlw s3, 20(sp)\nlw s4, 24(sp)\nlw s5, 28(sp)
        lw s6, 32(sp)\nlw s7, 36(sp)\nlw s8, 40(sp)\nlw s9, 44(sp)\nlw s10, 48(sp)\nlw s11, 52(sp)"
    };
}
pub(super) use load_upper;

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
        "sw ra, 12(sp)",
        "jal tandem_suspend",
        load_upper!(),
        "lw ra, 12(sp)",
        "addi sp, sp, {FRAME}",
        "ret",
        // Suspends a0 with its context where sp points, to go on behind the call, and resumes a1.
        ".global tandem_suspend",
        "tandem_suspend:",
        "sw s0, 0(sp)",
        "sw s1, 4(sp)",
        "sw ra, 8(sp)",
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
        "lw ra, 8(sp)",
        "lw s0, 0(sp)",
        "lw s1, 4(sp)",
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
    // SAFETY: by the caller's word. The label lies in `switch`; it returns behind the call with `sp` as it was, and the room is released
    // here. It keeps `s0` and `s1`, and all else is given as lost.
    unsafe {
        asm!(
            "addi sp, sp, -{CONTEXT}",
            "call tandem_suspend",
            "addi sp, sp, {CONTEXT}",
            in("a0") from as *const Header,
            in("a1") to as *const Header,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _, out("s8") _, out("s9") _,
            out("s10") _, out("s11") _,
            CONTEXT = const CONTEXT,
            clobber_abi("C"),
        );
    }
}

/// As [`wait::wait_in`](crate::wait::wait_in). The compiler saves of `s2` to `s11` what it needs, as for [`switch_inlined`]: in a loop
/// that is once for all.
///
/// # Safety
/// As for that.
#[inline(always)]
pub(crate) unsafe fn wait_in(queue: &WaitQueue) {
    // SAFETY: by the caller's word. What is called keeps `s0`, `s1` and `sp`, and all else is given as lost.
    unsafe {
        asm!(
            "call {wait_in_losing_upper}",
            wait_in_losing_upper = sym wait_in_losing_upper,
            in("a0") queue,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _, out("s8") _, out("s9") _,
            out("s10") _, out("s11") _,
            clobber_abi("C"),
        );
    }
}

/// The waiter lies above the context.
const WITH_WAITER: usize = (CONTEXT + size_of::<Waiter>()).next_multiple_of(16);

#[unsafe(naked)]
unsafe extern "C" fn wait_in_losing_upper(queue: &WaitQueue) {
    naked_asm!(
        "addi sp, sp, -{WITH_WAITER}",
        "sw ra, 12(sp)",
        "addi a1, sp, {CONTEXT}",
        "jal {begin_wait}", // answers in a0 and a1
        "jal tandem_suspend",
        "lw ra, 12(sp)",
        "addi sp, sp, {WITH_WAITER}",
        "ret",
        begin_wait = sym begin_wait,
        CONTEXT = const CONTEXT,
        WITH_WAITER = const WITH_WAITER,
    )
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
    naked_asm!(
        "addi sp, sp, {CONTEXT}",
        "csrsi mstatus, {MIE}",
        "mv a0, s1",
        "jr s0",
        CONTEXT = const CONTEXT,
        MIE = const super::MIE
    )
}
