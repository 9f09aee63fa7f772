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
use chronoscope_statistics::{alert::FEWEST_RUNS, alert::expected, alert::outside, median};
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
        ("expected", Left),
        ("outside", Left),
        ("", Left),
        ("p50 from run to run", Left),
    ]);
    for line in &lines {
        let CaseRow { key, host, series, unit, nominal, .. } = line[line.len() - 1];
        let (label, nominal) = (labels.get(key.as_str()).map_or("", String::as_str), *nominal);
        let case = if hosts.len() > 1 { format!("{host}: {label}") } else { label.to_owned() };
        let values: Vec<Option<f64>> = line.iter().map(|row| row.figure()).collect();
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
            band(&values, unit),
            runs_outside(line, &values, unit),
            sparkline(&values),
            show_all(&values, unit),
        ]);
    }
    format!(
        "{experiment}: p50 of each case, the newest last; `?` for a run without evidence\n{}\n\
         expected: the next run, from {FEWEST_RUNS} runs on; outside: runs beyond the band of those before\n",
        table
            .render_within(columns, &["p50 from run to run", "runs", "outside", "expected"])
            .trim_end()
    )
}

/// The least reach of a band of times to either side of its median, as a share of the median. The
/// clock speed of an idle machine varies by about as much.
const FLOOR: f64 = 0.005;

/// The least reach of the band of figures in `unit`, as a share of the median. Figures other than
/// times are exact, or their own scatter makes the band wide enough, so they have 0.
pub fn least_reach(unit: &str) -> f64 {
    if unit == Unit::Nanoseconds.name() { FLOOR } else { 0.0 }
}

/// The band in which the next run's p50 is expected, in words; `–` with too few runs.
fn band(values: &[Option<f64>], unit: &str) -> String {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let band = expected(&known, least_reach(unit));
    band.map_or("–".to_owned(), |band| {
        let middle = median(&known).unwrap_or(band.high);
        show_range(band.low, band.high, middle, unit)
    })
}

/// The numbers of the runs whose p50 is outside of the band that the earlier runs give.
fn runs_outside(line: &[&CaseRow], values: &[Option<f64>], unit: &str) -> String {
    let outside = outside(values, least_reach(unit));
    let runs = line.iter().zip(outside).filter(|(_, is_outside)| *is_outside);
    runs.map(|(row, _)| row.run.to_string()).collect::<Vec<_>>().join(" ")
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
    fn a_run_outside_of_its_band_is_named() {
        let key = "switch linux@host tasks=2";
        let figures = [2000.0, 2010.0, 1990.0, 2020.0, 1980.0, 2005.0, 3000.0, 2000.0];
        let rows: Vec<CaseRow> = (1..)
            .zip(figures)
            .map(|(run, p50)| row(run, key, "tasks=2", Some(p50), "pass"))
            .collect();
        let text = cases("switch", &rows[..4], None);
        assert!(text.contains("–"), "{text}");
        let text = cases("switch", &rows, None);
        let line = text.lines().find(|line| line.contains("tasks=2")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words.contains(&"7"), "{line}");
        let band = words.iter().find(|word| word.contains('…')).unwrap();
        let (low, high) = band.split_once('…').unwrap();
        let [low, high] = [low, high].map(|end| end.parse::<f64>().unwrap());
        assert!((1.7..1.97).contains(&low) && (2.03..2.3).contains(&high), "{band}");
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
