//! The clock: one tick is one instruction in QEMU, one cycle on the RTL bench.
//!
//! With `-icount shift=0` QEMU's `mcycle` is its virtual time, of which every instruction takes 1
//! ns. A processor that sleeps executes nothing while time goes on, and so does this counter; on
//! most chips, `mcycle` would stop. The bench's cores have a clock that is never gated, so it goes
//! on there too.

#[cfg(feature = "uart")]
use core::arch::asm;

use chronoscope_suite::wire::Domain;
use riscv::register::{mcountinhibit, mcycle};

use crate::registers;
#[cfg(feature = "uart")]
use crate::registers::{TIME_HIGH, TIME_LOW};

/// Ticks per second in QEMU. Kernels take it for a constant; on the bench their ticks are cycles,
/// of whatever length.
pub const HERTZ: u64 = 1_000_000_000;

pub(crate) fn start() {
    // The CV32E40P's counters start inhibited. The register is written only there: in QEMU it is 0.
    if mcountinhibit::read().cy() {
        // SAFETY: lets the counter count.
        unsafe { mcountinhibit::clear_cy() };
    }
}

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

/// Ticks per second.
pub fn hertz() -> u64 {
    cycles_per_second().unwrap_or(HERTZ)
}

/// The unit of a tick: an instruction in QEMU, a cycle on the bench.
pub fn domain() -> Domain {
    if cycles_per_second().is_some() { Domain::Cycles } else { Domain::Instructions }
}

/// The bench's clock rate; `None` in QEMU.
fn cycles_per_second() -> Option<u64> {
    Some(registers::HERTZ.read().into()).filter(|&hertz| hertz != 0)
}

/// Sets the real-time clock to the processor's counter. QEMU has them alike when it starts, but
/// after a reset the former goes on from a whole second.
#[cfg(feature = "uart")]
pub(crate) fn set_real_time() {
    TIME_HIGH.write((now() >> 32) as u32);
    // The low half sets the clock, to when it is written: two instructions after the counter is
    // read. SAFETY: the register touches no memory of the program.
    unsafe {
        asm!("csrr {t}, mcycle", "addi {t}, {t}, 2", "sw {t}, 0({low})", t = out(reg) _, low = in(reg) TIME_LOW.address());
    }
}
