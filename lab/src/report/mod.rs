//! Showing a run, one file a format.

pub mod capture;
pub mod capture_files;
pub mod comparison;
pub mod csv;
mod file;
pub mod github;
pub mod google_benchmark;
pub mod google_benchmark_console;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
pub mod outcomes;
pub mod perfetto;
pub mod progress;
pub mod sheet;
pub mod table;
pub mod vcd;

#[cfg(test)]
mod google_benchmark_test;
#[cfg(test)]
pub(crate) mod sample;

use std::{
    env, fs,
    io::{IsTerminal, Write, stdout},
    path::Path,
    slice,
};

use anyhow::{Context as _, Result, bail};
pub use file::{be_quiet, note, print, remark};
use outcomes::Outcomes;

use crate::{
    cli::{CompareFormat, Format, Output, PrintComparison, TraceFormat},
    comparison::Comparison,
    run::Run,
    store::CaseRow,
    timeline::Timeline,
    verdict::Status,
};

/// Says before a long run what [`write`] would find wrong after it.
///
/// # Errors
/// When the file asked for cannot be made.
pub fn check(output: &Output) -> Result<()> {
    output.output.as_deref().map_or(Ok(()), file::check)
}

/// Writes the run as asked: to a file, or to standard output.
///
/// # Errors
/// When it cannot be written.
pub fn write(run: &Run, output: &Output) -> Result<()> {
    let text = match output.format() {
        Format::Table => table::render(run, Paint::for_output(output)),
        Format::Json => json::render(run)?,
        Format::GoogleBenchmark => google_benchmark::render(run)?,
        Format::GoogleBenchmarkConsole => google_benchmark_console::render(run),
        Format::Csv => csv::render(run),
        Format::Junit => junit::render(&Outcomes::of_run(run)),
        Format::Github => github::render(&Outcomes::of_run(run)),
        Format::Html => html::render(&[(String::new(), run)]),
    };
    emit(&text, output.output.as_deref())
}

/// Writes a comparison as asked; a page also shows the rows of a store.
///
/// # Errors
/// When it cannot be written.
pub fn write_comparison(
    comparison: &Comparison,
    history: &[CaseRow],
    print: &PrintComparison,
) -> Result<()> {
    let text = match print.format() {
        CompareFormat::Table => comparison::table(comparison),
        CompareFormat::Json => comparison::json(comparison)?,
        CompareFormat::Junit => junit::render(&Outcomes::of_comparison(comparison)),
        CompareFormat::Github => github::render(&Outcomes::of_comparison(comparison)),
        CompareFormat::Html => html::comparison::render(slice::from_ref(comparison), history),
    };
    emit(&text, print.output.as_deref())
}

/// Writes the run's page, and makes its folder.
///
/// # Errors
/// When it cannot be written.
pub fn page(run: &Run, file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {} for pages", folder.display()))?;
    file::write(file, &html::render(&[(String::new(), run)]))
}

/// Writes a finished text to a file, or to standard output.
///
/// # Errors
/// When it cannot be written.
pub fn emit(text: &str, file: Option<&Path>) -> Result<()> {
    file.map_or_else(|| print(text), |path| file::write(path, text))
}

/// Writes a timeline to a file, or to standard output.
///
/// # Errors
/// When it cannot be written.
pub fn draw(timeline: &mut Timeline<'_>, format: TraceFormat, file: Option<&Path>) -> Result<()> {
    let content = |output: &mut dyn Write| match format {
        TraceFormat::Perfetto => perfetto::write(timeline, output),
        TraceFormat::Vcd => vcd::write(timeline, output),
    };
    match file {
        Some(path) => file::fill(path, content),
        None if format == TraceFormat::Perfetto && stdout().is_terminal() => {
            bail!(
                "a terminal cannot show this: name a file, -o run.pftrace, and open it in https://ui.perfetto.dev"
            )
        }
        None => file::pour(content),
    }
}

/// Whether verdicts are coloured: only on a terminal, and not where the user asks for none (<https://no-color.org>).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Plain,
    Coloured,
}

impl Paint {
    fn for_output(output: &Output) -> Self {
        let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        if output.output.is_none() && stdout().is_terminal() && !refused && !dumb {
            Self::Coloured
        } else {
            Self::Plain
        }
    }

    /// The status in words, in its colour.
    pub fn status(self, status: Status) -> String {
        let colour = match status {
            Status::Pass => 32,
            Status::NotOffered => 2,
            Status::Inconclusive => 33,
            Status::Regression | Status::LimitMissed => 31,
        };
        match self {
            Self::Plain => status.words().to_owned(),
            Self::Coloured => format!("\x1b[{colour}m{}\x1b[0m", status.words()),
        }
    }
}
