//! Renders runs, comparisons, captures and timelines, one module for each format. Modules here read
//! results and never change them; measuring and judging happen below.

pub mod capture;
pub mod capture_files;
pub mod comparison;
pub mod csv;
mod file;
pub mod format;
pub mod github;
pub mod google_benchmark;
pub mod google_benchmark_console;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
pub mod outcomes;
mod paint;
pub mod perfetto;
pub mod progress;
pub mod table;
pub mod text_table;
pub mod vcd;

#[cfg(test)]
mod google_benchmark_test;

use std::{
    fs,
    io::{IsTerminal, Write, stdout},
    path::Path,
    slice,
};

use anyhow::{Context as _, Result, bail};
use format::{CompareFormat, Format, TraceFormat};
use outcomes::Outcomes;
pub use paint::Paint;

use crate::{comparison::Comparison, console, run::Run, store::CaseRow, timeline::Timeline};

/// Checks before a long run that [`write()`] will be able to write its output.
///
/// # Errors
/// When the requested file cannot be created.
pub fn check(file: Option<&Path>) -> Result<()> {
    file.map_or(Ok(()), file::check)
}

/// Writes a run in the requested format, to a file or to standard output.
///
/// # Errors
/// When rendering fails, or the output cannot be written.
pub fn write(run: &Run, format: Format, file: Option<&Path>) -> Result<()> {
    let text = match format {
        Format::Table => table::render(run, Paint::for_output(file)),
        Format::Json => json::render(run)?,
        Format::GoogleBenchmark => google_benchmark::render(run)?,
        Format::GoogleBenchmarkConsole => google_benchmark_console::render(run),
        Format::Csv => csv::render(run),
        Format::Junit => junit::render(&Outcomes::of_run(run)),
        Format::Github => github::render(&Outcomes::of_run(run)),
        Format::Html => html::render(&[(String::new(), run)]),
    };
    emit(&text, file)
}

/// Writes a comparison in the requested format, to a file or to standard output. Only the page uses
/// `history`, the store's rows of earlier runs.
///
/// # Errors
/// When rendering fails, or the output cannot be written.
pub fn write_comparison(
    comparison: &Comparison,
    history: &[CaseRow],
    format: CompareFormat,
    file: Option<&Path>,
) -> Result<()> {
    let text = match format {
        CompareFormat::Table => comparison::table(comparison),
        CompareFormat::Json => comparison::json(comparison)?,
        CompareFormat::Junit => junit::render(&Outcomes::of_comparison(comparison)),
        CompareFormat::Github => github::render(&Outcomes::of_comparison(comparison)),
        CompareFormat::Html => html::comparison::render(slice::from_ref(comparison), history),
    };
    emit(&text, file)
}

/// Writes a run's page to `file`, creating the file's folder if it is missing.
///
/// # Errors
/// When the folder cannot be created, or the file cannot be written.
pub fn page(run: &Run, file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {} for pages", folder.display()))?;
    file::write(file, &html::render(&[(String::new(), run)]))
}

/// Writes a rendered text to a file, or to standard output when `file` is `None`.
///
/// # Errors
/// When the output cannot be written.
pub fn emit(text: &str, file: Option<&Path>) -> Result<()> {
    file.map_or_else(|| console::print(text), |path| file::write(path, text))
}

/// Writes a timeline to a file, or to standard output when `file` is `None`.
///
/// # Errors
/// When the output cannot be written, or a binary format would go to a terminal.
pub fn draw(timeline: &mut Timeline<'_>, format: TraceFormat, file: Option<&Path>) -> Result<()> {
    let content = |output: &mut dyn Write| match format {
        TraceFormat::Perfetto => perfetto::write(timeline, output),
        TraceFormat::Vcd => vcd::write(timeline, output),
    };
    match file {
        Some(path) => file::write_with(path, content),
        None if format == TraceFormat::Perfetto && stdout().is_terminal() => {
            bail!(
                "a terminal cannot show a Perfetto trace: write it to a file (-o run.pftrace) and open that in https://ui.perfetto.dev"
            )
        }
        None => console::print_with(content),
    }
}
