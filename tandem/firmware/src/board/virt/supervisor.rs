//! RV64 in supervisor mode: the timer is set by a call to machine mode.

use core::arch::asm;

pub use chronoscope_machine_mode::set_timer;

/// Bits of `sie`.
pub const SOFTWARE: usize = 1 << 1;
pub const TIMER: usize = 1 << 5;
pub const EXTERNAL: usize = 1 << 9;
/// The number of this mode at the PLIC.
pub const CONTEXT: usize = 1;

/// Defines the handlers of the two interrupts.
#[macro_export]
macro_rules! handler {
    (software: $handler:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn SupervisorSoft() {
            $handler();
        }
    };
    (timer: $handler:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn SupervisorTimer() {
            $handler();
        }
    };
}

/// The low half of `cycle`.
#[inline(always)]
pub fn cycles() -> u32 {
    let count: u64;
    // SAFETY: reading has no effect. Without `nomem` it is a barrier to the compiler: no measured
    // access moves across.
    unsafe { asm!("csrr {}, cycle", out(reg) count, options(nostack, preserves_flags)) };
    count as u32
}

pub fn enable(lines: usize) {
    // SAFETY: the handlers are defined, or panic.
    unsafe { asm!("csrs sie, {}", in(reg) lines, options(nostack, preserves_flags)) };
}

pub fn mask() {
    // SAFETY: masks interrupts. A barrier to the compiler: no access moves across.
    unsafe { asm!("csrci sstatus, 2", options(nostack, preserves_flags)) };
}

pub fn unmask() {
    // SAFETY: the caller has masked interrupts, or ends every critical section.
    unsafe { asm!("csrsi sstatus, 2", options(nostack, preserves_flags)) };
}

/// Raises or lowers the software interrupt.
#[inline(always)]
pub fn set_software(on: bool) {
    // SAFETY: the interrupt has a handler.
    unsafe {
        match on {
            true => asm!("csrsi sip, 2", options(nostack, preserves_flags)),
            false => asm!("csrci sip, 2", options(nostack, preserves_flags)),
        }
    }
}

/// Stops the timer until it is set again.
#[inline(always)]
pub fn stop_timer() {
    set_timer(u64::MAX);
}
