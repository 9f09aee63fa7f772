//! The pictures that a study's rules ask for: curves of a sweep, stacked bars, and ratios about
//! equality. Text is HTML and geometry is percent, so that one markup serves all widths.

use maud::{Markup, html};

use super::{
    plot::{bar, dot, label, line, plot, ratio_labels, tick},
    scale::Scale,
    text::{self, unique},
};
use crate::{
    answer::list::List, answer::list::ListRow, answer::picture::Curve, answer::picture::Stacked,
    answer::picture::curves, answer::picture::stacked, answer::span, answer::span::grouped,
};
use chronoscope_run::{Answering, Run, Status, answer::Sweep};
use chronoscope_units::digits;

/// The size in pixels of the plot of a sweep on a phone, where labels must not touch.
const NARROW: [f64; 2] = [270.0, 210.0];

/// The size in pixels of a letter of a label, and of its line.
const LETTER: [f64; 2] = [8.0, 17.0];

/// The width in pixels of a stacked bar on a phone.
const BAR: f64 = 280.0;

/// The most rows of a picture, on a phone and in all.
pub const NARROW_ROWS: usize = 12;
pub const ROWS: usize = 24;

/// The ratio of the ends of an axis beyond which it is logarithmic.
const LOGARITHMIC: f64 = 20.0;

/// The curves and the stacked bars of a run, as far as its rules have some and its cases fit.
pub fn pictures(run: &Run, rules: &Answering) -> (Option<Markup>, Option<Markup>) {
    let sweep = rules.sweep.as_ref().and_then(|sweep| {
        let curves = curves(run, sweep);
        (!curves.is_empty()).then(|| self::sweep(&curves, sweep))
    });
    let stack = rules.stack.as_ref().and_then(|stack| {
        let bars: Vec<Stacked> = stack.bars.iter().filter_map(|bar| stacked(run, bar)).collect();
        (!bars.is_empty()).then(|| self::stack(&bars, &stack.name, &stack.note))
    });
    (sweep, stack)
}

/// A scale between the ends of values, in percent of the picture.
fn fitted(values: impl Iterator<Item = f64> + Clone, ends: [f64; 2]) -> Scale {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    match low {
        low if low > 0.0 && high / low > LOGARITHMIC => Scale::log(low, high, ends),
        low => Scale::linear(low, high, ends),
    }
}

fn sweep(curves: &[Curve], rules: &Sweep) -> Markup {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let low = all().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let high = all().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
    let log = low > 0.0 && high / low > LOGARITHMIC;
    let x = Scale { low, high, from: 2.0, to: 98.0, log };
    // Room for names above the highest and below the lowest curve.
    let y = fitted(all().map(|point| point.1), [90.0, 10.0]);
    let places: Vec<Vec<(f64, f64)>> = curves
        .iter()
        .map(|curve| curve.points.iter().map(|(at, value)| (x.at(*at), y.at(*value))).collect())
        .collect();
    let class = |curve: &Curve| {
        format!("s{}{}", curve.line.min(2), if curve.published { " pub" } else { "" })
    };
    let paths = html! {
        @for value in y.ticks() { (line("grid", &[(0.0, y.at(value)), (100.0, y.at(value))])) }
        @for (curve, places) in curves.iter().zip(&places) { (line(&class(curve), places)) }
    };
    let sign = if rules.relative { "\u{a0}×" } else { "" };
    let labels = html! {
        @for value in y.ticks() { (tick(y.at(value), &format!("{}{sign}", short(value)))) }
        @for (curve, places) in curves.iter().zip(&places) {
            @for ((left, top), (at, value)) in places.iter().zip(&curve.points) {
                i class={ "pt " (class(curve)) } style=(format!("left:{left:.2}%;top:{top:.2}%"))
                    title={ (curve.name) ", " (at) ": " (short(*value)) } {}
            }
        }
        (names(curves, &places))
    };
    html! {
        h2 { (*rules.name) }
        p.cap {
            (*rules.unit)
            @if y.log { ", logarithmic" }
            @if log { ", logarithmic across" }
            "; " b { "●" } " here, " b { "◇" } " dashed: published"
        }
        (plot("s", &paths, &labels))
        (across(&x, &rules.by, all().map(|point| point.0)))
    }
}

