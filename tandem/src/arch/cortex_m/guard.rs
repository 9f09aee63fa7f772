//! The guard: 32 bytes at the low end of the running task's stack that the MPU lets nobody touch.
//!
//! One region moves along with the switch, by one store of an address prepared in the task's header:
//! two instructions. (A Cortex-M4 has no stack limit register.) Another stays below the main stack, which is the handlers'.

use crate::kernel::KERNEL;

/// What the guard takes of a stack.
pub(crate) const GUARD: usize = 32;

/// The region with the highest number wins where regions overlap, so the application may use the others.
const REGION: u32 = 7;

/// The one below the handlers' stack, and its size: as it never moves, it may be larger than a handler's largest frame.
const HANDLERS_REGION: u32 = 6;
const HANDLERS_GUARD: u32 = 256;

/// In MPU_RBAR: the number of the region stands in it, too.
const VALID: u32 = 1 << 4;

/// What moves the region to `low`.
pub(super) const fn value(low: usize) -> u32 {
    debug_assert!(low.is_multiple_of(GUARD));
    low as u32 | VALID | REGION
}

pub(super) fn set_up() {
    const MPU_CTRL: *mut u32 = 0xe000_ed94 as *mut u32;
    const MPU_RNR: *mut u32 = 0xe000_ed98 as *mut u32;
    const MPU_RBAR: *mut u32 = 0xe000_ed9c as *mut u32;
    const MPU_RASR: *mut u32 = 0xe000_eda0 as *mut u32;
    const SHCSR: *mut u32 = 0xe000_ed24 as *mut u32;
    /// To a region of this size.
    const fn no_access(bytes: u32) -> u32 {
        1 << 28 | (bytes.ilog2() - 1) << 1 | 1
    }
    const DEFAULT_MAP_ELSEWHERE: u32 = 1 << 2 | 1;
    const MEMORY_FAULT: u32 = 1 << 16;
    // SAFETY: registers of every ARMv7-M; without an MPU they ignore writes. The region's base is set by
    // the first switch, and is 0 until then only with the region off.
    unsafe {
        MPU_RNR.write_volatile(REGION);
        MPU_RASR.write_volatile(no_access(GUARD as u32));
        if let Some(low) = handlers_guard() {
            MPU_RBAR.write_volatile(low | VALID | HANDLERS_REGION);
            MPU_RASR.write_volatile(no_access(HANDLERS_GUARD));
        }
        SHCSR.write_volatile(SHCSR.read_volatile() | MEMORY_FAULT);
        MPU_CTRL.write_volatile(DEFAULT_MAP_ELSEWHERE);
    }
}

/// Where the handlers' guard begins: behind all statics, where cortex-m-rt has the main stack end at the latest.
/// A linker script without its symbol has no guard there.
fn handlers_guard() -> Option<u32> {
    let end_of_statics: u32;
    // SAFETY: takes the address of a symbol.
    unsafe {
        core::arch::asm!(".weak __sheap", "movw {0}, #:lower16:__sheap", "movt {0}, #:upper16:__sheap", out(reg) end_of_statics, options(nomem, nostack, preserves_flags));
    }
    (end_of_statics != 0).then_some(end_of_statics.next_multiple_of(HANDLERS_GUARD))
}

/// The processor met a guard, or another region that forbids the access; or that in a handler or where interrupts were
/// masked, or another fault that has no handler of its own.
///
/// Reports from the top of the main stack, whatever is left of it: nothing returns to what lies there.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn MemoryManagement() {
    core::arch::naked_asm!(
        ".global HardFault",
        ".thumb_func",
        "HardFault:",
        "ldr r1, =0xe000ed08", // VTOR
        "ldr r1, [r1]",
        "mov r0, lr",
        "ldr sp, [r1]", // where the main stack begins
        "b {report}",
        report = sym report,
    )
}

/// `from`: what the processor noted in lr about where the fault came.
unsafe extern "C" fn report(from: u32) -> ! {
    const CFSR: *const u32 = 0xe000_ed28 as *const u32;
    const MMFAR: *const u32 = 0xe000_ed34 as *const u32;
    const STACKING: u32 = 1 << 4 | 1 << 5;
    const ADDRESS_VALID: u32 = 1 << 7;
    const IN_THREAD_MODE: u32 = 1 << 3;
    // SAFETY: registers of every ARMv7-M; reading has no effect.
    let (status, address) = unsafe { (CFSR.read_volatile(), MMFAR.read_volatile()) };
    let m = super::mask();
    let task = KERNEL.current_or_idle(m);
    let in_thread = from & IN_THREAD_MODE != 0;
    let (guard, size) = match handlers_guard() {
        Some(low) if !in_thread => (low, HANDLERS_GUARD),
        _ => (task.saved.guard.get(m) & !(GUARD as u32 - 1), GUARD as u32),
    };
    let overflow =
        status & STACKING != 0 || status & ADDRESS_VALID != 0 && address.wrapping_sub(guard) < size;
    let what = match (overflow, in_thread) {
        (true, true) => "stack overflow",
        (true, false) => "stack overflow of a handler",
        (false, _) => "fault",
    };
    panic!("{what} in task {}: CFSR {status:#x}", task.name(m))
}
