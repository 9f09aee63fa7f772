//! Marks, samples and rows of a program in Rust, of which each kernel's program is a part. The rows
//! begin and end where the rows of `benchmark.c` do.

use core::{
    ptr,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
};

use cortex_m_semihosting::{debug, hprintln};

/// The samples of a row.
pub const ROUNDS: usize = 400;

static START: AtomicU32 = AtomicU32::new(0);
static SAMPLES: [AtomicU32; ROUNDS] = [const { AtomicU32::new(0) }; ROUNDS];
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Starts the counter of instructions: TIM5, which counts at 1 GHz in the emulator.
pub fn set_up() {
    const ARR: *mut u32 = ptr::without_provenance_mut(0x4000_0c2c);
    const CR1: *mut u32 = ptr::without_provenance_mut(0x4000_0c00);
    // SAFETY: registers of the timer, which nothing else uses.
    unsafe {
        ARR.write_volatile(u32::MAX);
        CR1.write_volatile(1);
    }
}

/// The number of instructions executed.
#[inline(always)]
fn instructions() -> u32 {
    const CNT: *const u32 = ptr::without_provenance(0x4000_0c24);
    // SAFETY: a register of the timer; reading it has no effect.
    unsafe { CNT.read_volatile() }
}

/// Begins a sample.
#[inline(always)]
pub fn start() {
    START.store(instructions(), Relaxed);
}

/// Ends the sample. Two marks cost 2 instructions.
#[inline(always)]
pub fn end() {
    let now = instructions();
    let n = TAKEN.load(Relaxed);
    if n < ROUNDS {
        SAMPLES[n].store(now.wrapping_sub(START.load(Relaxed)), Relaxed);
        TAKEN.store(n + 1, Relaxed);
    }
}

/// Prints a row, of which the samples are there, and forgets them. Fewer than [`ROUNDS`] end the
/// program.
pub fn report(name: &str) {
    let count = TAKEN.swap(0, Relaxed);
    let mut samples = [0; ROUNDS];
    for (sample, taken) in samples.iter_mut().zip(&SAMPLES) {
        *sample = taken.load(Relaxed);
    }
    samples.sort_unstable();
    let tenths = samples.iter().sum::<u32>() * 10 / ROUNDS as u32;
    let (mean, tenth) = (tenths / 10, tenths % 10);
    hprintln!("{} median {} mean {}.{} n {}", name, samples[ROUNDS / 2], mean, tenth, count);
    if count != ROUNDS {
        debug::exit(debug::EXIT_FAILURE);
    }
}

/// Ends the program.
pub fn exit() {
    debug::exit(debug::EXIT_SUCCESS);
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    debug::exit(debug::EXIT_FAILURE);
    loop {}
}
