//! `chronoscope`: reads the command line, executes the command, and returns its exit status.

use std::process::ExitCode;

use chronoscope::{
    child::{self, supervisor},
    cli, console,
};

fn main() -> ExitCode {
    supervisor::enable(&["supervise"]);
    child::fail_beyond_the_limit();
    match cli::parse().and_then(chronoscope::command::execute) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            console::remark(&format!("{error:#}"));
            ExitCode::from(1)
        }
    }
}
