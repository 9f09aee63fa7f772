//! Cases side by side, one row each: median, range, limit; and the published figures that were taken with the same clock, as rows of
//! their own. Where a kernel called `bare` is among them, it is the floor: what no kernel can be below.

use std::collections::BTreeSet;

use super::{
    figure::Figure,
    frame::{Axis, RIGHT, bottom},
    panel::{Entry, Panel, beside, is_of, statistic},
    scale::Scale,
    svg::{Anchor, Svg, fit},
    text::joined,
};
use crate::units::show;

/// Rows of a picture; more go on in the next, with the same scale.
const ROWS: usize = 14;

const ROW: f64 = 28.0;
const LEFT: f64 = 8.0;
const TOP: f64 = 6.0;

struct Row<'p, 'a> {
    /// What those that compare directly have in common.
    group: String,
    name: String,
    kind: Kind<'p, 'a>,
}

enum Kind<'p, 'a> {
    Ours(&'p Entry<'a>),
    Published { value: f64, note: String },
}

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    // Series over an x have a picture that says more.
    let entries: Vec<&Entry<'_>> = panel.entries.iter().filter(|entry| entry.series.x.is_none()).collect();
    let rows = rows(panel, &entries);
    if rows.len() < 2 {
        return Vec::new();
    }
    let values: Vec<f64> = rows.iter().flat_map(|row| values(row, panel)).collect();
    let scale = Scale::fitting(values.into_iter(), LEFT, RIGHT - 4.0);
    let mut pages: Vec<Vec<&Row<'_, '_>>> = vec![Vec::new()];
    for group in rows.chunk_by(|one, next| one.group == next.group) {
        let last = pages.last().map_or(0, Vec::len);
        if last > 0 && last + group.len() > ROWS {
            pages.push(Vec::new());
        }
        for part in group.chunks(ROWS) {
            if pages.last().is_some_and(|page| page.len() + part.len() > ROWS) {
                pages.push(Vec::new());
            }
            pages.last_mut().into_iter().for_each(|page| page.extend(part));
        }
    }
    let count = pages.len();
    let part = |index: usize| if count > 1 { format!(" ({} of {count})", index + 1) } else { String::new() };
    pages.iter().enumerate().map(|(index, page)| figure(panel, page, &scale, &part(index))).collect()
}

/// Ours, and after those of one group what is published beside them, once.
fn rows<'p, 'a>(panel: &'p Panel<'a>, entries: &[&'p Entry<'a>]) -> Vec<Row<'p, 'a>> {
    let targets: BTreeSet<&str> = entries.iter().map(|entry| entry.case.target.as_str()).collect();
    let group = |entry: &Entry<'_>| {
        let words = entry.name.split(" · ").filter(|word| *word != entry.case.target);
        if targets.len() > 1 { joined(&words.collect::<Vec<_>>()) } else { String::new() }
    };
    let mut groups: Vec<(String, Vec<&'p Entry<'a>>)> = Vec::new();
    for entry in entries {
        match groups.iter_mut().find(|(name, _)| *name == group(entry)) {
            Some((_, members)) => members.push(entry),
            None => groups.push((group(entry), vec![entry])),
        }
    }
    let mut rows = Vec::new();
    for (group, members) in groups {
        for entry in &members {
            let name = if targets.len() > 1 { entry.case.target.clone() } else { entry.name.clone() };
            rows.push(Row { group: group.clone(), name, kind: Kind::Ours(entry) });
            if targets.len() < 2 {
                rows.extend(published(panel, &[entry], &group));
            }
        }
        if targets.len() > 1 {
            rows.extend(published(panel, &members, &group));
        }
    }
    rows
}

fn published<'p, 'a>(panel: &Panel<'_>, members: &[&'p Entry<'a>], group: &str) -> Vec<Row<'p, 'a>> {
    let mut rows: Vec<Row<'p, 'a>> = Vec::new();
    for entry in members {
        for figure in entry.case.published.iter().filter(|figure| is_of(figure, entry)) {
            let Some(value) = beside(figure, panel) else { continue };
            let name = format!("{}, {}", figure.on, figure.statistic);
            if rows.iter().all(|row| row.name != name) {
                let note = joined(&[&figure.source, &figure.note]);
                let kind = Kind::Published { value, note };
                rows.push(Row { group: group.to_owned(), name, kind });
            }
        }
    }
    rows
}

/// Limits of the entry's own series, on values that the axis shows.
fn limits<'a>(entry: &Entry<'a>, panel: &Panel<'_>) -> Vec<(&'a str, f64)> {
    let limits =
        entry.case.limits.iter().filter(|limit| limit.series.as_ref().is_none_or(|name| *name == entry.series.name));
    let limits =
        limits.filter(|limit| statistic(entry.series, &limit.statistic).is_some() && limit.statistic != "sigma");
    limits.filter_map(|limit| Some((limit.statistic.as_str(), limit.at_most?.0 - panel.nominal))).collect()
}

