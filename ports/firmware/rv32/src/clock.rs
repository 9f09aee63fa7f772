//! The clock: one tick is one instruction.
//!
//! With `-icount shift=0` QEMU's `mcycle` is its virtual time, of which every instruction takes 1 ns. A processor that sleeps
//! executes nothing while time goes on, and so does this counter; on a chip, `mcycle` would stop.

#[cfg(feature = "uart")]
use core::arch::asm;

use riscv::register::mcycle;

#[cfg(feature = "uart")]
use crate::registers::{TIME_HIGH, TIME_LOW};

pub const HERTZ: u64 = 1_000_000_000;

/// The low 32 bits.
#[inline(always)]
pub fn read() -> u32 {
    mcycle::read() as u32
}

/// Both halves, read again when the low one has wrapped meanwhile.
#[inline(always)]
pub fn now() -> u64 {
    mcycle::read64()
}

/// Sets the real-time clock to the processor's counter. QEMU has them alike when it starts, but after a reset the former goes on
/// from a whole second.
#[cfg(feature = "uart")]
pub(crate) fn set_real_time() {
    TIME_HIGH.write((now() >> 32) as u32);
    // The low half sets the clock, to when it is written: two instructions after the counter is read.
    // SAFETY: the register touches no memory of the program.
    unsafe {
        asm!("csrr {t}, mcycle", "addi {t}, {t}, 2", "sw {t}, 0({low})", t = out(reg) _, low = in(reg) TIME_LOW.address());
    }
}
