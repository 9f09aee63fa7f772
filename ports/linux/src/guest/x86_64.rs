//! QEMU's PC: simple devices behind the processor's I/O ports, which need no driver.

use std::{arch::asm, io};

/// The port of QEMU's `isa-debugcon`, which carries the stream.
const STREAM: u16 = 0xe9;
/// The port of QEMU's `isa-debug-exit`: any value ends the machine, and QEMU with a failure status.
const FAILURE: u16 = 0xf4;
/// The port of QEMU's `pvpanic`: the machine stops at this instruction, and the lab resumes it.
const PAUSE: u16 = 0x505;
const PANICKED: u8 = 1;
/// The port of ACPI's power management control on QEMU's q35; `OFF` is the value for power-off.
const POWER: u16 = 0x604;
const OFF: u16 = 1 << 13;
/// The ports of `fw_cfg`.
const SELECTOR: u16 = 0x510;
const DATA: u16 = 0x511;

/// The end of the range of ports that the guest uses.
const PORTS: libc::c_ulong = 0x800;

/// The permission to use the ports, returned on drop: switches between processes that have it take
/// longer.
pub struct Board(());

impl Board {
    /// # Errors
    /// The kernel's error: the caller is not root, or the kernel is locked down.
    pub fn take() -> io::Result<Self> {
        permit(1).map(|()| Self(()))
    }

    /// Stops the machine at this instruction, until the lab resumes it.
    pub fn pause(&self) {
        write_byte(PAUSE, PANICKED);
    }

    /// Writes all bytes in one instruction: 200 kB take 0.4 ms of the guest's time.
    ///
    /// # Errors
    /// None on this machine.
    pub fn stream(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: as for `write_byte`; reads exactly `bytes`, upwards.
        unsafe {
            asm!(
                "cld", "rep outsb",
                in("dx") STREAM, inout("rsi") bytes.as_ptr() => _, inout("rcx") bytes.len() => _,
                options(nostack),
            );
        }
        Ok(())
    }

    /// Selects a file of `fw_cfg`, to be read from its first byte.
    pub fn select(&self, file: u16) {
        write_word(SELECTOR, file);
    }

    /// Reads the next bytes of the selected file.
    pub fn read(&self, bytes: &mut [u8]) {
        // SAFETY: as for `write_byte`; writes exactly `bytes`, upwards.
        unsafe {
            asm!(
                "cld", "rep insb",
                in("dx") DATA, inout("rdi") bytes.as_mut_ptr() => _, inout("rcx") bytes.len() => _,
                options(nostack),
            );
        }
    }

    /// Ends the machine, and QEMU with success.
    pub fn power_off(&self) {
        write_word(POWER, OFF);
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // Returning the permission cannot fail.
        let _ = permit(0);
    }
}

/// Ends the machine, and QEMU with a failure status. Without a [`Board`], the processor faults: the
/// end of process 1 is a kernel panic, which ends the machine too.
pub fn fail() {
    write_byte(FAILURE, 1);
}

fn permit(on: libc::c_int) -> io::Result<()> {
    // SAFETY: ioperm takes three numbers. It changes the permission of port instructions, and no
    // memory.
    match unsafe { libc::ioperm(0, PORTS, on) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn write_byte(port: u16, value: u8) {
    // SAFETY: without the permission the processor faults; the devices behind the ports do not
    // access this process's memory. The assembly counts as an access to all memory, since the
    // machine may be saved at this instruction.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nostack, preserves_flags)) };
}

fn write_word(port: u16, value: u16) {
    // SAFETY: as for `write_byte`.
    unsafe { asm!("out dx, ax", in("dx") port, in("ax") value, options(nostack, preserves_flags)) };
}
