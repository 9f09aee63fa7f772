//! A thread yields or blocks, and a task is woken: each in one routine with one frame.

use crate::context::{
    RESUME,
    switch::{constants, count_switch, resume_only, store_context, test_context, without_fpu},
};
use crate::{
    arch::Mask,
    records::{
        Header, KERNEL, Task,
        offset::{AGAIN, BITMAP, CURRENT, SWITCHES},
    },
};
use core::{
    arch::{asm, naked_asm},
    mem::offset_of,
};

/// Lets the next of the running thread's ring run, if there is another that is ready. No effect if
/// interrupts are masked, by BASEPRI too.
///
/// # Safety
/// The caller is a thread.
#[inline(always)]
pub(crate) unsafe fn give_way() {
    // SAFETY: the caller is a thread. The routine is a function by the C calling convention, whose
    // scratch registers are declared as changed. It returns with interrupts masked, and skips the
    // second instruction if they were masked before.
    unsafe {
        asm!(
            "bl {rotate}",
            "cpsie i",
            rotate = sym rotate,
            out("r0") _, out("r1") _, out("r2") _, out("r3") _, out("r12") _, out("lr") _,
            out("d0") _, out("d1") _, out("d2") _, out("d3") _,
            out("d4") _, out("d5") _, out("d6") _, out("d7") _,
        );
    }
}

#[unsafe(naked)]
unsafe extern "C" fn rotate() {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "mrs r0, primask",
        "cbnz r0, 3f",
        "cpsid i",
        "push {{r3-r11, lr}}",
        "ldrd r4, r5, 9f",
        "ldr r10, [r4, #{current}]",
        "ldrd r9, r3, [r10, #{next}]", // and `level`
        "cmp r9, r10",
        "beq 2f", // alone
        test_context!("r7"),
        "str r9, [r4, r3, lsl #2]",
        "str r9, [r4, #{current}]",
        store_context!(),
        count_switch!("r9"),
        resume_only!(),
        without_fpu!("r7", "2f", "str r9, [r4, r3, lsl #2]\nstr r9, [r4, #{current}]"),
        "2: pop {{r3-r11, pc}}",
        "3: adds lr, #{LENGTH_OF_CPSIE}",
        "bx lr",
        constants!(),
        LENGTH_OF_CPSIE = const 2,
        kernel = sym KERNEL,
        current = const CURRENT,
        next = const offset_of!(Header, next),
        resume = const RESUME,
        switches = const SWITCHES,
    )
}

