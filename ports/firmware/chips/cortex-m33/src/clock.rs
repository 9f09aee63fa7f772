//! The clock: one tick is one instruction.
//!
//! QEMU's timers of these chips count a little faster than it executes: an instruction takes 64 or
//! 128 ns of virtual time (`-icount shift=6` or `7`), a timer's tick 50 or 125 ns. So each count
//! of a timer belongs to one number of instructions, which is computed from it. Two timers count the
//! same ticks, one of them every 256th, so that no interrupt has to extend the count.
//!
//! A sleep would end at a tick, between two instructions, and the clock would be wrong by up to one
//! from then on: ports to these machines do not sleep.

use chronoscope_suite::wire::Domain;

use crate::{
    host,
    timers::{self, COARSE, SLOWER},
};

/// Ticks per second. An instruction is taken for 1 ns, as on all emulated machines.
pub const HERTZ: u64 = 1_000_000_000;

/// Ticks per second.
pub const fn hertz() -> u64 {
    HERTZ
}

/// The unit of a tick.
pub const fn domain() -> Domain {
    Domain::Instructions
}

/// The instructions in a number of the timer's ticks.
#[inline(always)]
fn instructions(ticks: i32) -> i32 {
    ticks - ((ticks * SLOWER.0) >> SLOWER.1)
}

/// The count of 256 ticks and, read after it, the timer's count.
#[inline(always)]
fn counts() -> (u32, u32) {
    let coarse = timers::coarse();
    (coarse, timers::fine())
}

/// The instructions since the last count of 256 ticks.
#[inline(always)]
fn rest(coarse: u32, fine: u32) -> i32 {
    instructions(fine.wrapping_sub(coarse << 8).cast_signed())
}

/// The low 32 bits.
#[inline(always)]
pub fn read() -> u32 {
    let (coarse, fine) = counts();
    coarse.wrapping_mul(COARSE).wrapping_add_signed(rest(coarse, fine))
}

/// The time since the start, in ticks.
#[inline(always)]
pub fn now() -> u64 {
    now_and_count().0
}

/// The time, and the timer's count at that time.
#[inline(always)]
pub(crate) fn now_and_count() -> (u64, u32) {
    let (coarse, fine) = counts();
    let now = u64::from(coarse) * u64::from(COARSE);
    (now.wrapping_add_signed(rest(coarse, fine).into()), fine)
}

/// The instructions from one reading to the next.
#[inline(never)]
fn step() -> u32 {
    let before = read();
    read().wrapping_sub(before)
}

/// Ends the run unless the clock counts instructions: the same code always takes as many.
pub(crate) fn check() {
    let first = step();
    for _ in 0..100 {
        let step = step();
        if step != first {
            host::fail(format_args!(
                "this QEMU's timers count {step} instructions where they counted {first}: \
                 use Debian's QEMU 7.2, with the options of the lab"
            ));
        }
    }
}
