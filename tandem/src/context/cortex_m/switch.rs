//! The switch between contexts: one format for a suspended context, two ways to suspend and three
//! ways to resume.
//!
//! A suspended context is ten words on the task's stack, `r3`-`r11` and the address to continue at
//! (`r3` only keeps the stack aligned), and below them `s16`-`s31` if the task has used the FPU.
//! The task's header has the stack pointer and the address of the code that restores the context:
//! [`restore`] or [`restore_with_fpu`]. The header of a coroutine between two polls has
//! [`start_poll`] there. So a switch jumps to that address, whatever the task is.
//!
//! A task that gives up the processor is suspended by a plain call, without an exception. A
//! pre-empted task is suspended by PendSV, on its own stack, below the frame that the processor
//! pushed, with EXC_RETURN as the address and the FPU's registers above the ten words.
//! [`restore_preempted`] returns through that frame by an exception return, the only way to restore
//! flags and IT state.
//!
//! # Soundness
//! - Interrupts are masked throughout, except in PendSV. The resumed context unmasks them.
//! - PendSV has the lowest priority, so it is taken only in thread mode, from a task with
//!   interrupts on and BASEPRI 0. A task with another BASEPRI is not suspended by a call either:
//!   [`refuse_switch`] ends the program. So BASEPRI is 0 whenever a task is resumed. Handlers that
//!   interrupt PendSV remove no task from the ready set.
//! - A context is restored once, by the code that its header names, which matches the way in which
//!   it was saved: the code that saves it stores that address.
//! - Naked functions keep the registers that the C calling convention preserves: a switch restores
//!   them from the context, and a poll preserves them for the loop of [`start_poll`].

use super::RESUME;
use crate::{
    info::current,
    polls::check_order,
    records::{
        Header, KERNEL, Literals, Task,
        offset::{AGAIN, BITMAP, CURRENT, POLL, SWITCHES, TOP},
    },
};
use core::{arch::naked_asm, mem::offset_of};

/// Increments the number of switches to the task in a register.
#[cfg(feature = "count")]
macro_rules! count_switch {
    ($task:literal) => {
        concat!(
            "push {{r0}}\nldr r0, [",
            $task,
            ", #{switches}]\nadds r0, #1\nstr r0, [",
            $task,
            ", #{switches}]\npop {{r0}}"
        )
    };
}
#[cfg(not(feature = "count"))]
macro_rules! count_switch {
    ($task:literal) => {
        "// {switches}"
    };
}

/// Asserts that the poll of r5 may be above the poll of r4, in builds with debug assertions.
#[cfg(debug_assertions)]
macro_rules! check_order {
    () => {
        "push {{r0-r3, r12, lr}}\nmov r0, r5\nmov r1, r4\nbl {check_order}\npop {{r0-r3, r12, lr}}"
    };
}
#[cfg(not(debug_assertions))]
macro_rules! check_order {
    () => {
        "// {check_order}"
    };
}

/// Calls a function with the task in a register as its argument. Keeps all registers that the
/// callee may change, but not the flags.
#[cfg(any(events, feature = "time-slice"))]
macro_rules! call {
    ($function:literal, $task:literal) => {
        concat!(
            "push {{r0-r3, r12, lr}}\nmov r0, ",
            $task,
            "\nbl {",
            $function,
            "}\npop {{r0-r3, r12, lr}}"
        )
    };
}
#[cfg(not(any(events, feature = "time-slice")))]
macro_rules! call {
    ($function:literal, $task:literal) => {
        concat!("// {", $function, "}")
    };
}

#[cfg(any(events, feature = "time-slice"))]
use crate::polls::on_run;
/// Branches to label 6 unless the register is 0. A short branch does not reach it across the calls
/// of a build that traces or checks.
#[cfg(any(events, feature = "time-slice", debug_assertions))]
macro_rules! unless_zero_6 {
    ($register:literal) => {
        concat!("cmp ", $register, ", #0\nbne 6f")
    };
}
#[cfg(not(any(events, feature = "time-slice", debug_assertions)))]
macro_rules! unless_zero_6 {
    ($register:literal) => {
        concat!("cbnz ", $register, ", 6f")
    };
}

