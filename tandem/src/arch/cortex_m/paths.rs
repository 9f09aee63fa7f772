//! The most frequent paths as single routines with one frame each: a thread waits, and is given the
//! unit or the mutex it waits for.
//!
//! `hand_over`, `wait_in` and `pass_on` implement the frequent case. In every other case, before
//! they have changed anything, they continue in the Rust function of the same name in `wait.rs` or
//! `mutex.rs`.
//!
//! # Soundness
//! Each routine changes the kernel's record exactly as the Rust functions do whose name it has,
//! with interrupts masked throughout. The offsets come from `offset_of!`, so a field that moves is
//! followed; fields used in pairs are neighbours, as `Header`, `Waiter` and `Kernel` note.

use super::{
    RESUME,
    switch::{
        constants, count_switch, enter_stack, resume_only, store_context, test_context, without_fpu,
    },
};
use crate::{
    arch::{
        Mask,
        offset::{AGAIN, BITMAP, CURRENT, SWITCHES},
    },
    mutex,
    records::{Header, KERNEL, Lock, Task, WaitQueue, Waiter},
    wait,
};
use core::{
    arch::{asm, naked_asm},
    mem::offset_of,
    ptr::NonNull,
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

/// Serves `first`, the most urgent waiter of `queue`, and lets its task run if that is the most
/// urgent.
///
/// In assembly for a waiter that is alone at its level.
///
/// # Safety
/// Interrupts are masked, and `mask` is their state before. They are masked again on return; other
/// tasks may have run in between, with interrupts on.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn hand_over(queue: &WaitQueue, mask: Mask, first: NonNull<Waiter>) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "mrs r3, ipsr",
        "orrs r3, r1",
        "bne 3f", // in a handler or a critical section: no switch here
        "ldrd r3, r12, [r2, #{state}]", // and `down`
        "cbnz r3, 4f", // it has equals
        "push {{r3-r11, lr}}",
        "ldrd r4, r5, 9f",
        "ldr r9, [r2, #{task}]",
        "ldrd r3, r10, [r4, #{bitmap}]", // and `current`
        "ldrd r8, r11, [r9, #{level}]", // and `bit`
        "cmp r11, r3",
        "bls 2f", // it is not the most urgent
        test_context!("r7"),
        "str r12, [r0]", // the next waiter leads the queue
        "str r2, [r2, #{state}]", // served
        "orr r3, r11",
        "str r9, [r4, r8, lsl #2]",
        "strd r3, r9, [r4, #{bitmap}]",
        store_context!(),
        count_switch!("r9"),
        resume_only!(),
        "4: b {rust}",
        without_fpu!(
            "r7",
            "6f",
            "str r12, [r0]
            str r2, [r2, #{state}]
            orr r3, r11
            str r9, [r4, r8, lsl #2]
            strd r3, r9, [r4, #{bitmap}]"
        ),
        "6: pop {{r3-r11, lr}}", // BASEPRI holds back PendSV
        "3:",
        "ldrd r3, r12, [r2, #{state}]",
        "cbnz r3, 7f", // it has equals
        "str r12, [r0]",
        "str r2, [r2, #{state}]",
        "ldr r0, [r2, #{task}]",
        "b tandem_wake_later",
        "7: b {rust}",
        // It goes behind its equals.
        "2:",
        "str r12, [r0]",
        "str r2, [r2, #{state}]",
        "tst r3, r11",
        "beq 5f", // there are none
        "ldr r6, [r4, r8, lsl #2]", // their head
        "ldr r7, [r9, #{next}]",
        "cmp r6, r9",
        "beq 5f", // it is ready already
        "cmp r7, r9",
        "bne 5f",
        "ldr r7, [r6, #{prev}]",
        "str r9, [r6, #{prev}]",
        "strd r7, r6, [r9, #{prev}]", // and `next`
        "str r9, [r7, #{next}]",
        "pop {{r3-r11, pc}}",
        "5:",
        "mov r0, r9",
        "pop {{r3-r11, lr}}",
        "b tandem_wake_now",
        constants!(),
        kernel = sym KERNEL,
        rust = sym wait::hand_over,
        bitmap = const BITMAP,
        level = const offset_of!(Header, level),
        next = const offset_of!(Header, next),
        prev = const offset_of!(Header, prev),
        resume = const RESUME,
        state = const Waiter::STATE,
        switches = const SWITCHES,
        task = const Waiter::TASK,
    )
}

/// Blocks the running thread in `queue` until it is served.
///
/// In assembly for an empty queue. The waiter is stored below the suspended context, where the
/// stack is unused as long as the thread waits.
///
/// # Safety
/// The caller is a thread, with interrupts masked. They are masked again on return; other tasks
/// have run in between. No NMI returns between the stores to the waiter and the switch of the
/// stack: its frame would overwrite the waiter.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn wait_in(queue: &WaitQueue) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "push {{r3-r11, lr}}",
        "ldrd r4, r5, 9f",
        "ldrd r1, r10, [r4, #{bitmap}]", // and `current`
        "ldr r2, [r0]",
        "cbnz r2, 2f", // others wait
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
        "subs r7, #{waiter_size}",
        "stm r7, {{r0, r2, r3, r7, r8, r10}}", // queue, state and down (0), next, level, task
        "str r7, [r0]",
        "str r7, [r10, #{waiter}]",
        count_switch!("r9"),
        resume_only!(),
        "2:",
        "pop {{r3-r11, lr}}",
        "b {rust}",
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
        rust = sym wait::wait_in,
        bit = const offset_of!(Header, bit),
        bitmap = const BITMAP,
        next = const offset_of!(Header, next),
        prev = const offset_of!(Header, prev),
        resume = const RESUME,
        switches = const SWITCHES,
        waiter = const offset_of!(Header, waiter),
        waiter_size = const size_of::<Waiter>().next_multiple_of(8),
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

/// The stores of [`pass_on`]: the ready set, the owner's level (r8) and its bit (r11), the queue,
/// the lock, and the records of it in its two owners. r3 is 0.
macro_rules! changes {
    () => {
        "orr r1, r11
        str r10, [r4, r8, lsl #2]
        strd r8, r11, [r10, #{level}] // and `bit`
        str r9, [r4, r7, lsl #2]
        strd r1, r9, [r4, #{bitmap}] // and `current`
        str r12, [r0, #{waiters}] // the next waiter leads the queue
        ldr r8, [r9, #{held}]
        str r2, [r2, #{state}] // served
        strd r9, r8, [r0, #{owner}] // and `next`
        strd r3, r0, [r9, #{waits_for}] // and `held`"
    };
}

/// Hands `lock` to `first`, its most urgent waiter, and runs that thread in place of `me`.
///
/// In assembly for an owner that has no other lock, uses no ceiling and is alone at the level of `first`, with no
/// task ready at its own level, and for a waiter that is alone at its level. The waiting thread is
/// not ready then: it would be in the ring of the owner.
///
/// # Safety
/// Interrupts are masked, and `mask` is their state before. They are masked again on return; other
/// tasks may have run in between, with interrupts on.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn pass_on(lock: &Lock, me: Task, first: NonNull<Waiter>, mask: Mask) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "ldr r12, [r1, #{held}]",
        "orrs r12, r3",
        "bne {rust}", // the owner has another lock, or is in a critical section
        "push {{r3-r11, lr}}",
        "ldrd r11, r12, [r2, #{state}]", // and `down`
        "mov r10, r1",
        "cmp r11, #0",
        "bne 2f", // the waiter has equals
        "ldrd r4, r5, 9f",
        "ldr r9, [r2, #{task}]",
        "ldrd r6, r7, [r10, #{next}]", // and `level`
        "ldr r8, [r9, #{level}]",
        "cmp r6, r10",
        "bne 2f", // the owner has equals
        "cmp r7, r8",
        "bne 2f", // the owner has its priority from elsewhere
        "ldrh r8, [r10, #{base}]", // and `floor`
        "cmp r8, #31",
        "bhi 2f", // the owner uses a ceiling
        "mov r11, #0x80000000",
        "ldr r1, [r4, #{bitmap}]",
        "lsr r11, r8",
        "tst r1, r11",
        "bne 2f", // another task is ready at the owner's own level
        test_context!("r3"),
        changes!(),
        store_context!(),
        count_switch!("r9"),
        resume_only!(),
        without_fpu!("r3", "2f", changes!()),
        "2:",
        "mov r1, r10",
        "pop {{r3-r11, lr}}",
        "b {rust}",
        constants!(),
        kernel = sym KERNEL,
        rust = sym mutex::pass_on,
        base = const offset_of!(Header, base),
        bitmap = const BITMAP,
        held = const offset_of!(Header, held),
        level = const offset_of!(Header, level),
        next = const offset_of!(Header, next),
        owner = const offset_of!(Lock, owner),
        resume = const RESUME,
        state = const Waiter::STATE,
        switches = const SWITCHES,
        task = const Waiter::TASK,
        waiters = const offset_of!(Lock, waiters),
        waits_for = const offset_of!(Header, waits_for),
    )
}
