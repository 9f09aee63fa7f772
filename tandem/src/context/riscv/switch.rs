//! The switch between contexts: one format for a suspended context, whose code restores what else
//! it has saved.
//!
//! A suspended context is the stack pointer in the task's header and three words below that
//! address: `s0`, `s1`, and the address to continue at. Nothing else uses the stack of a suspended
//! task, so no space has to be reserved there, or released. Further registers are saved above it,
//! and the code at that address restores them: none, where the compiler knows that the switch
//! changes `s2` to `s11` ([`give_way`], [`wait_in`]); these ten in [`switch`]; these ten and the
//! trap's frame for a pre-empted task.
//!
//! # Soundness
//! - Interrupts are masked throughout, so that no trap pushes a frame below a stack pointer while
//!   words there are in use. The resumed context unmasks them.
//! - A context is restored once, by the code at its own address, which matches the way in which it
//!   was saved.
//! - Naked functions and inline assembly preserve the registers that they do not declare as
//!   changed: `s0`, `s1` and `sp` in the context, `s2` to `s11` in a frame or as declared.

use super::guard::{self, check_limit, load_guard, move_guard, report_limit};
use crate::arch::privilege::{INTERRUPTS_ON, STATUS, WORD, load, store};
use crate::{
    polls::{after_poll, check_order, on_run},
    records::{
        Header, Kernel, Task, Waiter,
        offset::{CURRENT, POLL, SWITCHES, TOP},
    },
};
use core::{
    arch::{asm, naked_asm},
    mem::offset_of,
};

/// The bytes of a stack in use below the stack pointer of a suspended context: without a waiter,
/// and with one.
pub(crate) const CONTEXT: usize = 4 * WORD;
pub(crate) const WITH_WAITER: usize = (CONTEXT + size_of::<Waiter>()).next_multiple_of(16);

/// The size of a frame: `s2` to `s11` and one more word, `ra` or, for a pre-empted task, the
/// address to return to; padded to 12 words.
pub(super) const FRAME: usize = 12 * WORD;

/// Stores `s2` to `s11` at `sp`.
macro_rules! store_upper {
    () => {
        concat!(
            ".irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n",
            store!("s\\n, (\\n - 2) * {W}(sp)"),
            "\n.endr"
        )
    };
}
pub(super) use store_upper;

/// Loads `s2` to `s11` from `sp`.
macro_rules! load_upper {
    () => {
        concat!(
            ".irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n",
            load!("s\\n, (\\n - 2) * {W}(sp)"),
            "\n.endr"
        )
    };
}
pub(super) use load_upper;

/// Loads the stack pointer of the task in a1, and counts a switch to it. (No value is used right
/// after its load, for which the processor would wait.)
#[cfg(feature = "count")]
macro_rules! load_stack_and_count {
    () => {
        concat!(
            "lw a5, {switches}(a1)\n",
            load!("sp, 0(a1)"),
            "\naddi a5, a5, 1\nsw a5, {switches}(a1)"
        )
    };
}
#[cfg(not(feature = "count"))]
macro_rules! load_stack_and_count {
    () => {
        concat!(load!("sp, 0(a1)"), " # {switches}")
    };
}

/// Reports that the task in a1 runs from here on. Stack and registers still belong to the
/// previous task, suspended or ended, which is still the current one: it is named if this overflows
/// its stack.
#[cfg(any(events, feature = "time-slice"))]
macro_rules! call_on_run {
    () => {
        "addi sp, sp, -{WITH_WAITER}\nandi sp, sp, -16\nmv s0, a1\nmv a0, a1\njal {on_run}\nmv a1, s0"
    };
}
#[cfg(not(any(events, feature = "time-slice")))]
macro_rules! call_on_run {
    () => {
        "# {on_run} {WITH_WAITER}"
    };
}

/// Asserts that the poll of s0 may be above the poll of s1, in builds with debug assertions.
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

/// Resumes the task in a1, except for the jump; branches to `$poll` if it is a coroutine between
/// two polls.
macro_rules! resume {
    ($poll:literal) => {
        concat!(
            call_on_run!(),
            "\n",
            store!("a1, {current}(tp)"),
            "\n",
            load_stack_and_count!(), // 0 if it has no context; masked, so no trap uses it
            "\n",
            load_guard!(),
            "\nbeqz sp, ",
            $poll,
            "\n",
            load!("ra, -3*{W}(sp)"),
            "\n",
            load!("s0, -{W}(sp)"),
            "\n",
            load!("s1, -2*{W}(sp)"),
            "\n",
            move_guard!()
        )
    };
}
pub(super) use {call_on_run, load_stack_and_count, resume};

