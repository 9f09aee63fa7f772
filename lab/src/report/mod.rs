//! Showing a run, one file a format.

pub mod json;
pub mod progress;
pub mod table;

use std::{fs, io::Write, path::Path};

use anyhow::{Context, Result};
use rustix::{
    fs::{Access, access},
    io::Errno,
};

use crate::{
    cli::{Format, Output},
    run::Run,
    study::Study,
    units::printable,
};

/// Whether the file that is asked for can be written, as far as is known before there is anything to write. Cheap, and
/// better told before an hour of measuring than after it.
///
/// # Errors
/// When its folder does not exist or may not be written to, or when it is a folder itself.
pub fn check(output: &Output) -> Result<()> {
    let Some(path) = &output.output else { return Ok(()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let target = if path.exists() { path } else { folder };
    let outcome = match path.is_dir() {
        true => Err(Errno::ISDIR),
        false => access(target, Access::WRITE_OK),
    };
    outcome.with_context(|| format!("cannot write {}", path.display()))
}

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

/// Says something to the user on standard error, in one line whatever it holds.
pub fn remark(text: &str) {
    // There is nowhere left to complain.
    let _ = writeln!(std::io::stderr(), "chronoscope: {}", printable(text));
}

/// Writes to standard output.
///
/// # Errors
/// When it is closed or full.
pub fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).context("cannot write to standard output")
}
