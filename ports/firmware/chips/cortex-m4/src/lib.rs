//! The machine `cortex-m4`: an STM32F405 as QEMU emulates it (`netduinoplus2`), for ports of any
//! kernel.
//!
//! All ports on this machine share its clock, alarms, interrupts and way to the host, so figures
//! differ by the kernel alone. `docs/machines/qemu.md` gives the limits of the emulation.

#![no_std]

pub mod alarm;
pub mod clock;
mod faults;
#[cfg(feature = "uart")]
pub mod host;
pub mod interrupts;
pub mod lines;
pub mod pins;
mod registers;
mod vectors;

use core::mem::MaybeUninit;

#[cfg(not(feature = "uart"))]
pub use chronoscope_firmware::host;
pub use chronoscope_firmware::{kernel, log_by_defmt, on_this_machine, rtt};
use chronoscope_suite::arena::Arena;
/// Sleeps until an interrupt is pending, masked or not.
pub use cortex_m::asm::wfi;
/// Marks the image's main function.
pub use cortex_m_rt::entry;

/// Bytes of the arena for the experiments' marks. The rest of 128 KiB is for the port and the
/// stack.
const ARENA: usize = 80 * 1024;

/// Takes the machine: call it once, first of all. Returns the experiment's memory.
///
/// Ends the run when this emulator's timers do not behave as [`alarm`] needs them.
pub fn start() -> Arena {
    static mut MEMORY: [MaybeUninit<u8>; ARENA] = [MaybeUninit::uninit(); ARENA];
    start_devices();
    let memory = &raw mut MEMORY;
    // SAFETY: this function is called once, and nothing else names MEMORY.
    Arena::new(unsafe { &mut *memory })
}

/// Takes the machine without its memory: for ports that have memory of their own. Call it once, in
/// place of [`start`].
#[inline(always)]
pub fn start_devices() {
    clock::start();
    alarm::start();
    interrupts::start();
}
