//! The output of `history`: a table of the runs in the store, or of the medians of an experiment's
//! cases from run to run. The module is given the rows, and does not read the store.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::text_table::{
    Side::{Left, Right},
    TextTable,
};
use crate::error::Result;
use chronoscope_run::history::{CaseRow, RunRow};
use chronoscope_run::{Label, Unit};
use chronoscope_statistics::{Prediction, change::Change, change::FEWEST, change::changes};
use chronoscope_units::{show, show_all, show_range};

/// Rows of the store as JSON.
///
/// # Errors
/// If a row cannot be serialized, which no row of the store causes.
pub fn json(rows: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(rows)? + "\n")
}

/// The table of runs, in the order of `rows`, at most `columns` characters wide.
pub fn runs(rows: &[RunRow], columns: Option<usize>) -> String {
    let mut table = TextTable::new(&[
        ("run", Right),
        ("started (UTC)", Left),
        ("study", Left),
        ("cases", Right),
        ("verdict", Left),
        ("host", Left),
        ("system", Left),
    ]);
    for row in rows {
        let interrupted = if row.interrupted { ", interrupted" } else { "" };
        table.row(vec![
            row.run.to_string(),
            date(&row.started),
            row.study.to_string(),
            row.cases.to_string(),
            format!("{}{interrupted}", row.status),
            row.host.to_string(),
            row.system.split(' ').take(2).collect::<Vec<_>>().join(" "),
        ]);
    }
    table.render_within(columns, &["system", "host", "study"])
}

fn date(text: &str) -> String {
    text.replace('T', " ").trim_end_matches('Z').to_owned()
}

/// A table with one line for each series of each case on each host, at most `columns` characters
/// wide. `rows` must be in the order of runs, the oldest first. The column `p50` has the newest
/// known p50.
pub fn cases(experiment: &str, rows: &[CaseRow], columns: Option<usize>) -> String {
    let mut lines: Vec<Vec<&CaseRow>> = Vec::new();
    for row in rows {
        let belongs = |line: &&mut Vec<&CaseRow>| {
            (&line[0].key, &line[0].series, &line[0].host) == (&row.key, &row.series, &row.host)
        };
        match lines.iter_mut().find(belongs) {
            Some(line) => line.push(row),
            None => lines.push(vec![row]),
        }
    }
    let labels = labels(rows.iter());
    let hosts: BTreeSet<&str> = rows.iter().map(|row| row.host.as_str()).collect();
    let mut table = TextTable::new(&[
        ("case", Left),
        ("series", Left),
        ("runs", Left),
        ("p50", Right),
        ("next run", Left),
        ("new level", Left),
        ("", Left),
        ("p50 from run to run", Left),
    ]);
    for line in &lines {
        let CaseRow { key, host, series, unit, nominal, .. } = line[line.len() - 1];
        let (label, nominal) = (labels.get(key.as_str()).map_or("", String::as_str), *nominal);
        // An imported run may have no host.
        let is_shown = hosts.len() > 1 && !host.is_empty();
        let case = if is_shown { format!("{host}: {label}") } else { label.to_owned() };
        let values: Vec<Option<f64>> = line.iter().map(|row| row.figure()).collect();
        let levels = Levels::new(&values, unit);
        let above =
            if nominal == 0.0 { String::new() } else { format!(" above {}", show(nominal, unit)) };
        table.row(vec![
            case,
            format!("{series}{above}"),
            run_range(line),
            values
                .iter()
                .rev()
                .flatten()
                .next()
                .map_or("–".to_owned(), |value| show(*value, unit)),
            levels.next.map_or("–".to_owned(), |next| range(&next, unit)),
            new_levels(line, &levels),
            sparkline(&values),
            show_all(&values, unit),
        ]);
    }
    format!(
        "{experiment}: p50 of each case, the newest last; `?` for a run without evidence\n{}\n\
         next run: the range of the present level's runs, and the chance that the next is within\n\
         new level: its first run, after / before; from {FEWEST} runs on, exact figures sooner. Where \
         nothing changes, 34 cases that run nightly have one a year\n",
        table
            .render_within(columns, &["p50 from run to run", "runs", "new level", "next run"])
            .trim_end()
    )
}

/// The least change of times that counts, as a share of the level: nobody acts on less, and the
/// clock speed of an idle machine varies by a quarter of it.
const LEAST_CHANGE: f64 = 0.02;

/// The levels of a figure from run to run.
pub struct Levels {
    /// The changes of level. The places in them count in all runs.
    pub changes: Vec<Change>,
    /// The range of the present level, for the next run; `None` with few runs.
    pub next: Option<Prediction>,
}

impl Levels {
    /// Finds the levels of figures in `unit`, the oldest first; `None` for a run without one. Figures
    /// other than times are exact, or their own scatter says what counts.
    pub fn new(values: &[Option<f64>], unit: &str) -> Self {
        let known = values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
        let (places, figures): (Vec<usize>, Vec<f64>) = known.unzip();
        let floor = if unit == Unit::Nanoseconds.name() { LEAST_CHANGE } else { 0.0 };
        let mut changes = changes(&figures, floor);
        let present = changes.last().map_or(0, |change| change.at);
        for change in &mut changes {
            (change.at, change.noticed) = (places[change.at], places[change.noticed]);
        }
        Self { changes, next: Prediction::new(&figures[present..]) }
    }
}

