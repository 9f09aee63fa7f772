//! The picture of a ranking: kernels against operations, as ratios to the best with bars, or in the time
//! of a model as estimates with their bounds.

use maud::{Markup, html};

use crate::answer::{
    ranking::{Column, Place, Ranking, Row, amount_of},
    rule::proper,
    span,
};

/// The ratio at which a bar of a ranking is full.
const FULL: f64 = 8.0;

/// The characters of two figures for which a cell of a ranking has room.
const PAIR: usize = 10;

/// The matrix with its head and its words.
pub fn figure(ranking: &Ranking) -> Markup {
    let unit = ranking.rows.iter().find(|row| row.timed).map_or("", |row| &*row.unit);
    let has_groups = ranking.rows.iter().any(|row| !row.group.is_empty());
    let kernels = ranking.columns.iter().filter(|column| !column.floor).count();
    let style = format!("--n:{};--m:{kernels}", ranking.columns.len());
    let scale = scale(ranking);
    html! {
        @if scale.is_some() {
            h2 { "Estimate, and the longest that the model allows" }
            p.cap {
                "Time in µs: bar, the bounds of the model; tick, its estimate; logarithmic. Blue: first of its "
                "kind whatever the bounds. "
            }
        } @else {
            h2 { "Cost against the best of each row" }
        }
        p.cap {
            @if scale.is_some() { "Counts: bar" } @else { "Bar" }
            ": the ratio, logarithmic, full at 8\u{a0}×; small: amounts"
            @if !unit.is_empty() && unit != "ns" { " in " (unit) }
            ", the figure that ranks first. Kinds of task are ranked apart."
        }
        div.ranking.fl.gs[has_groups] style=(style) {
            div.m { span {} @for one in &ranking.columns { (column(one)) } }
            @for (index, row) in ranking.rows.iter().enumerate() {
                @let before = if index > 0 { &*ranking.rows[index - 1].group } else { "" };
                @let group = (row.group != before).then_some(&*row.group);
                (operation(row, &ranking.columns, group, scale))
            }
        }
    }
}

fn column(column: &Column) -> Markup {
    html! {
        b.h.floor[column.floor] {
            (proper(&column.kernel))
            small {
                @match column.kind.as_str() {
                    _ if column.floor => "floor",
                    "" => {},
                    "process" => "processes",
                    kind => { (kind) "s" }
                }
            }
        }
    }
}

/// A row of a ranking. `group` is the word of the group that begins with it; `None` in the middle of
/// a group.
fn operation(
    row: &Row,
    columns: &[Column],
    group: Option<&str>,
    scale: Option<(f64, f64)>,
) -> Markup {
    html! {
        div.m.in[group.is_none()] {
            span.l { b.hw { (group.unwrap_or_default()) } (row.name) }
            @for index in 0..columns.len() {
                @match row.cells[index].and_then(|cell| Some((cell, cell.bounds?))) {
                    Some((cell, bounds)) => {
                        @let class = match row.place(columns, index) {
                            _ if columns[index].floor => "c mo floor",
                            Place::Best => "c mo best",
                            _ => "c mo",
                        };
                        (modelled(cell.value, bounds, class, scale))
                    }
                    None => (ratio(row, columns, index)),
                }
            }
        }
    }
}

/// The least and the most of all bounds of a model in a ranking, in ns; `None` without any.
fn scale(ranking: &Ranking) -> Option<(f64, f64)> {
    let bounds = ranking.rows.iter().flat_map(|row| &row.cells).flatten();
    let bounds = bounds.filter_map(|cell| cell.bounds);
    bounds.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
}

/// The cell of a model's time: the estimate, the longest time that is possible, and between the bounds a
/// bar with a tick at the estimate, on one logarithmic axis for all cells.
fn modelled(value: f64, bounds: (f64, f64), class: &str, scale: Option<(f64, f64)>) -> Markup {
    let (least, most) = scale.unwrap_or(bounds);
    let at = |time: f64| match most > least {
        true => 100.0 * (time / least).ln() / (most / least).ln(),
        false => 0.0,
    };
    let (from, to) = (at(bounds.0), at(bounds.1));
    html! {
        span class=(class) {
            b { (span::micros(value)) }
            small { "≤\u{a0}" (span::micros(bounds.1)) }
            i style=(format!("left:{from:.1}%;width:{:.1}%", to - from)) {}
            i.at style=(format!("left:{:.1}%", at(value).clamp(0.0, 100.0))) {}
        }
    }
}

/// The cell of a ranking: the ratio to the best of its kind with its bar, and the amounts.
fn ratio(row: &Row, columns: &[Column], index: usize) -> Markup {
    let place = row.place(columns, index);
    let floor = columns[index].floor;
    let cell = row.cells[index];
    let best = row.best(columns, index).filter(|best| *best > 0.0 && !floor);
    let ratio = cell.zip(best).map(|(cell, best)| cell.value / best);
    let class = match (place, ratio) {
        _ if floor => "c none floor",
        (Place::Best | Place::Equal, _) => "c best",
        (Place::Alone | Place::Open, _) | (_, None) => "c none",
        (_, Some(ratio)) if ratio > FULL => "c far",
        (_, Some(_)) => "c",
    };
    let width = ratio.map_or(0.0, |ratio| (ratio.log2() / FULL.log2() * 100.0).clamp(0.0, 100.0));
    // The figure that ranks; on a wide screen the other one, too, where a cell has room for both.
    let value = cell.map_or_else(
        || "–".to_owned(),
        |cell| match cell.value {
            large if large >= 1e5 && row.unit != "ns" => span::short(large),
            value => amount_of(value, &row.unit),
        },
    );
    let beside = cell.and_then(|cell| cell.beside.filter(|beside| *beside != cell.value));
    let beside = beside.map(|beside| format!(", {}", amount_of(beside, &row.unit)));
    let fits = |text: &String| value.chars().count() + text.chars().count() <= PAIR;
    let amounts = html! {
        (value)
        @if let Some(beside) = beside.filter(fits) { span.hw { (beside) } }
    };
    html! {
        span class=(class) {
            @match (place, ratio) {
                (Place::Best, _) => { b { "best" } small { (amounts) } }
                (Place::Equal, _) => { b { "equal" } small { (amounts) } }
                (Place::Behind, Some(ratio)) => { b { (span::ratio(ratio)) } small { (amounts) } }
                _ => { b { (amounts) } }
            }
            i style=(format!("width:{width:.0}%")) {}
        }
    }
}
