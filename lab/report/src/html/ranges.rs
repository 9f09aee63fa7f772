//! Range charts: one row for each case with median, range and limits, and rows for published
//! figures of the same clock. The kernel `bare` gives the floor of a group, the cost without a
//! kernel.

use std::collections::BTreeSet;

use super::{
    figure::{Figure, parts},
    frame::{Axis, Label, RIGHT, ROWS_LEFT, ROWS_X, draw_rows, number},
    panel::{AxisUnit, Entry, Panel, statistic},
    rows::{Kind, ROWS, Row, limits, pages, rows, values},
    scale::Scale,
    svg::{Anchor, Svg, fit},
    sweep,
    text::unique,
};
use chronoscope_run::Unit;
use chronoscope_units::{digits, show};

/// The share of letters that fits the same width in bold.
pub const BOLD: f64 = 0.85;
const TOP: f64 = 6.0;

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    // Series with an x value have the slope chart. Sweeps have their own chart too, and appear here
    // only to compare several targets in a single chart.
    let targets: BTreeSet<&str> =
        panel.entries.iter().map(|entry| entry.case.target.as_str()).collect();
    let drawn_as_sweep = if targets.len() < 2 || panel.entries.len() > ROWS {
        sweep::series_drawn(panel)
    } else {
        Vec::new()
    };
    let is_shown = |entry: &&Entry<'_>| {
        drawn_as_sweep.iter().any(|series| std::ptr::eq(*series, entry.series))
    };
    let entries = panel.entries.iter().filter(|entry| entry.series.x.is_none() && !is_shown(entry));
    let rows = rows(panel, &entries.collect::<Vec<_>>());
    if rows.len() < 2 {
        return Vec::new();
    }
    let values: Vec<f64> = rows.iter().flat_map(|row| values(row, panel)).collect();
    // The length of a bar represents its value, which requires a linear scale from zero.
    let scale = match panel.unit {
        AxisUnit::Bytes => Scale::linear(0.0, values.iter().copied().fold(0.0, f64::max), ROWS_X),
        _ => Scale::fitting(values.into_iter(), ROWS_X),
    };
    parts(pages(&rows).into_iter(), |page, part| figure(panel, &page, &scale, part))
}

fn figure(panel: &Panel<'_>, page: &[&Row<'_, '_>], scale: &Scale, part: &str) -> Figure {
    let groups = page.chunk_by(|one, next| one.group == next.group);
    let titles = groups.clone().filter(|rows| !rows[0].group.is_empty()).count();
    let height = |rows: &[&Row<'_, '_>]| -> f64 {
        rows.iter().map(|row| row_label(row, panel).height()).sum()
    };
    let base = TOP + height(page) + 20.0 * titles as f64;
    let is_memory = panel.unit == AxisUnit::Bytes;
    let title = if is_memory { "size" } else { "median and range" };
    let mut svg = draw_rows(&Axis::new(*scale, &panel.beyond(title), panel.unit.name()), TOP, base);
    svg.line("axis", [ROWS_LEFT, base], [RIGHT, base]);
    let mut table = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut limited: BTreeSet<&str> = BTreeSet::new();
    let mut top = TOP;
    for rows in groups {
        if !rows[0].group.is_empty() {
            svg.text(
                "group",
                [ROWS_LEFT, top + 15.0],
                Anchor::Start,
                &fit(&rows[0].group, BOLD * (RIGHT - ROWS_LEFT)),
            );
            top += 20.0;
        }
        if let Some(floor) = floor(rows) {
            let place = scale.at(floor);
            svg.line("floor", [place, top], [place, top + height(rows)]);
        }
        for row in rows {
            let class = if matches!(row.kind, Kind::Measured(_)) { "row" } else { "row other" };
            let label = row_label(row, panel);
            let middle = label.draw(&mut svg, class, top);
            let value = draw(&mut svg, panel, row, scale, middle);
            table.push(vec![row.group.clone(), row.name.clone(), value]);
            match &row.kind {
                Kind::Measured(entry) => {
                    limited.extend(limits(entry, panel).iter().map(|limit| limit.0))
                }
                Kind::Published { note, .. } => {
                    notes.push(format!("◇ published: {note}"));
                }
            }
            top += label.height();
        }
    }
    if !limited.is_empty() {
        let names: Vec<&str> = limited.into_iter().collect();
        notes.insert(0, format!("┃ the limit that the study sets on {}", names.join(", ")));
    }
    if page.chunk_by(|one, next| one.group == next.group).any(|rows| floor(rows).is_some()) {
        notes.insert(0, "┆ the floor: without any kernel (bare)".to_owned());
    }
    let measured: Vec<&Entry<'_>> = page
        .iter()
        .filter_map(|row| if let Kind::Measured(entry) = row.kind { Some(entry) } else { None })
        .collect();
    Figure {
        kind: if is_memory { "memory" } else { "beside" },
        title: format!(
            "{}: {}{part}",
            panel.experiment,
            if is_memory { "image and memory" } else { "side by side" }
        ),
        facts: panel.facts(&measured),
        svg: svg.finish(&format!("{} side by side", panel.experiment)),
        notes: unique(notes),
        header: vec!["of", "case", "value"],
        rows: table,
        ..Figure::default()
    }
}

