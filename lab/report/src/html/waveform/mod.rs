//! Waveform charts of captured pins: the first samples and the widest, with measured widths, like
//! the screen of a logic analyser.

mod lanes;
mod pins;
#[cfg(test)]
mod tests;
mod view;

use self::{
    pins::{Focus, Marks, Timebase},
    view::draw,
};
use super::{
    cases::ProvenCase,
    figure::{Figure, note_left_out},
    text::joined,
};
use chronoscope_capture::{Capture, Pulse, Sampling};
use chronoscope_run::{Unit, names::CAPTURE};
use chronoscope_units::{count, show};

/// The most waveforms of an experiment. Only the first cases get one.
const MAX_CHARTS: usize = 8;

/// The most rows of the table of numbers.
const MAX_ROWS: usize = 20;

/// The charts, and a remark on each capture that cannot be drawn.
pub fn figures(cases: &[ProvenCase<'_>]) -> (Vec<Figure>, Vec<String>) {
    let (mut figures, mut remarks) = (Vec::new(), Vec::new());
    let captured: Vec<(&ProvenCase<'_>, &String)> = cases
        .iter()
        .filter_map(|shown| Some((shown, shown.case.attachments.get(CAPTURE)?)))
        .collect();
    for (shown, dump) in captured.iter().take(MAX_CHARTS) {
        let capture = match Capture::from_vcd(CAPTURE, dump.as_bytes()) {
            Ok(capture) => capture,
            Err(error) => {
                remarks.push(format!("{}: its capture cannot be read: {error:#}", shown.name()));
                continue;
            }
        };
        match Focus::find(shown.case, &capture) {
            Some(focus) => figures.push(figure(shown, &capture, &focus)),
            None => remarks
                .push(format!("{}: no pin of its capture shows a whole sample", shown.name())),
        }
    }
    let all = captured.len();
    let note = format!("Captures of the first {MAX_CHARTS} of {all} cases are drawn.");
    note_left_out(&mut figures, MAX_CHARTS, all, &note);
    (figures, remarks)
}

fn figure(shown: &ProvenCase<'_>, capture: &Capture, focus: &Focus<'_>) -> Figure {
    let case = shown.case;
    let timebase = Timebase::new(case, capture);
    let marks = focus.marks(&timebase);
    let (svg, reading) = draw(capture, focus, &timebase, marks.as_ref());
    let names = focus.names();
    let per = focus.series.map_or(1.0, |series| series.per);
    let mut notes = Vec::new();
    if per != 1.0 {
        notes.push(format!("A sample is {} operations long.", count(per)));
    }
    if let Some(marks) = &marks {
        let uncertainty = show(marks.uncertainty.ceil(), timebase.unit.name());
        notes.push(format!(
            "timer: the same samples by the target's own marks, placed to within ± {uncertainty}."
        ));
    }
    let source = match capture.sampling {
        Sampling::Exact => "exact edges".to_owned(),
        Sampling::At(hertz) => format!("edges to within {}", show(1e9 / hertz.max(1) as f64, "ns")),
        Sampling::Unknown => "sampled".to_owned(),
    };
    let clock = match timebase.unit {
        Unit::Nanoseconds => "time".to_owned(),
        unit => joined(&[unit.name(), &timebase.rate()]),
    };
    let seen = format!("{} samples by {}", focus.samples.len(), focus.source);
    Figure {
        kind: "waveform",
        title: format!("{}: pins, {}", shown.experiment, shown.name()),
        reading: joined(&[&names, &reading]),
        facts: joined(&[clock.as_str(), "first repetition", &seen, &source]),
        svg: svg.finish(&format!("Waveform of {} {}", shown.experiment, shown.name())),
        notes,
        header: vec!["sample", "at", "width", "time", "by the timer"],
        rows: rows(focus, &timebase, marks.as_ref(), capture.start),
        ..Figure::default()
    }
}

/// The first samples with their widths by the pin and, if known, by the timer.
fn rows(
    focus: &Focus<'_>,
    timebase: &Timebase,
    marks: Option<&Marks>,
    start: u64,
) -> Vec<Vec<String>> {
    let row = |(index, sample): (usize, &Pulse)| {
        let timer = marks
            .and_then(|marks| marks.spans.get(index))
            .map(|span| show(span.1 - span.0, timebase.unit.name()));
        vec![
            (index + 1).to_string(),
            timebase.show(sample.at - start),
            timebase.show(sample.width),
            timebase.time(sample.width).unwrap_or_default(),
            timer.unwrap_or_default(),
        ]
    };
    focus.samples.iter().take(MAX_ROWS).enumerate().map(row).collect()
}
