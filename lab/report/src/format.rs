//! The formats in which runs, comparisons, timelines and captures are written: one table for each,
//! one row a format. The values of `--format` are the names in its table.

use std::{
    io::{self, Write},
    path::Path,
};

use clap::{ValueEnum, builder::PossibleValue};

use super::{
    Screen, answer, capture, comparison_text, csv, csv_long, github, google_benchmark,
    google_benchmark_console, html, json, junit, outcomes::Outcomes, perfetto, table,
    text_table::fold, vcd,
};
use crate::{comparison::Comparison, error::Result, timeline::Timeline};
use chronoscope_capture::measure::Analysis;
use chronoscope_run::Run;
use chronoscope_run::history::CaseRow;

/// A row of a table of formats, with a writer of type `W`.
#[derive(Clone, Copy)]
pub struct Format<W: 'static> {
    /// The value of `--format`.
    name: &'static str,
    /// The extension that selects the format where `--format` is not given.
    extension: Option<&'static str>,
    /// A phrase for `--help`; may be empty.
    help: &'static str,
    /// The fewest repetitions of a case that the format's readers need. A run in this format has as
    /// many, unless the command line says how many.
    pub fewest: usize,
    /// The function that writes the format.
    pub writer: W,
}

/// A kind of writer, with the table of its formats.
pub trait Writer: Copy + Send + Sync + 'static {
    /// The formats; the first is the default.
    const FORMATS: &'static [Format<Self>];
}

/// Formats of a run.
pub type RunFormat = Format<RunWriter>;

/// The writer of a run.
#[derive(Clone, Copy)]
pub enum RunWriter {
    /// Shows one run.
    One(fn(&Run, &Screen) -> Result<String>),
    /// Shows one run, or several under their names.
    Several(fn(&[(String, &Run)]) -> String),
}

impl Writer for RunWriter {
    const FORMATS: &'static [RunFormat] = &[
        Format::new("answer", Self::One(|run, screen| Ok(answer::terminal::render(run, screen)))),
        FULL,
        JSON,
        Format::new("google-benchmark", GOOGLE_BENCHMARK).repeated(U_TEST),
        Format::new("google-benchmark-console", GOOGLE_BENCHMARK_CONSOLE).repeated(U_TEST),
        Format::new("csv", CSV),
        Format::new("csv-long", RunWriter::One(|run, _| Ok(csv_long::render(run)))),
        Format::new("junit", Self::One(|run, _| Ok(junit::render(&Outcomes::of_run(run))))),
        Format::new("github", Self::One(|run, _| Ok(github::render(&Outcomes::of_run(run))))),
        Format::new("html", Self::Several(html::render)).for_files("html"),
        EVIDENCE,
        EXPLANATION,
    ];
}

/// Everything that is known about a run.
pub const JSON: RunFormat = Format::new("json", RunWriter::One(|run, _| json::render(run)));

/// All figures: `--full`.
pub const FULL: RunFormat = Format::new(
    "table",
    RunWriter::One(|run, screen| Ok(folded(table::render(run, screen), screen))),
);

/// The evidence and the conditions of the machine: `--evidence`.
pub const EVIDENCE: RunFormat = Format::new(
    "evidence",
    RunWriter::One(|run, screen| Ok(folded(table::proofs(run, screen.paint), screen))),
);

/// The reasons for an answer: `--explain`.
pub const EXPLANATION: RunFormat = Format::new(
    "explanation",
    RunWriter::One(|run, screen| Ok(folded(answer::explain::render(run, screen), screen))),
);

/// A text with its wide lines broken where the screen has a width.
fn folded(text: String, screen: &Screen) -> String {
    fold(&text, screen.columns)
}

/// The repetitions from which compare.py of Google Benchmark relies on its U test.
const U_TEST: usize = 9;

const GOOGLE_BENCHMARK: RunWriter = RunWriter::One(|run, _| google_benchmark::render(run));
const GOOGLE_BENCHMARK_CONSOLE: RunWriter =
    RunWriter::One(|run, _| Ok(google_benchmark_console::render(run)));
