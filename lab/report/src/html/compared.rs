//! The first screen of a comparison's page: the finding as its title, one picture, the table of
//! judged statistics. One series is drawn rank by rank; several as bars with their intervals.

use maud::{Markup, html};

use super::{
    answer::first_screen,
    plot::{at_end, bar, dot, label, line, mark, plot, ratio_labels, ratio_ticks, tick},
    scale::{Scale, tail},
};
use crate::{
    answer::compared::Compared, answer::compared::change, answer::compared::difference,
    answer::compared::ends_of, answer::span::amount, answer::span::grouped, comparison::Comparison,
    comparison::Finding, comparison::Line, comparison::Shift, comparison::StatisticLine,
    comparison::is_exact,
};
use chronoscope_run::Unit;
use chronoscope_units::digits;

/// The most bars that are shown unfolded.
const BARS: usize = 12;

/// The width in pixels of the picture on a phone, where ticks of an axis must not touch.
const NARROW: f64 = 270.0;

/// The title of a comparison's page, and the first screen.
pub fn answer(comparison: &Comparison) -> (String, Markup) {
    let compared = Compared::new(comparison);
    let picture = match comparison.lines.as_slice() {
        [line] => {
            let picture = match &line.shift {
                Some(shift) => ranks(shift, line),
                None => bars(comparison),
            };
            html! {
                @if line.statistics.is_empty() { (picture) } @else {
                    div.two {
                        div { (picture) }
                        div.vs { (table(line, &compared, comparison.threshold)) }
                    }
                }
            }
        }
        _ => bars(comparison),
    };
    let Compared { title, trust, next, .. } = &compared;
    let screen = first_screen(&context(comparison), title, trust, &picture, next);
    (compared.title, screen)
}

/// The sides, the only case, and whether the sides took turns.
fn context(comparison: &Comparison) -> Vec<String> {
    let brief = |name: &str| super::brief(name).to_owned();
    let mut parts = vec![format!(
        "B against A: {} against {}",
        brief(&comparison.b.name),
        brief(&comparison.a.name)
    )];
    match comparison.lines.as_slice() {
        [line] => parts.push(line.name()),
        lines => parts.push(format!("{} series", lines.len())),
    }
    let turns = if comparison.interleaved { "A and B took turns" } else { "A ran before B" };
    parts.push(turns.to_owned());
    parts
}

/// The judged statistics of the only series.
fn table(line: &Line, compared: &Compared, threshold: f64) -> Markup {
    let unit = line.unit.filter(|unit| *unit != Unit::Nanoseconds);
    html! {
        h2 { "Verdict: " (compared.verdict) }
        p.cap {
            @if let Some(unit) = unit { (unit.name()) "; " }
            @if is_exact(std::slice::from_ref(line)) {
                "exact: any change counts"
            } @else {
                "a change counts from " (digits(threshold * 100.0)) " %"
            }
        }
        table.sides {
            thead {
                tr { th {} th { "A" } th { "B" } th { "B against A" } th.hw { "95 %" } }
            }
            tbody { @for one in &line.statistics { (row(line, one)) } }
        }
    }
}

fn row(line: &Line, one: &StatisticLine) -> Markup {
    let name = match one.statistic {
        "p50" => "median",
        "max" => "worst",
        "min" => "least",
        name => name,
    };
    let figures = &one.figures;
    let ends = figures.interval.zip(figures.ratio);
    let ends = ends.and_then(|(ends, ratio)| ends_of(ratio, ends));
    html! {
        tr {
            td { (name) }
            td { (value(figures.a, line.unit)) }
            td { (value(figures.b, line.unit)) }
            td { (changed(one)) }
            td.hw { (ends.as_deref().unwrap_or("–")) }
        }
    }
}

/// A value with its unit where that changes from row to row.
fn value(value: Option<f64>, unit: Option<Unit>) -> String {
    match (value, unit) {
        (Some(value), Some(Unit::Nanoseconds)) => amount(value, "ns", true),
        (Some(value), _) => grouped(value),
        (None, _) => "–".to_owned(),
    }
}