#[cfg(not(any(events, feature = "time-slice")))]
use check_order as on_run;

/// Reports to the trace that the coroutine in r5 waits.
#[cfg(events)]
macro_rules! trace_blocked {
    () => {
        call!("blocked", "r5")
    };
}
#[cfg(not(events))]
macro_rules! trace_blocked {
    () => {
        "// {blocked}"
    };
}
#[cfg(events)]
use crate::trace::emit_blocked;
#[cfg(not(events))]
use check_order as emit_blocked;

/// Masks interrupts. With the feature `basepri`, changes a register and the flags.
#[cfg(not(basepri))]
macro_rules! mask {
    ($register:literal) => {
        "cpsid i"
    };
}
#[cfg(basepri)]
macro_rules! mask {
    ($register:literal) => {
        concat!("movs ", $register, ", #0x40\nmsr basepri, ", $register)
    };
}

/// Unmasks interrupts. With the feature `basepri`, changes a register and the flags.
#[cfg(not(basepri))]
macro_rules! unmask {
    ($register:literal) => {
        "cpsie i"
    };
}
#[cfg(basepri)]
macro_rules! unmask {
    ($register:literal) => {
        concat!("movs ", $register, ", #0\nmsr basepri, ", $register)
    };
}

/// With the feature `basepri`, that the task has not raised BASEPRI follows from its [`Mask`]: tests
/// the FPU alone.
///
/// [`Mask`]: crate::arch::Mask
#[cfg(all(basepri, fpu))]
macro_rules! test_context {
    ($basepri:literal) => {
        concat!("movs ", $basepri, ", #0\nmrs r6, control\ntst r6, #4\nbeq 8f")
    };
}
#[cfg(all(basepri, not(fpu)))]
macro_rules! test_context {
    ($basepri:literal) => {
        ""
    };
}

/// Tests whether the running task may be suspended and has used the FPU: continues if BASEPRI is 0
/// and FPCA is set. Otherwise branches to label 8. Leaves BASEPRI in a register, and changes r6.
///
/// One subtraction answers both: FPCA, bit 2 of CONTROL, less BASEPRI.
#[cfg(all(fpu, not(guard = "limit"), not(basepri)))]
macro_rules! test_context {
    ($basepri:literal) => {
        concat!(
            "mrs r6, control\nmrs ",
            $basepri,
            ", basepri\nrsbs r6, ",
            $basepri,
            ", r6, lsr #2\nble 8f"
        )
    };
}
/// Bit 3 of CONTROL is SFPA on an ARMv8-M.
#[cfg(all(fpu, guard = "limit", not(basepri)))]
macro_rules! test_context {
    ($basepri:literal) => {
        concat!(
            "mrs r6, control\nmrs ",
            $basepri,
            ", basepri\nubfx r6, r6, #2, #1\nsubs r6, r6, ",
            $basepri,
            "\nble 8f"
        )
    };
}
#[cfg(not(any(fpu, basepri)))]
macro_rules! test_context {
    ($basepri:literal) => {
        concat!("mrs ", $basepri, ", basepri\ncbnz ", $basepri, ", 8f")
    };
}

/// The rest of a routine with [`test_context`]: goes to a label, ahead, if BASEPRI is not 0.
/// Otherwise the task has not used the FPU: runs the instructions that stand between the test and
/// [`store_context`], and continues behind those.
#[cfg(fpu)]
macro_rules! without_fpu {
    ($basepri:literal, $raised:literal, $changes:expr) => {
        concat!(
            "8:\ncbnz ",
            $basepri,
            ", ",
            $raised,
            "\n",
            $changes,
            "\nldr r6, =tandem_restore\nb 7b"
        )
    };
}
#[cfg(not(fpu))]
macro_rules! without_fpu {
    ($basepri:literal, $raised:literal, $changes:expr) => {
        concat!("8:\nb ", $raised)
    };
}

