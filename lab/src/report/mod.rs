//! Showing a run, one file a format.

pub mod json;
pub mod progress;
pub mod table;

use std::{fs, io::Write};

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

/// Says something to the user on standard error, in one line whatever it holds: names from files and the command line may
/// have line breaks, and a terminal would obey other controls.
pub fn remark(text: &str) {
    let text: String = text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    // There is nowhere left to complain.
    let _ = writeln!(std::io::stderr(), "chronoscope: {text}");
}

/// Writes to standard output.
///
/// # Errors
/// When it is closed or full.
pub fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).context("cannot write to standard output")
}
