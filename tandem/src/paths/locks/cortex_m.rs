//! A mutex is handed to the thread that waits for it, in one routine with one frame. In every case
//! but the frequent one, before it has changed anything, it continues in the Rust function.

use crate::context::{
    RESUME,
    switch::{constants, count_switch, resume_only, store_context, test_context, without_fpu},
};
use crate::{
    arch::Mask,
    lock,
    records::{
        Header, KERNEL, Lock, Task, Waiter,
        offset::{BITMAP, SWITCHES},
    },
};
use core::{arch::naked_asm, mem::offset_of, ptr::NonNull};

/// The stores of [`replace`]: the ready set, the owner's level (r8) and its bit (r11), the queue,
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
/// # Safety
/// Interrupts are masked, and were on before, as `mask` says. `me` holds no other lock. They are masked
/// again on return; other tasks may have run in between, with interrupts on.
#[inline(always)]
pub(crate) unsafe fn pass_on(lock: &Lock, me: Task, first: NonNull<Waiter>, mask: Mask) {
    debug_assert!(mask.is_open());
    // SAFETY: by this function's contract.
    unsafe { replace(lock, me, first) }
}

/// [`pass_on`], in assembly for an owner that uses no ceiling and is alone at the level of `first`, with
/// no task ready at its own level, and for a waiter that is alone at its level. The waiting thread is
/// not ready then: it would be in the ring of the owner.
#[unsafe(naked)]
unsafe extern "C" fn replace(lock: &Lock, me: Task, first: NonNull<Waiter>) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
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
        "movs r3, #0", // interrupts were on
        "b {rust}",
        constants!(),
        kernel = sym KERNEL,
        rust = sym lock::pass_on,
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