/// The range of the present level with the chance that the next run is within, as `1.98…2.02, 90 %`.
pub fn range(next: &Prediction, unit: &str) -> String {
    if next.low == next.high {
        return show(next.low, unit);
    }
    let [low, high] = [next.low, next.high].map(|end| show(end, unit));
    let range = if low == high { low } else { show_range(next.low, next.high, next.high, unit) };
    format!("{range}, {:.0} %", 100.0 * (1.0 - next.chance_outside()))
}

/// The first run of each new level, with the ratio to the level before.
fn new_levels(line: &[&CaseRow], levels: &Levels) -> String {
    let words = levels.changes.iter().map(|change| {
        let run = line[change.at].run;
        match change.before > 0.0 {
            true => format!("{run}: × {:.2}", change.after / change.before),
            false => run.to_string(),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The numbers of the oldest and the newest run, as `3–17`.
fn run_range(line: &[&CaseRow]) -> String {
    match (line[0].run, line[line.len() - 1].run) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}–{last}"),
    }
}

/// The label of each case by its key: the requested parameters, and any parameter that differs
/// between cases.
pub(super) fn labels<'a>(rows: impl Iterator<Item = &'a CaseRow>) -> BTreeMap<&'a str, String> {
    let keys: BTreeMap<&str, &Label> = rows.map(|row| (row.key.as_str(), &row.label)).collect();
    // A key is the experiment, the target and the parameters, separated by spaces.
    let in_all = |word: &str| keys.keys().all(|key| key.split(' ').any(|other| other == word));
    let label = |key: &str, asked: &Label| {
        let distinguishes =
            |word: &&str| asked.parts().any(|part| part.text() == *word) || !in_all(word);
        key.split(' ').filter(distinguishes).collect::<Vec<_>>().join(" ")
    };
    keys.iter().map(|(key, asked)| (*key, label(key, asked))).collect()
}

/// A bar for each value, `?` for a missing one. The full height spans at least 10 % of the
/// smallest value, so that noise stays small.
fn sparkline(values: &[Option<f64>]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let known = || values.iter().flatten().copied();
    let low = known().fold(f64::INFINITY, f64::min);
    let high = known().fold(low * 1.1, f64::max);
    let bar = |value: f64| {
        let height = ((value - low) / (high - low) * 7.0).round();
        // The height is NaN when all values are zero.
        BARS[if height.is_finite() { (height as usize).min(7) } else { 0 }]
    };
    values.iter().map(|value| value.map_or('?', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(run: i64, key: &str, label: &str, p50: Option<f64>, status: &str) -> CaseRow {
        CaseRow {
            run,
            started: "".into(),
            host: "here".into(),
            key: key.into(),
            label: label.into(),
            series: "s".into(),
            unit: "ns".into(),
            nominal: 0.0,
            p50,
            status: status.into(),
            machine: "".into(),
            experiment: "".into(),
        }
    }

    #[test]
    fn sparklines_show_shape_and_not_noise() {
        let line =
            |values: &[f64]| sparkline(&values.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(line(&[100.0, 200.0, 150.0]), "▁█▅");
        assert_eq!(line(&[100.0, 101.0]), "▁▂");
        assert_eq!(line(&[0.0, 0.0]), "▁▁");
        assert_eq!(sparkline(&[None, Some(3.0)]), "?▁");
        assert_eq!(line(&[]), "");
    }

    #[test]
    fn a_new_level_is_named_with_its_first_run() {
        let key = "switch linux@host tasks=2";
        let noise = [0.0, 10.0, -10.0, 20.0, -20.0, 5.0, -5.0];
        let figure =
            |run: i64| if run > 30 { 3000.0 } else { 2000.0 } + noise[(run * 3 % 7) as usize];
        let rows: Vec<CaseRow> =
            (1..=40).map(|run| row(run, key, "tasks=2", Some(figure(run)), "pass")).collect();
        let words = |count: usize| {
            let text = cases("switch", &rows[..count], None);
            let line = text.lines().find(|line| line.contains("tasks=2")).unwrap().to_owned();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert!(words(2).contains(" – "), "{}", words(2));
        assert!(words(19).contains("1.98…2.02, 90 %"), "{}", words(19));
        let found = words(40);
        assert!(found.contains("2.98…3.02, 82 % 31: × 1.50 "), "{found}");
    }

    #[test]
    fn cases_with_one_label_are_distinguished() {
        let rows = [
            row(1, "switch linux@host loops=10 tasks=2", "tasks=2", Some(2000.0), "pass"),
            row(2, "switch linux@host loops=10 tasks=2", "tasks=2", Some(3000.0), "inconclusive"),
            row(3, "switch linux@host loops=99 tasks=2", "tasks=2", Some(2500.0), "pass"),
        ];
        let text = cases("switch", &rows, None);
        assert!(text.contains("loops=10 tasks=2") && text.contains("loops=99 tasks=2"), "{text}");
        assert!(text.contains("▁?") && text.contains("2 ? µs") && text.contains("1–2"), "{text}");
    }
}
