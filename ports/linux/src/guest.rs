//! The port as the only program of a virtual machine: process 1, without a disk, a driver or a
//! shell.
//!
//! It sets the system up, pauses the machine, and reads its request only then, so the lab can keep
//! a booted machine and start every case from it. The lab's machine `vm` is its counterpart.

#[cfg_attr(target_arch = "x86_64", path = "guest/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "guest/aarch64.rs")]
mod board;
mod program;
mod request;
mod system;

use std::{io, thread, time::Duration};

use chronoscope_suite::Refusal;

use crate::guest::board::Board;

/// The program's argument, which the lab writes behind `--` on the kernel's command line.
pub const ARGUMENT: &str = "chronoscope-guest";

/// The time for the kernel to settle after the boot. An emulator skips the time of a sleeping
/// processor, so the wait is short there.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs a case for the request `text`, and delivers its stream.
pub type Run = fn(&str, &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), Refusal>;

/// Runs as process 1, which runs a case by `run`. Never returns: the end of process 1 would be a
/// kernel panic.
pub fn main(run: Run) -> ! {
    let done = case(run);
    // The access to the devices was dropped for the case.
    let board = Board::take();
    match (done, board) {
        (Ok(()), Ok(board)) => board.power_off(),
        (outcome, _board) => {
            system::log_to_console();
            if let Err(error) = outcome {
                eprintln!("chronoscope-linux: {error}");
            }
            board::fail();
        }
    }
    loop {
        thread::park();
    }
}

fn case(run: Run) -> io::Result<()> {
    system::set_up()?;
    system::log_to_pipe()?;
    // A kernel finishes some of its work after the start of process 1; Linux recalibrates its
    // clock.
    thread::sleep(SETTLE);
    let board = Board::take()?;
    board.pause();
    // The machine resumes here, now or after it was restored.
    let text = request::read(&board)?;
    let program = request::program(&board)?;
    // Dropped, because switches between processes with access to devices take longer.
    drop(board);
    let mut deliver = |stream: &[u8]| Board::take()?.stream(stream);
    if let Some(program) = program {
        return deliver(&program::run(&text, &program)?);
    }
    run(&text, &mut deliver).map_err(refused)
}

fn refused(refusal: Refusal) -> io::Error {
    io::Error::other(format!("{}: {}", refusal.what, refusal.mend))
}
