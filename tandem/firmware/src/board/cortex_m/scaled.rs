//! The clock of a chip whose timer does not count instructions: a timer that counts a little faster
//! than the emulator executes, so that its count has exactly one number of instructions.
//!
//! | chip | tick | `-icount` | instruction |
//! |---|--:|---|--:|
//! | MPS2 AN500 (M7): CMSDK timer, 25 MHz | 40 ns | `shift=6` | 64 ns |
//! | MPS2 AN505 (M33): CMSDK timer, 20 MHz | 50 ns | `shift=6` | 64 ns |
//! | nRF51 (M0): TIMER0, 8 MHz | 125 ns | `shift=7` | 128 ns |
//!
//! # Soundness
//! The clock's extension is accessed with interrupts masked.

#[cfg_attr(chip = "nrf51", path = "nrf51.rs")]
#[cfg_attr(not(chip = "nrf51"), path = "cmsdk.rs")]
mod timer;

pub use timer::{Mark, SYSTICK_PER_1000, mark, start};

use core::cell::UnsafeCell;

/// SysTick's ticks beyond the ticks of [`systick`], so that no alarm comes before its time.
pub const SOONEST: u32 = SYSTICK_PER_1000 * 64 / 1000 + 2;

/// SysTick's ticks in this number of instructions, rounded down to 64 of them. In words: a
/// Cortex-M0 has no long multiplication.
#[inline(always)]
pub fn systick(instructions: u32) -> u32 {
    const PER_64_TIMES_256: u32 = (SYSTICK_PER_1000 * 64 * 256).div_ceil(1000);
    (instructions >> 6) * PER_64_TIMES_256 / 256
}

/// A count of the timer as instructions: less `SLOWER.0 >> SLOWER.1` of it, rounded.
macro_rules! converted {
    ($count:expr) => {{
        let count = $count;
        count - ((count * timer::SLOWER.0 + timer::ROUND) >> timer::SLOWER.1)
    }};
}

/// The number of instructions executed at a mark. Exact until the timer has wrapped or was set.
#[inline(always)]
pub fn instructions(mark: Mark) -> u32 {
    converted!(u64::from(timer::count(mark))) as u32
}

/// The number of instructions executed, like [`instructions`].
#[inline(always)]
pub fn ticks() -> u32 {
    instructions(mark())
}

/// The timer's upper half, the last reading of its lower half, and the clock's start.
struct Extension(UnsafeCell<(u32, u32, u64)>);
// SAFETY: accessed only with interrupts masked.
unsafe impl Sync for Extension {}
static EXTENSION: Extension = Extension(UnsafeCell::new((0, 0, 0)));

/// Sets the low word of the clock to `count`, to test that it may wrap. Where the timer can be set,
/// it wraps, too.
pub fn set_ticks(count: u32) {
    critical_section::with(|_| {
        timer::set(count);
        // SAFETY: interrupts are masked.
        let (high, last, start) = unsafe { &mut *EXTENSION.0.get() };
        (*high, *last) = (0, timer::count(mark()));
        *start = u64::from(count).wrapping_sub(converted!(u64::from(*last)));
    });
}

/// The number of instructions executed.
///
/// # Safety
/// Interrupts are masked.
#[inline(always)]
pub unsafe fn now() -> u64 {
    // SAFETY: interrupts are masked, by this function's contract.
    let (high, last, start) = unsafe { &mut *EXTENSION.0.get() };
    let low = timer::count(mark());
    if low < *last {
        *high += 1;
    }
    *last = low;
    converted!(u64::from(*high) << 32 | u64::from(low)).wrapping_add(*start)
}