/// A number of an axis or a mark.
fn short(value: f64) -> String {
    if value.abs() < 100.0 { digits(value) } else { grouped(value) }
}

/// The ticks of the parameter: its values that do not touch on a phone, the ends first.
fn across(x: &Scale, by: &str, values: impl Iterator<Item = f64>) -> Markup {
    let mut known: Vec<f64> = values.collect();
    known.sort_by(f64::total_cmp);
    known.dedup();
    let ends = [known.first(), known.last()].into_iter().flatten().copied();
    let mut ticks: Vec<(f64, f64, String)> = Vec::new();
    for value in ends.chain(known.iter().copied()) {
        let text = words(by, value);
        let text = if value == known[0] { format!("{by} {text}") } else { text };
        let wide = text.chars().count() as f64 * LETTER[0];
        let middle = x.at(value) / 100.0 * NARROW[0];
        let left = (middle - wide / 2.0).clamp(0.0, (NARROW[0] - wide).max(0.0));
        let free =
            |(from, to, _): &(f64, f64, String)| left + wide + 4.0 < *from || left > to + 4.0;
        if ticks.iter().all(free) {
            ticks.push((left, left + wide, text));
        }
    }
    html! {
        div.xa {
            @for (from, to, text) in &ticks {
                @let (place, shift) = place(*from, *to);
                (label("lab", place, shift, text))
            }
        }
    }
}

/// The place in percent of a label between two pixels, and its shift there: a label at an end of the
/// picture stays within the picture on any width.
fn place(from: f64, to: f64) -> (f64, &'static str) {
    match () {
        () if from <= 0.0 => (0.0, "0"),
        () if to >= NARROW[0] - 0.01 => (100.0, "-100%"),
        () => (f64::midpoint(from, to) / NARROW[0] * 100.0, "-50%"),
    }
}

/// A value of a parameter; sizes in bytes have their powers of two.
fn words(by: &str, value: f64) -> String {
    match by {
        "size" if value >= 1024.0 && value % 1024.0 == 0.0 => {
            format!("{}\u{a0}KiB", grouped(value / 1024.0))
        }
        "size" => format!("{}\u{a0}B", grouped(value)),
        _ => grouped(value),
    }
}

/// A box in pixels: left, top, width and height.
type Boxed = [f64; 4];

fn touch(one: &Boxed, other: &Boxed) -> bool {
    one[0] < other[0] + other[2]
        && other[0] < one[0] + one[2]
        && one[1] < other[1] + other[3]
        && other[1] < one[1] + one[3]
}

/// The points of a curve and those between them, where its name may be.
fn anchors(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let between = places.windows(2).flat_map(|pair| {
        [0.25, 0.5, 0.75].map(|share| {
            let on = |one: f64, other: f64| one + (other - one) * share;
            (on(pair[0].0, pair[1].0), on(pair[0].1, pair[1].1))
        })
    });
    places.iter().copied().chain(between).collect()
}

