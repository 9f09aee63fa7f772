//! The machines `cortex-m33`, an MPS2 with the FPGA image AN505, and `cortex-m0`, an nRF51822, as
//! QEMU emulates them (`mps2-an505`, `microbit`), for ports of any kernel. They differ in their
//! timers and in the numbers of their interrupts, which [`timers`] has.
//!
//! The crate exports the same names as `chronoscope-cortex-m4`, whose sources it uses where nothing
//! is the chip's own. `docs/machines/qemu.md` gives the limits of the emulation.

#![no_std]

pub mod alarm;
pub mod clock;
#[path = "../../cortex-m4/src/faults.rs"]
mod faults;
#[path = "../../cortex-m4/src/interrupts.rs"]
pub mod interrupts;
mod lines;
pub mod pins;
mod registers;
#[cfg_attr(timers = "cmsdk", path = "timers/cmsdk.rs")]
#[cfg_attr(timers = "nrf51", path = "timers/nrf51.rs")]
mod timers;
mod vectors;

use core::mem::MaybeUninit;

pub use chronoscope_firmware::{host, kernel, log_by_defmt, on_this_machine, rtt};
use chronoscope_suite::arena::Arena;
/// Sleeps until an interrupt is pending, masked or not.
pub use cortex_m::asm::wfi;
/// Marks the image's main function.
pub use cortex_m_rt::entry;

/// Bytes of the arena for the experiments' marks. The rest of 128 KiB is for the port and the
/// stack.
const ARENA: usize = 88 * 1024;

/// Takes the machine: call it once, first of all. Returns the experiment's memory.
///
/// Ends the run when this emulator's timers do not behave as [`alarm`] and [`clock`] need them.
pub fn start() -> Arena {
    static mut MEMORY: [MaybeUninit<u8>; ARENA] = [MaybeUninit::uninit(); ARENA];
    timers::start();
    clock::check();
    interrupts::start();
    alarm::check();
    let memory = &raw mut MEMORY;
    // SAFETY: this function is called once, and nothing else names MEMORY.
    Arena::new(unsafe { &mut *memory })
}
