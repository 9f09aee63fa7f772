//! Registers, interrupts and output of the board.

use core::panic::PanicInfo;
use cortex_m_semihosting::{debug, hprintln};

/// With `-icount shift=0`, this timer counts one tick per instruction.
const TIM5: *mut u32 = 0x4000_0c00 as *mut u32;
const CR1: usize = 0;
const CNT: usize = 9;
const ARR: usize = 11;

/// The count of instructions, wrapping at 32 bits.
#[inline(always)]
pub fn ticks() -> u32 {
    // SAFETY: a register of the timer; reading has no effect.
    unsafe { TIM5.add(CNT).read_volatile() }
}

/// Starts the count.
pub fn start_ticks() {
    // SAFETY: registers of the timer.
    unsafe {
        TIM5.add(ARR).write_volatile(u32::MAX);
        TIM5.add(CR1).write_volatile(1);
    }
}

/// Turns the FPU on.
pub fn enable_fpu() {
    const CPACR: *mut u32 = 0xe000_ed88 as *mut u32;
    // SAFETY: grants access to coprocessors 10 and 11.
    unsafe { CPACR.write_volatile(0xf << 20) };
}

/// Lets an interrupt in.
pub fn enable_interrupt(number: usize) {
    const ISER: *mut u32 = 0xe000_e100 as *mut u32;
    // SAFETY: its handler is in the vector table.
    unsafe { ISER.add(number / 32).write_volatile(1 << (number % 32)) };
}

/// Raises an interrupt in software.
#[inline(always)]
pub fn raise(number: usize) {
    const STIR: *mut u32 = 0xe000_ef00 as *mut u32;
    // SAFETY: its handler is in the vector table.
    unsafe { STIR.write_volatile(number as u32) };
}

/// Ends the emulation.
pub fn exit(success: bool) -> ! {
    debug::exit(if success { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    hprintln!("task {}: {}", tandem::current().name(), info);
    exit(false)
}
