//! A thread waits, and a handler gives a unit to a waiter.

#[cfg(direct)]
use crate::arch::privilege::{INTERRUPTS_ON, STATUS};
use crate::{
    arch::privilege::{WORD, store},
    context::switch::WITH_WAITER,
    records::WaitQueue,
    wait::begin_wait,
};
#[cfg(direct)]
use crate::{
    arch::{
        Mask,
        privilege::{SCRATCH, load},
    },
    context::switch_and_unmask,
    kernel::wake_here_and_restore,
    records::{
        Header, Kernel, Waiter,
        offset::{BITMAP, CURRENT},
    },
    wait,
};
use core::arch::{asm, naked_asm};
#[cfg(direct)]
use core::{mem::offset_of, ptr::NonNull};

/// Blocks the running thread in `queue` until it is served, as `wait::wait_in` on other processors.
/// Of `s2` to `s11`, the compiler saves the ones that it uses, as for [`give_way`].
///
/// # Safety
/// The caller is a thread, with interrupts masked. They are masked again on return; other tasks
/// have run in between.
#[inline(always)]
pub(crate) unsafe fn wait_in(queue: &WaitQueue) {
    // SAFETY: as this function's contract. The routine preserves `s0`, `s1` and `sp`, and all
    // others are declared as changed.
    unsafe {
        asm!(
            "call {wait_in_losing_upper}",
            wait_in_losing_upper = sym wait_in_losing_upper,
            in("a0") queue,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _,
            out("s8") _, out("s9") _,
            out("s10") _, out("s11") _,
            clobber_abi("C"),
        );
    }
}

/// The body of [`wait_in`]. The waiter is stored below the context, where the stack is unused as
/// long as the thread waits. When resumed, the thread continues in the caller.
///
/// # Safety
/// As for [`wait_in`]; changes `s2` to `s11`.
#[unsafe(naked)]
unsafe extern "C" fn wait_in_losing_upper(queue: &WaitQueue) {
    naked_asm!(
        "addi sp, sp, -{WITH_WAITER}",
        store!("ra, {WITH_WAITER} - 3*{W}(sp)"), // where the context has it
        "mv a1, sp",
        "jal {begin_wait}", // returns from and to in a0 and a1
        "addi sp, sp, {WITH_WAITER}",
        "j tandem_suspend_to",
        begin_wait = sym begin_wait,
        WITH_WAITER = const WITH_WAITER,
        W = const WORD,
    )
}

/// Serves `first`, the most urgent waiter of `queue`, lets its task run if that is the most urgent,
/// and restores the interrupt state.
///
/// In assembly for a waiter that is alone at its level and whose task is the most urgent or goes
/// behind equals. In every other case it continues in the Rust function of the same name, or in the
/// one that wakes. Where possible, a load is not followed at once by an instruction that uses its
/// value: Ibex with a write-back stage would wait for it.
///
/// # Safety
/// Interrupts are masked, and `mask` is their state before.
#[cfg(direct)]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn hand_over_and_restore(
    queue: &WaitQueue,
    mask: Mask,
    first: NonNull<Waiter>,
) {
    naked_asm!(
        ".option push",
        ".option rvc",
        load!("a4, {next_waiter}(a2)"),
        load!("a3, {task}(a2)"),
        load!("a5, {down}(a2)"),
        "bne a4, a2, 4f", // it has equals
        "lw t0, {bit}(a3)",
        "lw a4, {bitmap}(tp)",
        store!("a5, 0(a0)"), // the next waiter leads the queue
        store!("a2, {state}(a2)"), // served
        load!("a5, {head}(a3)"),
        "bgeu a4, t0, 3f",
        "or a4, a4, t0",
        "sw a4, {bitmap}(tp)",
        store!("a3, 0(a5)"),
        // As `pend` does.
        "csrr t0, {SCRATCH}",
        "srli t0, t0, 1",
        "beqz t0, 2f", // 0 or 1: not in a handler
        "csrsi {SCRATCH}, 1",
        store!("a3, {wanted}(tp)"),
        "ret",
        "2:",
        "andi a1, a1, {ON}",
        load!("a0, {current}(tp)"),
        "beqz a1, 5f",
        "mv a1, a3",
        "j {switch_and_unmask}",
        "5:", // in a critical section: no switch here
        "csrsi {SCRATCH}, 1",
        store!("zero, {wanted}(tp)"),
        "ret",
        "3:", // behind its equals
        "and t1, a4, t0",
        load!("a5, 0(a5)"), // their head
        load!("a4, {next}(a3)"),
        "beqz t1, 6f", // there are none
        "beq a5, a3, 6f", // it is ready already
        "bne a4, a3, 6f",
        load!("a4, {prev}(a5)"),
        store!("a5, {next}(a3)"),
        store!("a3, {prev}(a5)"),
        store!("a4, {prev}(a3)"),
        store!("a3, {next}(a4)"),
        "csrw {STATUS}, a1",
        "ret",
        "6:",
        "mv a0, a3",
        "tail {wake}",
        "4:",
        "tail {rust}",
        ".option pop",
        rust = sym wait::hand_over_and_restore,
        switch_and_unmask = sym switch_and_unmask,
        wake = sym wake_here_and_restore,
        bit = const offset_of!(Header, bit),
        bitmap = const BITMAP,
        current = const CURRENT,
        down = const Waiter::DOWN,
        head = const offset_of!(Header, head),
        next = const offset_of!(Header, next),
        next_waiter = const Waiter::NEXT,
        prev = const offset_of!(Header, prev),
        state = const Waiter::STATE,
        task = const Waiter::TASK,
        wanted = const Kernel::WANTED,
        SCRATCH = const SCRATCH,
        STATUS = const STATUS,
        ON = const INTERRUPTS_ON,
    )
}