fn values(row: &Row<'_, '_>, panel: &Panel<'_>) -> Vec<f64> {
    match &row.kind {
        Kind::Ours(entry) => {
            let summary = &entry.series.summary;
            let own = [summary.min, summary.p50, summary.max].into_iter().flatten();
            own.chain(limits(entry, panel).into_iter().map(|limit| limit.1)).collect()
        }
        Kind::Published { value, .. } => vec![*value],
    }
}

fn figure(panel: &Panel<'_>, page: &[&Row<'_, '_>], scale: &Scale, part: &str) -> Figure {
    let groups = page.chunk_by(|one, next| one.group == next.group);
    let titles = groups.clone().filter(|rows| !rows[0].group.is_empty()).count();
    let base = TOP + ROW * page.len() as f64 + 20.0 * titles as f64;
    let mut svg = Svg::new(base + 38.0);
    let is_memory = panel.unit == "bytes";
    let title = if is_memory { "size" } else { "median, and from the smallest to the largest" };
    bottom(&mut svg, &Axis::of(*scale, &panel.beyond(title), panel.unit), LEFT, base, TOP);
    svg.line("axis", [LEFT, base], [RIGHT, base]);
    let mut table = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut has_limit = false;
    let mut top = TOP;
    for rows in groups {
        if !rows[0].group.is_empty() {
            svg.text("group", [LEFT, top + 15.0], Anchor::Start, &fit(&rows[0].group, RIGHT - LEFT));
            top += 20.0;
        }
        if let Some(floor) = floor(rows) {
            let place = scale.at(floor);
            svg.line("floor", [place, top], [place, top + ROW * rows.len() as f64]);
        }
        for row in rows {
            let told = draw(&mut svg, panel, row, scale, top);
            let name = fit(&row.name, RIGHT - LEFT - 6.3 * told.chars().count() as f64 - 10.0);
            let class = if matches!(row.kind, Kind::Ours(_)) { "row" } else { "row other" };
            svg.text(class, [LEFT, top + 12.0], Anchor::Start, &name);
            svg.text(class, [RIGHT, top + 12.0], Anchor::End, &told);
            table.push(vec![row.group.clone(), row.name.clone(), told]);
            match &row.kind {
                Kind::Ours(entry) => has_limit |= !limits(entry, panel).is_empty(),
                Kind::Published { note, .. } => {
                    let note = format!("◇ published: {note}");
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
            top += ROW;
        }
    }
    if has_limit {
        notes.insert(0, "┃ the limit that the study sets".to_owned());
    }
    if page.iter().any(|row| row.name.starts_with("bare@")) {
        notes.insert(0, "┆ the floor: without any kernel (bare)".to_owned());
    }
    let ours: Vec<&Entry<'_>> =
        page.iter().filter_map(|row| if let Kind::Ours(entry) = row.kind { Some(entry) } else { None }).collect();
    Figure {
        kind: if is_memory { "memory" } else { "beside" },
        title: format!("{}: {}{part}", panel.experiment, if is_memory { "image and memory" } else { "side by side" }),
        facts: panel.facts(&ours),
        svg: svg.finish(&format!("{} side by side", panel.experiment)),
        notes,
        header: vec!["of", "case", "value"],
        rows: table,
        ..Figure::default()
    }
}

/// What the case takes without a kernel.
fn floor(rows: &[&Row<'_, '_>]) -> Option<f64> {
    let bare = rows.iter().find(|row| row.name.starts_with("bare@"));
    let Kind::Ours(entry) = bare?.kind else { return None };
    statistic(entry.series, "p50").filter(|_| rows.len() > 1)
}

/// Draws the row, and tells its value.
fn draw(svg: &mut Svg, panel: &Panel<'_>, row: &Row<'_, '_>, scale: &Scale, top: f64) -> String {
    let middle = top + 20.0;
    let tell = |value: f64| show(value, panel.unit);
    let start = scale.at(if scale.log { scale.low } else { 0.0 });
    match &row.kind {
        Kind::Published { value, .. } => {
            let tip = format!("published: {}: {}", row.name, tell(*value));
            if panel.unit == "bytes" {
                svg.bar("hollow", [start, middle - 3.0], [scale.at(*value) - start, 6.0], &tip);
            } else {
                svg.mark(3, "hollow", [scale.at(*value), middle], &tip);
            }
            tell(*value)
        }
        Kind::Ours(entry) => {
            let summary = &entry.series.summary;
            let (low, high) = (summary.min.unwrap_or(0.0), summary.max.unwrap_or(0.0));
            let value = summary.p50.unwrap_or(high);
            let range = if low < high { format!(", {} to {}", tell(low), tell(high)) } else { String::new() };
            let tip = format!("{} {}: {}{range}", row.name, row.group, tell(value));
            if panel.unit == "bytes" {
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
                    &format!("limit: {name} at most {}", tell(limit)),
                );
            }
            tell(value)
        }
    }
}
