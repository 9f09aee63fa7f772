//! The clock: CLOCK_MONOTONIC, in nanoseconds, or in instructions on an emulator that gives every
//! instruction the same time.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The binary logarithm of a tick's nanoseconds. Set before the first read of the clock.
static SHIFT: AtomicU32 = AtomicU32::new(0);
static COUNTS_INSTRUCTIONS: AtomicBool = AtomicBool::new(false);

/// Makes a tick an instruction of `1 << shift` ns. Call it before the first read of the clock.
pub fn count_instructions(shift: u32) {
    SHIFT.store(shift, Relaxed);
    COUNTS_INSTRUCTIONS.store(true, Relaxed);
}

/// Returns CLOCK_MONOTONIC in ticks. Needs no system call if the kernel's clock source allows.
#[inline(always)]
pub fn now() -> u64 {
    ticks_of(ClockId::Monotonic)
}

/// Returns a clock of the kernel in ticks.
#[inline(always)]
pub fn ticks_of(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64) >> SHIFT.load(Relaxed)
}

/// Converts a time in ticks to the kernel's representation.
pub fn timespec(ticks: u64) -> Timespec {
    let time = nanoseconds(ticks);
    Timespec { tv_sec: (time / 1_000_000_000) as i64, tv_nsec: (time % 1_000_000_000) as i64 }
}

pub fn nanoseconds(ticks: u64) -> u64 {
    ticks << SHIFT.load(Relaxed)
}

pub fn hertz() -> u64 {
    1_000_000_000 >> SHIFT.load(Relaxed)
}

/// Returns `true` if a tick is an instruction.
pub fn counts_instructions() -> bool {
    COUNTS_INSTRUCTIONS.load(Relaxed)
}
