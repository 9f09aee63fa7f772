//! The stack guards: 32 bytes near the low end of the running task's stack that the PMP forbids
//! tasks to access, and 256 bytes below the handlers' stack.
//!
//! The PMP restricts machine mode only by locked entries, which cannot be moved. But it restricts
//! every load and store that has the privilege of user mode, and with `mstatus.MPRV` they have the
//! privilege in `MPP`. So the kernel keeps MPRV set, and MPP at user while tasks run. A trap sets
//! MPP to machine, which lifts the guard until it returns. Instruction fetches and CSRs are not
//! affected. The switch moves the guard by two instructions, as on a Cortex-M4.
//!
//! Because a trap is not restricted, the frame that it pushes might pass the guard. So 32 bytes are
//! kept free below the guard: together they have space for one frame. The kernel checks a frame
//! only if more is to follow it, the context of a pre-empted task.
//!
//! The handlers' guard, behind the last static, never moves, so it is a locked entry, which
//! restricts machine mode too. It stays locked until reset, also for a program that is started
//! without one.
//!
//! Entries 0 to 2 are used. Without user mode or a PMP, their registers read as zero, nothing is
//! guarded, and all else works. Processors on which they are illegal (CV32E40P as published; the
//! bench board's reads them as zero) need the feature `unguarded`.
//!
//! # Soundness
//! This module writes the PMP's registers and `mstatus`, whose effect is a fault or none: loads and
//! stores of tasks are allowed everywhere but in the guards, by entry 2. It assumes that the
//! application leaves entries 0 to 2 and MPRV to the kernel.

use super::exception::{Exception, TRAP};
use crate::{
    info::current,
    records::{GuardValue, KERNEL},
    shared::Masked,
};
use core::arch::asm;

/// The size of the guard and of the free bytes below it, taken from each stack.
pub(crate) const GUARD: usize = FREE + SIZE;

/// The free bytes below the guard, as many as the guard has, which is aligned to its size.
const FREE: usize = SIZE;
const SIZE: usize = if cfg!(feature = "guard-256") { 256 } else { 32 };
const _: () = assert!(TRAP <= GUARD, "a trap's frame is not compared, nor stopped by the guard");

/// The size of the handlers' guard in bytes. It never moves, so it may be larger than the largest
/// frame of a handler.
const HANDLERS_GUARD: usize = 256;

/// The value for `pmpaddr0` that guards the stack beginning at `low`, a multiple of [`SIZE`]: a
/// naturally aligned range of that size.
pub(super) const fn value(low: usize) -> GuardValue {
    debug_assert!(low.is_multiple_of(SIZE));
    ((low + FREE) >> 2) as u32 | (SIZE as u32 / 8 - 1)
}

/// The low end of the range of a guard's value.
const fn address(value: GuardValue) -> usize {
    (value << 2) as usize & !(SIZE - 1)
}

/// The end of the range of a guard's value: the lowest address that the task may use.
pub(super) const fn end(value: GuardValue) -> usize {
    address(value) + SIZE
}

/// `mstatus` of a task with interrupts masked: MPRV with MPP = 0, so that loads and stores are
/// restricted as in user mode, for the guard.
#[cfg(not(feature = "unguarded"))]
const IN_TASK: u32 = 1 << 17;
#[cfg(feature = "unguarded")]
const IN_TASK: u32 = 0;

/// Loads the guard of the task in a1 into a4.
macro_rules! load_guard {
    () => {
        load!("a4, {W}(a1)")
    };
}

/// Moves the guard to the value in a4.
#[cfg(not(any(feature = "unguarded", feature = "fence")))]
macro_rules! move_guard {
    () => {
        "csrw pmpaddr0, a4"
    };
}
#[cfg(all(feature = "fence", not(feature = "unguarded")))]
macro_rules! move_guard {
    () => {
        "csrw pmpaddr0, a4\nsfence.vma"
    };
}
#[cfg(feature = "unguarded")]
macro_rules! move_guard {
    () => {
        ""
    };
}

/// Turns the value of a guard, in t0, into an address in it.
macro_rules! limit {
    () => {
        "slli t0, t0, 2"
    };
}

/// The switch does not check the stack pointer: an access to the guard has faulted before.
macro_rules! check_limit {
    () => {
        ""
    };
}
macro_rules! report_limit {
    () => {
        "# {overflow} {handlers}"
    };
}

/// Gives loads and stores the privilege of a task again; the trap gave them machine mode's.
macro_rules! restrict {
    () => {
        "li t0, 3 << 11\ncsrc mstatus, t0" // MPP
    };
}
pub(super) use {check_limit, limit, load_guard, move_guard, report_limit, restrict};

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
    // SAFETY: entry 2 allows tasks everything that entries 0 and 1 do not forbid, and is written
    // before MPRV takes effect. The first switch sets the address of entry 0; until then its 8
    // bytes are at address 0. Nothing uses the memory of the handlers' guard.
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
            status = in(reg) IN_TASK,
            t = out(reg) _,
        );
    }
}

/// The low end of the handlers' guard: the low end of riscv-rt's stack, behind all statics and the
/// heap. `None` with a linker script that does not define `__estack`.
fn handlers_guard() -> Option<usize> {
    let end_of_others: usize;
    // SAFETY: loads the address of a symbol, weak so that it may be missing.
    unsafe {
        asm!(
            ".weak __estack", "lui {0}, %hi(__estack)", "addi {0}, {0}, %lo(__estack)",
            out(reg) end_of_others, options(pure, nomem, nostack, preserves_flags)
        );
    }
    (end_of_others != 0).then_some(end_of_others.next_multiple_of(HANDLERS_GUARD))
}

/// Panics with the cause of an exception, or of an interrupt that cannot have a handler. `scratch`
/// is the value of `mscratch`.
pub(super) extern "C" fn report(scratch: usize) -> ! {
    const LOAD_FAULT: usize = 5;
    const STORE_FAULT: usize = 7;
    let Exception { cause, at, value } = Exception::of_trap();
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

/// Panics for a task that has touched its guard, or has less stack left than its context takes.
pub(super) extern "C" fn overflow() -> ! {
    panic!("stack overflow in task {}", current().name())
}
