//! The nRF51's TIMER0, which counts up at 8 MHz. (At 16 MHz, QEMU's rounding of half nanoseconds
//! would add up.)

const TIMER: *mut u32 = 0x4000_8000 as *mut u32;
const TASKS_START: usize = 0;
const TASKS_CAPTURE: usize = 0x40 / 4;
const BITMODE: usize = 0x508 / 4;
const PRESCALER: usize = 0x510 / 4;
const CC: usize = 0x540 / 4;

/// 1 − 125 / 128.
pub const SLOWER: (u64, u32) = (3, 7);
pub const ROUND: u64 = 0;
/// SysTick counts at 16 MHz.
pub const SYSTICK_PER_1000: u32 = 2048;

/// The captured count.
pub type Mark = u32;

/// Captures and reads the timer.
#[inline(always)]
pub fn mark() -> Mark {
    // SAFETY: registers of the timer, which captures its count.
    unsafe {
        TIMER.add(TASKS_CAPTURE).write_volatile(1);
        TIMER.add(CC).read_volatile()
    }
}

/// The ticks since the timer's start.
#[inline(always)]
pub fn count(mark: Mark) -> u32 {
    mark
}

pub fn start() {
    const BITS_32: u32 = 3;
    const HALF: u32 = 1;
    // SAFETY: registers of the timer, which raises no interrupt.
    unsafe {
        TIMER.add(BITMODE).write_volatile(BITS_32);
        TIMER.add(PRESCALER).write_volatile(HALF);
        TIMER.add(TASKS_START).write_volatile(1);
    }
}

/// No effect: the timer cannot be set.
pub fn set(_: u32) {}