/// Suspends `from`, which is running, and resumes `to`. Returns when `from` is resumed.
///
/// # Safety
/// Interrupts are masked, the caller is not a handler, and `to` has a suspended context or is a
/// coroutine.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: Task, to: Task) {
    naked_asm!(
        ".option push",
        ".option rvc",
        "addi sp, sp, -{FRAME}",
        store_upper!(),
        store!("ra, 10*{W}(sp)"),
        "jal tandem_suspend",
        load_upper!(),
        load!("ra, 10*{W}(sp)"),
        "addi sp, sp, {FRAME}",
        "ret",
        // Lets the next task of the running thread's ring run. Changes all registers but s0, s1 and
        // sp. If interrupts were masked, changes nothing and skips the caller's next instruction,
        // which would unmask them.
        ".balign 4", // a jump to a 4-byte instruction across words takes a cycle more
        ".global tandem_give_way",
        "tandem_give_way:",
        load!("a0, {current}(tp)"), // the current task is the same before and after an interrupt
        "csrrci a2, {STATUS}, {ON}",
        load!("a1, {next}(a0)"),
        "andi a2, a2, {ON}",
        ".option norvc", // aligns the instructions that follow
        load!("a3, {head}(a0)"),
        ".option rvc",
        "beqz a2, 4f",
        store!("a1, 0(a3)"),
        "beq a1, a0, 3f",
        // Suspends a0, to continue behind the call with the present sp, and resumes a1.
        ".global tandem_suspend",
        "tandem_suspend:",
        store!("ra, -3*{W}(sp)"),
        ".global tandem_suspend_to", // with the address to continue at already stored
        "tandem_suspend_to:",
        check_limit!(),
        store!("s0, -{W}(sp)"),
        store!("s1, -2*{W}(sp)"),
        store!("sp, 0(a0)"),
        ".global tandem_resume", // resumes a1
        "tandem_resume:",
        resume!("2f"),
        "3: ret",
        "4: jr {LENGTH_OF_CSRSI}(ra)",
        report_limit!(),
        // A coroutine between two polls: start its poll on the shared stack, above the top
        // suspended one.
        ".global tandem_start_poll",
        "tandem_start_poll:",
        "2:",
        load!("s1, {top}(tp)"),
        store!("a1, {top}(tp)"),
        load!("sp, 0(s1)"),
        move_guard!(),
        "addi sp, sp, -{CONTEXT}",
        "andi sp, sp, -16",
        "mv s0, a1",
        check_order!(),
        load!("a5, {poll}(s0)"),
        "mv a0, s0",
        "csrsi {STATUS}, {ON}",
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
        overflow = sym guard::overflow,
        handlers = const Kernel::HANDLERS,
        head = const offset_of!(Header, head),
        next = const offset_of!(Header, next),
        poll = const POLL,
        current = const CURRENT,
        switches = const SWITCHES,
        top = const TOP,
        CONTEXT = const CONTEXT,
        FRAME = const FRAME,
        WITH_WAITER = const WITH_WAITER,
        LENGTH_OF_CSRSI = const 4,
        STATUS = const STATUS,
        ON = const INTERRUPTS_ON,
        W = const WORD,
    )
}

/// Suspends `from` and resumes `to`, as [`switch`]. Unmasks interrupts when `from` is resumed.
///
/// # Safety
/// As for [`switch`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch_and_unmask(from: Task, to: Task) {
    naked_asm!(
        "addi sp, sp, -{FRAME}",
        store_upper!(),
        store!("ra, 10*{W}(sp)"),
        "jal tandem_suspend",
        "csrsi {STATUS}, {ON}",
        load_upper!(),
        load!("ra, 10*{W}(sp)"),
        "addi sp, sp, {FRAME}",
        "ret",
        FRAME = const FRAME,
        STATUS = const STATUS,
        ON = const INTERRUPTS_ON,
        W = const WORD,
    )
}

/// Resumes `to` and discards the running context.
///
/// # Safety
/// As for [`switch`].
#[inline(always)]
pub(crate) unsafe fn load(to: Task) -> ! {
    // SAFETY: the label is in `switch`. The code there reads a1 and does not use this stack. The
    // rest is this function's contract.
    unsafe {
        asm!(
            "j tandem_resume",
            in("a1") to as *const Header,
            options(noreturn),
        )
    }
}

/// The start of a thread: calls s0 with s1 as the argument, with interrupts on.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn begin_thread() {
    naked_asm!(
        "csrsi {STATUS}, {ON}",
        "mv a0, s1",
        "jr s0",
        STATUS = const STATUS,
        ON = const INTERRUPTS_ON
    )
}
