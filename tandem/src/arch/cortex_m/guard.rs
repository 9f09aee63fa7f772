//! The guard: 32 bytes at the low end of the running task's stack that the MPU lets nobody touch.
//!
//! One region moves along with the switch, by one store of an address prepared in the task's header:
//! two instructions. (A Cortex-M4 has no stack limit register.)

use crate::kernel::{self, KERNEL};

/// What the guard takes of a stack.
pub(crate) const GUARD: usize = 32;

/// The region with the highest number wins where regions overlap, so the application may use the others.
const REGION: u32 = 7;

/// What moves the region to `low`.
pub(super) const fn value(low: usize) -> u32 {
    const VALID: u32 = 1 << 4;
    debug_assert!(low.is_multiple_of(GUARD));
    low as u32 | VALID | REGION
}

pub(super) fn set_up() {
    const MPU_TYPE: *mut u32 = 0xe000_ed90 as *mut u32;
    const MPU_CTRL: *mut u32 = 0xe000_ed94 as *mut u32;
    const MPU_RNR: *mut u32 = 0xe000_ed98 as *mut u32;
    const MPU_RASR: *mut u32 = 0xe000_eda0 as *mut u32;
    const SHCSR: *mut u32 = 0xe000_ed24 as *mut u32;
    const NO_ACCESS_32_BYTES: u32 = 1 << 28 | 4 << 1 | 1;
    const DEFAULT_MAP_ELSEWHERE: u32 = 1 << 2 | 1;
    const MEMORY_FAULT: u32 = 1 << 16;
    // SAFETY: registers of every ARMv7-M; without an MPU they ignore writes. The region's base is set by
    // the first switch, and is 0 until then only with the region off.
    unsafe {
        if MPU_TYPE.read_volatile() == 0 {
            return;
        }
        MPU_RNR.write_volatile(REGION);
        MPU_RASR.write_volatile(NO_ACCESS_32_BYTES);
        SHCSR.write_volatile(SHCSR.read_volatile() | MEMORY_FAULT);
        MPU_CTRL.write_volatile(DEFAULT_MAP_ELSEWHERE);
    }
}

/// The processor met the guard, or another region that forbids the access.
#[unsafe(no_mangle)]
extern "C" fn MemoryManagement() -> ! {
    report()
}

/// The same where interrupts were masked, and every other fault that has no handler of its own.
#[unsafe(export_name = "HardFault")]
unsafe extern "C" fn hard_fault() -> ! {
    report()
}

fn report() -> ! {
    const CFSR: *const u32 = 0xe000_ed28 as *const u32;
    const MMFAR: *const u32 = 0xe000_ed34 as *const u32;
    const STACKING: u32 = 1 << 4 | 1 << 5;
    const ADDRESS_VALID: u32 = 1 << 7;
    // SAFETY: registers of every ARMv7-M; reading has no effect.
    let (status, address) = unsafe { (CFSR.read_volatile(), MMFAR.read_volatile()) };
    let (_, m) = super::Mask::set();
    let guard = KERNEL.current(m).saved.guard.get(m) & !(GUARD as u32 - 1);
    let in_guard = status & ADDRESS_VALID != 0 && address.wrapping_sub(guard) < GUARD as u32;
    let name = kernel::current().name();
    if in_guard || status & STACKING != 0 {
        panic!("stack overflow in task {name}")
    }
    panic!("fault in task {name}: CFSR {status:#x}")
}
