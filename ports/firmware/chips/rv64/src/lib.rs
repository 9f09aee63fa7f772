//! The machine `rv64`: an RV64IMAC in supervisor mode, with the interrupt controllers of QEMU's
//! `virt`. The same images run on `cva6`, the RTL bench's core of that architecture. The crate
//! `chronoscope-machine-mode` has the code in machine mode; no experiment calls it.
//!
//! The alarm, the registers and the UART are the sources of `chronoscope-rv32`.
//! `docs/machines/qemu.md` gives the limits of the emulation.

#![no_std]

#[path = "../../rv32/src/alarm.rs"]
pub mod alarm;
pub mod clock;
#[cfg(feature = "uart")]
#[path = "../../rv32/src/host.rs"]
pub mod host;
pub mod interrupts;
#[path = "../../cortex-m33/src/pins.rs"]
pub mod pins;
#[path = "../../rv32/src/registers.rs"]
#[allow(dead_code, reason = "of the bench's registers, only its clock rate is read")]
mod registers;
mod traps;

use core::mem::MaybeUninit;

#[cfg(not(feature = "uart"))]
pub use chronoscope_firmware::host;
pub use chronoscope_firmware::{kernel, log_by_defmt, on_this_machine, rtt};
use chronoscope_machine_mode as _;
use chronoscope_suite::arena::Arena;
/// Sleeps until an interrupt is pending, masked or not.
pub use riscv::asm::wfi;
/// Marks the image's main function.
pub use riscv_rt::entry;

/// Bytes of the arena for the experiments' marks. The rest of the memory is for the port and the
/// stack.
const ARENA: usize = 512 * 1024;

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
    alarm::start();
    interrupts::start();
}