/// The names of curves: each beside one of its points, where it covers no other name and the fewest
/// curves.
fn names(curves: &[Curve], places: &[Vec<(f64, f64)>]) -> Markup {
    let pixel = |(x, y): (f64, f64)| (x / 100.0 * NARROW[0], y / 100.0 * NARROW[1]);
    // Points between the marks stand for the lines.
    let dots: Vec<(usize, f64, f64)> = places
        .iter()
        .enumerate()
        .flat_map(|(curve, places)| {
            places.windows(2).flat_map(move |pair| {
                let (one, other) = (pixel(pair[0]), pixel(pair[1]));
                (0..=12).map(move |step| {
                    let share = f64::from(step) / 12.0;
                    (curve, one.0 + (other.0 - one.0) * share, one.1 + (other.1 - one.1) * share)
                })
            })
        })
        .collect();
    let mut taken: Vec<Boxed> = Vec::new();
    let mut labels = Vec::new();
    for (index, (curve, places)) in curves.iter().zip(places).enumerate() {
        let wide = curve.name.chars().count() as f64 * LETTER[0] + 4.0;
        let mut best: Option<(usize, Boxed)> = None;
        for (x, y) in anchors(places).into_iter().map(pixel) {
            let is_near = |(other, left, top): &&(usize, f64, f64)| {
                *other != index && (left - x).abs() < 8.0 && (top - y).abs() < 8.0
            };
            // Beside a crossing, a name could belong to either curve.
            let crossing = if dots.iter().any(|dot| is_near(&dot)) { 4 } else { 0 };
            let (above, below, beside) = (y - LETTER[1] - 7.0, y + 7.0, y - LETTER[1] / 2.0);
            let (middle, before, after) = (x - wide / 2.0, x - wide - 8.0, x + 8.0);
            for (left, top) in [
                (middle, above),
                (middle, below),
                (before, beside),
                (before, above),
                (after, below),
                (before, below),
                (after, beside),
            ] {
                let left = left.clamp(0.0, (NARROW[0] - wide).max(0.0));
                let candidate = [left, top, wide, LETTER[1]];
                let inside = top >= 0.0 && top + LETTER[1] <= NARROW[1];
                if !inside || taken.iter().any(|other| touch(&candidate, other)) {
                    continue;
                }
                let grown = [left - 3.0, top - 3.0, wide + 6.0, LETTER[1] + 6.0];
                let covers = |(_, x, y): &&(usize, f64, f64)| touch(&grown, &[*x, *y, 0.1, 0.1]);
                let cost = crossing + dots.iter().filter(covers).count();
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, candidate));
                }
            }
        }
        // A name without a place is left out; the table of numbers has it.
        let Some((_, found)) = best else { continue };
        taken.push(found);
        let (left, shift) = place(found[0], found[0] + wide);
        let top = found[1] / NARROW[1] * 100.0;
        let style = format!("left:{left:.2}%;top:{top:.2}%;transform:translateX({shift})");
        labels.push(html! {
            b class={ "lab s" (curve.line.min(2)) } style=(style) { (curve.name) }
        });
    }
    html! { @for label in labels { (label) } }
}

/// Bars of a hundred percent, each divided into its parts, with the share of the last part in words.
fn stack(bars: &[Stacked], name: &str, note: &str) -> Markup {
    let last = bars[0].parts.last().map_or("", |part| part.0.as_str());
    let names = bars.iter().flat_map(|bar| &bar.parts).map(|part| part.0.as_str());
    let mut kinds = unique(names.filter(|name| *name != last));
    kinds.push(last);
    let class = |name: &str| match kinds.iter().position(|kind| *kind == name) {
        Some(index) if index + 1 < kinds.len() => ["p0", "p1", "p2"][index.min(2)],
        _ => "p3",
    };
    html! {
        div.stack {
            h2 { (name) }
            p.cap { (note) }
            p.key { @for kind in &kinds { i class=(class(kind)) {} " " (kind) " " } }
            @for bar in bars {
                div.sk {
                    span.l { (bar.name) }
                    div.sb { @for part in &bar.parts { (segment(part, class(&part.0))) } }
                    b.n { (percent(bar.parts.last().map_or(0.0, |part| part.2))) }
                    span.e { "of " (bar.whole) }
                }
            }
        }
    }
}