/// The floor of a group: the p50 of the kernel `bare`. `None` if another row is below it.
fn floor(rows: &[&Row<'_, '_>]) -> Option<f64> {
    let bare = rows.iter().find(|row| row.name.starts_with("bare@"));
    let Kind::Measured(entry) = bare?.kind else { return None };
    let floor = statistic(entry.series, "p50").filter(|_| rows.len() > 1)?;
    // Memory without a kernel may hold more stacks than with one, and is then not a floor.
    let measured = rows.iter().filter(|row| matches!(row.kind, Kind::Measured(_)));
    measured.map(|row| middle(row)).all(|value| value >= floor).then_some(floor)
}

/// A row's name, and its value in few digits. Times have a unit; the unit of others is on the axis.
fn row_label(row: &Row<'_, '_>, panel: &Panel<'_>) -> Label {
    let value = match middle(row) {
        time if panel.unit == AxisUnit::Of(Unit::Nanoseconds) => show(time, "ns"),
        much if much >= 1e5 => number(much),
        value => digits(value),
    };
    Label::new(&row.name, value)
}

/// The value at a row's mark.
fn middle(row: &Row<'_, '_>) -> f64 {
    match &row.kind {
        Kind::Published { value, .. } => *value,
        Kind::Measured(entry) => {
            let summary = &entry.series.summary;
            summary.p50.or(summary.max).unwrap_or(0.0)
        }
    }
}

/// Draws a row's marks at the height `middle`, and returns its value as text.
fn draw(svg: &mut Svg, panel: &Panel<'_>, row: &Row<'_, '_>, scale: &Scale, middle: f64) -> String {
    let format_value = |value: f64| show(value, panel.unit.name());
    let start = scale.at(if scale.log { scale.low } else { 0.0 });
    match &row.kind {
        Kind::Published { value, range, .. } => {
            if let Some((low, high)) = range {
                svg.line("line published", [scale.at(*low), middle], [scale.at(*high), middle]);
            }
            let tip = format!("published: {}: {}", row.name, format_value(*value));
            if panel.unit == AxisUnit::Bytes {
                svg.bar("hollow", [start, middle - 3.0], [scale.at(*value) - start, 6.0], &tip);
            } else {
                svg.mark(3, "hollow", [scale.at(*value), middle], &tip);
            }
            format_value(*value)
        }
        Kind::Measured(entry) => {
            let summary = &entry.series.summary;
            let (low, high) = (summary.min.unwrap_or(0.0), summary.max.unwrap_or(0.0));
            let value = self::middle(row);
            let range = if low < high {
                format!(", {} to {}", format_value(low), format_value(high))
            } else {
                String::new()
            };
            let tip = format!("{} {}: {}{range}", row.name, row.group, format_value(value));
            if panel.unit == AxisUnit::Bytes {
                svg.bar("c0", [start, middle - 3.0], [scale.at(value) - start, 6.0], &tip);
            } else {
                svg.line("range", [scale.at(low), middle], [scale.at(high), middle]);
                if let Some(p99) = summary.p99.filter(|_| low < high) {
                    let place = scale.at(p99);
                    svg.line("range", [place, middle - 4.0], [place, middle + 4.0]);
                }
                svg.mark(0, "c0", [scale.at(value), middle], &tip);
            }
            for (name, limit) in limits(entry, panel) {
                let place = scale.at(limit);
                svg.bar(
                    "limit-bar",
                    [place - 1.0, middle - 6.0],
                    [2.0, 12.0],
                    &format!("limit: {name} at most {}", format_value(limit)),
                );
            }
            format_value(value)
        }
    }
}
