//! The output of `history`: the runs in the store, or an experiment's cases from run to run.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde::Serialize;

use super::text_table::{
    Side::{Left, Right},
    TextTable,
};
use crate::{
    store::{CaseRow, RunRow},
    units::{show, show_all},
};

/// Rows of the store as JSON.
///
/// # Errors
/// When serialization fails; the rows hold no value for which it does.
pub fn json(rows: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(rows)? + "\n")
}

/// The table of runs, in the order of `rows`.
pub fn runs(rows: &[RunRow]) -> String {
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
    table.render()
}

fn date(text: &str) -> String {
    text.replace('T', " ").trim_end_matches('Z').to_owned()
}

/// A table with one line for each series of each case on each host. `rows` must be ordered from the
/// oldest run to the newest; the last p50 and the unit come from the newest.
pub fn cases(experiment: &str, rows: &[CaseRow]) -> String {
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
    let labels = labels(rows);
    let hosts: BTreeSet<&str> = rows.iter().map(|row| row.host.as_str()).collect();
    let mut table = TextTable::new(&[
        ("case", Left),
        ("series", Left),
        ("runs", Left),
        ("p50", Right),
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
            sparkline(&values),
            show_all(&values, unit),
        ]);
    }
    format!(
        "{experiment}: p50 of each case, the newest last; `?` for a run without evidence\n{}",
        table.render()
    )
}

fn run_range(line: &[&CaseRow]) -> String {
    match (line[0].run, line[line.len() - 1].run) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}–{last}"),
    }
}

/// The label of each case by its key: the requested parameters, and any parameter that differs
/// between cases.
fn labels(rows: &[CaseRow]) -> BTreeMap<&str, String> {
    let keys: BTreeMap<&str, &str> =
        rows.iter().map(|row| (row.key.as_str(), row.label.as_str())).collect();
    // A key is the experiment, the target and the parameters, separated by spaces.
    let in_all = |word: &str| keys.keys().all(|key| key.split(' ').any(|other| other == word));
    let label = |key: &str, asked: &str| {
        let distinguishes =
            |word: &&str| asked.split(' ').any(|other| other == *word) || !in_all(word);
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
    fn cases_with_one_label_are_distinguished() {
        let rows = [
            row(1, "switch linux@host loops=10 tasks=2", "tasks=2", Some(2000.0), "pass"),
            row(2, "switch linux@host loops=10 tasks=2", "tasks=2", Some(3000.0), "inconclusive"),
            row(3, "switch linux@host loops=99 tasks=2", "tasks=2", Some(2500.0), "pass"),
        ];
        let text = cases("switch", &rows);
        assert!(text.contains("loops=10 tasks=2") && text.contains("loops=99 tasks=2"), "{text}");
        assert!(text.contains("▁?") && text.contains("2 ? µs") && text.contains("1–2"), "{text}");
    }
}
