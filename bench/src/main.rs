//! The bench board: runs a program on the RTL of a real core, with a logic analyser and an
//! instruction tracer attached.
//!
//! Standard output is the program's. The output does not depend on the host's time: equal inputs
//! yield equal bytes.

mod arrivals;
mod image;
mod model;
mod options;
mod probe;
mod retirement;
mod run;
mod semihosting;
mod waveform;

use std::process::ExitCode;

/// The versions and hashes of the board's parts, as lines `NAME: VALUE`. `cargo xtask bench` sets
/// the variable.
const IDENTITY: &str = env!("CHRONOSCOPE_BOARD");

fn main() -> ExitCode {
    if std::env::args_os().skip(1).eq(["--identity"]) {
        println!("{IDENTITY}");
        return ExitCode::SUCCESS;
    }
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
