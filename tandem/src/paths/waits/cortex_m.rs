//! A thread waits, and is given the unit that it waits for: each in one routine with one frame. In
//! every case but the frequent one, before they have changed anything, the routines continue in the
//! Rust function of the same name.

use crate::context::{
    RESUME,
    switch::{constants, count_switch, resume_only, store_context, test_context, without_fpu},
};
use crate::{
    arch::Mask,
    records::{
        Header, KERNEL, WaitQueue, Waiter,
        offset::{BITMAP, SWITCHES},
    },
    wait,
};
use core::{arch::naked_asm, mem::offset_of, ptr::NonNull};

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
