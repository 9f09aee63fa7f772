//! The command line of `chronoscope baseline`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Subcommand};

use super::{JudgeFlags, PrintComparison, Store};

#[derive(Args)]
pub struct Baseline {
    #[command(subcommand)]
    pub command: BaselineCommand,
}

const CHECK_HELP: &str = "\
On exact clocks (instructions, cycles) any growth is a regression; times are compared as `compare` does it.
Exit status: 0 pass, 1 error, 3 regression or mixed, 4 inconclusive; with --strict also 4 if a regression is not excluded.";

#[derive(Subcommand)]
pub enum BaselineCommand {
    /// Write a run's figures to a file, one line a series.
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
    /// Statistics to keep: min, p50, mean, p99, p99.9, max [default: p50, and where
    /// every repetition has them p99 and p99.9; with an exact clock also max].
    #[arg(long, value_delimiter = ',', value_name = "STATISTIC,…")]
    pub judge: Vec<String>,
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
    pub judge: JudgeFlags,
    #[command(flatten)]
    pub print: PrintComparison,
    #[command(flatten)]
    pub store: Store,
}
