//! The switch between contexts on ARMv6-M, whose instructions store and load only r0 to r7 and have
//! no conditional execution.
//!
//! The same contexts and paths as on ARMv7-M, with these differences:
//!
//! - A suspended context is ten words, in the order of the address `r8`-`r11`, `r3`-`r7`, and the
//!   address to continue at. There is no FPU.
//! - The loop of polls and the search for the most urgent task are the functions in Rust.
//! - There is no BASEPRI to hold PendSV back while a pre-empted task is restored. Instead,
//!   [`RESTORING`] has a PendSV that comes in between leave the switch to SVC.
//! - The guard is a comparison: a task that is suspended must be above the end of its stack.
//!
//! # Soundness
//! - The rules of ARMv7-M's module hold: each function has the contract of the one of the same name
//!   there.
//! - `RESTORING` is written by the restored thread with interrupts masked, then only by PendSV,
//!   which does nothing else while it is set, and by SVC, which clears it.

use super::RESUME;
use crate::{
    polls::{after_poll, check_order, on_run},
    records::{
        Header, KERNEL, Literals, Task,
        offset::{CURRENT, POLL, SWITCHES, TOP},
    },
    shared::{Masked, Shared},
};
use core::{arch::naked_asm, mem::offset_of};

use super::{Saved, guard::no_room};

/// Not 0 while a pre-empted task is restored: 1, or 2 if PendSV has come meanwhile.
static RESTORING: Shared<u32> = Shared::new(0);

const GUARD: usize = offset_of!(Saved, guard);

/// Increments the number of switches to the task in a register. Changes r3.
#[cfg(feature = "count")]
macro_rules! count_switch {
    ($task:literal) => {
        concat!(
            "ldr r3, [",
            $task,
            ", #{switches}]\nadds r3, #1\nstr r3, [",
            $task,
            ", #{switches}]"
        )
    };
}
#[cfg(not(feature = "count"))]
macro_rules! count_switch {
    ($task:literal) => {
        "// {switches}"
    };
}

/// Asserts that the poll of r6 may be above the poll of r5, in builds with debug assertions.
/// Changes the registers that a function may change.
#[cfg(debug_assertions)]
macro_rules! check_order {
    ($task:literal) => {
        concat!("mov r0, ", $task, "\nmov r1, r5\nbl {check_order}")
    };
}
#[cfg(not(debug_assertions))]
macro_rules! check_order {
    ($task:literal) => {
        "// {check_order}"
    };
}

/// Records that the task in r0 runs, in builds that trace or slice time. Changes the registers that
/// a function may change.
#[cfg(any(events, feature = "time-slice"))]
macro_rules! on_run {
    () => {
        "bl {on_run}"
    };
}
#[cfg(not(any(events, feature = "time-slice")))]
macro_rules! on_run {
    () => {
        "// {on_run}"
    };
}

/// Suspends `from`, which is running, and resumes `to`. Returns when `from` is resumed.
///
/// # Safety
/// Interrupts are masked, this is thread mode, and `to` has a suspended context or is a coroutine.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: Task, to: Task) {
    naked_asm!(
        "push {{r3-r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "push {{r4-r7}}",
        "ldr r6, =tandem_restore",
        "mov r7, sp",
        "str r6, [r0, #{resume}]",
        "str r7, [r0, #{resume} + 4]",
        "ldr r6, [r0, #{guard}]",
        "cmp r7, r6",
        "blo 2f",
        "mov r0, r1",
        ".global tandem_load", // r0: the task to resume
        ".thumb_func",
        "tandem_load:",
        "ldr r4, ={kernel} + {current}",
        "str r0, [r4]",
        count_switch!("r0"),
        "mov r5, r0",
        on_run!(),
        "ldr r3, [r5, #{resume}]",
        "ldr r2, [r5, #{resume} + 4]",
        "mov sp, r2",
        "bx r3",
        // The stack has overflowed: on to the main stack.
        "2:",
        "movs r2, #0",
        "msr control, r2",
        "isb",
        "bl {no_room}",
        kernel = sym KERNEL,
        no_room = sym no_room,
        on_run = sym on_run,
        current = const CURRENT,
        guard = const GUARD,
        resume = const RESUME,
        switches = const SWITCHES,
    )
}

/// Resumes `to` and discards the running context.
///
/// # Safety
/// As for [`switch`].
#[inline(always)]
pub(crate) unsafe fn load(to: Task) -> ! {
    // SAFETY: the label is in `switch`. The code there reads r0 and does not need this stack. The
    // rest is this function's contract.
    unsafe { core::arch::asm!("bl tandem_load", in("r0") to as *const Header, options(noreturn)) }
}

/// Restores a suspended context.
#[unsafe(naked)]
#[unsafe(export_name = "tandem_restore")]
pub(super) unsafe extern "C" fn restore() {
    naked_asm!(
        "pop {{r4-r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r3-r7, pc}}",
    )
}

/// Starts a poll of the coroutine r5, which is between two polls, on the shared stack above the top
/// suspended poll. Then polls every coroutine that is the most urgent, until the most urgent task
/// is a suspended context.
///
/// Polls preserve r4-r7: r5 is the task of the poll underneath, r6 the coroutine. A poll started by
/// PendSV returns to `tandem_poll_returned`.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn start_poll() {
    naked_asm!(
        "mov r6, r5",
        "ldr r4, ={kernel} + {top}",
        "ldr r5, [r4]",
        "str r6, [r4]",
        "ldr r0, [r5, #{resume} + 4]", // its stack pointer
        "mov sp, r0",
        check_order!("r6"),
        "mov r0, r6",
        "ldr r2, [r6, #{poll}]",
        "cpsie i",
        "blx r2",
        ".global tandem_poll_returned",
        ".thumb_func",
        "tandem_poll_returned:",
        "mov r0, r6",
        "mov r1, r5",
        "bl {after_poll}", // masks interrupts; r0: the task to resume
        "bl tandem_load",
        after_poll = sym after_poll,
        check_order = sym check_order,
        kernel = sym KERNEL,
        poll = const POLL,
        resume = const RESUME,
        top = const TOP,
    )
}

