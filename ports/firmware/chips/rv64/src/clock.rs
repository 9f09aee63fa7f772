//! The clock: one tick is one instruction in QEMU, one cycle on the RTL bench. `cycle` is the
//! supervisor's view of the counter that `chronoscope-rv32` reads as `mcycle`; here it has 64 bits in
//! one register.

use core::arch::asm;

use chronoscope_suite::wire::Domain;

use crate::registers;
#[cfg(feature = "uart")]
use crate::registers::{TIME_HIGH, TIME_LOW};

/// Ticks per second in QEMU. Kernels take it for a constant; on the bench their ticks are cycles,
/// of whatever length.
pub const HERTZ: u64 = 1_000_000_000;

/// The low 32 bits.
#[inline(always)]
pub fn read() -> u32 {
    now() as u32
}

/// The time since the start, in ticks: one read of the processor's counter.
#[inline(always)]
pub fn now() -> u64 {
    let count;
    // SAFETY: reading has no effect. Without `nomem` it is a barrier to the compiler: no measured
    // access moves across.
    unsafe { asm!("csrr {}, cycle", out(reg) count, options(nostack, preserves_flags)) };
    count
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
pub fn cycles_per_second() -> Option<u64> {
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
        asm!("csrr {t}, cycle", "addi {t}, {t}, 2", "sw {t}, 0({low})", t = out(reg) _, low = in(reg) TIME_LOW.address());
    }
}
