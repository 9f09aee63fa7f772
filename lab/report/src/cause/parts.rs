//! Divides the worst samples of a series into parts, which a report draws. The lateness of a task
//! that waits for a timer is divided by the moments on the task's way; a gap in `noise`, by the
//! holders of the processor.

use super::{
    account::{CLASSES, Noises},
    schedule::Record,
    split, timerlat,
    window::{RepetitionSamples, Window},
};
use chronoscope_run::{CaseResult, SeriesResult};

/// The longest samples of a repetition, each divided into parts.
#[derive(Debug, PartialEq)]
pub struct Parts {
    /// The source of the parts, as the subject of a sentence.
    pub source: &'static str,
    pub names: &'static [&'static str],
    /// The start of each sample since the repetition's first one, and the lengths of its parts, in
    /// the unit of the series; the longest sample first.
    pub rows: Vec<(f64, Vec<f64>)>,
}

/// The parts of at most `most` samples of the repetition with the worst one: of the series, and of
/// the kernel's tracer timerlat where it ran beside a wait for a timer. Empty unless the case has a
/// trace of the kernel that shows some.
pub fn longest(case: &CaseResult, series: &SeriesResult, most: usize) -> Vec<Parts> {
    let both = || {
        let repetition = RepetitionSamples::with_worst(case, series)?;
        let record = Record::new(case, series, &repetition)?;
        let timerlat = split::fits(case).then(|| of_timerlat(&record, most)).flatten();
        Some([of_series(case, &repetition, &record, most), timerlat])
    };
    both().into_iter().flatten().flatten().collect()
}

fn of_timerlat(record: &Record<'_>, most: usize) -> Option<Parts> {
    let mut samples = timerlat::samples(record);
    samples.sort_by(|one, other| other.thread.total_cmp(&one.thread));
    samples.truncate(most);
    let row = |it: &timerlat::Latency| {
        let parts = [it.interrupt, it.thread - it.interrupt].map(|ns| ns.max(0.0) / record.ns);
        (record.since_first(it.at - it.thread), parts.to_vec())
    };
    let rows: Vec<_> = samples.iter().map(row).collect();
    let (source, names) = (timerlat::SOURCE, &timerlat::PARTS);
    (!rows.is_empty()).then_some(Parts { source, names, rows })
}

fn of_series(
    case: &CaseResult,
    repetition: &RepetitionSamples,
    record: &Record<'_>,
    most: usize,
) -> Option<Parts> {
    let mut windows: Vec<Window> = repetition.windows.clone();
    windows.sort_by(|one, other| other.length.total_cmp(&one.length));
    windows.truncate(most);
    let rows = |parts: &dyn Fn(Window) -> Option<Vec<f64>>| -> Vec<(f64, Vec<f64>)> {
        let row = |window: &Window| Some((window.start, parts(*window)?));
        windows.iter().filter_map(row).collect()
    };
    let scaled = |ns: &[f64]| ns.iter().map(|ns| ns / record.ns).collect::<Vec<_>>();
    let parts = if split::fits(case) {
        let moments = split::Moments::read(record.text, record.cpu)?;
        let rows = rows(&|window| Some(scaled(&moments.split(record.span(&window))?)));
        Parts { source: split::SOURCE, names: &split::PARTS, rows }
    } else if case.experiment == "noise" {
        let noises = Noises::read(record)?;
        let covered = |span| noises.covers(span).then(|| noises.account(span));
        let rows = rows(&|window| Some(scaled(&covered(record.span(&window))?)));
        Parts { source: noises.source(), names: &CLASSES, rows }
    } else {
        return None;
    };
    (!parts.rows.is_empty()).then_some(parts)
}
