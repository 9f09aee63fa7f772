//! Renders the measurements of captures as a table, as JSON or as CSV, and converts captures from
//! one file format to another.

use std::{ffi::OsStr, io, path::Path};

use serde_json::json;

use super::{
    csv, file,
    text_table::{
        Side::{Left, Right},
        TextTable,
    },
};
use crate::error::Result;
use chronoscope_capture::{
    Error, Sampling, Source, find, measure::Analysis, measure::Row, sigrok, vcd,
};
use chronoscope_units::{digits, show};

/// Number of bars in a table row's histogram.
const MAX_BARS: usize = 16;

/// The columns of the CSV, in order. New columns are appended, so that readers by index keep
/// working.
pub const COLUMNS: [&str; 19] = [
    "file",
    "channel",
    "measure",
    "unit",
    "count",
    "min",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "p99.99",
    "max",
    "mean",
    "sigma",
    "peak_to_peak",
    "error",
    "rounded",
    "unanswered",
    "sampled",
];

/// The measurements of capture files as text for a terminal.
pub fn table(analyses: &[Analysis]) -> String {
    let mut table = TextTable::new(&[
        ("channel", Left),
        ("measure", Left),
        ("n", Right),
        ("min", Right),
        ("p50", Right),
        ("p99", Right),
        ("max", Right),
        ("mean", Right),
        ("sigma", Right),
        ("max−min", Right),
        ("±", Right),
        ("histogram", Left),
    ]);
    for analysis in analyses {
        table.gap();
        let sampling = match analysis.header.sampling {
            Sampling::Exact => "exact edges".to_owned(),
            Sampling::At(hertz) => format!("sampled at {}", rate(hertz)),
            Sampling::Unknown => "sampled at an unknown rate".to_owned(),
        };
        let (source, length) = (&analysis.header.source, show(analysis.length, "ns"));
        table.line(format!("{source} · {sampling} · {length}"));
        for row in &analysis.rows {
            table.row(cells(row));
        }
    }
    let mut text = table.render();
    let all = || analyses.iter().flat_map(|analysis| &analysis.rows);
    if all().any(|row| row.statistics.rounded) {
        text.push_str(
            "\n~ percentiles are rounded up by at most 0.1 %: too many distinct values\n",
        );
    }
    for row in all().filter(|row| row.unanswered > 0) {
        let starts = if row.unanswered == 1 {
            "1 start has".to_owned()
        } else {
            format!("{} starts have", row.unanswered)
        };
        text.push_str(&format!(
            "\n{}: {starts} no end, within an earlier one that had not ended\n",
            row.channel
        ));
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let (summary, statistics) = (&row.statistics.summary, &row.statistics);
    let value = |value: Option<f64>| value.map_or("–".to_owned(), |value| show(value, row.unit));
    let percentile = |figure: Option<f64>| {
        let mark = if statistics.rounded && figure.is_some() { "~" } else { "" };
        format!("{mark}{}", value(figure))
    };
    let error = match row.error {
        Some(0.0) => "exact".to_owned(),
        Some(error) => show(error, row.unit),
        None => "?".to_owned(),
    };
    vec![
        format!("  {}", row.channel),
        row.measure.to_owned(),
        summary.count.to_string(),
        value(summary.min),
        percentile(summary.p50),
        percentile(summary.p99),
        value(summary.max),
        value(summary.mean),
        value(summary.sigma),
        value(statistics.peak_to_peak),
        error,
        histogram_bars(&statistics.histogram),
    ]
}

/// A one-line histogram from the smallest value to the largest. Heights are logarithmic, so that
/// one late pulse in a million is visible.
fn histogram_bars(histogram: &[(f64, u64)]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (Some((low, _)), Some((high, _))) = (histogram.first(), histogram.last()) else {
        return String::new();
    };
    let count = if high > low { MAX_BARS } else { 1 };
    let mut bins = vec![0_u64; count];
    for (value, samples) in histogram {
        let position = (value - low) / (high - low) * count as f64;
        bins[(position as usize).min(count - 1)] += samples;
    }
    let most = bins.iter().copied().max().unwrap_or(1) as f64;
    let bar = |samples: u64| {
        let height = (samples as f64).ln_1p() / most.ln_1p() * HEIGHTS.len() as f64;
        if samples == 0 {
            ' '
        } else {
            HEIGHTS[(height.ceil() as usize).clamp(1, HEIGHTS.len()) - 1]
        }
    };
    bins.into_iter().map(bar).collect()
}

/// A sampling rate with its unit, as `2 MHz`.
fn rate(hertz: u64) -> String {
    let (size, unit) = match hertz {
        1_000_000_000.. => (1e9, "GHz"),
        1_000_000.. => (1e6, "MHz"),
        1_000.. => (1e3, "kHz"),
        _ => (1.0, "Hz"),
    };
    format!("{} {unit}", digits(hertz as f64 / size))
}

/// The JSON document, with one object for each capture file.
///
/// # Errors
/// Serialization fails, which no analysis causes.
pub fn json(analyses: &[Analysis]) -> Result<String> {
    let of = |analysis: &Analysis| {
        let (numerator, denominator) = analysis.header.tick.fraction();
        let sampled = match analysis.header.sampling {
            Sampling::Exact => json!(null),
            Sampling::At(hertz) => json!(hertz),
            Sampling::Unknown => json!("unknown"),
        };
        json!({
            "file": analysis.header.source,
            "tick": {"numerator": numerator, "denominator": denominator},
            "sampled": sampled,
            "length": analysis.length,
            "unseen": analysis.unseen,
            "rows": analysis.rows,
        })
    };
    let captures: Vec<_> = analyses.iter().map(of).collect();
    Ok(serde_json::to_string_pretty(&json!({"captures": captures}))? + "\n")
}

/// The CSV, with its header.
pub fn csv_rows(analyses: &[Analysis]) -> String {
    let mut text = csv::record(COLUMNS.map(str::to_owned));
    for (analysis, row) in
        analyses.iter().flat_map(|analysis| analysis.rows.iter().map(move |row| (analysis, row)))
    {
        let summary = &row.statistics.summary;
        text.push_str(&csv::record([
            analysis.header.source.to_string(),
            row.channel.to_string(),
            row.measure.to_owned(),
            row.unit.to_owned(),
            summary.count.to_string(),
            csv::number(summary.min),
            csv::number(summary.p50),
            csv::number(summary.p90),
            csv::number(summary.p99),
            csv::number(summary.p999),
            csv::number(summary.p9999),
            csv::number(summary.max),
            csv::number(summary.mean),
            csv::number(summary.sigma),
            csv::number(row.statistics.peak_to_peak),
            csv::number(row.error),
            if row.statistics.rounded { "yes" } else { "no" }.to_owned(),
            row.unanswered.to_string(),
            match analysis.header.sampling {
                Sampling::Exact => String::new(),
                Sampling::At(hertz) => hertz.to_string(),
                Sampling::Unknown => "unknown".to_owned(),
            },
        ]));
    }
    text
}

/// The file formats that captures can be converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A value change dump.
    Vcd,
    /// sigrok's session file, `.sr`.
    Sigrok,
}