/// A change with its sign: muted where it does not count, with `?` where that is undecided.
fn changed(one: &StatisticLine) -> Markup {
    let Some(ratio) = one.figures.ratio else { return html! { "–" } };
    html! {
        @match one.finding {
            Finding::Regression => b.more { "▲ " (difference(ratio)) },
            Finding::Improvement => b.less { "▼ " (difference(ratio)) },
            Finding::Pass => span.soft { (change(ratio)) },
            _ => span.soft { (change(ratio)) "\u{a0}?" },
        }
    }
}

/// The axis of ranks: −log₁₀ of the share of samples beyond.
struct Ranks {
    /// The position of the longest sample.
    end: f64,
}

impl Ranks {
    fn new(shift: &Shift) -> Self {
        let last = shift.ratios.last().map_or(0.5, |one| one.0);
        // Half a sample is beyond the longest one.
        let worst = 1.0 - 0.5 / shift.samples as f64;
        Self { end: tail(worst.max(last)).max(f64::MIN_POSITIVE) }
    }

    /// The position of a share in percent of the width.
    fn at(&self, share: f64) -> f64 {
        (tail(share) / self.end * 100.0).clamp(0.0, 100.0)
    }

    /// The ticks that do not touch each other on a phone; the ends first, then the median and p99.
    fn ticks(&self) -> Vec<(&'static str, f64)> {
        let mut ticks: Vec<(&str, f64)> = vec![("worst", 100.0)];
        let letters = |name: &str| 8.0 * name.len() as f64;
        let span = |name: &str, at: f64| {
            let (middle, wide) = (at / 100.0 * NARROW, letters(name));
            if name == "worst" {
                (NARROW - wide, NARROW)
            } else {
                (middle - wide / 2.0, middle + wide / 2.0)
            }
        };
        for (name, share) in
            [("p99", 0.99), ("median", 0.5), ("p99.9", 0.999), ("p90", 0.9), ("p99.99", 0.9999)]
        {
            let at = self.at(share);
            let (from, to) = span(name, at);
            let apart = |other: &(&str, f64)| {
                let (low, high) = span(other.0, other.1);
                to + 4.0 < low || from > high + 4.0
            };
            if at < 100.0 && ticks.iter().all(apart) {
                ticks.push((name, at));
            }
        }
        ticks
    }

    fn labels(&self) -> Markup {
        html! {
            div.xa {
                @for (name, x) in self.ticks() {
                    (label("lab", x, if name == "worst" { "-100%" } else { "-50%" }, name))
                }
            }
        }
    }

    fn grid(&self) -> Markup {
        html! {
            @for (_, x) in self.ticks().into_iter().filter(|(name, _)| *name != "worst") {
                (line("grid", &[(x, 0.0), (x, 100.0)]))
            }
        }
    }
}

/// Quantiles of both sides, and below them their ratio, rank by rank.
fn ranks(shift: &Shift, line: &Line) -> Markup {
    let ranks = Ranks::new(shift);
    let intervals = intervals(line);
    let unit = match line.unit {
        Some(Unit::Nanoseconds) | None => "time",
        Some(unit) => unit.name(),
    };
    html! {
        h2 { (line.name()) }
        p.cap {
            (unit) ", logarithmic, by rank, the tail stretched; "
            b.more { "A dashed" } ", " b.less { "B solid" }
        }
        (quantiles(shift, line, &ranks))
        h2 { "B against A, rank by rank" }
        p.cap {
            "above the line B takes longer"
            @if !intervals.is_empty() { "; bars: 95 %, as in the table" }
        }
        (ratios(shift, &intervals, &ranks))
        (ranks.labels())
    }
}

/// The intervals of the judged quantiles: the share of samples, and both ends of the ratio.
fn intervals(line: &Line) -> Vec<(f64, [f64; 2])> {
    let of = |one: &StatisticLine| {
        let percent: f64 = one.statistic.strip_prefix('p')?.parse().ok()?;
        let ends = one.figures.interval.map(|ends| [ends.low, ends.high])?;
        ends.iter().all(|end| end.is_finite() && *end > 0.0).then_some((percent / 100.0, ends))
    };
    line.statistics.iter().filter_map(of).collect()
}

