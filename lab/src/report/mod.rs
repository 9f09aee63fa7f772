//! Showing a run, one file a format.

pub mod comparison;
pub mod history;
pub mod json;
pub mod progress;
pub mod table;

use std::{fs, io::Write, path::Path};

use anyhow::{Context, Result};

use crate::{
    cli::{Format, Output},
    run::Run,
};

/// Writes the run as asked: to a file, or to standard output.
///
/// # Errors
/// When the file cannot be written.
pub fn write(run: &Run, output: &Output) -> Result<()> {
    let text = match output.format() {
        Format::Table => table::render(run),
        Format::Json => json::render(run)?,
        Format::GoogleBenchmark | Format::Csv => json::render(run)?,
    };
    emit(&text, output.output.as_deref())
}

/// Writes a finished text to a file, or to standard output.
///
/// # Errors
/// When it cannot be written.
pub fn emit(text: &str, file: Option<&Path>) -> Result<()> {
    match file {
        Some(path) => fs::write(path, text).with_context(|| format!("cannot write {}", path.display())),
        None => std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output"),
    }
}
