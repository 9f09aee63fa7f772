//! The port as the only program of a virtual machine: process 1, without a disk, a driver or a
//! shell.
//!
//! It sets the system up, pauses the machine, and reads its request only then, so the lab can keep
//! a booted machine and start every case from it. The lab's machine `vm` is its counterpart.

mod ports;
mod program;
mod request;
mod system;

use std::{io, thread, time::Duration};

use chronoscope_suite::Refusal;

use crate::guest::ports::{Access, write_byte, write_bytes, write_word};

/// The program's argument, which the lab writes behind `--` on the kernel's command line.
pub const ARGUMENT: &str = "chronoscope-guest";

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

/// The time for the kernel to settle after the boot. An emulator skips the time of a sleeping
/// processor, so the wait is short there.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs as process 1. Never returns: the end of process 1 would be a kernel panic.
pub fn main() -> ! {
    let done = case();
    // The permission for the ports was dropped for the case.
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
    // A kernel finishes some of its work after the start of process 1; Linux recalibrates its
    // clock.
    thread::sleep(SETTLE);
    let access = Access::take()?;
    write_byte(PAUSE, PANICKED);
    // The machine resumes here, now or after it was restored.
    let text = request::read()?;
    let program = request::program()?;
    // Dropped, because switches between processes with access to ports take longer.
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
