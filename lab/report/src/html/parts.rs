//! Charts of the parts of the worst samples: a stacked bar for each, from the kernel's trace.

use super::{
    figure::Figure,
    frame::{Axis, RIGHT, ROWS_LEFT as LEFT, ROWS_X, draw_rows},
    panel::{Entry, Panel, worst},
    scale::Scale,
    svg::Anchor,
};
use crate::{cause::parts, cause::parts::Parts};
use chronoscope_run::{CaseResult, SeriesResult};
use chronoscope_units::show;
use maud::{Markup, html};

/// Number of worst samples that are drawn.
const MAX_BARS: usize = 8;

/// Most charts of a panel: those with the largest maxima are drawn.
const MAX_CHARTS: usize = 4;

const LINE: f64 = 15.0;
const BAR: f64 = 16.0;

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    let all: Vec<&Entry<'_>> = panel.measured().collect();
    let drawn = |entry: &Entry<'_>| -> Vec<Figure> {
        let parts = parts::longest(entry.case, entry.series, MAX_BARS);
        parts.iter().map(|parts| figure(panel, entry, parts)).collect()
    };
    worst(&all, MAX_CHARTS).flat_map(drawn).collect()
}

/// The parts of the worst sample of a series as one bar, with their lengths; empty where no trace shows
/// them.
pub fn bar(case: &CaseResult, series: &SeriesResult) -> Markup {
    let found = parts::longest(case, series, 1);
    let Some(Parts { source, names, rows }) = found.first() else { return Markup::default() };
    let Some((_, lengths)) = rows.first() else { return Markup::default() };
    let total: f64 = lengths.iter().sum();
    let unit = series.unit.name();
    let all = || names.iter().zip(lengths).enumerate().filter(|(_, (_, length))| **length > 0.0);
    html! {
        h2 { "The worst, " (show(total, unit)) ", by its parts" }
        div.sb.whole {
            @for (part, (name, length)) in all() {
                i class={ "p" (part) } title=(name) style=(format!("width:{:.2}%", 100.0 * length / total)) {}
            }
        }
        p.cap {
            @for (part, (name, length)) in all() {
                span.sign { i class={ "p" (part) } {} (name) " " b { (show(*length, unit)) } } " "
            }
            "by " (source)
        }
    }
}

fn figure(panel: &Panel<'_>, entry: &Entry<'_>, parts: &Parts) -> Figure {
    let unit = panel.unit.name();
    let total = |lengths: &[f64]| lengths.iter().sum::<f64>();
    let longest = parts.rows.iter().map(|(_, lengths)| total(lengths)).fold(0.0, f64::max);
    let scale = Scale::linear(0.0, longest, ROWS_X);
    let base = (LINE + BAR) * parts.rows.len() as f64 + 6.0;
    let mut svg = draw_rows(&Axis::new(scale, &panel.beyond("sample"), unit), 0.0, base);
    for (index, (start, lengths)) in parts.rows.iter().enumerate() {
        let top = (LINE + BAR) * index as f64;
        svg.text("row", [LEFT, top + 12.0], Anchor::Start, &format!("at {}", show(*start, unit)));
        svg.text("row", [RIGHT, top + 12.0], Anchor::End, &show(total(lengths), unit));
        let mut from = 0.0;
        for (part, length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0.0) {
            let ends = [from, from + length].map(|value| scale.at(value));
            let tip = format!("{}: {}", parts.names[part], show(*length, unit));
            // A gap separates the parts.
            let size = [(ends[1] - ends[0] - 0.8).max(0.4), BAR - 3.0];
            svg.bar(&format!("c{part}"), [ends[0], top + LINE + 2.0], size, &tip);
            from += length;
        }
    }
    let row = |(start, lengths): &(f64, Vec<f64>)| {
        let all = [*start, total(lengths)];
        all.iter().chain(lengths).map(|value| show(*value, unit)).collect()
    };
    Figure {
        kind: "parts",
        title: match panel.entries.len() {
            1 => format!("{}: the parts of the worst", panel.experiment),
            _ => format!("{}: the parts of the worst, {}", panel.experiment, entry.name),
        },
        reading: format!(
            "The longest samples of the repetition with the worst, by {}.",
            parts.source
        ),
        facts: panel.facts(&[entry]),
        svg: svg.finish(&format!("Parts of the worst samples of {}", entry.name)),
        legend: parts.names.iter().map(|&name| name.to_owned()).collect(),
        header: ["at", "sample"].into_iter().chain(parts.names.iter().copied()).collect(),
        rows: parts.rows.iter().map(row).collect(),
        ..Figure::default()
    }
}
