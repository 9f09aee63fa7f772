//! The clock: CLOCK_MONOTONIC, in nanoseconds or, where an emulator gives every instruction the
//! same time, in instructions.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of a tick, as a power of two. Set before anything reads the clock.
static SHIFT: AtomicU32 = AtomicU32::new(0);
static COUNTS_INSTRUCTIONS: AtomicBool = AtomicBool::new(false);

/// From now on a tick is an instruction, which takes `1 << shift` ns.
pub fn count_instructions(shift: u32) {
    SHIFT.store(shift, Relaxed);
    COUNTS_INSTRUCTIONS.store(true, Relaxed);
}

/// Ticks of CLOCK_MONOTONIC, read without a system call where the kernel's clock source allows.
#[inline(always)]
pub fn now() -> u64 {
    ticks_of(ClockId::Monotonic)
}

/// What a clock of the kernel says, in ticks.
#[inline(always)]
pub fn ticks_of(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64) >> SHIFT.load(Relaxed)
}

/// A time in ticks as the kernel takes it.
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

/// Whether a tick is an instruction.
pub fn counts_instructions() -> bool {
    COUNTS_INSTRUCTIONS.load(Relaxed)
}
