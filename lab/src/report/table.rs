//! The table that `run` prints: one line a series, units scaled, the clock domain named, the verdict last; below it why a
//! verdict is not a pass, what is published, and what the machine did meanwhile.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::peers;
use crate::{
    run::{CaseResult, Run, SeriesResult},
    study::{Study, statistics},
    units::{digits, show},
};

/// Renders the whole table, ready to print.
pub fn render(run: &Run, study: &Study) -> String {
    let mut text = format!("{}\n", study.title);
    if !run.cases.is_empty() {
        text.push_str(&figures(run));
    }
    text.push_str(&why(run));
    text.push_str(&published(run));
    text.push_str(&peers::render(run));
    text.push_str(&conditions(run));
    if !study.notes.is_empty() {
        text.push_str(&format!("\n{}\n", study.notes.trim()));
    }
    text
}

pub(super) fn sheet(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().copied());
    table
}

fn figures(run: &Run) -> String {
    let mut table =
        sheet(&["experiment", "case", "series", "n", "p50", "95 % of p50", "p99", "max", "control", "verdict"]);
    for column in 3..9 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for case in &run.cases {
        let mut rows = case.measured().map(|series| row(case, series)).collect::<Vec<_>>();
        if rows.is_empty() {
            rows.push(vec![String::new(); 7]);
        }
        for (index, row) in rows.into_iter().enumerate() {
            let first = index == 0;
            let only_first = |text: &str| if first { text.to_owned() } else { String::new() };
            let mut cells = vec![only_first(&case.experiment), only_first(&case.label)];
            cells.extend(row);
            cells.push(only_first(case.verdict.status.words()));
            table.add_row(cells);
        }
    }
    format!("{table}\n")
}

/// Series, n, p50, its interval, p99, max, control.
fn row(case: &CaseResult, series: &SeriesResult) -> Vec<String> {
    let value = |value: Option<f64>| value.map_or("–".to_owned(), |value| show(value + series.nominal, &series.unit));
    let interval = series.p50_interval.as_ref();
    let control = case.control().filter(|control| control.unit == series.unit);
    vec![
        series.name.clone(),
        series.summary.count.to_string(),
        value(series.summary.p50),
        interval.map_or("–".to_owned(), |interval| {
            format!("{} … {}", value(Some(interval.low)), value(Some(interval.high)))
        }),
        value(series.summary.p99),
        value(series.summary.max),
        control.and_then(|control| control.summary.p50).map_or("–".to_owned(), |cost| show(cost, &series.unit)),
    ]
}

fn why(run: &Run) -> String {
    let mut text = String::new();
    for case in &run.cases {
        for reason in &case.verdict.reasons {
            text.push_str(&format!("{} {}: {}: {reason}\n", case.experiment, case.label, case.verdict.status.words()));
        }
        for line in &case.log {
            text.push_str(&format!("{} {}: {line}\n", case.experiment, case.label));
        }
    }
    text
}

fn published(run: &Run) -> String {
    let mut table = sheet(&["experiment", "case", "source", "statistic", "measured", "published", "measured on"]);
    let mut notes: Vec<String> = Vec::new();
    for case in &run.cases {
        for figure in &case.published {
            let found = statistics(case, &figure.statistic, figure.series.as_deref());
            let (series, measured, unit) = match found.first() {
                Some((series, value, unit)) => (series.as_str(), show(*value, unit), unit.as_str()),
                None => ("", "–".to_owned(), "ns"),
            };
            let mark = match notes.iter().position(|note| *note == figure.note) {
                _ if figure.note.is_empty() => String::new(),
                Some(known) => format!(" [{}]", known + 1),
                None => {
                    notes.push(figure.note.clone());
                    format!(" [{}]", notes.len())
                }
            };
            table.add_row([
                case.experiment.clone(),
                case.label.clone(),
                figure.source.clone() + &mark,
                format!("{series} {}", figure.statistic).trim().to_owned(),
                measured,
                show(figure.value, unit),
                figure.on.clone(),
            ]);
        }
    }
    if table.is_empty() {
        return String::new();
    }
    let notes: Vec<String> =
        notes.iter().enumerate().map(|(index, note)| format!("[{}] {note}\n", index + 1)).collect();
    format!("\nBeside the published figures\n{table}\n{}", notes.concat())
}

/// The clock, and what the machine did meanwhile, over all cases.
fn conditions(run: &Run) -> String {
    let mut domains: Vec<String> = run
        .cases
        .iter()
        .filter_map(|case| Some(format!("{}: {} clock", case.target, case.clock.as_ref()?.domain)))
        .collect();
    domains.sort();
    domains.dedup();
    let worst =
        |name: &str| run.cases.iter().filter_map(|case| case.figure(name)).map(|figure| figure.max).reduce(f64::max);
    let mut parts = domains;
    if let Some(steal) = worst("steal") {
        parts.push(format!("stolen by the hypervisor: at most {} in one repetition", show(steal * 1e6, "ns")));
    }
    if let Some(load) = worst("load") {
        parts.push(format!("load: at most {}", digits(load)));
    }
    parts.push(format!("{} cases in {} s", run.cases.len(), digits(run.context.seconds)));
    format!("\n{}\n", parts.join(" · "))
}
