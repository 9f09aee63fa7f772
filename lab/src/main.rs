//! `chronoscope`: reads the command line, runs what it asks, shows what was found, and tells by its exit status how it went.

use std::process::ExitCode;

use chronoscope::{cli, console};

fn main() -> ExitCode {
    match cli::parse().and_then(chronoscope::command::execute) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            console::remark(&format!("{error:#}"));
            ExitCode::from(1)
        }
    }
}