/// Makes a task ready and, if it is the most urgent, lets it run: at once, or at the end of the
/// handler or critical section. The same as `kernel::wake_here`.
///
/// # Safety
/// Interrupts are masked, and `mask` is their state before. They are masked again on return; other
/// tasks may have run in between, with interrupts on.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn wake(task: Task, mask: Mask) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "mrs r3, ipsr",
        "orrs r3, r1",
        "bne tandem_wake_later", // in a handler or a critical section: no switch here
        ".global tandem_wake_now",
        ".thumb_func",
        "tandem_wake_now:",
        "ldr r2, ={kernel}",
        "ldrd r3, r12, [r0, #{level}]", // and `bit`
        "ldr r1, [r2, #{bitmap}]",
        "cmp r12, r1",
        "bls 2f", // it is not the most urgent
        "push {{r3-r11, lr}}",
        "ldrd r4, r5, 9f",
        "ldr r10, [r4, #{current}]",
        "mov r9, r0",
        test_context!("r7"),
        "orr r1, r1, r12",
        "str r9, [r4, r3, lsl #2]",
        "strd r1, r9, [r4, #{bitmap}]", // and `current`
        store_context!(),
        count_switch!("r9"),
        resume_only!(),
        without_fpu!(
            "r7",
            "6f",
            "orr r1, r1, r12\nstr r9, [r4, r3, lsl #2]\nstrd r1, r9, [r4, #{bitmap}]"
        ),
        "6: pop {{r3-r11, lr}}", // BASEPRI holds back PendSV
        ".global tandem_wake_later",
        ".thumb_func",
        "tandem_wake_later:",
        "ldr r2, ={kernel}",
        "ldrd r3, r12, [r0, #{level}]",
        "ldr r1, [r2, #{bitmap}]",
        "cmp r12, r1",
        "bls 2f",
        "orr r1, r1, r12",
        "str r1, [r2, #{bitmap}]",
        "str r0, [r2, r3, lsl #2]",
        "ldr r1, =0xe000ed04", // ICSR
        "mov r3, #0x10000000", // PENDSVSET
        "str r3, [r1]",
        "bx lr",
        // Not the most urgent: it goes behind its equals.
        "2:",
        "tst r1, r12",
        "beq 4f",
        "ldr r2, [r2, r3, lsl #2]", // their head
        "ldr r3, [r0, #{next}]",
        "cmp r3, r0",
        "bne 3f",
        "cmp r2, r0",
        "beq 3f",
        "ldr r1, [r2, #{prev}]",
        "strd r1, r2, [r0, #{prev}]", // and `next`
        "str r0, [r1, #{next}]",
        "str r0, [r2, #{prev}]",
        "bx lr",
        // Ready already. If a poll of it has started, it is to be polled again.
        "3:",
        "ldr r2, ={kernel}",
        "ldr r2, [r2, #{current}]",
        "ldr r1, [r0, #{resume} + 4]", // its stack pointer
        "subs r2, r0",
        "it eq",
        "moveq r1, #1",
        "cbz r1, 5f",
        "movs r1, #1",
        "strb r1, [r0, #{again}]",
        "bx lr",
        // The first of its level, unless it has ended, in which case its bit is 0.
        "4:",
        "cmp r12, #0",
        "beq 5f",
        "orr r1, r1, r12",
        "str r1, [r2, #{bitmap}]",
        "str r0, [r2, r3, lsl #2]",
        "5: bx lr",
        constants!(),
        kernel = sym KERNEL,
        again = const AGAIN,
        bitmap = const BITMAP,
        current = const CURRENT,
        level = const offset_of!(Header, level),
        next = const offset_of!(Header, next),
        prev = const offset_of!(Header, prev),
        resume = const RESUME,
        switches = const SWITCHES,
    )
}

/// Blocks the running thread until it is woken. The argument is not used.
///
/// # Safety
/// The caller is a thread, with interrupts masked. They are masked again on return; other tasks
/// have run in between.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn block(_: Task) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "push {{r3-r11, lr}}",
        "ldrd r4, r5, 9f",
        "ldrd r1, r10, [r4, #{bitmap}]", // and `current`
        "ldrd r9, r8, [r10, #{next}]", // and `level`
        "cmp r9, r10",
        "bne 3f", // an equal is ready
        "ldr r12, [r10, #{bit}]",
        "bic r1, r1, r12",
        "clz r12, r1",
        "ldr r9, [r4, r12, lsl #2]",
        "4:",
        test_context!("r3"),
        "strd r1, r9, [r4, #{bitmap}]", // and `current`
        store_context!(),
        count_switch!("r9"),
        resume_only!(),
        without_fpu!("r3", "6f", "strd r1, r9, [r4, #{bitmap}]"),
        "6: bl tandem_refuse_switch",
        "3:",
        "str r9, [r4, r8, lsl #2]",
        "ldr r12, [r10, #{prev}]",
        "strd r10, r10, [r10, #{prev}]", // and `next`
        "str r12, [r9, #{prev}]",
        "str r9, [r12, #{next}]",
        "b 4b",
        constants!(),
        kernel = sym KERNEL,
        bit = const offset_of!(Header, bit),
        bitmap = const BITMAP,
        next = const offset_of!(Header, next),
        prev = const offset_of!(Header, prev),
        resume = const RESUME,
        switches = const SWITCHES,
    )
}