/// The curves of both sides.
fn quantiles(shift: &Shift, of: &Line, ranks: &Ranks) -> Markup {
    let ends = [shift.least, shift.worst].concat();
    let values = || {
        let all = shift.values.iter().flatten().chain(&ends).copied();
        all.filter(|value| *value > 0.0)
    };
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    // Room for the label below the lower curve.
    let room = (high / low).powf(0.14).max(1.02);
    let scale = Scale::log(low / room, high * room.sqrt(), [100.0, 0.0]);
    let curve = |side: usize| -> Vec<(f64, f64)> {
        let least = (shift.least[side] > 0.0).then_some((0.0, shift.least[side]));
        let middle = shift
            .ratios
            .iter()
            .zip(&shift.values)
            .map(|((share, _), values)| (ranks.at(*share), values[side]));
        let points = least.into_iter().chain(middle).chain([(100.0, shift.worst[side])]);
        points.map(|(x, value)| (x, scale.at(value))).collect()
    };
    let paths = html! {
        (ranks.grid())
        @for value in scale.ticks() {
            (line("grid", &[(0.0, scale.at(value)), (100.0, scale.at(value))]))
        }
        (line("a", &curve(0)))
        (line("b", &curve(1)))
    };
    let upper = usize::from(shift.worst[1] > shift.worst[0]);
    let labels = html! {
        @for tick_value in scale.ticks() {
            (tick(scale.at(tick_value), &value(Some(tick_value), of.unit)))
        }
        @for (side, name, class) in [(0, "A", "more"), (1, "B", "less")] {
            @let y = scale.at(shift.worst[side]);
            @let text = format!("{name} {}", value(Some(shift.worst[side]), of.unit));
            (mark(class, 100.0, y))
            (at_end(class, y, side == upper, &text))
        }
    };
    plot("t", &paths, &labels)
}

/// The ratio of the quantiles, and the intervals of those that are judged.
fn ratios(shift: &Shift, intervals: &[(f64, [f64; 2])], ranks: &Ranks) -> Markup {
    let worst = shift.worst[1] / shift.worst[0];
    let worst = Some(worst).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    let ends = intervals.iter().flat_map(|(_, ends)| *ends);
    let all = || {
        let ratios = shift.ratios.iter().map(|one| one.1);
        ratios.chain(worst).chain(ends.clone()).filter(|ratio| *ratio > 0.0)
    };
    let (low, high) = (all().fold(1.0 / 1.1, f64::min), all().fold(1.1, f64::max));
    let room = (high / low).powf(0.12);
    let scale = Scale::log(low / room, high * room, [100.0, 0.0]);
    let ticks = ratio_ticks(&scale, 16.0);
    let middle = shift.ratios.iter().map(|(share, ratio)| (ranks.at(*share), scale.at(*ratio)));
    let points: Vec<(f64, f64)> =
        middle.chain(worst.map(|ratio| (100.0, scale.at(ratio)))).collect();
    let paths = html! {
        (ranks.grid())
        @for ratio in &ticks {
            @let class = if *ratio == 1.0 { "equal" } else { "grid" };
            (line(class, &[(0.0, scale.at(*ratio)), (100.0, scale.at(*ratio))]))
        }
        @for (share, [low, high]) in intervals {
            @let x = ranks.at(*share);
            (line("iv", &[(x, scale.at(*low)), (x, scale.at(*high))]))
        }
        (line("b", &points))
    };
    let labels = html! {
        @for ratio in &ticks { (tick(scale.at(*ratio), &change(*ratio))) }
        @if let Some(ratio) = worst {
            (mark("less", 100.0, scale.at(ratio)))
            (at_end("", scale.at(ratio), true, &change(ratio)))
        }
    };
    plot("d", &paths, &labels)
}

