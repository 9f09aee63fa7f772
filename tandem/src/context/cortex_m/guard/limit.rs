//! The stack guards of ARMv8-M: the processor's own limits, PSPLIM of the running task's stack and
//! MSPLIM of the handlers' stack.
//!
//! An instruction that moves the stack pointer below the limit faults before it has stored
//! anything, however large the frame is. The switch writes PSPLIM, where other processors move a
//! region of the MPU.
//!
//! The limit does not hold for stores below the stack pointer, which the kernel makes: a waiter, a
//! context, and the frame that resumes it. PendSV compares the stack pointer before it stores a
//! context. The others fit in the bytes below the limit, [`GUARD`].
//!
//! # Soundness
//! This module writes the limits, whose effect is a fault or none.

use crate::{
    arch::mask,
    records::{KERNEL, Waiter},
};
use core::arch::asm;

/// The bytes of a stack below its limit: for a waiter, or for an exception frame.
pub(crate) const GUARD: usize = 40;
const _: () = assert!(size_of::<Waiter>().next_multiple_of(8) <= GUARD);

/// The bytes below the handlers' limit, for the frame of the fault that reports them.
const HANDLERS_GUARD: u32 = 256;

/// The limit of the stack beginning at `low`, a multiple of 32.
pub(super) const fn value(low: usize) -> u32 {
    debug_assert!(low.is_multiple_of(8));
    (low + GUARD) as u32
}

/// The lowest address that a task with this value may use.
pub(super) const fn end(value: u32) -> usize {
    value as usize
}

/// Sets the limit of the stack of coroutines, which begins at `low`, and of the handlers' stack.
pub(super) fn set_up(low: usize) {
    let handlers = handlers_limit();
    // SAFETY: nothing uses the process stack yet. The main stack is above all statics.
    unsafe {
        asm!(
            "msr psplim, {0}", "msr msplim, {1}", in(reg) value(low), in(reg) handlers,
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// The limit of the handlers' stack: behind all statics, which is the lowest end that cortex-m-rt
/// allows the main stack. The symbol `_tandem_handlers_guard`, if the program's linker script defines
/// it, comes first. 0, no limit, with a linker script that defines neither.
fn handlers_limit() -> u32 {
    let (chosen, end_of_statics): (u32, u32);
    // SAFETY: loads the addresses of symbols, weak so that they may be missing.
    unsafe {
        asm!(
            ".weak __sheap", "movw {0}, #:lower16:__sheap", "movt {0}, #:upper16:__sheap",
            ".weak _tandem_handlers_guard",
            "movw {1}, #:lower16:_tandem_handlers_guard",
            "movt {1}, #:upper16:_tandem_handlers_guard",
            out(reg) end_of_statics, out(reg) chosen, options(nomem, nostack, preserves_flags)
        );
    }
    match if chosen == 0 { end_of_statics } else { chosen } {
        0 => 0,
        low => low.next_multiple_of(8) + HANDLERS_GUARD,
    }
}

/// Panics with the kind of the fault and the name of the task. `from` is EXC_RETURN, which says
/// whether the fault came from thread mode, and `pc` the address of the instruction, or 0.
pub(super) unsafe extern "C" fn report(from: u32, pc: u32) -> ! {
    const CFSR: *const u32 = 0xe000_ed28 as *const u32;
    const STACK_OVERFLOW: u32 = 1 << 20;
    const IN_THREAD_MODE: u32 = 1 << 3;
    // SAFETY: every ARMv8-M with the main extension has this register; reading it has no effect.
    let status = unsafe { CFSR.read_volatile() };
    let m = mask();
    let what = match (status & STACK_OVERFLOW != 0, from & IN_THREAD_MODE != 0) {
        (true, true) => "stack overflow",
        (true, false) => "stack overflow of a handler",
        (false, _) => "fault",
    };
    panic!("{what} in task {}: CFSR {status:#x}, pc {pc:#x}", KERNEL.current_or_idle(m).name(m))
}

/// Called by PendSV when the context of the interrupted task does not fit on its stack.
pub(super) unsafe extern "C" fn no_room() -> ! {
    let m = mask();
    panic!("stack overflow in task {}: no room to suspend it", KERNEL.current_or_idle(m).name(m))
}
