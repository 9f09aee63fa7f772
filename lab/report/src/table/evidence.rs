//! The evidence section: each experiment's start and end events, the evidence of its cases, and
//! their other figures.

use super::{Group, WIDTH};
use crate::{table::conditions, table::figures::with_nominal, text_table::wrap};
use chronoscope_run::{CaseResult, EvidenceResult, FigureResult, Run, SeriesResult};
use chronoscope_units::{count, digits, show};

pub fn section(run: &Run) -> String {
    let groups =
        Group::all(run).filter(|group| !group.cases.iter().all(|case| items(case).is_empty()));
    let text = groups.map(|group| group_text(&group)).collect::<String>();
    if text.is_empty() { text } else { format!("Evidence\n{text}") }
}

fn group_text(group: &Group<'_>) -> String {
    let first = &group.cases[0];
    let lines = lines(group);
    let width = |label: &String| label.chars().count();
    let widest = lines.iter().map(|(label, _)| width(label)).max().unwrap_or(0).min(40);
    let indent = if widest == 0 { 2 } else { widest + 4 };
    let mut text =
        format!("{}\n  start: {}\n  end:   {}\n", first.experiment, first.start, first.end);
    for (label, items) in lines {
        if width(&label) > widest {
            text.push_str(&format!("  {label}\n{}", " ".repeat(indent)));
        } else {
            text.push_str(&format!("{:indent$}", format!("  {label}")));
        }
        text.push_str(&format!("{}\n", wrap(&items, indent, WIDTH)));
    }
    text
}

/// The evidence and figures of each case in a group. Items common to all cases come first, under
/// `all cases`; cases without further items are left out.
pub fn lines(group: &Group<'_>) -> Vec<(String, Vec<String>)> {
    let mut lines: Vec<(String, Vec<String>)> = group
        .cases
        .iter()
        .map(|case| (group.label(case), items(case)))
        .filter(|(_, items)| !items.is_empty())
        .collect();
    if lines.len() > 1 {
        let of_all = |item: &String| lines.iter().all(|(_, items)| items.contains(item));
        let common: Vec<String> = lines[0].1.iter().filter(|item| of_all(item)).cloned().collect();
        lines.iter_mut().for_each(|(_, items)| items.retain(|item| !common.contains(item)));
        lines.insert(0, ("all cases".to_owned(), common));
        lines.retain(|(_, items)| !items.is_empty());
    }
    lines
}

fn items(case: &CaseResult) -> Vec<String> {
    let evidence = case.evidence.iter().map(evidence_text);
    let figures =
        case.figures.iter().filter(|figure| !conditions::is_condition(figure)).map(figure_text);
    evidence.chain(figures).chain(case.measured().flat_map(|one| next_text(case, one))).collect()
}

/// The predictions of the next run of a series, by the ranks of the known runs: `next run, by rank
/// of 9: p50 in 2.85…2.95 µs in 8 of 10, p99 above 4.64 µs in 1 of 10`. Empty below three runs.
fn next_text(case: &CaseResult, series: &SeriesResult) -> Vec<String> {
    let Some(next) = series.next else { return Vec::new() };
    let value = |value: f64| with_nominal(value, series.nominal, series.unit.name());
    let mut shown = Vec::new();
    if let Some(one) = next.p50 {
        let (inside, all) = (one.runs - 1, one.runs + 1);
        shown.push(format!("p50 in {}…{} in {inside} of {all}", value(one.low), value(one.high)));
    }
    for (name, prediction) in [("p99", next.p99), ("p99.9", next.p999), ("worst", next.max)] {
        let Some(one) = prediction else { continue };
        shown.push(format!("{name} above {} in 1 of {}", value(one.high), one.runs + 1));
    }
    if let Some(one) = next.misses {
        let share = digits(one.high * 100.0);
        shown.push(format!("misses above {share} % in 1 of {}", one.runs + 1));
    }
    let runs = [next.p50, next.p99, next.max].into_iter().flatten().map(|one| one.runs).next();
    let name =
        if case.measured().count() > 1 { format!("{}: ", series.name) } else { String::new() };
    let head = runs.map(|runs| format!("{name}the next run, by the ranks of {runs}:"));
    head.map(|head| format!("{head} {}", shown.join(", "))).into_iter().collect()
}

/// Evidence with its bounds, as `✓ switches 5004 ≥ 4954`.
fn evidence_text(evidence: &EvidenceResult) -> String {
    let EvidenceResult { name, value, low, high, holds } = evidence;
    let bounds = match high {
        Some(0.0) if *holds => "0".to_owned(),
        Some(0.0) => format!("{}, not 0", count(*value)),
        Some(high) if high == low => format!("{} of {}", count(*value), count(*high)),
        Some(high) if *holds => format!("{} ≤ {} ≤ {}", count(*low), count(*value), count(*high)),
        Some(high) => format!("{}, not {} to {}", count(*value), count(*low), count(*high)),
        None if *holds => format!("{} ≥ {}", count(*value), count(*low)),
        None => format!("{} < {}", count(*value), count(*low)),
    };
    format!("{} {name} {bounds}", if *holds { '✓' } else { '✗' })
}

/// A figure's median over the repetitions, with its range if they differ.
fn figure_text(figure: &FigureResult) -> String {
    let FigureResult { name, unit, value, min, max } = figure;
    let value = show(*value, unit);
    match (show(*min, unit), show(*max, unit)) {
        (low, high) if low == high => format!("{name} {value}"),
        (low, high) => format!("{name} {value} ({low}…{high})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::{sample::evidence, sample::figure};

    #[test]
    fn evidence_has_its_bounds() {
        let texts = [
            evidence("switches", 5_004.0, 4_953.96, None),
            evidence("switches", 17.0, 4_953.96, None),
            evidence("early wake-ups", 0.0, 0.0, Some(0.0)),
            evidence("early wake-ups", 3.0, 0.0, Some(0.0)),
            evidence("rounds", 11.0, 12.0, Some(12.0)),
            evidence("share", 1.02, 0.9, Some(1.1)),
        ]
        .map(|one| evidence_text(&one));
        let expected = [
            "✓ switches 5004 ≥ 4954",
            "✗ switches 17 < 4954",
            "✓ early wake-ups 0",
            "✗ early wake-ups 3, not 0",
            "✗ rounds 11 of 12",
            "✓ share 0.900 ≤ 1.02 ≤ 1.10",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn figures_have_their_range() {
        assert_eq!(figure_text(&figure("skipped periods", "", 0.0)), "skipped periods 0");
        let ranging = FigureResult { min: 1.0, max: 1.4, ..figure("switches per step", "", 1.33) };
        assert_eq!(figure_text(&ranging), "switches per step 1.33 (1…1.40)");
    }
}