/// Stores the context of the running task, r10, behind [`test_context`]: its ten words have been
/// pushed. Changes r6, and leaves the stack pointer in r7.
#[cfg(fpu)]
macro_rules! store_context {
    () => {
        "
        vpush {{s16-s31}}
        ldr r6, =tandem_restore_with_fpu
        7:
        mov r7, sp
        strd r6, r7, [r10, #{resume}]"
    };
}
#[cfg(not(fpu))]
macro_rules! store_context {
    () => {
        "
        ldr r6, =tandem_restore
        mov r7, sp
        strd r6, r7, [r10, #{resume}]"
    };
}

/// Suspends the running task, r10, whose ten words have been pushed. Changes r6 and r7. Ends the
/// program if BASEPRI is not 0.
macro_rules! suspend {
    () => {
        concat!(test_context!("r7"), store_context!())
    };
}

/// Resumes r9, which is the current task already: moves the guard and the stack pointer. r4 and r5 are
/// as [`constants`] loads them.
#[cfg(all(guard = "mpu", not(basepri)))]
macro_rules! resume_only {
    () => {
        "
        ldm r9, {{r2, r3, r12}}
        str r2, [r5]
        mov sp, r12
        bx r3"
    };
}
#[cfg(all(guard = "none", not(basepri)))]
macro_rules! resume_only {
    () => {
        "
        ldr sp, [r9, #{resume} + 4]
        ldr pc, [r9, #{resume}]"
    };
}
/// The guard is PSPLIM: there is no limit in between, and r6 is changed.
#[cfg(all(guard = "limit", not(basepri)))]
macro_rules! resume_only {
    () => {
        "
        ldm r9, {{r2, r3, r12}}
        movs r6, #0
        msr psplim, r6
        mov sp, r12
        msr psplim, r2
        bx r3"
    };
}
/// With the feature `basepri`, an interrupt may come at any instruction, and push its frame: the
/// stack pointer is valid throughout. A coroutine between two polls has none, and stays on the stack
/// of the last task until [`start_poll`] leaves it.
#[cfg(all(guard = "mpu", basepri))]
macro_rules! resume_only {
    () => {
        "
        ldm r9, {{r2, r3, r12}}
        str r2, [r5]
        cmp r12, #0
        it ne
        movne sp, r12
        bx r3"
    };
}
#[cfg(all(guard = "none", basepri))]
macro_rules! resume_only {
    () => {
        "
        ldm r9, {{r2, r3, r12}}
        cmp r12, #0
        it ne
        movne sp, r12
        bx r3"
    };
}
#[cfg(all(guard = "limit", basepri))]
macro_rules! resume_only {
    () => {
        "
        ldm r9, {{r2, r3, r12}}
        movs r6, #0
        msr psplim, r6
        cmp r12, #0
        itt ne
        movne sp, r12
        msrne psplim, r2
        bx r3"
    };
}

/// Sets the limit of the shared stack, where [`resume_only`] has not.
#[cfg(all(guard = "limit", basepri))]
macro_rules! limit_shared_stack {
    () => {
        "ldr r0, [r5]\nmsr psplim, r0"
    };
}
#[cfg(not(all(guard = "limit", basepri)))]
macro_rules! limit_shared_stack {
    () => {
        "// the guard is in place"
    };
}

/// [`resume_only`], at the end of a routine with [`suspend`].
macro_rules! resume {
    () => {
        concat!(resume_only!(), "\n", without_fpu!("r7", "6f", ""), "\n6:\nbl tandem_refuse_switch")
    };
}

/// Notes that the task has not used the FPU: privileged, on the process stack. Changes a register.
#[cfg(fpu)]
macro_rules! clear_fpca {
    ($register:literal) => {
        concat!("movs ", $register, ", #2\nmsr control, ", $register)
    };
}
#[cfg(not(fpu))]
macro_rules! clear_fpca {
    ($register:literal) => {
        "// no FPU"
    };
}

/// Stores s16-s31 below r0 if the interrupted task has used the FPU, by EXC_RETURN in lr. Also
/// completes the lazy stacking of s0-s15.
#[cfg(fpu)]
macro_rules! save_fpu {
    () => {
        "
        tst lr, #16
        it eq
        vstmdbeq r0!, {{s16-s31}}"
    };
}
#[cfg(not(fpu))]
macro_rules! save_fpu {
    () => {
        "// no FPU"
    };
}

/// Loads s16-s31 from the stack if the interrupted task had used the FPU, by EXC_RETURN in lr.
#[cfg(fpu)]
macro_rules! load_fpu {
    () => {
        "
        tst lr, #16
        it eq
        vpopeq {{s16-s31}}"
    };
}
#[cfg(not(fpu))]
macro_rules! load_fpu {
    () => {
        "// no FPU"
    };
}

/// Keeps EXC_RETURN for the exit from PendSV, as for a task that has not used the FPU. On ARMv8-M
/// its value depends on the security state. Changes r2.
#[cfg(not(guard = "limit"))]
macro_rules! keep_return {
    () => {
        "// 0xfffffffd: to thread mode, process stack, frame without FPU registers"
    };
}
#[cfg(guard = "limit")]
macro_rules! keep_return {
    () => {
        "orr r2, lr, #16\npush {{r1, r2}}"
    };
}

/// Leaves PendSV. `r0` is restored from the frame.
#[cfg(not(guard = "limit"))]
macro_rules! leave {
    () => {
        "ldr pc, =0xfffffffd"
    };
}
#[cfg(guard = "limit")]
macro_rules! leave {
    () => {
        "pop {{r0, pc}}"
    };
}

/// Ends the program unless the context of the interrupted task fits between r0 and the limit of
/// its stack. The MPU's guard faults at the store instead. Changes r1.
#[cfg(not(guard = "limit"))]
macro_rules! check_room {
    () => {
        "// {no_room}"
    };
}
#[cfg(all(guard = "limit", fpu))]
macro_rules! check_room {
    () => {
        "
        mrs r1, psplim
        adds r1, #40
        tst lr, #16
        it eq
        addeq r1, #64
        cmp r0, r1
        bhs 3f
        bl {no_room}
        3:"
    };
}
#[cfg(all(guard = "limit", not(fpu)))]
macro_rules! check_room {
    () => {
        "
        mrs r1, psplim
        adds r1, #40
        cmp r0, r1
        bhs 3f
        bl {no_room}
        3:"
    };
}

/// Moves the guard to the value in r0, in PendSV.
#[cfg(guard = "none")]
macro_rules! move_guard {
    () => {
        "// no guard"
    };
}
#[cfg(guard = "mpu")]
macro_rules! move_guard {
    () => {
        "str r0, [r9]"
    };
}
#[cfg(guard = "limit")]
macro_rules! move_guard {
    () => {
        "msr psplim, r0"
    };
}

#[cfg(guard = "limit")]
use super::guard::no_room;
#[cfg(not(guard = "limit"))]
use check_order as no_room;

/// The addresses of the kernel's record and of MPU_RBAR, for `ldrd r4, r5`.
macro_rules! constants {
    () => {
        ".p2align 2\n9: .word {kernel}, 0xe000ed9c"
    };
}

#[cfg(direct)]
pub(crate) use {constants, count_switch, resume_only, store_context, test_context, without_fpu};

/// Suspends `from`, which is running, and resumes `to`. Returns when `from` is resumed.
///
/// # Safety
/// Interrupts are masked, this is thread mode, and `to` has a suspended context or is a coroutine.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: Task, to: Task) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "push {{r3-r11, lr}}",
        "mov r10, r0",
        suspend!(),
        "mov r9, r1",
        ".global tandem_load", // r9: the task to resume
        ".thumb_func",
        "tandem_load:",
        "ldrd r4, r5, 9f",
        "str r9, [r4, #{current}]",
        count_switch!("r9"),
        call!("on_run", "r9"),
        resume!(),
        constants!(),
        kernel = sym KERNEL,
        on_run = sym on_run,
        current = const CURRENT,
        resume = const RESUME,
        switches = const SWITCHES,
    )
}

#[cfg(not(basepri))]
macro_rules! end_of_basepri {
    () => {
        "movs r1, #0\nmsr basepri, r1"
    };
}
/// A context is resumed with interrupts masked.
#[cfg(basepri)]
macro_rules! end_of_basepri {
    () => {
        mask!("r1")
    };
}

/// Resumes `to` and discards the running context.
///
/// # Safety
/// As for [`switch`].
#[inline(always)]
pub(crate) unsafe fn load(to: Task) -> ! {
    // SAFETY: the label is in `switch`. The code there reads r9 and does not use this stack. The
    // rest is this function's contract.
    unsafe {
        core::arch::asm!(
            end_of_basepri!(), // which ends with its task
            "mov r9, r0", "b tandem_load", in("r0") to as *const Header, options(noreturn)
        )
    }
}

/// Ends the program: the running task would wait, or return from its poll, with BASEPRI raised,
/// which would mask interrupts of the next task.
#[cold]
#[unsafe(export_name = "tandem_refuse_switch")]
extern "C" fn refuse_switch() -> ! {
    panic!("task {}: would wait with BASEPRI raised", current().name())
}

/// Ends the program: a coroutine has returned from its poll with interrupts masked, which would be
/// unmasked in the next task.
#[cfg(debug_assertions)]
#[cold]
extern "C" fn refuse_masked() -> ! {
    panic!("task {}: a poll has returned with interrupts masked", current().name())
}
#[cfg(not(debug_assertions))]
use refuse_switch as refuse_masked;

/// Restores a context without FPU registers. Clears FPCA, so that no later switch saves FPU
/// registers for this task in vain.
#[unsafe(naked)]
#[unsafe(export_name = "tandem_restore")]
pub(super) unsafe extern "C" fn restore() {
    naked_asm!(clear_fpca!("r2"), "pop {{r3-r11, pc}}")
}

/// Restores a context with FPU registers. Loading them sets FPCA.
#[cfg(fpu)]
#[unsafe(naked)]
#[unsafe(export_name = "tandem_restore_with_fpu")]
unsafe extern "C" fn restore_with_fpu() {
    naked_asm!(".fpu fpv4-sp-d16", "vpop {{s16-s31}}", "pop {{r3-r11, pc}}")
}

/// Masks interrupts behind a poll. Goes to label 7 if that has left BASEPRI raised. In builds with debug
/// assertions, ends the program if it has masked interrupts. (A coroutine that has ended, which has no
/// bit for a level, has left them masked.)
#[cfg(all(not(basepri), not(debug_assertions)))]
macro_rules! mask_after_poll {
    () => {
        "cpsid i\nmrs r0, basepri\ncbnz r0, 7f // {refuse_masked}"
    };
}
#[cfg(all(not(basepri), debug_assertions))]
macro_rules! mask_after_poll {
    () => {
        "mrs r0, primask
        cbz r0, 9f
        ldr r0, [r5, #{bit}]
        cbz r0, 9f
        bl {refuse_masked}
        9: cpsid i
        mrs r0, basepri
        cmp r0, #0
        bne 7f"
    };
}
#[cfg(basepri)]
macro_rules! mask_after_poll {
    () => {
        concat!(
            refuse_primask!(),
            "mrs r0, basepri\ncbz r0, 9f\nldr r0, [r5, #{bit}]\ncbnz r0, 7f\n9:\n",
            mask!("r0")
        )
    };
}
/// A kernel that masks by BASEPRI leaves PRIMASK alone: who has set it is another.
#[cfg(all(basepri, debug_assertions))]
macro_rules! refuse_primask {
    () => {
        "mrs r0, primask\ncbz r0, 9f\nbl {refuse_masked}\n9:\n"
    };
}
#[cfg(all(basepri, not(debug_assertions)))]
macro_rules! refuse_primask {
    () => {
        "// {refuse_masked}\n"
    };
}

/// Starts a poll of the coroutine r9, which is between two polls, on the shared stack above the top
/// suspended poll. Then polls every coroutine that is the most urgent, until the most urgent task
/// is a suspended context.
///
/// Polls preserve r4-r11, which the loop uses: r4 is the task of the poll underneath, r5 the
/// coroutine, r6 the address of the kernel's record, r7 the address of this function, and r8 is 0.
/// A poll started by PendSV returns to `tandem_poll_returned`.
#[unsafe(naked)]
#[unsafe(export_name = "tandem_start_poll")]
pub(super) unsafe extern "C" fn start_poll() {
    naked_asm!(
        "mov r6, r4",
        "mov r5, r9",
        "ldr r4, [r6, #{top}]",
        "ldr r0, [r4, #{resume} + 4]", // its stack pointer
        "mov sp, r0",
        limit_shared_stack!(),
        clear_fpca!("r0"),
        "ldr r7, =tandem_start_poll",
        "mov r8, #0",
        "mov r0, r5",
        "ldr r2, [r5, #{poll}]",
        "b 3f",
        "2:", // r0: the most urgent
        "ldrd r1, r2, [r0, #{resume} + 4]", // stack and `poll`
        unless_zero_6!("r1"),
        "mov r5, r0",
        count_switch!("r5"), // `tandem_load` has counted the first
        call!("on_run", "r5"),
        "3:",
        "strd r5, r5, [r6, #{current}]", // and `top`
        check_order!(),
        unmask!("r1"), // r0 is the poll's argument
        "blx r2",
        ".global tandem_poll_returned",
        ".thumb_func",
        "tandem_poll_returned:",
        mask_after_poll!(),
        "ldrb r0, [r5, #{again}]",
        "strd r7, r8, [r5, #{resume}]", // a poll that was suspended has left a context
        "cbz r0, 4f",
        // Woken meanwhile, yielded, or ended: the next of its ring becomes the head.
        "strb r8, [r5, #{again}]",
        "ldrd r0, r1, [r5, #{next}]", // and `level`
        "str r0, [r6, r1, lsl #2]",
        "b 2b",
        // It waits: remove it from the ready set.
        "4:",
        trace_blocked!(),
        "ldrd r0, r1, [r5, #{next}]",
        "cmp r0, r5",
        "beq 5f",
        "str r0, [r6, r1, lsl #2]",
        "ldr r2, [r5, #{prev}]",
        "strd r5, r5, [r5, #{prev}]", // and `next`
        "str r2, [r0, #{prev}]",
        "str r0, [r2, #{next}]",
        "b 2b",
        "5:",
        "ldr r1, [r5, #{bit}]",
        "ldr r2, [r6, #{bitmap}]",
        "bics r2, r1",
        "str r2, [r6, #{bitmap}]",
        "clz r2, r2",
        "ldr r0, [r6, r2, lsl #2]",
        "b 2b",
        "6:",
        "str r4, [r6, #{top}]",
        "mov r9, r0",
        "b tandem_load",
        "7: bl tandem_refuse_switch",
        blocked = sym emit_blocked,
        check_order = sym check_order,
        on_run = sym on_run,
        refuse_masked = sym refuse_masked,
        again = const AGAIN,
        bit = const offset_of!(Header, bit),
        bitmap = const BITMAP,
        current = const CURRENT,
        next = const offset_of!(Header, next),
        poll = const POLL,
        prev = const offset_of!(Header, prev),
        resume = const RESUME,
        switches = const SWITCHES,
        top = const TOP,
    )
}

/// The values in the order of the registers: r6, r7 and r8 as in the loop of polls, r9 the address
/// of MPU_RBAR, r10 the return address of a poll, r12 xPSR with the Thumb bit, lr the code that
/// restores a pre-empted task.
pub(super) fn literals() -> Literals {
    unsafe extern "C" {
        fn tandem_poll_returned();
    }
    let kernel = (&raw const KERNEL).addr();
    let (start, returned) =
        (start_poll as *const () as usize, tandem_poll_returned as *const () as usize);
    [kernel, start, 0, 0xe000_ed9c, returned, 0x0100_0000, restore_preempted as *const () as usize]
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
        ".fpu fpv4-sp-d16",
        "mrs r0, psp",
        keep_return!(),
        check_room!(),
        save_fpu!(),
        "stmdb r0!, {{r3-r11, lr}}",
        "ldr r12, ={kernel} + {bitmap}",
        "ldm r12, {{r1, r3, r4, r6-r10, r12, lr}}", // `bitmap`, `current`, `top`, `literals`
        "clz r1, r1",
        "ldr r5, [r6, r1, lsl #2]",
        "strd lr, r0, [r3, #{resume}]", // and stack
        "ldm r5, {{r0, r1, r2, r11}}", // guard, code that restores, stack, poll
        move_guard!(),
        "cbnz r2, 2f",
        // A coroutine between two polls. Its poll starts above the top suspended one and returns
        // into the loop.
        "strd r5, r5, [r6, #{current}]", // and `top`
        "ldr r2, [r4, #{resume} + 4]",
        count_switch!("r5"),
        call!("on_run", "r5"),
        check_order!(),
        "bic r11, r11, #1", // an exception frame has no Thumb bit in pc
        "stmdb r2!, {{r5-r12}}", // as r0-r3, r12, lr, pc and xPSR
        "msr psp, r2",
        leave!(),
        "2:",
        "str r5, [r6, #{current}]",
        count_switch!("r5"),
        call!("on_run", "r5"),
        "bic r11, r1, #1",
        "stmdb r2!, {{r5-r12}}",
        "msr psp, r2",
        mask!("r1"), // as a context is resumed with interrupts masked
        leave!(),
        check_order = sym check_order,
        kernel = sym KERNEL,
        no_room = sym no_room,
        on_run = sym on_run,
        bitmap = const BITMAP,
        current = const CURRENT,
        resume = const RESUME,
        switches = const SWITCHES,
    )
}

/// Restores a pre-empted task: first r3-r11, then the frame that the processor pushed, by
/// EXC_RETURN, which is the tenth word.
///
/// PendSV must not be taken between unmasking and SVC, or frames would accumulate on this stack.
/// BASEPRI holds it back; SVC, with the highest priority, passes. FPCA is cleared so that SVC
/// reserves no space for s0-s15.
#[unsafe(naked)]
#[unsafe(export_name = "tandem_restore_preempted")]
unsafe extern "C" fn restore_preempted() {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "pop {{r3-r11, lr}}",
        load_fpu!(),
        "movs r0, #0xff",
        "msr basepri, r0",
        clear_fpca!("r0"),
        "cpsie i",
        "isb", // otherwise SVC might find interrupts still masked and become a hard fault
        "svc 0",
    )
}

/// The handler of SVC: discards its own frame and returns through the one below, which belongs to
/// the pre-empted task.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn SVCall() {
    naked_asm!(
        "mrs r0, psp",
        "movs r1, #0",
        "msr basepri, r1",
        "ldr lr, [r0, #20]", // EXC_RETURN of the pre-empted task, in lr at SVC
        "adds r0, #32",
        "msr psp, r0",
        "bx lr",
    )
}

/// The position of r4 among the ten words of a context; r5 follows.
pub(super) const R4: usize = 1;

/// The start of a thread: calls r4 with r5 as the argument, with interrupts on.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn begin_thread() {
    naked_asm!(unmask!("r0"), "mov r0, r5", "bx r4")
}
