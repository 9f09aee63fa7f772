//! The rows of a range chart: measured series, each group followed by its published figures.

use std::collections::BTreeSet;

use super::{
    panel::{AxisUnit, Entry, Panel, applies_to, comparable_value, statistic},
    text::joined,
};
use chronoscope_run::{STATISTICS, Statistic};

/// The rows that a chart has at most, but for two; further rows continue in the next one, with the same
/// scale.
pub const ROWS: usize = 14;

/// The statistics that a published row's mark is taken from before other durations, the best first.
const CENTRES: [&str; 8] = ["p50", "mean", "max", "p99", "p99.9", "p99.99", "p90", "min"];

/// The statistics that may be a published row's mark, in order of preference. A standard deviation
/// is no position on an axis of durations.
fn centres() -> impl Iterator<Item = &'static str> {
    let durations = STATISTICS.iter().filter(|statistic| statistic.is_duration());
    CENTRES.into_iter().chain(durations.map(|statistic| statistic.name))
}

pub struct Row<'p, 'a> {
    /// The label common to rows that are directly comparable; empty without groups.
    pub group: String,
    pub name: String,
    /// The row starts a new group, even if the previous row has the same label.
    starts_group: bool,
    pub kind: Kind<'p, 'a>,
}

pub enum Kind<'p, 'a> {
    Measured(&'p Entry<'a>),
    /// A published value, with its range if that is published too.
    Published {
        value: f64,
        range: Option<(f64, f64)>,
        note: String,
    },
}

/// The rows of all entries. A group's rows are consecutive, followed by its published figures, without
/// duplicates.
pub fn rows<'p, 'a>(panel: &'p Panel<'a>, entries: &[&'p Entry<'a>]) -> Vec<Row<'p, 'a>> {
    let targets: BTreeSet<&str> = entries.iter().map(|entry| entry.case.target.as_str()).collect();
    let group = |entry: &Entry<'_>| {
        let words = entry.words.iter().filter(|word| **word != *entry.case.target);
        if targets.len() > 1 { joined(&words.collect::<Vec<_>>()) } else { String::new() }
    };
    // Group titles are useful only if some group has at least two targets.
    let names: BTreeSet<String> = entries.iter().map(|entry| group(entry)).collect();
    let is_grouped = targets.len() > 1 && names.len() < entries.len();
    let group = |entry: &Entry<'_>| if is_grouped { group(entry) } else { String::new() };
    let mut groups: Vec<(String, Vec<&'p Entry<'a>>)> = Vec::new();
    for entry in entries {
        match groups.iter_mut().find(|(name, _)| *name == group(entry)) {
            Some((_, members)) if is_grouped => members.push(entry),
            _ => groups.push((group(entry), vec![entry])),
        }
    }
    let mut rows = Vec::new();
    for (group, members) in groups {
        for entry in &members {
            let name = if is_grouped { entry.case.target.to_string() } else { entry.name.clone() };
            rows.push(Row {
                group: group.clone(),
                name,
                starts_group: !is_grouped,
                kind: Kind::Measured(entry),
            });
            if !is_grouped {
                rows.extend(published(panel, &[entry], &group));
            }
        }
        if is_grouped {
            rows.extend(published(panel, &members, &group));
        }
    }
    rows
}

/// The published rows of a group, one for each machine and statistic: the mark, and the range from the
/// published minimum to the maximum.
fn published<'p, 'a>(
    panel: &Panel<'_>,
    members: &[&'p Entry<'a>],
    group: &str,
) -> Vec<Row<'p, 'a>> {
    let mut rows: Vec<Row<'p, 'a>> = Vec::new();
    for entry in members {
        let figures = || entry.case.published.iter().filter(|figure| applies_to(figure, entry));
        let mut places: Vec<&str> = figures().map(|figure| figure.on.as_str()).collect();
        places.dedup();
        for on in places {
            let find = |statistic: &'static str| {
                figures()
                    .find(|figure| figure.on == on && figure.statistic == statistic)
                    .zip(Some(statistic))
            };
            let Some((figure, statistic)) = centres().find_map(find) else { continue };
            let Some(value) = comparable_value(figure, panel) else { continue };
            let end =
                |statistic| find(statistic).and_then(|(figure, _)| comparable_value(figure, panel));
            let range = end("min").zip(end("max"));
            let name = if panel.unit == AxisUnit::Bytes {
                on.to_owned()
            } else {
                format!("{on}, {statistic}")
            };
            if rows.iter().all(|row| row.name != name) {
                let kind = Kind::Published {
                    value,
                    range,
                    note: joined(&[figure.source.as_str(), &figure.note]),
                };
                rows.push(Row { group: group.to_owned(), name, starts_group: false, kind });
            }
        }
    }
    rows
}

/// The upper limits on an entry's statistics that the axis can show, less the panel's nominal time.
pub fn limits<'a>(entry: &Entry<'a>, panel: &Panel<'_>) -> Vec<(&'a str, f64)> {
    let limits = entry
        .case
        .limits
        .iter()
        .filter(|limit| limit.series.as_ref().is_none_or(|name| *name == entry.series.name));
    let limits = limits.filter(|limit| {
        let is_duration = Statistic::find(&limit.statistic).is_some_and(Statistic::is_duration);
        is_duration && statistic(entry.series, &limit.statistic).is_some()
    });
    limits
        .filter_map(|limit| Some((limit.statistic.as_str(), limit.at_most?.0 - panel.nominal)))
        .collect()
}

/// All values that a row draws, for the scale.
pub fn values(row: &Row<'_, '_>, panel: &Panel<'_>) -> Vec<f64> {
    match &row.kind {
        Kind::Measured(entry) => {
            let summary = &entry.series.summary;
            let own = [summary.min, summary.p50, summary.max].into_iter().flatten();
            own.chain(limits(entry, panel).into_iter().map(|limit| limit.1)).collect()
        }
        Kind::Published { value, range, .. } => {
            let ends = range.map(|(low, high)| [low, high]);
            ends.into_iter().flatten().chain([*value]).collect()
        }
    }
}

/// Splits rows, of which there are some, into charts of similar size. A group is split only if it exceeds
/// [`ROWS`].
pub fn pages<'r, 'p, 'a>(rows: &'r [Row<'p, 'a>]) -> Vec<Vec<&'r Row<'p, 'a>>> {
    // The tolerance of two rows keeps a split group from leaving a single row.
    let most = rows.len().div_ceil(rows.len().div_ceil(ROWS)) + 2;
    let mut pages: Vec<Vec<&Row<'_, '_>>> = Vec::new();
    for group in rows.chunk_by(|one, next| one.group == next.group && !next.starts_group) {
        for part in group.chunks(ROWS) {
            match pages.last_mut() {
                Some(page) if page.len() + part.len() <= most => page.extend(part),
                _ => pages.push(part.iter().collect()),
            }
        }
    }
    pages
}
