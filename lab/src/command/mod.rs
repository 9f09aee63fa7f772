//! The commands, one file each.

mod doctor;
mod list;
mod run;

use anyhow::Result;

use crate::cli::{Cli, Command};

/// Does what the command line asks; the result is the program's exit status.
///
/// # Errors
/// What went wrong, in one line, with its mend.
pub fn execute(cli: Cli) -> Result<u8> {
    match cli.command {
        Command::Run(run) => run::execute(&run),
        Command::List(list) => list::execute(&list),
        Command::Doctor(doctor) => doctor::execute(&doctor),
    }
}
