//! The guards: 32 bytes near the low end of the running task's stack that the PMP lets no task touch, and 256 below the handlers'.
//!
//! The PMP binds machine mode only through locked entries, which cannot be moved; but it binds every load and store made
//! with the privilege of user mode, and `mstatus.MPRV` lends those the privilege in `MPP`. So the kernel keeps MPRV set,
//! and MPP at user while tasks run. A trap sets MPP to machine, and so lifts the guard, until it returns. Fetching
//! instructions and CSRs are not concerned. Moving the guard takes the switch two instructions, as on a Cortex-M4.
//!
//! Because a trap is not bound, the frame it pushes might pass the guard: so 32 bytes are kept free below it, which with
//! the guard make room for one frame. Only one that is to be followed by more, the context of a pre-empted task, is checked.
//!
//! The handlers' guard, behind the last static, never moves, so a locked entry serves, which binds machine mode too.
//! Locked means until reset: whoever starts another program without one finds it guarded still.
//!
//! Entries 0 to 2 are used. Without user mode or PMP their registers read as zero, nothing is guarded, and all else
//! works; processors to which they are illegal (CV32E40P as published; the bench board's
//! reads them as zero) need the feature `unguarded`.

use crate::{
    kernel::{self, KERNEL},
    shared::Masked,
};
use core::arch::asm;

/// What the guard takes of a stack.
pub(crate) const GUARD: usize = FREE + SIZE;

/// Room below the guard.
const FREE: usize = 32;
const SIZE: usize = 32;

/// The handlers' guard: as it never moves, it may be larger than a handler's largest frame.
const HANDLERS_GUARD: usize = 256;

/// What moves the guard to the stack that begins at `low`: a range of 32 bytes, naturally aligned.
pub(super) const fn value(low: usize) -> u32 {
    debug_assert!(low.is_multiple_of(SIZE));
    ((low + FREE) >> 2) as u32 | 0b11
}

/// From a guard's value to an address in it, which the stack pointer must not pass: shifted left by 2.
const fn address(value: u32) -> usize {
    (value << 2) as usize & !(SIZE - 1)
}

#[cfg(feature = "unguarded")]
pub(super) fn set_up() {}

#[cfg(not(feature = "unguarded"))]
pub(super) fn set_up() {
    const NATURALLY_ALIGNED: u32 = 3 << 3;
    const ALL_ACCESS: u32 = 0b111;
    const LOCKED: u32 = 1 << 7;
    const TASKS: u32 = NATURALLY_ALIGNED | (NATURALLY_ALIGNED | ALL_ACCESS) << 16;
    const AND_HANDLERS: u32 = TASKS | (NATURALLY_ALIGNED | LOCKED) << 8;
    let (handlers, entries) = match handlers_guard() {
        Some(low) => ((low | (HANDLERS_GUARD / 2 - 1)) >> 2, AND_HANDLERS),
        None => (0, TASKS),
    };
    // SAFETY: entry 2 allows tasks what lower entries do not forbid, before the guard's entry 0 and MPRV take
    // effect. The guard's address is set by the first switch; until then it is of no task. Nothing lies in the handlers'.
    unsafe {
        asm!(
            "csrw pmpaddr0, zero",
            "csrw pmpaddr1, {handlers}",
            "csrw pmpaddr2, {all}",
            "csrr {t}, pmpcfg0",
            "srli {t}, {t}, 24",
            "slli {t}, {t}, 24",
            "or {t}, {t}, {entries}",
            "csrw pmpcfg0, {t}",
            "csrw mstatus, {status}",
            handlers = in(reg) handlers,
            all = in(reg) u32::MAX,
            entries = in(reg) entries,
            status = in(reg) super::switch::IN_TASK,
            t = out(reg) _,
        );
    }
}

/// Where the handlers' guard begins: at the low end of riscv-rt's stack, behind all statics and the heap. A linker script
/// without its symbol has no guard there.
fn handlers_guard() -> Option<usize> {
    let end_of_others: usize;
    // SAFETY: takes the address of a symbol.
    unsafe {
        asm!(".weak __estack", "lui {0}, %hi(__estack)", "addi {0}, {0}, %lo(__estack)", out(reg) end_of_others, options(pure, nomem, nostack, preserves_flags));
    }
    (end_of_others != 0).then_some(end_of_others.next_multiple_of(HANDLERS_GUARD))
}

/// The exceptions end here, and the lines that no handler can have. `scratch` is `mscratch`.
pub(super) extern "C" fn report(scratch: usize) -> ! {
    const LOAD_FAULT: u32 = 5;
    const STORE_FAULT: u32 = 7;
    let (cause, at, value): (u32, usize, usize);
    // SAFETY: reading has no effect.
    unsafe {
        asm!("csrr {}, mcause", "csrr {}, mepc", "csrr {}, mtval", out(reg) cause, out(reg) at, out(reg) value, options(nomem, nostack));
    }
    if cause.cast_signed() < 0 {
        panic!("interrupt {} has no handler", cause & 0x7fff_ffff)
    }
    // SAFETY: an exception masks interrupts.
    let m = unsafe { Masked::assume() };
    let task = KERNEL.current_or_idle(m);
    let in_task = scratch <= 1;
    let (guard, size) = match handlers_guard() {
        Some(low) if !in_task => (low, HANDLERS_GUARD),
        _ => (address(task.saved.guard.get(m)), SIZE),
    };
    if matches!(cause, LOAD_FAULT | STORE_FAULT) && value.wrapping_sub(guard) < size {
        match in_task {
            true => overflow(),
            false => panic!("stack overflow of a handler in task {}", task.name(m)),
        }
    }
    let (name, place) = (task.name(m), if in_task { "" } else { "a handler that interrupted " });
    panic!("fault in {place}task {name}: mcause {cause}, mepc {at:#x}, mtval {value:#x}")
}

/// A task has less stack left than its context takes, or touched the guard.
pub(super) extern "C" fn overflow() -> ! {
    panic!("stack overflow in task {}", kernel::current().name())
}
