//! RV32 in machine mode: CLINT's registers are the processor's own.

use core::arch::asm;

const MSIP: *mut u32 = 0x0200_0000 as *mut u32;
/// The address of a register of two words, low and high.
const MTIMECMP: *mut u32 = 0x0200_4000 as *mut u32;

const NEVER: u32 = u32::MAX;

/// Bits of `mie`.
pub const SOFTWARE: usize = 1 << 3;
pub const TIMER: usize = 1 << 7;
pub const EXTERNAL: usize = 1 << 11;
/// The number of this mode at the PLIC.
pub const CONTEXT: usize = 0;

/// Defines the handlers of the two interrupts.
#[macro_export]
macro_rules! handler {
    (software: $handler:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn MachineSoft() {
            $handler();
        }
    };
    (timer: $handler:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn MachineTimer() {
            $handler();
        }
    };
}

/// The low word of `mcycle`.
#[inline(always)]
pub fn cycles() -> u32 {
    let count;
    // SAFETY: reading has no effect. Without `nomem` it is a barrier to the compiler: no measured
    // access moves across.
    unsafe { asm!("csrr {}, mcycle", out(reg) count, options(nostack, preserves_flags)) };
    count
}

pub fn enable(lines: usize) {
    // SAFETY: the handlers are defined, or panic.
    unsafe { asm!("csrs mie, {}", in(reg) lines, options(nostack, preserves_flags)) };
}

pub fn mask() {
    // SAFETY: masks interrupts. A barrier to the compiler: no access moves across.
    unsafe { asm!("csrci mstatus, 8", options(nostack, preserves_flags)) };
}

pub fn unmask() {
    // SAFETY: the caller has masked interrupts, or ends every critical section.
    unsafe { asm!("csrsi mstatus, 8", options(nostack, preserves_flags)) };
}

/// Raises or lowers the software interrupt.
#[inline(always)]
pub fn set_software(on: bool) {
    // SAFETY: a register of CLINT; the interrupt has a handler.
    unsafe { MSIP.write_volatile(on.into()) };
}

/// Has the timer's interrupt come at `due`.
#[inline(always)]
pub fn set_timer(due: u64) {
    // SAFETY: registers of CLINT. The high word is set to "never" first, since the old high word
    // and the new low word could mean a time in the past.
    unsafe {
        MTIMECMP.add(1).write_volatile(NEVER);
        MTIMECMP.write_volatile(due as u32);
        MTIMECMP.add(1).write_volatile((due >> 32) as u32);
    }
}

/// Stops the timer until it is set again.
#[inline(always)]
pub fn stop_timer() {
    // SAFETY: a register of CLINT.
    unsafe { MTIMECMP.add(1).write_volatile(NEVER) };
}
