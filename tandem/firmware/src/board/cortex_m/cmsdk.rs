//! The first timer of Arm's Cortex-M System Design Kit, which counts down.

#[cfg(chip = "an500")]
const TIMER: *mut u32 = 0x4000_0000 as *mut u32;
/// In the secure alias.
#[cfg(chip = "an505")]
const TIMER: *mut u32 = 0x5000_0000 as *mut u32;
const CTRL: usize = 0;
const VALUE: usize = 1;
const RELOAD: usize = 2;

/// 1 − 40 / 64, and 1 − 50 / 64.
pub const SLOWER: (u64, u32) = if cfg!(chip = "an500") { (3, 3) } else { (7, 5) };
pub const ROUND: u64 = 0;
/// SysTick has the timer's clock.
pub const SYSTICK_PER_1000: u32 = if cfg!(chip = "an500") { 1600 } else { 1280 };

/// The timer's value.
pub type Mark = u32;

/// Reads the timer, by one instruction.
#[inline(always)]
pub fn mark() -> Mark {
    // SAFETY: a register of the timer; reading it has no effect.
    unsafe { TIMER.add(VALUE).read_volatile() }
}

/// The ticks since the timer's start.
#[inline(always)]
pub fn count(mark: Mark) -> u32 {
    !mark
}

pub fn start() {
    // SAFETY: registers of the timer, which raises no interrupt.
    unsafe {
        TIMER.add(RELOAD).write_volatile(u32::MAX);
        TIMER.add(CTRL).write_volatile(1);
    }
}

/// Sets the ticks since the timer's start.
pub fn set(count: u32) {
    // SAFETY: a register of the timer, and any count is allowed.
    unsafe { TIMER.add(VALUE).write_volatile(!count) };
}
