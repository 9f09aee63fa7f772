//! `chronoscope`: reads the command line, executes the command, and returns its exit status.

mod cli;
mod closed;
mod command;
mod progress;
mod revision;

use std::{
    process::ExitCode,
    thread::{self, JoinHandle},
};

use chronoscope_base::console;
use chronoscope_child::{self as child, supervisor};

/// The stack of the program, in bytes, whatever the shell's limit.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    let program = thread::Builder::new().stack_size(STACK).spawn(run).map(JoinHandle::join);
    match program {
        Ok(Ok(status)) => status,
        // The panic has printed its message.
        Ok(Err(_)) => ExitCode::from(101),
        Err(error) => {
            console::remark(&format!("no thread can be started: {error}"));
            ExitCode::from(1)
        }
    }
}

fn run() -> ExitCode {
    supervisor::enable(&["supervise"]);
    child::fail_beyond_the_limit();
    match cli::parse().and_then(crate::command::execute) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            console::remark(&format!("{error:#}"));
            ExitCode::from(1)
        }
    }
}
