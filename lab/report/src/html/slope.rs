//! Slope charts: the medians of a case's series over their x values, with the fitted line. In
//! priority inversion, the slope is 0 if the urgent task never waits for the hog, and 1 if it
//! always does.

use super::{
    figure::Figure,
    frame::{Axis, X, Y, draw},
    panel::{Entry, Panel},
    scale::Scale,
    text::joined,
};
use chronoscope_statistics::Slope;
use chronoscope_units::show;

/// Most lines of a chart; further cases continue in the next one.
const MAX_LINES: usize = 6;

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    let with_x: Vec<&Entry<'_>> =
        panel.entries.iter().filter(|entry| entry.series.x.is_some_and(f64::is_finite)).collect();
    let mut cases: Vec<Vec<&Entry<'_>>> = Vec::new();
    for entry in with_x {
        match cases.iter_mut().find(|case| std::ptr::eq(case[0].case, entry.case)) {
            Some(case) => case.push(entry),
            None => cases.push(vec![entry]),
        }
    }
    cases.retain(|case| case.len() > 1 && case[0].case.slope.is_some());
    cases.chunks(MAX_LINES).map(|cases| figure(panel, cases)).collect()
}

fn figure(panel: &Panel<'_>, cases: &[Vec<&Entry<'_>>]) -> Figure {
    let entries: Vec<&Entry<'_>> = cases.iter().flatten().copied().collect();
    let value =
        |entry: &Entry<'_>| entry.series.summary.p50.or(entry.series.summary.max).unwrap_or(0.0);
    let xs = entries.iter().filter_map(|entry| entry.series.x);
    let x = Scale::linear(0.0, xs.fold(0.0, f64::max), X);
    let y = Scale::linear(0.0, entries.iter().map(|entry| value(entry)).fold(0.0, f64::max), Y);
    let mut svg = draw(
        &Axis::with(x, &common_word(&cases[0]), ticks(&cases[0])),
        &Axis::new(y, "p50", panel.unit.name()),
    );
    let mut rows = Vec::new();
    let mut legend = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let name = case_name(case);
        if let Some(slope) = case[0].case.slope {
            let ends = [0.0, case.iter().filter_map(|entry| entry.series.x).fold(0.0, f64::max)];
            let line = ends.map(|at| [x.at(at), y.at(slope.intercept + slope.slope * at)]);
            svg.curve(&format!("line c{index}"), &line);
            legend.push(format!("{name}: slope {}", slope_text(&slope)));
        }
        for entry in case {
            let place = [x.at(entry.series.x.unwrap_or(0.0)), y.at(value(entry))];
            let value_text = show(value(entry), panel.unit.name());
            svg.mark(
                index,
                &format!("c{index}"),
                place,
                &format!("{name}, {}: {value_text}", entry.series.name),
            );
            rows.push(vec![name.clone(), entry.series.name.to_string(), value_text]);
        }
    }
    Figure {
        kind: "slope",
        title: format!("{}: medians and fitted slope", panel.experiment),
        reading:
            "The line goes through the medians. Slope 1: all of it is waited for; slope 0: none."
                .to_owned(),
        facts: panel.facts(&entries),
        svg: svg.finish(&format!("{}: medians and their slope", panel.experiment)),
        legend,
        header: vec!["case", "series", "p50"],
        rows,
        ..Figure::default()
    }
}

/// The case's name: the words of an entry's name without the series.
fn case_name(case: &[&Entry<'_>]) -> String {
    let words = case[0].words.iter().filter(|word| **word != *case[0].series.name);
    let name = joined(&words.collect::<Vec<_>>());
    if name.is_empty() { case[0].case.experiment.to_string() } else { name }
}

/// The first word common to the names of all series, as `hog` of `hog 0 us` and `hog 2000 us`; `x`
/// if there is none.
fn common_word(case: &[&Entry<'_>]) -> String {
    let first =
        |entry: &Entry<'_>| entry.series.name.split(' ').next().unwrap_or_default().to_owned();
    let word = first(case[0]);
    if case.iter().all(|entry| first(entry) == word) { word } else { "x".to_owned() }
}

fn ticks(case: &[&Entry<'_>]) -> Vec<(f64, String)> {
    let word = common_word(case);
    let label = |entry: &Entry<'_>| {
        entry.series.name.strip_prefix(&word).unwrap_or(&entry.series.name).trim().to_owned()
    };
    case.iter().filter_map(|entry| Some((entry.series.x?, label(entry)))).collect()
}

/// The slope with its standard error, to two digits of the error.
fn slope_text(slope: &Slope) -> String {
    match slope.standard_error.filter(|error| *error > 0.0) {
        Some(error) => {
            let places = (1.0 - error.log10().floor()).clamp(0.0, 7.0) as usize;
            format!("{:.places$} ± {error:.places$}", slope.slope)
        }
        None => format!("{:.3}", slope.slope),
    }
}
