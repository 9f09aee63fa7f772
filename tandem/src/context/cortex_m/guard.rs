//! The stack guards: memory below each stack that the MPU forbids to access, so that an overflow
//! faults.
//!
//! The guard of the running task is at the low end of its stack: an access of its size or less cannot
//! pass over it. Its region moves at every switch, by one store of an address prepared in the task's
//! header: two instructions. (A Cortex-M4 has no stack limit register.) A second region, below the
//! main stack, guards the handlers' stack and never moves.
//!
//! The guard has 32 bytes where there is no FPU: an interrupt's frame has 32, all stored. With an FPU
//! it has 128. The frame of a task that has used the FPU takes 104 bytes, of which the processor stores
//! only the lowest 32 at first. So it passes unnoticed over any guard of up to 72 bytes, and a
//! region's size is a power of two: 128 is the least, and no byte of a frame is below such a guard.
//! (The word that aligns a frame is taken only where the stack pointer is a word above a multiple of
//! 8, where the guard ends.) One frame is all that interrupts push onto a task's stack: those that
//! nest push onto the handlers' stack, whose guard is larger still. PendSV and the switch store a
//! context in steps of at most 64 bytes. The feature `guard-256` has 256 bytes on all processors.
//!
//! # Soundness
//! This module writes the MPU's registers, whose effect is a fault or none. It assumes that the
//! application leaves regions 6 and 7 to the kernel.

use crate::{
    arch::mask,
    records::{KERNEL, Task},
};
use core::{cell::UnsafeCell, mem::MaybeUninit};

/// The size of a task's guard, in bytes of its stack.
pub(crate) const GUARD: usize = if cfg!(feature = "guard-256") {
    256
} else if cfg!(fpu) {
    128
} else {
    32
};
const _: () = assert!(GUARD >= LARGEST_FRAME, "an interrupt's frame passes over the guard");

/// The largest frame of an interrupt in bytes.
const LARGEST_FRAME: usize = if cfg!(fpu) { 104 } else { 32 };

/// The number of the moving region. Where regions overlap, the highest number prevails, so the
/// application may use the lower ones.
const REGION: u32 = 7;

/// The region below the handlers' stack, and its size in bytes. It never moves, so it may be larger
/// than the largest frame of a handler.
const HANDLERS_REGION: u32 = 6;
const HANDLERS_GUARD: u32 = 256;

/// A flag of MPU_RBAR: the value contains the region's number.
const VALID: u32 = 1 << 4;

/// The value for MPU_RBAR that moves the tasks' guard to `low`, a multiple of its size.
pub(super) const fn value(low: usize) -> u32 {
    debug_assert!(low.is_multiple_of(GUARD));
    low as u32 | VALID | REGION
}

/// The lowest address that a task with this value may use.
pub(super) const fn end(value: u32) -> usize {
    (value as usize & !(GUARD - 1)) + GUARD
}

/// Enables the guards. The tasks' guard begins at `low`, the low end of the stack of coroutines.
pub(super) fn set_up(low: usize) {
    const MPU_CTRL: *mut u32 = 0xe000_ed94 as *mut u32;
    const MPU_RNR: *mut u32 = 0xe000_ed98 as *mut u32;
    const MPU_RBAR: *mut u32 = 0xe000_ed9c as *mut u32;
    const MPU_RASR: *mut u32 = 0xe000_eda0 as *mut u32;
    const SHCSR: *mut u32 = 0xe000_ed24 as *mut u32;
    /// A value for MPU_RASR: no access to a region of this size, a power of two.
    const fn no_access(bytes: u32) -> u32 {
        1 << 28 | (bytes.ilog2() - 1) << 1 | 1
    }
    const DEFAULT_MAP_ELSEWHERE: u32 = 1 << 2 | 1;
    const MEMORY_FAULT: u32 = 1 << 16;
    // SAFETY: every ARMv7-M has these registers; without an MPU they ignore writes. The handlers'
    // region covers memory that is reserved for it, or that the program has named, and the tasks'
    // region begins at the guard of a stack that is not in use yet, whatever the register held. Both
    // are set up with the MPU off.
    unsafe {
        MPU_CTRL.write_volatile(0);
        MPU_RNR.write_volatile(REGION);
        MPU_RBAR.write_volatile(value(low));
        MPU_RASR.write_volatile(no_access(GUARD as u32));
        MPU_RBAR.write_volatile(handlers_guard() | VALID | HANDLERS_REGION);
        MPU_RASR.write_volatile(no_access(HANDLERS_GUARD));
        SHCSR.write_volatile(SHCSR.read_volatile() | MEMORY_FAULT);
        MPU_CTRL.write_volatile(DEFAULT_MAP_ELSEWHERE);
        core::arch::asm!("dsb", "isb", options(nostack, preserves_flags));
    }
}

