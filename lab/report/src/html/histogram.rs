//! The distributions of an experiment in one chart: a row for each series, all on one axis, which is
//! logarithmic where values differ much. Heights are logarithmic, so that one late sample in a million is
//! visible.

use super::{
    figure::{Figure, note_longest},
    frame::{Axis, RIGHT, ROWS_LEFT as LEFT, ROWS_X, draw_rows},
    panel::{Entry, Panel, worst},
    scale::Scale,
    svg::{Anchor, fit},
    text::unique,
};
use chronoscope_run::SeriesResult;
use chronoscope_units::show;

/// Number of bars on an axis of times, unless each value has its own.
const MAX_BARS: usize = 60;

/// The ratio of the longest to the shortest value beyond which the axis is logarithmic.
const LOGARITHMIC: f64 = 20.0;

/// Fewest samples that give a histogram.
const MIN_SAMPLES: u64 = 100;

/// Fewest distinct values that give one.
const MIN_VALUES: usize = 8;

/// Most rows: those with the largest maxima are drawn.
const MAX_ROWS: usize = 8;

/// The height of a row's name, in SVG units.
const NAME: f64 = 15.0;

/// The height of a row's bars, in SVG units.
const BARS: f64 = 30.0;

/// The space above the first row, in SVG units.
const TOP: f64 = 4.0;

/// The marks of a row: the statistic's name, its shape and class.
const MARKS: [(&str, usize, &str); 3] =
    [("p50", 0, "ink"), ("p99", 3, "ink"), ("max", 3, "hollow")];

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    let has_shape = |entry: &&Entry<'_>| {
        entry.series.summary.count >= MIN_SAMPLES && entry.series.histogram.len() >= MIN_VALUES
    };
    let all: Vec<&Entry<'_>> = panel.measured().filter(has_shape).collect();
    let shown: Vec<&Entry<'_>> = worst(&all, MAX_ROWS).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let mut figures = vec![figure(panel, &shown)];
    note_longest(&mut figures, shown.len(), all.len());
    figures
}

/// The common scale of the rows, and the number of bars that it has room for.
fn axis(entries: &[&Entry<'_>]) -> (Scale, usize) {
    let values = || {
        let buckets = entries.iter().flat_map(|entry| &entry.series.histogram);
        buckets.map(|bucket| bucket.0).filter(|value| value.is_finite())
    };
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    // A sample of zero is no reason for a linear axis.
    let least = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    if low >= 0.0 && high / least > LOGARITHMIC {
        return (Scale::log(least, high, ROWS_X), MAX_BARS);
    }
    // An axis whose values come near zero begins there.
    let low = if low > 0.0 && low < 0.5 * high { 0.0 } else { low };
    let whole = values().all(|value| value.fract() == 0.0);
    match unit_bins(whole, low, high) {
        Some(count) => (Scale::exact(low - 0.5, high + 0.5, ROWS_X), count),
        None => (Scale::linear(low, high, ROWS_X), MAX_BARS),
    }
}

fn figure(panel: &Panel<'_>, entries: &[&Entry<'_>]) -> Figure {
    let (x, count) = axis(entries);
    let base = TOP + (NAME + BARS) * entries.len() as f64;
    let axis = Axis::new(x, &panel.beyond("from start to end"), panel.unit.name());
    let mut svg = draw_rows(&axis, TOP, base);
    let mut rows = Vec::new();
    let mut notes = vec!["Heights: number of samples, logarithmic. ● p50 ◆ p99 ◇ max".to_owned()];
    for (index, entry) in entries.iter().enumerate() {
        let series = entry.series;
        let foot = TOP + (NAME + BARS) * (index + 1) as f64;
        let name = format!("{}{}", entry.name, stimulus_note(entry));
        svg.text("row", [LEFT, foot - BARS - 3.0], Anchor::Start, &fit(&name, RIGHT - LEFT));
        svg.area("dist", &outline(series, &x, count, foot));
        svg.line("axis", [LEFT, foot], [RIGHT, foot]);
        if let Some(deadline) = series.deadline.filter(|one| (x.low..=x.high).contains(one)) {
            svg.line("limit", [x.at(deadline), foot - BARS], [x.at(deadline), foot]);
            notes.push("┃ the deadline".to_owned());
        }
        let mut row = vec![name.clone(), series.summary.count.to_string()];
        for (name, shape, class) in MARKS {
            let value = super::panel::statistic(series, name).filter(|value| value.is_finite());
            let text = value.map(|value| show(value, series.unit.name()));
            if let Some((value, text)) = value.zip(text.as_ref()) {
                svg.mark(
                    shape,
                    class,
                    [x.at(value), foot - 5.0],
                    &format!("{}: {name} {text}", entry.name),
                );
            }
            row.push(text.unwrap_or_else(|| "–".to_owned()));
        }
        rows.push(row);
    }
    Figure {
        kind: "histogram",
        title: format!("{}: distribution", panel.experiment),
        facts: panel.facts(entries),
        svg: svg.finish(&format!("Distributions of {}", panel.experiment)),
        notes: unique(notes),
        header: vec!["case", "n", "p50", "p99", "max"],
        rows,
        ..Figure::default()
    }
}

