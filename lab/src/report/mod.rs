//! Showing a run, one file a format.

pub mod json;
mod peers;
pub mod progress;
pub mod table;

use std::{
    fs,
    io::{ErrorKind, Write},
};

use anyhow::{Context, Result};

use crate::{
    cli::{Format, Output},
    run::Run,
    study::Study,
};

/// Writes the run as asked: to a file, or to standard output.
///
/// # Errors
/// When the file cannot be written.
pub fn write(run: &Run, study: &Study, output: &Output) -> Result<()> {
    let text = match output.format() {
        Format::Table => table::render(run, study),
        Format::Json => json::render(run)?,
        Format::GoogleBenchmark | Format::Csv => json::render(run)?,
    };
    match &output.output {
        Some(path) => fs::write(path, text).with_context(|| format!("cannot write {}", path.display())),
        None => print(&text),
    }
}

/// Writes to standard output. A reader that has seen enough is no error.
///
/// # Errors
/// When standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard output"),
    }
}