const CSV: RunWriter = RunWriter::One(|run, _| Ok(csv::render(run)));

/// Formats of a run under the names of Google Benchmark's `--benchmark_format`.
pub type BenchmarkFormat = Format<BenchmarkWriter>;

/// The writer of a run under a name of Google Benchmark's.
#[derive(Clone, Copy)]
pub struct BenchmarkWriter(RunWriter);

impl Writer for BenchmarkWriter {
    const FORMATS: &'static [BenchmarkFormat] = &[
        Format::new("console", Self(GOOGLE_BENCHMARK_CONSOLE)).repeated(U_TEST),
        Format::new("json", Self(GOOGLE_BENCHMARK)).repeated(U_TEST),
        Format::new("csv", Self(CSV)),
    ];
}

impl From<BenchmarkFormat> for RunFormat {
    fn from(Format { name, writer, fewest, .. }: BenchmarkFormat) -> Self {
        Self::new(name, writer.0).repeated(fewest)
    }
}

/// Formats of a comparison.
pub type ComparisonFormat = Format<ComparisonWriter>;

/// The writer of a comparison.
#[derive(Clone, Copy)]
pub enum ComparisonWriter {
    /// Shows one comparison.
    One(fn(&Comparison, &Screen) -> Result<String>),
    /// Shows one comparison with the store's rows of earlier runs, or several comparisons with the
    /// same A.
    Several(fn(&[Comparison], &[CaseRow]) -> String),
}

impl Writer for ComparisonWriter {
    const FORMATS: &'static [ComparisonFormat] = &[
        Format::new(
            "table",
            Self::One(|one, screen| Ok(folded(comparison_text::table(one, screen), screen))),
        ),
        Format::new("json", Self::One(|one, _| comparison_text::json(one))),
        Format::new("junit", Self::One(|one, _| Ok(junit::render(&Outcomes::of_comparison(one))))),
        Format::new(
            "github",
            Self::One(|one, _| Ok(github::render(&Outcomes::of_comparison(one)))),
        ),
        Format::new("html", Self::Several(html::comparison::render)).for_files("html"),
    ];
}

/// Formats of a timeline.
pub type TraceFormat = Format<TraceWriter>;

/// The writer of a timeline.
#[derive(Clone, Copy)]
pub struct TraceWriter {
    pub(super) write: fn(&mut Timeline<'_>, &mut dyn Write) -> io::Result<()>,
    /// The message that refuses to write a binary format to a terminal.
    pub(super) not_on_terminal: Option<&'static str>,
}

impl Writer for TraceWriter {
    const FORMATS: &'static [TraceFormat] = &[
        Format {
            name: "perfetto",
            extension: None,
            help: "Perfetto's protocol buffers",
            fewest: 1,
            writer: Self {
                write: perfetto::write,
                not_on_terminal: Some(
                    "a terminal cannot show a Perfetto trace: write it to a file (-o run.pftrace) and open that in https://ui.perfetto.dev",
                ),
            },
        },
        Format {
            name: "vcd",
            extension: None,
            help: "A value change dump, for GTKWave or Surfer",
            fewest: 1,
            writer: Self { write: vcd::write, not_on_terminal: None },
        },
    ];
}

/// Formats of the measurements of captures.
pub type CaptureFormat = Format<CaptureWriter>;

/// The writer of measurements of captures.
#[derive(Clone, Copy)]
pub struct CaptureWriter(pub fn(&[Analysis]) -> Result<String>);

impl Writer for CaptureWriter {
    const FORMATS: &'static [CaptureFormat] = &[
        Format::new("table", Self(|analyses| Ok(capture::table(analyses)))),
        Format::new("json", Self(capture::json)),
        Format::new("csv", Self(|analyses| Ok(capture::csv_rows(analyses)))),
    ];
}