pub(super) fn literals() -> Literals {
    []
}

/// The most urgent ready task.
///
/// # Safety
/// Called by PendSV alone: handlers that interrupt it remove no task from the ready set.
unsafe extern "C" fn most_urgent() -> Task {
    // SAFETY: a handler that adds a task meanwhile pends PendSV again. The head of a level that has
    // a ready task is valid, whichever it is.
    KERNEL.ready.most_urgent(unsafe { Masked::assume() })
}

/// The handler of PendSV: suspends the interrupted task and leaves the exception into the most
/// urgent one, by a frame that it builds on that task's stack.
///
/// Interrupts are on. Handlers remove no task from the ready set; if one adds a task more urgent
/// than the one chosen here, it pends PendSV again, which is then taken before the chosen task's
/// first instruction.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn PendSV() {
    naked_asm!(
        "ldr r0, ={restoring}",
        "ldr r1, [r0]",
        "cmp r1, #0",
        "bne 5f",
        "mrs r0, psp",
        "subs r0, #40",
        "mov r1, lr", // EXC_RETURN
        "mov r2, r0",
        "adds r2, #20",
        "stm r2!, {{r4-r7}}",
        "str r1, [r2]",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "mov r2, r0",
        "stm r2!, {{r4-r7}}",
        "ldr r4, ={kernel} + {current}",
        "ldr r5, [r4]",
        "mov r6, r1",
        "ldr r1, [r5, #{guard}]",
        "cmp r0, r1",
        "blo 4f",
        "ldr r1, =tandem_restore_preempted",
        "str r1, [r5, #{resume}]",
        "str r0, [r5, #{resume} + 4]",
        "bl {most_urgent}",
        "mov r7, r0",
        "str r7, [r4]",
        count_switch!("r7"),
        on_run!(),
        "ldr r2, [r7, #{resume} + 4]",
        "cmp r2, #0",
        "bne 2f",
        // A coroutine between two polls. Its poll starts above the top suspended one and returns
        // into the loop.
        "ldr r4, ={kernel} + {top}",
        "ldr r5, [r4]",
        "str r7, [r4]",
        check_order!("r7"),
        "ldr r2, [r5, #{resume} + 4]",
        "subs r2, #32",
        "str r7, [r2]", // r0 of the frame
        "ldr r1, =tandem_poll_returned",
        "str r1, [r2, #20]", // lr
        "ldr r1, [r7, #{poll}]",
        "mov lr, r6",
        "mov r6, r7",
        "b 3f",
        "2:",
        "subs r2, #32",
        "ldr r1, [r7, #{resume}]",
        "mov lr, r6",
        "cpsid i", // as a context is resumed with interrupts masked
        "3:",
        "movs r3, #1",
        "bics r1, r3", // an exception frame has no Thumb bit in pc
        "str r1, [r2, #24]",
        "lsls r3, r3, #24",
        "str r3, [r2, #28]", // xPSR, with the Thumb bit
        "msr psp, r2",
        "bx lr",
        "4:",
        "bl {no_room}",
        "5:",
        "movs r1, #2",
        "str r1, [r0]",
        "bx lr",
        check_order = sym check_order,
        kernel = sym KERNEL,
        most_urgent = sym most_urgent,
        no_room = sym no_room,
        on_run = sym on_run,
        restoring = sym RESTORING,
        current = const CURRENT,
        guard = const GUARD,
        poll = const POLL,
        resume = const RESUME,
        switches = const SWITCHES,
        top = const TOP,
    )
}

/// Restores a pre-empted task: first r3-r11, then the frame that the processor pushed, by
/// EXC_RETURN, which is the tenth word.
///
/// A PendSV between unmasking and SVC must not suspend this thread, or frames would accumulate on
/// its stack: see [`RESTORING`].
#[unsafe(naked)]
#[unsafe(export_name = "tandem_restore_preempted")]
unsafe extern "C" fn restore_preempted() {
    naked_asm!(
        "ldr r0, ={restoring}",
        "movs r1, #1",
        "str r1, [r0]",
        "pop {{r4-r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r3-r7}}",
        "pop {{r0}}",
        "mov lr, r0",
        "cpsie i",
        "isb", // otherwise SVC might find interrupts still masked and become a hard fault
        "svc 0",
        restoring = sym RESTORING,
    )
}

/// The handler of SVC: discards its own frame and returns through the one below, which belongs to
/// the pre-empted task. Requests the switch that a PendSV has left to it.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn SVCall() {
    naked_asm!(
        "ldr r1, ={restoring}",
        "ldr r2, [r1]",
        "movs r3, #0",
        "str r3, [r1]",
        "cmp r2, #2",
        "bne 2f",
        "ldr r2, =0xe000ed04", // ICSR
        "movs r3, #1",
        "lsls r3, r3, #28", // PENDSVSET
        "str r3, [r2]",
        "2:",
        "mrs r0, psp",
        "ldr r1, [r0, #20]", // EXC_RETURN of the pre-empted task, in lr at SVC
        "adds r0, #32",
        "msr psp, r0",
        "bx r1",
        restoring = sym RESTORING,
    )
}

/// The position of r4 among the ten words of a context; r5 follows.
pub(super) const R4: usize = 5;

/// The start of a thread: calls r4 with r5 as the argument, with interrupts on.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn begin_thread() {
    naked_asm!("cpsie i", "mov r0, r5", "bx r4")
}
