//! Published figures next to the measured ones. No ratio is shown, because the machines differ, and
//! often the clocks.

use super::{Group, figures::with_nominal};
use crate::{text_table::Side, text_table::TextTable};
use chronoscope_run::{CaseResult, Clock, Domain, Instrument, Published, Run, Statistic};
use chronoscope_units::digits;

/// The published figures of a run as table rows, grouped by source.
pub struct Sources<'a> {
    /// Each source with its rows: case, statistic, measured value, published value.
    pub sources: Vec<(String, Vec<Vec<String>>)>,
    /// The notes that the marks in rows refer to: `[1]` is the first.
    pub notes: Vec<&'a str>,
}

/// Collects the published figures of all cases; sources are in the order of their first case.
pub fn sources(run: &Run) -> Sources<'_> {
    let mut notes: Vec<&str> = Vec::new();
    let mut sources: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    let several = run.cases.iter().any(|case| case.target != run.cases[0].target);
    for group in Group::all(run) {
        for case in group.cases {
            let target = if several { format!(" {}", case.target) } else { String::new() };
            let name = format!("{}{target} {}", case.experiment, group.label(case));
            for figure in &case.published {
                let source = format!("{}, on {}", figure.source, figure.on);
                let row = cells(name.trim_end(), case, figure, &note_mark(figure, &mut notes));
                match sources.iter_mut().find(|(known, _)| *known == source) {
                    Some((_, rows)) => rows.push(row),
                    None => sources.push((source, vec![row])),
                }
            }
        }
    }
    Sources { sources, notes }
}

/// The table of all published figures, within a width; empty without any.
pub fn section(run: &Run, columns: Option<usize>) -> String {
    let Sources { sources, notes } = sources(run);
    if sources.is_empty() {
        return String::new();
    }
    let (left, right) = (|name| (name, Side::Left), |name| (name, Side::Right));
    let mut table = TextTable::new(&[
        left("source and case"),
        left("statistic"),
        right("measured here"),
        right("published"),
    ]);
    for (source, rows) in sources {
        table.gap();
        table.line(source);
        rows.into_iter().for_each(|row| table.row(row));
    }
    let notes = notes.iter().enumerate().map(|(index, note)| format!("\n[{}] {note}", index + 1));
    format!(
        "Published figures, measured on other machines: compare shapes, not sizes\n{}{}{}",
        table.render_within(columns, &[]),
        notes.collect::<String>(),
        conversions(run)
    )
}

/// The clock that converts a case's ticks to time for comparison with a published time. That is the
/// case's clock if the figure was measured by the same one, or if it counts cycles at a known rate.
/// `None` if the figure is no time.
fn conversion_clock<'a>(case: &'a CaseResult, figure: &Published) -> Option<&'a Clock> {
    let is_convertible = |clock: &&Clock| {
        clock.domain == Domain::Cycles || (figure.same_clock && clock.domain != Domain::Wall)
    };
    case.clock
        .as_ref()
        .filter(|_| ["", "ns"].contains(&figure.unit.as_str()))
        .filter(is_convertible)
}

/// The footnotes on conversion: for each clock in use, its ticks per microsecond.
fn conversions(run: &Run) -> String {
    let figures =
        run.cases.iter().flat_map(|case| case.published.iter().map(move |figure| (case, figure)));
    let clocks = figures.filter_map(|(case, figure)| conversion_clock(case, figure));
    let mut lines: Vec<String> = clocks
        .map(|Clock { domain, hertz, .. }| {
            let count = digits(*hertz as f64 / 1e6);
            match domain {
                Domain::Cycles => format!("\n= µs: at the rate of the board's clock, {count} cycles a µs"),
                _ => format!(
                    "\n= µs: at the rate of the common clock, {count} {domain} a µs; not time on a processor"
                ),
            }
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.concat()
}

/// The mark of a figure's note, as ` [1]`; adds the note unless it is known already.
fn note_mark<'a>(figure: &'a Published, notes: &mut Vec<&'a str>) -> String {
    if figure.note.is_empty() {
        return String::new();
    }
    let number = notes.iter().position(|note| *note == figure.note).unwrap_or_else(|| {
        notes.push(&figure.note);
        notes.len() - 1
    });
    format!(" [{}]", number + 1)
}

fn cells(name: &str, case: &CaseResult, figure: &Published, mark: &str) -> Vec<String> {
    let statistic = figure.sister(case);
    let (series, value, unit) = match statistic {
        Some((series, value, unit)) => (series, Some(value).filter(|_| case.is_proven()), unit),
        None => (figure.series.clone().unwrap_or_default(), None, "ns".into()),
    };
    let has_nominal = Statistic::find(&figure.statistic).is_none_or(Statistic::is_duration);
    let nominal = case
        .series
        .iter()
        .find(|one| one.name == series && has_nominal)
        .map_or(0.0, |one| one.nominal);
    let clock = conversion_clock(case, figure).filter(|clock| clock.domain.name() == unit);
    let time = |clock: &Clock, ticks: f64| ticks * 1e9 / clock.hertz as f64;
    // A duration in any clock is published in ns, unless the study gives a unit.
    let is_time = ["ns", "cycles", "instructions"].contains(&unit.as_str());
    let (published, published_nominal) = match (is_time, unit.as_str()) {
        _ if figure.unit == unit => (unit.as_str(), nominal),
        _ if !figure.unit.is_empty() => (figure.unit.as_str(), 0.0),
        (true, "ns") => ("ns", nominal),
        (true, _) => ("ns", clock.map_or(0.0, |clock| time(clock, nominal))),
        (false, unit) => (unit, nominal),
    };
    let by_clock = |ticks: f64| {
        Some(format!(
            " = {}",
            with_nominal(time(clock?, ticks - nominal), time(clock?, nominal), "ns")
        ))
    };
    let shown = |value| {
        with_nominal(value - nominal, nominal, &unit) + &by_clock(value).unwrap_or_default()
    };
    // The series is named where it is not obvious.
    let is_named = figure.series.is_some()
        || figure.instrument != Instrument::Timer
        || case.measured().count() > 1;
    let series = if is_named && !series.is_empty() { format!(", {series}") } else { String::new() };
    vec![
        format!("  {name}{series}"),
        format!("{}{mark}", figure.statistic),
        value.map_or("–".to_owned(), shown),
        with_nominal(figure.value - published_nominal, published_nominal, published),
    ]
}
