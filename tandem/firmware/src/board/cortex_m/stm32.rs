//! The clock of an STM32F205 or STM32F405: the timer TIM5. With `-icount shift=0`, it counts one
//! tick per instruction.
//!
//! # Soundness
//! The clock's extension is accessed with interrupts masked.

use core::cell::UnsafeCell;

const TIM5: *mut u32 = 0x4000_0c00 as *mut u32;
const CR1: usize = 0;
const CNT: usize = 9;
const ARR: usize = 11;

/// SysTick counts at the processor's clock, 168 MHz on the STM32F405 and 120 MHz on the STM32F205.
pub const SYSTICK_PER_1000: u32 = if cfg!(fpu) { 168 } else { 120 };

/// SysTick's ticks in an instruction, times 2³², rounded up.
pub const RATIO: u32 = ((SYSTICK_PER_1000 as u64) << 32).div_ceil(1000) as u32;

/// SysTick's ticks beyond the ticks of [`systick`], so that no alarm comes before its time.
pub const SOONEST: u32 = 2;

/// SysTick's ticks in this number of instructions, rounded down.
#[inline(always)]
pub fn systick(instructions: u32) -> u32 {
    ((u64::from(instructions) * u64::from(RATIO)) >> 32) as u32
}

/// A reading of the clock in the fewest instructions, for [`instructions`].
pub type Mark = u32;

/// Reads the clock.
#[inline(always)]
pub fn mark() -> Mark {
    ticks()
}

/// The number of instructions executed at a mark.
#[inline(always)]
pub fn instructions(mark: Mark) -> u32 {
    mark
}

/// The number of instructions executed. Wraps at 2³².
#[inline(always)]
pub fn ticks() -> u32 {
    // SAFETY: a register of the timer; reading it has no effect.
    unsafe { TIM5.add(CNT).read_volatile() }
}

/// Sets the low word of the clock to `count`, to test that it may wrap.
pub fn set_ticks(count: u32) {
    // SAFETY: a register of the timer, and any count is allowed.
    unsafe { TIM5.add(CNT).write_volatile(count) };
}

/// Starts the timer.
pub fn start() {
    // SAFETY: registers of the timer.
    unsafe {
        TIM5.add(ARR).write_volatile(u32::MAX);
        TIM5.add(CR1).write_volatile(1);
    }
}

/// The clock's upper half, and the last reading of its lower half.
#[repr(transparent)]
pub struct Extension(UnsafeCell<Halves>);

/// Field order is known to the benchmark's code in assembly.
#[repr(C)]
struct Halves {
    high: u32,
    last: u32,
}

/// The register of the clock, for the benchmark's code in assembly.
#[cfg(feature = "layout")]
pub const CLOCK: usize = 0x4000_0c24;

// SAFETY: accessed only with interrupts masked.
unsafe impl Sync for Extension {}
pub static EXTENSION: Extension = Extension(UnsafeCell::new(Halves { high: 0, last: 0 }));

/// Counts a wrap of the clock's lower half, and returns the upper half.
#[cold]
#[inline(never)]
fn wrap(high: &mut u32) -> u32 {
    *high += 1;
    *high
}

/// The number of instructions executed.
///
/// # Safety
/// Interrupts are masked.
#[inline(always)]
pub unsafe fn now() -> u64 {
    // SAFETY: interrupts are masked, by this function's contract.
    let halves = unsafe { &mut *EXTENSION.0.get() };
    let low = ticks();
    let Halves { mut high, last } = *halves;
    if low < last {
        high = wrap(&mut halves.high);
    }
    halves.last = low;
    u64::from(high) << 32 | u64::from(low)
}
