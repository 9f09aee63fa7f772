//! Showing a run, one file a format.

pub mod comparison;
pub mod csv;
mod file;
pub mod google_benchmark;
pub mod google_benchmark_console;
pub mod history;
pub mod json;
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
    env,
    io::{IsTerminal, Write, stdout},
    path::Path,
};

use anyhow::{Result, bail};
pub use file::{print, remark};

use crate::{
    cli::{Format, Output, TraceFormat},
    run::Run,
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
    };
    emit(&text, output.output.as_deref())
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
            bail!("a terminal cannot show this: name a file, -o run.pftrace, and open it in https://ui.perfetto.dev")
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