/// A series with the statistic that changed most; the first one if none changed.
fn headline(line: &Line) -> Option<&StatisticLine> {
    let counts =
        |one: &&StatisticLine| matches!(one.finding, Finding::Regression | Finding::Improvement);
    // A fall to 0 has no place on a scale of ratios.
    let reach = |one: &&StatisticLine| match one.figures.ratio {
        Some(ratio) if ratio > 0.0 => ratio.ln().abs(),
        _ => 0.0,
    };
    let changed = line.statistics.iter().filter(counts);
    changed.max_by(|one, other| reach(one).total_cmp(&reach(other))).or(line.statistics.first())
}

/// A series, the statistic that stands for it, and the statistic's ratio.
type Bar<'a> = (&'a Line, &'a StatisticLine, f64);

/// Bars of ratios with their intervals: one a series, sorted; those that are equal or undecided are
/// folded.
fn bars(comparison: &Comparison) -> Markup {
    let mut rows: Vec<Bar<'_>> = comparison
        .lines
        .iter()
        .filter_map(|line| {
            let one = headline(line)?;
            let ratio = one.figures.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)?;
            Some((line, one, ratio))
        })
        .collect();
    if rows.is_empty() {
        return Markup::default();
    }
    rows.sort_by(|one, other| other.2.total_cmp(&one.2));
    let ends = rows.iter().flat_map(|(_, one, ratio)| {
        let ends = one.figures.interval.map(|ends| [ends.low, ends.high]);
        [*ratio].into_iter().chain(ends.into_iter().flatten())
    });
    let usable: Vec<f64> = ends.filter(|end| end.is_finite() && *end > 0.0).collect();
    let threshold = comparison.threshold;
    let low = usable.iter().copied().fold(1.0 / (1.0 + threshold) / 1.02, f64::min);
    let high = usable.iter().copied().fold((1.0 + threshold) * 1.02, f64::max);
    let scale = Scale::log(low, high, [0.0, 100.0]);
    let all = rows.len();
    let changed =
        |row: &Bar<'_>| matches!(row.1.finding, Finding::Regression | Finding::Improvement);
    let (shown, rest): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| all <= BARS || changed(row));
    let (equal, undecided): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|row| row.0.finding == Finding::Pass);
    let (first, more) = shown.split_at(shown.len().min(BARS));
    let html =
        |rows: &[Bar<'_>]| html! { @for row in rows { (ratio_bar(row, &scale, threshold)) } };
    html! {
        div.bars {
            @if !first.is_empty() {
                p.cap {
                    "B against A: the statistic of each series that changed most; line: 95 %, band: \
                     changes that do not count, ?: undecided"
                }
                div class="q axis" {
                    span {}
                    div.k { (ratio_labels(&scale, change)) }
                    span.n { "A" }
                    span.n { "B" }
                    span.n { "B against A" }
                }
            }
            (html(first))
            @for (rows, words) in
                [(more, "more that changed"), (&equal, "equal"), (&undecided, "undecided")]
            {
                @if !rows.is_empty() {
                    details { summary { (rows.len()) " " (words) } (html(rows)) }
                }
            }
        }
    }
}

fn ratio_bar((line, one, ratio): &Bar<'_>, scale: &Scale, threshold: f64) -> Markup {
    let between = |class: &str, low: f64, high: f64| bar(class, scale.at(low), scale.at(high));
    let class = match one.finding {
        Finding::Regression => "q up",
        Finding::Improvement => "q down",
        _ => "q",
    };
    let ends = one.figures.interval.filter(|ends| ends.low > 0.0 && ends.high.is_finite());
    html! {
        div class=(class) {
            span.l { (line.title()) " " small { (one.statistic) } }
            div.k {
                (between("within", 1.0 / (1.0 + threshold), 1.0 + threshold))
                (dot("one", scale.at(1.0)))
                (between("to", ratio.min(1.0), ratio.max(1.0)))
                @if let Some(ends) = ends { (between("ci", ends.low, ends.high)) }
                (dot("dot", scale.at(*ratio)))
            }
            span.n { (value(one.figures.a, line.unit)) }
            span.n { (value(one.figures.b, line.unit)) }
            span.n { (changed(one)) }
        }
    }
}