fn segment((name, amount, share): &(String, String, f64), class: &str) -> Markup {
    let fits = share * BAR >= LETTER[0] * amount.chars().count() as f64 + 8.0;
    html! {
        i class=(class) style=(format!("width:{:.2}%", share * 100.0))
            title={ (name) ": " (amount) } { span { @if fits { (amount) } } }
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        share if share > 0.0 && share < 0.5 => "<\u{a0}1\u{a0}%".to_owned(),
        share => format!("{share:.0}\u{a0}%"),
    }
}

/// A list whose rows have ratios: each as a bar from the line of equality. `None` if fewer than two
/// rows have one.
pub fn ratios(list: &List) -> Option<Markup> {
    let known: Vec<f64> = list.rows.iter().filter_map(drawn).collect();
    if known.len() < 2 {
        return None;
    }
    let low = known.iter().copied().fold(1.0 / 1.05, f64::min);
    let high = known.iter().copied().fold(1.05, f64::max);
    let scale = Scale::log(low, high, [0.0, 100.0]);
    let words = |ratio| if ratio == 1.0 { "equal".to_owned() } else { span::ratio(ratio) };
    let rows: Vec<Markup> = list.rows.iter().map(|row| ratio_row(list, row, &scale)).collect();
    Some(html! {
        div.bars {
            div class="pr axis" {
                span {}
                div.k { (ratio_labels(&scale, words)) }
                @for (index, head) in list.head.iter().enumerate().skip(1) {
                    span.n { (head) @if let Some(unit) = list.unit(index) { ", " (unit) } }
                }
            }
            (folded(&rows))
        }
    })
}

/// The ratio of a row if it can be drawn.
fn drawn(row: &ListRow) -> Option<f64> {
    row.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

fn ratio_row(list: &List, row: &ListRow, scale: &Scale) -> Markup {
    let ratio = drawn(row);
    let class = if ratio.is_some_and(|ratio| ratio > 1.0) { "pr up" } else { "pr down" };
    html! {
        div class=(class) {
            span.l {
                @match (row.verdict.as_str(), row.status) {
                    ("", _) => {},
                    (words, Status::Pass) => { b.good title=(words) { "✓" } " " },
                    (words, _) => { b.bad { "✗ " (words) } " " },
                }
                (list.cell(row, 0))
            }
            div.k {
                @if let Some(ratio) = ratio {
                    (bar("to", scale.at(ratio.min(1.0)), scale.at(ratio.max(1.0))))
                    (dot("one", scale.at(1.0)))
                    (dot("dot", scale.at(ratio)))
                }
            }
            @for index in 1..list.head.len() { span.n { (number(list.cell(row, index))) } }
        }
    }
}

/// A number with its unit. A phone has no room for the long names of units.
fn number(text: &str) -> Markup {
    let text = text::grouped(text);
    html! {
        @if let Some((number, rest)) = text.split_once("instructions") {
            (number) span.hw { "instructions" } span.nw { "in" } (rest)
        } @else { (text) }
    }
}

/// The rows of a picture: at most [`NARROW_ROWS`] on a phone, where a switch shows the others, and
/// at most [`ROWS`] in all.
pub fn folded(rows: &[Markup]) -> Markup {
    let (shown, left) = rows.split_at(rows.len().min(ROWS));
    let (first, later) = shown.split_at(shown.len().min(NARROW_ROWS));
    html! {
        @for row in first { (row) }
        @if !later.is_empty() {
            (switch(later.len(), ""))
            div.later { @for row in later { (row) } }
        }
        (left_out(left.len()))
    }
}

/// The switch with which a phone shows the `count` rows after it. `kinds` follows the number.
pub fn switch(count: usize, kinds: &str) -> Markup {
    html! {
        input.vh type="checkbox" id="more";
        label.unfold for="more" { (count) " more" (kinds) }
    }
}

/// The line on `count` rows for which the first screen has no room; nothing for 0.
pub fn left_out(count: usize) -> Markup {
    html! { @if count > 0 { p.cap { (count) " more in all series, below" } } }
}
