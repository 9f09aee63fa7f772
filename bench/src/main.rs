//! The bench board: runs a program on the RTL of a real core, and keeps what a logic analyser and a tracer on it see.
//!
//! Standard output is the program's. Nothing depends on the host's time: equal inputs give equal bytes.

mod image;
mod model;
mod options;
mod retirement;
mod run;
mod semihosting;
mod waveform;

use std::process::ExitCode;

fn main() -> ExitCode {
    let ended = options::parse(std::env::args_os().skip(1)).and_then(|options| run::run(&options));
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(complaint) => {
            eprintln!("chronoscope-bench: {complaint}");
            ExitCode::FAILURE
        }
    }
}