impl<W: Writer> Format<W> {
    const fn new(name: &'static str, writer: W) -> Self {
        Self { name, extension: None, help: "", fewest: 1, writer }
    }

    /// Adds the extension of files that selects the format.
    const fn for_files(self, extension: &'static str) -> Self {
        Self { extension: Some(extension), ..self }
    }

    /// Sets the fewest repetitions that readers of the format need.
    const fn repeated(self, fewest: usize) -> Self {
        Self { fewest, ..self }
    }

    /// The format that the extension of `file` selects, or the default.
    pub fn of_file(file: Option<&Path>) -> Self {
        let extension = file.and_then(Path::extension).and_then(|extension| extension.to_str());
        let is_of_file = |format: &&Self| extension.is_some() && format.extension == extension;
        W::FORMATS.iter().find(is_of_file).copied().unwrap_or_default()
    }
}

impl<W: Writer> Default for Format<W> {
    fn default() -> Self {
        W::FORMATS[0]
    }
}

impl<W: Writer> ValueEnum for Format<W> {
    fn value_variants<'a>() -> &'a [Self] {
        W::FORMATS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.name);
        Some(if self.help.is_empty() { value } else { value.help(self.help) })
    }
}

impl RunFormat {
    /// Returns whether the format is [`JSON`].
    pub fn is_json(&self) -> bool {
        self.name == JSON.name
    }

    /// Returns whether the format is for terminals, with figures in a table.
    pub fn is_table(&self) -> bool {
        [RunWriter::FORMATS[0].name, FULL.name].contains(&self.name)
    }

    /// Returns whether the format shows the evidence, and with it the predictions of the next run.
    pub fn shows_evidence(&self) -> bool {
        [EVIDENCE.name, FULL.name].contains(&self.name)
    }
}

impl ComparisonFormat {
    /// Returns whether the format is for terminals.
    pub fn is_table(&self) -> bool {
        self.name == ComparisonWriter::FORMATS[0].name
    }

    /// Returns whether the format shows several comparisons, and the history of a comparison.
    pub fn shows_several(&self) -> bool {
        matches!(self.writer, ComparisonWriter::Several(_))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names<W: Writer>() -> Vec<&'static str> {
        W::FORMATS.iter().map(|format| format.name).collect()
    }

    #[test]
    fn names_and_extensions_are_unique() {
        fn check<W: Writer>() {
            assert_eq!(names::<W>().len(), names::<W>().iter().collect::<BTreeSet<_>>().len());
            let extensions: Vec<_> =
                W::FORMATS.iter().filter_map(|format| format.extension).collect();
            assert_eq!(extensions.len(), extensions.iter().collect::<BTreeSet<_>>().len());
        }
        check::<RunWriter>();
        check::<BenchmarkWriter>();
        check::<ComparisonWriter>();
        check::<TraceWriter>();
        check::<CaptureWriter>();
    }

    #[test]
    fn a_file_s_extension_selects_the_page_and_nothing_else() {
        for (file, is_page) in [("a.html", true), ("a.json", false), ("html", false)] {
            let [run, comparison] = if is_page { ["html"; 2] } else { ["answer", "table"] };
            assert_eq!(RunFormat::of_file(Some(Path::new(file))).name, run);
            assert_eq!(ComparisonFormat::of_file(Some(Path::new(file))).name, comparison);
        }
        assert_eq!(RunFormat::of_file(None).name, "answer");
        assert_eq!(TraceFormat::default().name, "perfetto");
    }

    #[test]
    fn the_names_of_google_benchmark_are_its_own_formats() {
        assert_eq!(names::<BenchmarkWriter>(), ["console", "json", "csv"]);
        let format = RunFormat::from(BenchmarkFormat::from_str("json", false).unwrap());
        let RunWriter::One(write) = format.writer else { panic!("a page") };
        let run = chronoscope_run::sample::run();
        let text = write(&run, &Screen::plain()).unwrap();
        assert_eq!(text, google_benchmark::render(&run).unwrap());
    }
}