impl Format {
    /// The format that a file's extension names, if any.
    pub fn from_extension(file: &Path) -> Option<Self> {
        match file.extension().and_then(OsStr::to_str) {
            Some("vcd") => Some(Self::Vcd),
            Some("sr") => Some(Self::Sigrok),
            _ => None,
        }
    }
}

/// Converts a capture to another file format. `channels` selects channels by name; an empty slice
/// selects all. `sampled` overrides the sampling rate in the header, in Hz.
///
/// # Errors
/// When a channel is unknown, the capture cannot be read, or the file cannot be written. The file
/// at `path` is then unchanged, or absent if it did not exist.
pub fn convert(
    source: &mut dyn Source,
    channels: &[String],
    sampled: Option<u64>,
    format: Format,
    path: &Path,
) -> Result<()> {
    let mut header = source.header().sampled(sampled);
    let index_of = |name: &String| find(name, header.channels.iter());
    let wanted: Vec<usize> = match channels {
        [] => (0..header.channels.len()).collect(),
        named => named.iter().map(index_of).collect::<Result<_, Error>>()?,
    };
    header.channels = wanted.iter().map(|index| &header.channels[*index]).collect();
    let mut failure = None;
    let written = file::write_with(path, |output| {
        let outcome = match format {
            Format::Vcd => vcd::Writer::new(&header, output)
                .map_err(Error::from)
                .and_then(|mut writer| source.read(&wanted, &mut writer)),
            Format::Sigrok => sigrok::Writer::new(&header, output)
                .and_then(|mut writer| source.read(&wanted, &mut writer)),
        };
        outcome.map_err(|error| match error {
            Error::Output(error) => error,
            // The error occurred while reading the capture: it is returned unchanged below.
            error => {
                failure = Some(error);
                io::Error::other("the capture cannot be read")
            }
        })
    });
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(written?),
    }
}
