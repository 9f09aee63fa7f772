//! The formats in which runs, comparisons, timelines and captures are written.

use clap::ValueEnum;

/// Formats of a run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Json,
    GoogleBenchmark,
    GoogleBenchmarkConsole,
    Csv,
    Junit,
    Github,
    Html,
}

/// Formats of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    Table,
    Json,
    Junit,
    Github,
    Html,
}

/// Formats of a timeline.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// Perfetto's protocol buffers.
    #[default]
    Perfetto,
    /// A value change dump, for GTKWave or Surfer.
    Vcd,
}

/// Formats of the measurements of captures.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CaptureFormat {
    #[default]
    Table,
    Json,
    Csv,
}