/// An addition to the name for interrupts from an external source, whose distribution is over the
/// phases of the program in which the interrupt arrives.
fn stimulus_note(entry: &Entry<'_>) -> &'static str {
    let is_external =
        entry.case.parameters.get("source").is_some_and(|source| source.starts_with("external"));
    if is_external { ", over phases of the stimulus" } else { "" }
}

/// The outline of the bars of a series above `foot`.
fn outline(series: &SeriesResult, x: &Scale, count: usize, foot: f64) -> Vec<[f64; 2]> {
    let bins = bins(&series.histogram, x, count);
    let most = bins.iter().map(|bin| height(bin.1)).fold(0.0, f64::max);
    let width = (x.to - x.from) / count as f64;
    let mut points = vec![[x.from, foot]];
    for (index, samples) in bins {
        let left = x.from + index as f64 * width;
        let top = foot - height(samples) / most * (BARS - 4.0);
        points.extend([[left, foot], [left, top], [left + width, top], [left + width, foot]]);
    }
    points.push([x.to, foot]);
    points
}

/// The height of a bar, in any unit: a single sample is visible.
fn height(samples: u64) -> f64 {
    (samples as f64).ln_1p()
}

/// The number of bars with one bar for each value; `None` if values are not whole or span too many.
fn unit_bins(whole: bool, low: f64, high: f64) -> Option<usize> {
    let whole = whole && low.fract() == 0.0;
    (whole && high - low < (MAX_BARS - 1) as f64).then_some((high - low) as usize + 1)
}

/// The index and sample count of each bar that is not empty. Values outside the scale count in the
/// first or last bar.
fn bins(histogram: &[(f64, u64)], x: &Scale, count: usize) -> Vec<(usize, u64)> {
    let mut bins = vec![0_u64; count];
    for (value, samples) in histogram {
        let share = (x.at(*value) - x.from) / (x.to - x.from);
        let bin = (share * count as f64).clamp(0.0, count as f64 - 1.0) as usize;
        bins[bin] = bins[bin].saturating_add(*samples);
    }
    bins.into_iter().enumerate().filter(|(_, samples)| *samples > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sample_is_lost_in_bars() {
        let histogram: Vec<(f64, u64)> =
            (0..1000).map(|value| (f64::from(value) * 7.3, 3)).collect();
        let bars = bins(&histogram, &Scale::linear(0.0, 7300.0, [0.0, 1.0]), MAX_BARS);
        assert_eq!(bars.iter().map(|bar| bar.1).sum::<u64>(), 3000);
        assert!(bars.iter().all(|bar| bar.0 < MAX_BARS));
    }

    #[test]
    fn few_whole_values_have_a_bar_each() {
        let histogram: Vec<(f64, u64)> = (12..=49).map(|value| (f64::from(value), 1)).collect();
        let count = unit_bins(true, 0.0, 49.0).expect("they are few");
        let x = Scale::exact(-0.5, 49.5, [0.0, 1.0]);
        let bars: Vec<(usize, u64)> = (12..=49).map(|value| (value, 1)).collect();
        assert_eq!((count, bins(&histogram, &x, count)), (50, bars));
        assert_eq!(unit_bins(false, 0.5, 3.5), None);
        assert_eq!(unit_bins(true, 0.0, 59.0), None);
        assert_eq!(unit_bins(true, f64::INFINITY, f64::NEG_INFINITY), None);
    }

    #[test]
    fn a_logarithmic_axis_gives_each_decade_its_bars() {
        let x = Scale { low: 1.0, high: 1e6, from: 0.0, to: 1.0, log: true };
        let histogram = [(1.0, 1), (10.5, 2), (999.0, 3), (1e6, 4)];
        assert_eq!(bins(&histogram, &x, 60), [(0, 1), (10, 2), (29, 3), (59, 4)]);
    }
}
