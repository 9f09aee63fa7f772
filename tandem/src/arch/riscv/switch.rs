//! The switch: one format for every suspended context, and each restores what it has saved besides.
//!
//! A suspended context is the stack pointer in the task's header, and three words below where it points: `s0`, `s1`, and the address
//! to go on at. Nothing else uses a stack whose task is suspended, so nothing has to be reserved there, or released.
//! What else must survive lies above and is restored by the code at that address: nothing,
//! where the compiler was told that the switch loses `s2` to `s11` ([`give_way`], [`wait_in`]); these ten, where it was not
//! ([`switch`]); these ten and the trap's frame, of a task that was pre-empted.
//!
//! Interrupts are masked throughout; the context that is resumed lets them in.

use crate::{
    arch::offset::{CURRENT, POLL, SWITCHES, TOP},
    kernel::{after_poll, check_order, on_run},
    task::{Header, Task},
    wait::{WaitQueue, Waiter, begin_wait},
};
use core::{
    arch::{asm, naked_asm},
    mem::offset_of,
};

/// What of a stack lies below a suspended context's stack pointer, where no more than the context does, and where a waiter does too.
pub(super) const CONTEXT: usize = 16;
pub(super) const WITH_WAITER: usize = (CONTEXT + size_of::<Waiter>()).next_multiple_of(16);

/// The size of `s2` to `s11` and one more word: `ra`, or of a task that was pre-empted, `mepc`.
pub(super) const FRAME: usize = 12 * size_of::<u32>();

/// `mstatus` of a task with interrupts masked: loads and stores are bound like user mode's, for the guard (MPRV, MPP = 0).
#[cfg(not(feature = "unguarded"))]
pub(super) const IN_TASK: u32 = 1 << 17;
#[cfg(feature = "unguarded")]
pub(super) const IN_TASK: u32 = 0;

/// Stores `s2` to `s11` where `sp` points.
macro_rules! store_upper {
    () => {
        "sw s2, 0(sp)\nsw s3, 4(sp)\nsw s4, 8(sp)\nsw s5, 12(sp)
        sw s6, 16(sp)\nsw s7, 20(sp)\nsw s8, 24(sp)\nsw s9, 28(sp)\nsw s10, 32(sp)\nsw s11, 36(sp)"
    };
}
pub(super) use store_upper;

/// Loads them from there.
macro_rules! load_upper {
    () => {
        "lw s2, 0(sp)\nlw s3, 4(sp)\nlw s4, 8(sp)\nlw s5, 12(sp)
        lw s6, 16(sp)\nlw s7, 20(sp)\nlw s8, 24(sp)\nlw s9, 28(sp)\nlw s10, 32(sp)\nlw s11, 36(sp)"
    };
}
pub(super) use load_upper;

/// Loads the stack pointer of the task in a1, and counts a switch to it. (No load's value is used at once: the next instruction would wait for it.)
#[cfg(feature = "count")]
macro_rules! load_stack_and_count {
    () => {
        "lw a5, {switches}(a1)\nlw sp, 0(a1)\naddi a5, a5, 1\nsw a5, {switches}(a1)"
    };
}
#[cfg(not(feature = "count"))]
macro_rules! load_stack_and_count {
    () => {
        "lw sp, 0(a1) # {switches}"
    };
}

