//! The port as the only program of a virtual machine: process 1, without a disk, a driver or a
//! shell.
//!
//! It sets the system up, has the machine paused, and reads its request only then: so the lab can
//! keep a machine that has booted, and start every case from it. `lab/src/machine/vm` is the other
//! side of all this.

mod ports;
mod program;
mod request;
mod system;

use std::{io, thread, time::Duration};

use chronoscope_suite::Refusal;

use crate::guest::ports::{Access, write_byte, write_bytes, write_word};

/// What the lab writes behind `--` on the kernel's command line.
pub const ARGUMENT: &str = "chronoscope-guest";

/// QEMU's `isa-debugcon`: what is written here is the stream.
const STREAM: u16 = 0xe9;
/// QEMU's `isa-debug-exit`: any value ends the machine, and QEMU with a status that tells of a
/// failure.
const FAILURE: u16 = 0xf4;
/// QEMU's `pvpanic`: the machine stops at this instruction, and the lab lets it go on.
const PAUSE: u16 = 0x505;
const PANICKED: u8 = 1;
/// ACPI's power management control, where the firmware of QEMU's q35 puts it; and: sleep, as in
/// switched off.
const POWER: u16 = 0x604;
const OFF: u16 = 1 << 13;

/// In an emulator, which skips the time of a processor that sleeps, this takes a moment.
const SETTLE: Duration = Duration::from_secs(10);

/// Does all that process 1 has to do; it must not return, which would be the kernel's panic.
pub fn main() -> ! {
    let done = case();
    // The kernel has kept an account of who may use which ports, and has dropped it while the case
    // ran.
    let access = Access::take();
    match (done, access) {
        (Ok(()), Ok(_)) => write_word(POWER, OFF),
        (outcome, _) => {
            system::log_to_console();
            if let Err(error) = outcome {
                eprintln!("chronoscope-linux: {error}");
            }
            write_byte(FAILURE, 1);
        }
    }
    loop {
        thread::park();
    }
}

fn case() -> io::Result<()> {
    system::set_up()?;
    system::log_to_pipe()?;
    // Kernels finish some of their work after they have started process 1; above all, Linux
    // calibrates its clock anew.
    thread::sleep(SETTLE);
    let access = Access::take()?;
    write_byte(PAUSE, PANICKED);
    // The machine goes on here, now or in a later life.
    let text = request::read()?;
    let program = request::program()?;
    // Switches between processes that may use ports take longer.
    drop(access);
    let mut deliver = |stream: &[u8]| {
        let _access = Access::take()?;
        write_bytes(STREAM, stream);
        Ok(())
    };
    if let Some(program) = program {
        return deliver(&program::run(&text, &program)?);
    }
    crate::run(&text, &mut deliver).map_err(refused)
}

fn refused(refusal: Refusal) -> io::Error {
    io::Error::other(format!("{}: {}", refusal.what, refusal.mend))
}
