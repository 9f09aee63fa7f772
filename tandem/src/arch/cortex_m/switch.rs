//! The switch: one format for every suspended context, two ways into it, two ways out.
//!
//! A suspended context is ten words on the task's stack, `r3`-`r11` and the address to go on at (`r3` only
//! keeps the stack aligned), below them `s16`-`s31` if the task had used the FPU, and in its header CONTROL
//! and the stack pointer. A task that gives the processor up gets there by a plain call and never enters an
//! exception. A pre-empted task gets there because PendSV returns into [`preempted`] in thread mode, on the
//! task's own stack, below the frame that the processor had pushed; when it is resumed, `resume_preempted`
//! goes back through that frame by an exception return, the only way to restore flags and IT state.
//!
//! Interrupts are masked throughout; the context that is resumed lets them in.

use crate::{
    arch::offset::{AGAIN, BITMAP, CURRENT, POLL, SWITCHES, TOP},
    kernel::{KERNEL, after_poll},
    task::{Header, Task},
};
use core::arch::naked_asm;

/// Counts a switch to the task in r1.
#[cfg(feature = "count")]
macro_rules! count_switch {
    () => {
        "ldr r2, [r1, #{switches}]\nadds r2, #1\nstr r2, [r1, #{switches}]"
    };
}
#[cfg(not(feature = "count"))]
macro_rules! count_switch {
    () => {
        "// {switches}"
    };
}

/// Suspends `from`, which is running, and resumes `to`. Returns when `from` is resumed.
///
/// # Safety
/// Interrupts are masked, this is thread mode, and `to` has a suspended context or is a coroutine.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: Task, to: Task) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "push {{r3-r11, lr}}",
        "mrs r2, control",
        "tst r2, #4", // FPCA: the task has used the FPU
        "it ne",
        "vpushne {{s16-s31}}",
        "mov r3, sp",
        "strd r2, r3, [r0]",
        ".global tandem_load", // r1: what to resume
        ".thumb_func",
        "tandem_load:",
        "ldr r0, ={kernel}",
        "str r1, [r0, #{current}]",
        count_switch!(),
        "ldm r1, {{r2, r3, r12}}",
        "cbz r3, 2f",
        "ldr r0, =0xe000ed9c", // MPU_RBAR
        "str r12, [r0]",
        "mov sp, r3",
        "msr control, r2", // FPCA as the task left it; an ISB would change nothing that follows
        "tst r2, #4",
        "it ne",
        "vpopne {{s16-s31}}",
        "pop {{r3-r11, pc}}",
        // A coroutine between two polls: start one on the shared stack, above the top suspended poll.
        "2:",
        "ldr r5, [r0, #{top}]",
        "str r1, [r0, #{top}]",
        "ldrd r3, r12, [r5, #4]",
        "ldr r0, =0xe000ed9c",
        "mov sp, r3",
        "msr control, r2",
        "str r12, [r0]",
        "mov r4, r1",
        "ldr r2, [r1, #{poll}]",
        "movs r3, #0",
        "strb r3, [r1, #{again}]",
        "mov r0, r1",
        "cpsie i",
        "blx r2",
        "mov r1, r4",
        "mov r2, r5",
        "bl {after_poll}",
        "mov r1, r0",
        "b tandem_load",
        kernel = sym KERNEL,
        after_poll = sym after_poll,
        poll = const POLL,
        again = const AGAIN,
        current = const CURRENT,
        switches = const SWITCHES,
        top = const TOP,
    )
}

/// Resumes `to` and forgets the running context.
///
/// # Safety
/// As for [`switch`].
#[inline(always)]
pub(crate) unsafe fn load(to: Task) -> ! {
    // SAFETY: the label lies in `switch`; it reads r1 and uses no stack of ours.
    unsafe { core::arch::asm!("b tandem_load", in("r1") to as *const Header, options(noreturn)) }
}

/// Leaves the exception by a made-up frame, into `preempted`, with EXC_RETURN of the real one in lr.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn PendSV() {
    naked_asm!(
        "mrs r0, psp",
        "mov r1, lr",
        "ldr r2, ={preempted}",
        "mov r3, #0x01000000",  // xPSR: Thumb
        "stmdb r0!, {{r1-r3}}", // lr, pc, xPSR of the frame; r0-r3 and r12 of it do not matter
        "subs r0, #20",
        "msr psp, r0",
        "cpsid i",
        "ldr pc, =0xfffffffd", // to thread mode, process stack, frame without FPU registers
        preempted = sym preempted,
    )
}

/// In thread mode, below the frame of the interrupted task: suspend it and resume the most urgent.
#[unsafe(naked)]
unsafe extern "C" fn preempted() {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "push {{r3, lr}}",
        "tst lr, #16", // clear: the task had used the FPU
        "ldr lr, ={resume}",
        "push {{r3-r11, lr}}",
        "it eq",
        "vpusheq {{s16-s31}}", // also makes the processor save s0-s15, put off until now, to its frame
        "mrs r2, control",
        "ldr r0, ={kernel}",
        "ldrd r3, r12, [r0, #{bitmap}]",
        "clz r3, r3",
        "ldr r1, [r0, r3, lsl #2]",
        "mov r3, sp",
        "strd r2, r3, [r12]",
        "b tandem_load",
        resume = sym resume_preempted,
        kernel = sym KERNEL,
        bitmap = const BITMAP,
    )
}

/// Back in a pre-empted task: all registers are restored but those of the frame that the processor pushed.
///
/// From unmasking to SVC, PendSV must not come, or frames would pile up on this stack. BASEPRI holds it
/// back, and lets SVC, which has the highest priority, through. FPCA is cleared lest SVC reserves room for s0-s15.
#[unsafe(naked)]
unsafe extern "C" fn resume_preempted() {
    naked_asm!(
        "movs r0, #0xff",
        "msr basepri, r0",
        "movs r0, #2",
        "msr control, r0",
        "cpsie i",
        "isb", // or SVC might find interrupts still masked, and become a hard fault
        "svc 0",
    )
}

/// Drops the frame of SVC itself and returns through the one below.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn SVCall() {
    naked_asm!(
        "mrs r0, psp",
        "movs r1, #0",
        "msr basepri, r1",
        "ldr lr, [r0, #36]", // what `preempted` pushed first
        "adds r0, #40",
        "msr psp, r0",
        "bx lr",
    )
}

/// Where a new thread begins: r4 is what to call, r5 its argument.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn begin_thread() {
    naked_asm!("cpsie i", "mov r0, r5", "bx r4")
}