/// Says that the task of a1 runs from here on. Registers and stack are those of the task that ran before, suspended or gone,
/// which is the current one still: if this overflows its stack, it is named.
#[cfg(any(feature = "trace", feature = "time-slice"))]
macro_rules! call_on_run {
    () => {
        "addi sp, sp, -{WITH_WAITER}\nandi sp, sp, -16\nmv s0, a1\nmv a0, a1\njal {on_run}\nmv a1, s0"
    };
}
#[cfg(not(any(feature = "trace", feature = "time-slice")))]
macro_rules! call_on_run {
    () => {
        "# {on_run} {WITH_WAITER}"
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

/// Resumes the task in a1, but for the jump, or goes to `$poll` if it is a coroutine between two polls.
macro_rules! resume {
    ($poll:literal) => {
        concat!(
            call_on_run!(),
            "\nsw a1, {current}(tp)\n",
            load_stack_and_count!(), // 0 for a moment if there is no context: nothing can come between
            "\nlw a4, 4(a1)\nbeqz sp, ",
            $poll,
            "\nlw ra, -12(sp)\nlw s0, -4(sp)\nlw s1, -8(sp)\n",
            move_guard!()
        )
    };
}
pub(super) use {call_on_run, load_stack_and_count, move_guard, resume};

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
        "sw ra, 40(sp)",
        "jal tandem_suspend",
        load_upper!(),
        "lw ra, 40(sp)",
        "addi sp, sp, {FRAME}",
        "ret",
        // The running thread gives way to the next of its ring. Loses all but s0, s1 and sp.
        ".balign 4", // where a jump to four bytes that lie across words takes a cycle more
        ".global tandem_give_way",
        "tandem_give_way:",
        "lw a0, {current}(tp)", // whoever runs this, whatever interrupts do
        "csrci mstatus, {MIE}",
        "lw a1, {next}(a0)",
        ".option norvc", // so that what follows is aligned
        "lw a3, {head}(a0)",
        ".option rvc",
        "sw a1, 0(a3)",
        "beq a1, a0, 3f",
        // Suspends a0, to go on behind the call with sp as it is, and resumes a1.
        ".global tandem_suspend",
        "tandem_suspend:",
        "sw ra, -12(sp)",
        ".global tandem_suspend_to", // the address to go on at has been stored
        "tandem_suspend_to:",
        "sw s0, -4(sp)",
        "sw s1, -8(sp)",
        "sw sp, 0(a0)",
        ".global tandem_resume", // a1
        "tandem_resume:",
        resume!("2f"),
        "3: ret",
        // A coroutine between two polls: start one on the shared stack, above the top suspended poll.
        ".global tandem_start_poll",
        "tandem_start_poll:",
        "2:",
        "lw s1, {top}(tp)",
        "sw a1, {top}(tp)",
        "lw sp, 0(s1)",
        move_guard!(),
        "addi sp, sp, -{CONTEXT}",
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
        "j tandem_resume",
        ".option pop",
        after_poll = sym after_poll,
        check_order = sym check_order,
        on_run = sym on_run,
        head = const offset_of!(Header, head),
        next = const offset_of!(Header, next),
        poll = const POLL,
        current = const CURRENT,
        switches = const SWITCHES,
        top = const TOP,
        CONTEXT = const CONTEXT,
        FRAME = const FRAME,
        WITH_WAITER = const WITH_WAITER,
        MIE = const super::MIE,
    )
}

/// The same, and lets interrupts in when `from` is resumed.
///
/// # Safety
/// As for [`switch`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch_and_unmask(from: Task, to: Task) {
    naked_asm!(
        "addi sp, sp, -{FRAME}",
        store_upper!(),
        "sw ra, 40(sp)",
        "jal tandem_suspend",
        "csrsi mstatus, {MIE}",
        load_upper!(),
        "lw ra, 40(sp)",
        "addi sp, sp, {FRAME}",
        "ret",
        FRAME = const FRAME,
        MIE = const super::MIE,
    )
}

/// As [`kernel::give_way`](crate::kernel::give_way). All in assembly, so that the compiler keeps nothing of the kernel's in a register
/// across the switch, and of `s2` to `s11` it saves what it needs itself: in a loop, once for all. (`call` reaches from anywhere, from code
/// in RAM too; `jal` would take a cycle less.)
///
/// # Safety
/// As for that.
#[inline(always)]
pub(crate) unsafe fn give_way() {
    // SAFETY: by the caller's word. What is called keeps `s0`, `s1` and `sp`, and all else is given as lost.
    unsafe {
        asm!(
            "call tandem_give_way",
            "csrsi mstatus, {MIE}",
            MIE = const super::MIE,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _, out("s8") _, out("s9") _,
            out("s10") _, out("s11") _,
            clobber_abi("C"),
        );
    }
}

/// As [`wait::wait_in`](crate::wait::wait_in). The compiler saves of `s2` to `s11` what it needs, as for [`give_way`].
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

/// The waiter lies below the context, where the stack is unused for as long as the thread waits. So who is resumed is back in the caller.
#[unsafe(naked)]
unsafe extern "C" fn wait_in_losing_upper(queue: &WaitQueue) {
    naked_asm!(
        "addi sp, sp, -{WITH_WAITER}",
        "sw ra, {WITH_WAITER} - 12(sp)", // already where the context has it
        "mv a1, sp",
        "jal {begin_wait}", // answers in a0 and a1
        "addi sp, sp, {WITH_WAITER}",
        "j tandem_suspend_to",
        begin_wait = sym begin_wait,
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
    unsafe {
        asm!(
            "j tandem_resume",
            in("a1") to as *const Header,
            options(noreturn),
        )
    }
}

/// Where a new thread begins: s0 is what to call, s1 its argument.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn begin_thread() {
    naked_asm!(
        "csrsi mstatus, {MIE}",
        "mv a0, s1",
        "jr s0",
        MIE = const super::MIE
    )
}
