//! The machine `rv32`: an RV32IMC in machine mode, with the interrupt controllers of QEMU's `virt`,
//! for ports of any kernel. The RTL bench looks the same to a program: one image runs on either,
//! and detects differences at run time.
//!
//! The crate exports the same names as `chronoscope-cortex-m4`, so a port differs between the two
//! in little more than its kernel's own code for the processor. `docs/machines/qemu.md` gives the
//! limits of the emulation.

#![no_std]

pub mod alarm;
pub mod clock;
#[cfg(feature = "uart")]
pub mod host;
pub mod interrupts;
pub mod pins;
mod registers;
mod traps;

use core::mem::MaybeUninit;

#[cfg(not(feature = "uart"))]
pub use chronoscope_firmware::host;
pub use chronoscope_firmware::{kernel, log_by_defmt, on_this_machine, rtt};
use chronoscope_suite::arena::Arena;
/// Sleeps until an interrupt is pending, masked or not.
pub use riscv::asm::wfi;
/// Marks the image's main function.
pub use riscv_rt::entry;

/// Bytes of the arena for the experiments' marks. The rest of the memory is for the port and the
/// stack.
const ARENA: usize = 88 * 1024;

/// Takes the machine: call it once, first of all. Returns the experiment's memory.
///
/// Ends the run when this emulator's timer does not behave as [`alarm`] needs it.
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
