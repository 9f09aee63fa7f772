//! The first screen of a comparison's page: the finding as its title, one picture, the table of
//! what was judged. One series is drawn rank by rank; several as bars with their intervals.

use super::{
    answer::{kicker, trust},
    plot::{at_end, line, mark, plot, ratio_ticks, tick},
    scale::Scale,
    text::{escape, steps},
    trend::line_name,
};
use crate::{
    answer::compared::Compared, answer::compared::change, answer::compared::ends_of,
    answer::span::amount, answer::span::grouped, comparison::Comparison, comparison::Finding,
    comparison::Line, comparison::Shift, comparison::StatisticLine,
};
use chronoscope_run::Unit;
use chronoscope_units::digits;

/// The most bars that are shown unfolded.
const BARS: usize = 12;

/// The width in pixels of the picture on a phone, where ticks of an axis must not touch.
const NARROW: f64 = 270.0;

/// The title of a comparison's page, and its first screen.
pub fn html(comparison: &Comparison) -> (String, String) {
    let compared = Compared::of(comparison);
    let picture = match comparison.lines.as_slice() {
        [line] => match &line.shift {
            Some(shift) => ranks(shift, line),
            None => bars(comparison),
        },
        _ => bars(comparison),
    };
    let picture = match comparison.lines.as_slice() {
        [line] if !line.statistics.is_empty() => format!(
            "<div class=\"two\"><div>\n{picture}</div>\n<div class=\"vs\">\n{}</div></div>\n",
            table(line, &compared, comparison.threshold)
        ),
        _ => picture,
    };
    let next = steps(&compared.next);
    let section = format!(
        "<section class=\"answer\">\n<p class=\"kick\">{}</p>\n<h1>{}</h1>\n{}{picture}{next}</section>\n",
        kicker(&context(comparison)),
        escape(&compared.title).replace('–', "\u{2060}–\u{2060}"),
        trust(&compared.trust),
    );
    (compared.title, section)
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
fn table(line: &Line, compared: &Compared, threshold: f64) -> String {
    let unit = line.unit.filter(|unit| *unit != Unit::Nanoseconds);
    let unit = unit.map_or_else(String::new, |unit| format!("{}; ", unit.name()));
    let rows: String = line.statistics.iter().map(|one| row(line, one)).collect();
    format!(
        "<h2>Verdict: {}</h2>\n<p class=\"cap\">{unit}a change counts from {} %</p>\n\
         <table class=\"sides\"><thead><tr><th></th><th>A</th><th>B</th><th>B against A</th><th class=\"hw\">95 %</th></tr></thead><tbody>\n{rows}</tbody></table>\n",
        compared.verdict,
        digits(threshold * 100.0),
    )
}

fn row(line: &Line, one: &StatisticLine) -> String {
    let name = match one.statistic {
        "p50" => "median",
        "max" => "worst",
        "min" => "least",
        name => name,
    };
    let figures = &one.figures;
    let ends = figures.interval.zip(figures.ratio);
    let ends = ends.and_then(|(ends, ratio)| ends_of(ratio, ends));
    format!(
        "<tr><td>{name}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"hw\">{}</td></tr>\n",
        escape(&value(figures.a, line.unit)),
        escape(&value(figures.b, line.unit)),
        changed(one),
        ends.map_or_else(|| "–".to_owned(), |text| escape(&text)),
    )
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
fn changed(one: &StatisticLine) -> String {
    let Some(ratio) = one.figures.ratio else { return "–".to_owned() };
    let words = escape(&change(ratio));
    match one.finding {
        Finding::Regression => format!("<b class=\"more\">▲ {words}</b>"),
        Finding::Improvement => format!("<b class=\"less\">▼ {words}</b>"),
        Finding::Pass => format!("<span class=\"soft\">{words}</span>"),
        _ => format!("<span class=\"soft\">{words}&#160;?</span>"),
    }
}

/// The axis of ranks: −log₁₀ of the share of samples beyond.
struct Ranks {
    /// The position of the longest sample.
    end: f64,
}

impl Ranks {
    fn of(shift: &Shift) -> Self {
        let last = shift.ratios.last().map_or(0.5, |one| one.0);
        // Half a sample is beyond the longest one.
        let worst = 1.0 - 0.5 / shift.samples as f64;
        Self { end: place(worst.max(last)).max(f64::MIN_POSITIVE) }
    }

    /// The position of a share in percent of the width.
    fn at(&self, share: f64) -> f64 {
        (place(share) / self.end * 100.0).clamp(0.0, 100.0)
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

    fn labels(&self) -> String {
        let label = |(name, at): (&str, f64)| {
            let shift = if name == "worst" { "-100%" } else { "-50%" };
            format!(
                "<span class=\"lab\" style=\"left:{at:.2}%;transform:translateX({shift})\">{name}</span>"
            )
        };
        let labels: String = self.ticks().into_iter().map(label).collect();
        format!("<div class=\"xa\">{labels}</div>\n")
    }

    fn grid(&self) -> String {
        let lines = self.ticks().into_iter().filter(|(name, _)| *name != "worst");
        lines.map(|(_, at)| line("grid", &[(at, 0.0), (at, 100.0)])).collect()
    }
}

/// The position of a share on the axis of ranks.
fn place(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// Quantiles of both sides, and below them their ratio, rank by rank.
fn ranks(shift: &Shift, line: &Line) -> String {
    let ranks = Ranks::of(shift);
    let intervals = intervals(line);
    let unit = match line.unit {
        Some(Unit::Nanoseconds) | None => "time".to_owned(),
        Some(unit) => unit.name().to_owned(),
    };
    format!(
        "<h2>{}</h2>\n<p class=\"cap\">{unit}, logarithmic, by rank, the tail stretched; <b class=\"more\">A dashed</b>, <b class=\"less\">B solid</b></p>\n{}\
         <h2>B against A, rank by rank</h2>\n<p class=\"cap\">above the line B takes longer{}</p>\n{}{}",
        escape(&line.name()),
        quantiles(shift, line, &ranks),
        if intervals.is_empty() { "" } else { "; bars: 95 %, as in the table" },
        ratios(shift, &intervals, &ranks),
        ranks.labels(),
    )
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
fn quantiles(shift: &Shift, of: &Line, ranks: &Ranks) -> String {
    let ends = [shift.least, shift.worst].concat();
    let values = || {
        let all = shift.values.iter().flatten().chain(&ends).copied();
        all.filter(|value| *value > 0.0)
    };
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    // Room for the label below the lower curve.
    let room = (high / low).powf(0.14).max(1.02);
    let scale = Scale::log(low / room, high * room.sqrt(), 100.0, 0.0);
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
    let mut paths = ranks.grid();
    let mut labels = String::new();
    for value in scale.ticks() {
        let y = scale.at(value);
        paths.push_str(&line("grid", &[(0.0, y), (100.0, y)]));
        labels.push_str(&tick(y, &self::value(Some(value), of.unit)));
    }
    paths.push_str(&line("a", &curve(0)));
    paths.push_str(&line("b", &curve(1)));
    let upper = usize::from(shift.worst[1] > shift.worst[0]);
    for (side, class) in [(0, "more"), (1, "less")] {
        let y = scale.at(shift.worst[side]);
        labels.push_str(&mark(class, 100.0, y));
        let text = format!("{} {}", ["A", "B"][side], value(Some(shift.worst[side]), of.unit));
        labels.push_str(&at_end(class, y, side == upper, &text));
    }
    plot("t", &paths, &labels)
}

/// The ratio of the quantiles, and the intervals of those that are judged.
fn ratios(shift: &Shift, intervals: &[(f64, [f64; 2])], ranks: &Ranks) -> String {
    let worst = shift.worst[1] / shift.worst[0];
    let worst = Some(worst).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    let ends = intervals.iter().flat_map(|(_, ends)| *ends);
    let all = || {
        let ratios = shift.ratios.iter().map(|one| one.1);
        ratios.chain(worst).chain(ends.clone()).filter(|ratio| *ratio > 0.0)
    };
    let (low, high) = (all().fold(1.0 / 1.1, f64::min), all().fold(1.1, f64::max));
    let room = (high / low).powf(0.12);
    let scale = Scale::log(low / room, high * room, 100.0, 0.0);
    let mut paths = ranks.grid();
    let mut labels = String::new();
    for ratio in ratio_ticks(&scale, 16.0) {
        let y = scale.at(ratio);
        let class = if ratio == 1.0 { "equal" } else { "grid" };
        paths.push_str(&line(class, &[(0.0, y), (100.0, y)]));
        labels.push_str(&tick(y, &change(ratio)));
    }
    for (share, [low, high]) in intervals {
        let x = ranks.at(*share);
        paths.push_str(&line("iv", &[(x, scale.at(*low)), (x, scale.at(*high))]));
    }
    let mut points: Vec<(f64, f64)> =
        shift.ratios.iter().map(|(share, ratio)| (ranks.at(*share), scale.at(*ratio))).collect();
    points.extend(worst.map(|ratio| (100.0, scale.at(ratio))));
    paths.push_str(&line("b", &points));
    if let Some(ratio) = worst {
        labels.push_str(&mark("less", 100.0, scale.at(ratio)));
        labels.push_str(&at_end("", scale.at(ratio), true, &change(ratio)));
    }
    plot("d", &paths, &labels)
}

/// A series with the statistic that changed most; the first one if none changed.
fn headline(line: &Line) -> Option<&StatisticLine> {
    let counts =
        |one: &&StatisticLine| matches!(one.finding, Finding::Regression | Finding::Improvement);
    let reach = |one: &&StatisticLine| one.figures.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let changed = line.statistics.iter().filter(counts);
    changed.max_by(|one, other| reach(one).total_cmp(&reach(other))).or(line.statistics.first())
}

/// Bars of ratios with their intervals: one a series, sorted; those that are equal or undecided are
/// folded.
fn bars(comparison: &Comparison) -> String {
    let mut rows: Vec<(&Line, &StatisticLine, f64)> = comparison
        .lines
        .iter()
        .filter_map(|line| {
            let one = headline(line)?;
            let ratio = one.figures.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)?;
            Some((line, one, ratio))
        })
        .collect();
    if rows.is_empty() {
        return String::new();
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
    let scale = Scale::log(low, high, 0.0, 100.0);
    let all = rows.iter().collect::<Vec<_>>();
    let changed = |row: &&(&Line, &StatisticLine, f64)| {
        matches!(row.1.finding, Finding::Regression | Finding::Improvement)
    };
    let (shown, rest): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|row| rows.len() <= BARS || changed(row));
    let (equal, undecided): (Vec<_>, Vec<_>) = rest
        .into_iter()
        .partition(|row: &&(&Line, &StatisticLine, f64)| row.0.finding == Finding::Pass);
    let (first, more) = shown.split_at(shown.len().min(BARS));
    let html = |rows: &[&(&Line, &StatisticLine, f64)]| -> String {
        rows.iter().map(|(line, one, ratio)| bar(line, one, *ratio, &scale, threshold)).collect()
    };
    let folded = |rows: &[&(&Line, &StatisticLine, f64)], words: &str| match rows.len() {
        0 => String::new(),
        number => {
            format!("<details><summary>{number} {words}</summary>\n{}</details>\n", html(rows))
        }
    };
    let ticks: String = ratio_ticks(&scale, 24.0)
        .into_iter()
        .map(|ratio| (ratio, scale.at(ratio)))
        .map(|(ratio, at)| {
            let shift = if at < 12.0 { "0" } else if at > 88.0 { "-100%" } else { "-50%" };
            format!("<span class=\"lab\" style=\"left:{at:.2}%;transform:translateX({shift})\">{}</span>", escape(&change(ratio)))
        })
        .collect();
    let head = match first {
        [] => String::new(),
        _ => format!(
            "<p class=\"cap\">B against A: the statistic of each series that changed most; line: 95 %, band: changes that do not count, ?: undecided</p>\n\
             <div class=\"q axis\"><span></span><div class=\"k\">{ticks}</div><span class=\"n\">A</span><span class=\"n\">B</span><span class=\"n\">B against A</span></div>\n"
        ),
    };
    format!(
        "<div class=\"bars\">\n{head}{}{}{}{}</div>\n",
        html(first),
        folded(more, "more that changed"),
        folded(&equal, "equal"),
        folded(&undecided, "undecided"),
    )
}

fn bar(line: &Line, one: &StatisticLine, ratio: f64, scale: &Scale, threshold: f64) -> String {
    let span = |class: &str, low: f64, high: f64| {
        let (from, to) = (scale.at(low), scale.at(high));
        format!(
            "<i class=\"{class}\" style=\"left:{from:.2}%;width:{:.2}%\"></i>",
            (to - from).max(0.0)
        )
    };
    let class = match one.finding {
        Finding::Regression => "q up",
        Finding::Improvement => "q down",
        _ => "q",
    };
    let mut marks = span("within", 1.0 / (1.0 + threshold), 1.0 + threshold);
    marks.push_str(&format!("<i class=\"one\" style=\"left:{:.2}%\"></i>", scale.at(1.0)));
    marks.push_str(&span("to", ratio.min(1.0), ratio.max(1.0)));
    let ends = one.figures.interval.filter(|ends| ends.low > 0.0 && ends.high.is_finite());
    marks.extend(ends.map(|ends| span("ci", ends.low, ends.high)));
    marks.push_str(&format!("<i class=\"dot\" style=\"left:{:.2}%\"></i>", scale.at(ratio)));
    format!(
        "<div class=\"{class}\"><span class=\"l\">{} <small>{}</small></span><div class=\"k\">{marks}</div><span class=\"n\">{}</span><span class=\"n\">{}</span><span class=\"n\">{}</span></div>\n",
        escape(&line_name(line)),
        one.statistic,
        escape(&value(one.figures.a, line.unit)),
        escape(&value(one.figures.b, line.unit)),
        changed(one),
    )
}