/// The memory of the handlers' guard unless the program names another place. cortex-m-rt puts the
/// section behind all statics, below its heap and the main stack.
#[repr(C, align(256))]
struct Reserved(UnsafeCell<MaybeUninit<[u8; HANDLERS_GUARD as usize]>>);

// SAFETY: nothing accesses the content.
unsafe impl Sync for Reserved {}

#[unsafe(link_section = ".uninit.tandem_guard")]
static RESERVED: Reserved = Reserved(UnsafeCell::new(MaybeUninit::uninit()));

/// The low end of the handlers' guard: the symbol `_tandem_handlers_guard` if the program's linker
/// script defines it, rounded up to the guard's size. Otherwise the kernel's own [`RESERVED`].
fn handlers_guard() -> u32 {
    let chosen: u32;
    // SAFETY: loads the address of a symbol, weak so that it may be missing.
    unsafe {
        core::arch::asm!(
            ".weak _tandem_handlers_guard",
            "movw {0}, #:lower16:_tandem_handlers_guard",
            "movt {0}, #:upper16:_tandem_handlers_guard",
            out(reg) chosen, options(nomem, nostack, preserves_flags)
        );
    }
    match chosen {
        0 => RESERVED.0.get() as u32,
        _ => chosen.next_multiple_of(HANDLERS_GUARD),
    }
}

/// The handler of memory faults and hard faults: a task or handler accessed a guard or another
/// forbidden region, or caused a fault that has no handler of its own, possibly with interrupts
/// masked.
///
/// Calls `report` at the top of the main stack and discards its content, since nothing returns to
/// it.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn MemoryManagement() {
    core::arch::naked_asm!(
        ".global HardFault",
        ".thumb_func",
        "HardFault:",
        super::enter_report!(),
        report = sym report,
        UNSTACKED = const super::UNSTACKED,
    )
}

/// Panics with the kind of the fault and the name of the task. `from` is EXC_RETURN, which says
/// whether the fault came from thread mode, and `pc` the address of the instruction, or 0.
unsafe extern "C" fn report(from: u32, pc: u32) -> ! {
    const CFSR: *const u32 = 0xe000_ed28 as *const u32;
    const MMFAR: *const u32 = 0xe000_ed34 as *const u32;
    const STACKING: u32 = 1 << 4 | 1 << 5;
    const ADDRESS_VALID: u32 = 1 << 7;
    const IN_THREAD_MODE: u32 = 1 << 3;
    // SAFETY: every ARMv7-M has these registers; reading them has no effect.
    let (status, address) = unsafe { (CFSR.read_volatile(), MMFAR.read_volatile()) };
    let m = mask();
    let task = KERNEL.current_or_idle(m);
    let in_thread = from & IN_THREAD_MODE != 0;
    let has = |guard: u32, size| {
        status & (STACKING | ADDRESS_VALID) == ADDRESS_VALID && address.wrapping_sub(guard) < size
    };
    let guard = task.saved.guard.get(m) & !(GUARD as u32 - 1);
    // PendSV stores a task's context as a handler, on the task's stack.
    let of_task = has(guard, GUARD as u32) || status & STACKING != 0 && in_thread;
    let of_handler = has(handlers_guard(), HANDLERS_GUARD);
    if of_handler && in_thread {
        overlap(task, address);
    }
    let what = match (of_task, of_handler || status & STACKING != 0) {
        (true, _) => "stack overflow",
        (_, true) => "stack overflow of a handler",
        _ => "fault",
    };
    panic!("{what} in task {}: CFSR {status:#x}, pc {pc:#x}", task.name(m))
}

/// Panics for a task that has accessed the handlers' guard, which is no part of its stack.
fn overlap(task: Task, address: u32) -> ! {
    let (m, low) = (mask(), handlers_guard());
    let name = task.name(m);
    panic!("task {name}: {address:#x} is in the handlers' guard, at {low:#x}: a heap overlaps it")
}
