//! The command line of `chronoscope baseline`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Subcommand};

use super::{PrintComparison, Store};

#[derive(Args)]
pub struct Baseline {
    #[command(subcommand)]
    pub command: BaselineCommand,
}

const CHECK_HELP: &str = "\
On exact clocks (instructions, cycles) any growth is a regression; times are compared as `compare` does it.
Exit status: 0 pass, 1 error, 3 regression, 4 inconclusive.";

#[derive(Subcommand)]
pub enum BaselineCommand {
    /// Write a run's medians to a file, one line a series.
    Write(BaselineWrite),
    /// Hold a run against such a file.
    #[command(after_help = CHECK_HELP)]
    Check(BaselineCheck),
}

#[derive(Args)]
pub struct BaselineWrite {
    /// A number, last, last-1, or a JSON file.
    #[arg(default_value = "last")]
    pub run: OsString,
    /// Write to a file, instead of standard output.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    #[command(flatten)]
    pub store: Store,
}

#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct BaselineCheck {
    /// The file that `baseline write` wrote.
    pub file: PathBuf,
    /// A number, last, last-1, or a JSON file.
    #[arg(default_value = "last")]
    pub run: OsString,
    /// The smallest growth of a time that matters, in percent.
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    pub threshold: f64,
    #[command(flatten)]
    pub print: PrintComparison,
    #[command(flatten)]
    pub store: Store,
}
