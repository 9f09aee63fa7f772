//! The clock: one tick is one instruction.
//!
//! With `-icount shift=0` QEMU's `mcycle` is its virtual time, of which every instruction takes 1 ns. A processor that sleeps
//! executes nothing while time goes on, and so does this counter; on a chip, `mcycle` would stop.

use riscv::register::mcycle;

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
