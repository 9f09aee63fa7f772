#![doc = include_str!("../README.md")]
//!
//! Renders runs, comparisons, captures and timelines, one module for each format. Modules here read
//! results and never change them; measuring and judging happen below.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod answer;
pub mod baseline;
pub mod capture;
pub mod capture_files;
mod cause;
pub mod comparison;
mod comparison_text;
pub mod csv;
mod csv_long;
pub mod cyclictest;
mod error;
mod file;
pub mod format;
pub mod github;
pub mod google_benchmark;
pub mod google_benchmark_console;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
pub mod oslat;
pub mod outcomes;
mod paint;
pub mod perfetto;
pub mod plan;
pub mod schedule;
mod screen;
pub mod table;
pub mod text_table;
pub mod timeline;
pub mod timerlat;
mod tool;
pub mod vcd;
pub mod why;

#[cfg(test)]
mod tests;

use std::{
    fs,
    io::{self, IsTerminal, Write, stdout},
    path::Path,
    slice,
};

pub use error::{Error, Result};
use format::{ComparisonFormat, ComparisonWriter, RunFormat, RunWriter, TraceFormat};
pub use paint::Paint;
pub use screen::Screen;

use crate::{comparison::Comparison, error::refuse, timeline::Timeline};
use chronoscope_base::console;
use chronoscope_run::Run;
use chronoscope_run::history::CaseRow;
use chronoscope_units::file::within;

/// Checks before a long run that [`write()`] will be able to write its output.
///
/// # Errors
/// When the requested file cannot be created.
pub fn check(file: Option<&Path>) -> Result<()> {
    Ok(file.map_or(Ok(()), file::check)?)
}

/// Writes a run in the requested format, to a file or to standard output. `name` is the word by
/// which a command names the run, if it is kept.
///
/// # Errors
/// When rendering fails, or the output cannot be written.
pub fn write(run: &Run, format: RunFormat, file: Option<&Path>, name: Option<&str>) -> Result<()> {
    let text = match format.writer {
        RunWriter::One(render) => render(run, &Screen::for_output(file, name))?,
        RunWriter::Several(render) => render(&[(String::new(), run)]),
    };
    emit(&text, file)
}

/// Writes several named runs together, to a file or to standard output.
///
/// # Errors
/// When the format shows one run only, or the output cannot be written.
pub fn write_several(
    runs: &[(String, &Run)],
    format: RunFormat,
    file: Option<&Path>,
) -> Result<()> {
    let RunWriter::Several(render) = format.writer else {
        refuse!("several runs are shown in a page only: write `-o FILE.html`, or name one run")
    };
    emit(&render(runs), file)
}

/// Writes a comparison in the requested format, to a file or to standard output. Only a page uses
/// `history`, the store's rows of earlier runs.
///
/// # Errors
/// When rendering fails, or the output cannot be written.
pub fn write_comparison(
    comparison: &Comparison,
    history: &[CaseRow],
    format: ComparisonFormat,
    file: Option<&Path>,
) -> Result<()> {
    let text = match format.writer {
        ComparisonWriter::One(render) => render(comparison, &Screen::for_output(file, None))?,
        ComparisonWriter::Several(render) => render(slice::from_ref(comparison), history),
    };
    emit(&text, file)
}

/// Writes a run's page to `file`, creating the file's folder if it is missing.
///
/// # Errors
/// When the folder cannot be created, or the file cannot be written.
pub fn page(run: &Run, file: &Path) -> Result<()> {
    text(&html::render(&[(String::new(), run)]), file)
}

/// Writes a page's text to `file`, creating the file's folder if it is missing.
///
/// # Errors
/// When the folder cannot be created, or the file cannot be written.
pub fn text(page: &str, file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let step = format!("cannot make the folder {} for pages", folder.display());
    fs::create_dir_all(folder).map_err(within(step))?;
    Ok(file::write(file, page)?)
}

/// Writes a rendered text to a file, or to standard output when `file` is `None`.
///
/// # Errors
/// When the output cannot be written.
pub fn emit(text: &str, file: Option<&Path>) -> Result<()> {
    Ok(file.map_or_else(|| console::print(text), |path| file::write(path, text))?)
}

/// Writes a text piece by piece to a file, or to standard output when `file` is `None`.
///
/// # Errors
/// When `content` fails, or the output cannot be written.
pub fn emit_with(
    file: Option<&Path>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    Ok(match file {
        Some(path) => file::write_with(path, content),
        None => console::print_with(content),
    }?)
}

/// Writes a timeline to a file, or to standard output when `file` is `None`.
///
/// # Errors
/// When the output cannot be written, or a binary format would go to a terminal.
pub fn draw(timeline: &mut Timeline<'_>, format: TraceFormat, file: Option<&Path>) -> Result<()> {
    let content = |output: &mut dyn Write| (format.writer.write)(timeline, output);
    Ok(match (file, format.writer.not_on_terminal) {
        (Some(path), _) => file::write_with(path, content),
        (None, Some(refusal)) if stdout().is_terminal() => refuse!("{refusal}"),
        (None, _) => console::print_with(content),
    }?)
}
