//! The guard: 32 bytes near the low end of the running task's stack that the PMP lets no task touch.
//!
//! The PMP binds machine mode only through locked entries, which cannot be moved; but it binds every load and store made
//! with the privilege of user mode, and `mstatus.MPRV` lends those the privilege in `MPP`. So the kernel keeps MPRV set,
//! and MPP at user while tasks run. A trap sets MPP to machine, and so lifts the guard, until it returns. Fetching
//! instructions and CSRs are not concerned. Moving the guard takes the switch two instructions, as on a Cortex-M4.
//!
//! Because a trap is not bound, the frame it pushes might pass the guard: so 32 bytes are kept free below it, which with
//! the guard make room for one frame. Only one that is to be followed by more, the context of a pre-empted task, is checked.
//!
//! Entries 0 and 1 are used. Without user mode or PMP their registers read as zero, nothing is guarded, and all else
//! works; processors to which they are illegal (CV32E40P) need the feature `unguarded`.

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
    const BOTH: u32 = NATURALLY_ALIGNED | (NATURALLY_ALIGNED | ALL_ACCESS) << 8;
    // SAFETY: entry 1 allows tasks what lower entries do not forbid, before the guard's entry 0 and MPRV take
    // effect. The guard's address is set by the first switch; until then it is of no task.
    unsafe {
        asm!(
            "csrw pmpaddr0, zero",
            "csrw pmpaddr1, {all}",
            "csrr {t}, pmpcfg0",
            "srli {t}, {t}, 16",
            "slli {t}, {t}, 16",
            "or {t}, {t}, {both}",
            "csrw pmpcfg0, {t}",
            "csrw mstatus, {status}",
            all = in(reg) u32::MAX,
            both = in(reg) BOTH,
            status = in(reg) super::switch::IN_TASK,
            t = out(reg) _,
        );
    }
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
    let in_task = scratch <= 1;
    let guard = address(KERNEL.current(m).saved.guard.get(m));
    if in_task && matches!(cause, LOAD_FAULT | STORE_FAULT) && value.wrapping_sub(guard) < SIZE {
        overflow()
    }
    let (name, place) = (kernel::current().name(), if in_task { "" } else { "a handler that interrupted " });
    panic!("fault in {place}task {name}: mcause {cause}, mepc {at:#x}, mtval {value:#x}")
}

/// A task has less stack left than its context takes, or touched the guard.
pub(super) extern "C" fn overflow() -> ! {
    panic!("stack overflow in task {}", kernel::current().name())
}
