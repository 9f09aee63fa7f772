//! The pictures that a study's rules ask for: curves of a sweep, stacked bars, and ratios about
//! equality. Text is HTML and geometry is percent, so that one markup serves all widths.

use super::{
    plot::{line, plot, ratio_ticks, tick},
    scale::Scale,
    text::{self, escape},
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
pub fn pictures(run: &Run, rules: &Answering) -> (String, String) {
    let sweep = rules.sweep.as_ref().map_or_else(String::new, |sweep| {
        let curves = curves(run, sweep);
        if curves.is_empty() { String::new() } else { self::sweep(&curves, sweep) }
    });
    let stack = rules.stack.as_ref().map_or_else(String::new, |stack| {
        let bars: Vec<Stacked> = stack.bars.iter().filter_map(|bar| stacked(run, bar)).collect();
        if bars.is_empty() { String::new() } else { self::stack(&bars, &stack.name, &stack.note) }
    });
    (sweep, stack)
}

/// A scale between the ends of values, in percent of the picture.
fn fitted(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Scale {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    match low {
        low if low > 0.0 && high / low > LOGARITHMIC => Scale::log(low, high, from, to),
        low => Scale::linear(low, high, from, to),
    }
}

fn sweep(curves: &[Curve], rules: &Sweep) -> String {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let low = all().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let high = all().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
    let log = low > 0.0 && high / low > LOGARITHMIC;
    let x = Scale { low, high, from: 2.0, to: 98.0, log };
    // Room for names above the highest and below the lowest curve.
    let y = fitted(all().map(|point| point.1), 90.0, 10.0);
    let mut paths = String::new();
    let mut labels = String::new();
    for value in y.ticks() {
        let at = y.at(value);
        paths.push_str(&line("grid", &[(0.0, at), (100.0, at)]));
        let sign = if rules.relative { "\u{a0}×" } else { "" };
        labels.push_str(&tick(at, &format!("{}{sign}", short(value))));
    }
    let places: Vec<Vec<(f64, f64)>> = curves
        .iter()
        .map(|curve| curve.points.iter().map(|(at, value)| (x.at(*at), y.at(*value))).collect())
        .collect();
    for (curve, places) in curves.iter().zip(&places) {
        let dashes = if curve.published { " pub" } else { "" };
        let class = format!("s{}{dashes}", curve.line.min(2));
        paths.push_str(&line(&class, places));
        let marks = places.iter().zip(&curve.points).map(|((left, top), (at, value))| {
            let tip = format!("{}, {at}: {}", curve.name, short(*value));
            format!(
                "<i class=\"pt {class}\" style=\"left:{left:.2}%;top:{top:.2}%\" title=\"{}\"></i>",
                escape(&tip)
            )
        });
        labels.extend(marks);
    }
    labels.push_str(&names(curves, &places));
    let by = if log { ", logarithmic across" } else { "" };
    let unit = if y.log { format!("{}, logarithmic", rules.unit) } else { rules.unit.to_string() };
    format!(
        "<h2>{}</h2>\n<p class=\"cap\">{}{by}; <b>●</b> here, <b>◇</b> dashed: published</p>\n{}{}",
        escape(&rules.name),
        escape(&unit),
        plot("s", &paths, &labels),
        across(&x, &rules.by, all().map(|point| point.0)),
    )
}

/// A number of an axis or a mark.
fn short(value: f64) -> String {
    if value.abs() < 100.0 { digits(value) } else { grouped(value) }
}

/// The ticks of the parameter: its values that do not touch on a phone, the ends first.
fn across(x: &Scale, by: &str, values: impl Iterator<Item = f64>) -> String {
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
    let label = |(from, to, text): &(f64, f64, String)| {
        let (place, shift) = match () {
            () if *from <= 0.0 => (0.0, "0"),
            () if *to >= NARROW[0] => (100.0, "-100%"),
            () => (f64::midpoint(*from, *to) / NARROW[0] * 100.0, "-50%"),
        };
        let text = escape(text);
        format!(
            "<span class=\"lab\" style=\"left:{place:.2}%;transform:translateX({shift})\">{text}</span>"
        )
    };
    format!("<div class=\"xa\">{}</div>\n", ticks.iter().map(label).collect::<String>())
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
fn names(curves: &[Curve], places: &[Vec<(f64, f64)>]) -> String {
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
    let mut text = String::new();
    for (index, (curve, places)) in curves.iter().zip(places).enumerate() {
        let wide = curve.name.chars().count() as f64 * LETTER[0] + 4.0;
        let mut best: Option<(usize, Boxed)> = None;
        for (x, y) in anchors(places).into_iter().map(pixel) {
            let is_near = |(other, left, top): &&(usize, f64, f64)| {
                *other != index && (left - x).abs() < 8.0 && (top - y).abs() < 8.0
            };
            // Beside a crossing, a name could be that of either curve.
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
        let middle = (found[0] + wide / 2.0) / NARROW[0] * 100.0;
        let (place, shift) = match () {
            () if found[0] <= 0.0 => (0.0, "0"),
            () if found[0] + wide >= NARROW[0] - 0.01 => (100.0, "-100%"),
            () => (middle, "-50%"),
        };
        text.push_str(&format!(
            "<b class=\"lab s{}\" style=\"left:{place:.2}%;top:{:.2}%;transform:translateX({shift})\">{}</b>",
            curve.line.min(2),
            found[1] / NARROW[1] * 100.0,
            escape(&curve.name)
        ));
    }
    text
}

/// Bars of a hundred percent, each divided into its parts; the share of the last part is in
/// question.
fn stack(bars: &[Stacked], name: &str, note: &str) -> String {
    let last = bars[0].parts.last().map_or("", |part| &part.0);
    let mut kinds: Vec<&str> = Vec::new();
    for part in bars.iter().flat_map(|bar| &bar.parts) {
        if part.0 != last && !kinds.contains(&&*part.0) {
            kinds.push(&part.0);
        }
    }
    kinds.push(last);
    let class = |name: &str| match kinds.iter().position(|kind| *kind == name) {
        Some(index) if index + 1 < kinds.len() => ["p0", "p1", "p2"][index.min(2)],
        _ => "p3",
    };
    let key: String = kinds
        .iter()
        .map(|kind| format!("<i class=\"{}\"></i> {} ", class(kind), escape(kind)))
        .collect();
    let rows: String = bars
        .iter()
        .map(|bar| {
            let parts: String = bar.parts.iter().map(|part| segment(part, class(&part.0))).collect();
            let share = bar.parts.last().map_or(0.0, |part| part.2);
            format!(
                "<div class=\"sk\"><span class=\"l\">{}</span><div class=\"sb\">{parts}</div><b class=\"n\">{}</b><span class=\"e\">of {}</span></div>\n",
                escape(&bar.name),
                percent(share),
                escape(&bar.whole),
            )
        })
        .collect();
    format!(
        "<div class=\"stack\">\n<h2>{}</h2>\n<p class=\"cap\">{}</p>\n<p class=\"key\">{key}</p>\n{rows}</div>\n",
        escape(name),
        escape(note),
    )
}

fn segment((name, amount, share): &(String, String, f64), class: &str) -> String {
    let fits = share * BAR >= LETTER[0] * amount.chars().count() as f64 + 8.0;
    let text = if fits { escape(amount) } else { String::new() };
    format!(
        "<i class=\"{class}\" style=\"width:{:.2}%\" title=\"{}\"><span>{text}</span></i>",
        share * 100.0,
        escape(&format!("{name}: {amount}")),
    )
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        share if share > 0.0 && share < 0.5 => "<\u{a0}1\u{a0}%".replace('<', "&lt;"),
        share => format!("{share:.0}\u{a0}%"),
    }
}

/// A list whose rows have ratios: each as a bar from the line of equality. `None` if fewer than two
/// rows have one.
pub fn ratios(list: &List) -> Option<String> {
    let known: Vec<f64> = list.rows.iter().filter_map(drawn).collect();
    if known.len() < 2 {
        return None;
    }
    let low = known.iter().copied().fold(1.0 / 1.05, f64::min);
    let high = known.iter().copied().fold(1.05, f64::max);
    let scale = Scale::log(low, high, 0.0, 100.0);
    let ticks: String = ratio_ticks(&scale, 24.0)
        .into_iter()
        .map(|ratio| {
            let at = scale.at(ratio);
            let shift = if at < 12.0 { "0" } else if at > 88.0 { "-100%" } else { "-50%" };
            let words = if ratio == 1.0 { "equal".to_owned() } else { span::ratio(ratio) };
            format!(
                "<span class=\"lab\" style=\"left:{at:.2}%;transform:translateX({shift})\">{}</span>",
                escape(&words)
            )
        })
        .collect();
    let head = |index: usize| {
        let unit = list.unit(index).map_or_else(String::new, |unit| format!(", {unit}"));
        format!("<span class=\"n\">{}{unit}</span>", escape(list.head[index]))
    };
    let heads: String = (1..list.head.len()).map(head).collect();
    let rows = list.rows.iter().map(|row| ratio_row(list, row, &scale));
    Some(format!(
        "<div class=\"bars\">\n<div class=\"pr axis\"><span></span><div class=\"k\">{ticks}</div>{heads}</div>\n{}</div>\n",
        folded(&rows.collect::<Vec<_>>())
    ))
}

/// The ratio of a row if it can be drawn.
fn drawn(row: &ListRow) -> Option<f64> {
    row.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

fn ratio_row(list: &List, row: &ListRow, scale: &Scale) -> String {
    let ratio = drawn(row);
    let marks = ratio.map_or_else(String::new, |ratio| {
        let (from, to) = (scale.at(ratio.min(1.0)), scale.at(ratio.max(1.0)));
        format!(
            "<i class=\"to\" style=\"left:{from:.2}%;width:{:.2}%\"></i><i class=\"one\" style=\"left:{:.2}%\"></i><i class=\"dot\" style=\"left:{:.2}%\"></i>",
            to - from,
            scale.at(1.0),
            scale.at(ratio)
        )
    });
    let class = if ratio.is_some_and(|ratio| ratio > 1.0) { "pr up" } else { "pr down" };
    let cell = |index: usize| {
        let text = escape(&text::grouped(list.cell(row, index)));
        // A phone has no room for the long names of units.
        let text = text.replace(
            "instructions",
            "<span class=\"hw\">instructions</span><span class=\"nw\">in</span>",
        );
        format!("<span class=\"n\">{text}</span>")
    };
    let cells: String = (1..list.head.len()).map(cell).collect();
    let verdict = match (row.verdict.as_str(), row.status) {
        ("", _) => String::new(),
        (words, Status::Pass) => format!("<b class=\"good\" title=\"{}\">✓</b> ", escape(words)),
        (words, _) => format!("<b class=\"bad\">✗ {}</b> ", escape(words)),
    };
    format!(
        "<div class=\"{class}\"><span class=\"l\">{verdict}{}</span><div class=\"k\">{marks}</div>{cells}</div>\n",
        escape(list.cell(row, 0)),
    )
}

/// The rows of a picture: at most [`NARROW_ROWS`] on a phone, where a switch shows the others, and
/// at most [`ROWS`] in all.
pub fn folded(rows: &[String]) -> String {
    let (shown, left) = rows.split_at(rows.len().min(ROWS));
    let (first, later) = shown.split_at(shown.len().min(NARROW_ROWS));
    let later = match later.len() {
        0 => String::new(),
        count => format!("{}<div class=\"later\">\n{}</div>\n", switch(count, ""), later.concat()),
    };
    first.concat() + &later + &left_out(left.len())
}

/// The switch with which a phone shows further rows: those that follow it, `of` these kinds.
pub fn switch(count: usize, of: &str) -> String {
    format!(
        "<input type=\"checkbox\" id=\"more\" class=\"vh\"/><label for=\"more\" class=\"unfold\">{count} more{}</label>\n",
        escape(of)
    )
}

/// The number of rows for which the first screen has no room.
pub fn left_out(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!("<p class=\"cap\">{count} more in all series, below</p>\n"),
    }
}
