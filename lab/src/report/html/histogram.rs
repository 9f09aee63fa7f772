//! Latency histograms of series. The value axis is linear and the count axis logarithmic, as in
//! plots of acceptance tests, so that one late sample in a million is visible.

use super::{
    figure::Figure,
    frame::{Axis, BOTTOM, TOP, draw, x_range, y_range},
    panel::{Entry, Panel, worst},
    scale::Scale,
    svg::{Anchor, text_width},
};
use crate::{
    run::{Role, Statistic},
    units::show,
};

/// Number of bars, unless each value has its own.
const MAX_BARS: usize = 60;

/// Fewest samples, and fewest distinct values, that give a histogram.
const MIN_SAMPLES: u64 = 100;
const MIN_VALUES: usize = 8;

/// Most histograms of a panel: those with the largest maxima are drawn.
const MAX_CHARTS: usize = 8;

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    let has_shape = |entry: &&Entry<'_>| {
        entry.series.summary.count >= MIN_SAMPLES && entry.series.histogram.len() >= MIN_VALUES
    };
    let all: Vec<&Entry<'_>> = panel
        .entries
        .iter()
        .filter(has_shape)
        .filter(|entry| entry.series.role == Role::Measured)
        .collect();
    let mut figures: Vec<Figure> =
        worst(&all, MAX_CHARTS).map(|entry| figure(panel, entry)).collect();
    if let (Some(last), true) = (figures.last_mut(), all.len() > MAX_CHARTS) {
        last.notes
            .push(format!("The {MAX_CHARTS} of {} with the longest maximum are drawn.", all.len()));
    }
    figures
}

fn figure(panel: &Panel<'_>, entry: &Entry<'_>) -> Figure {
    let series = entry.series;
    let (low, high) = value_range(entry);
    let (from, to) = x_range();
    let low = if low > 0.0 && low < 0.5 * high { 0.0 } else { low };
    let (x, count) = match unit_bins(&series.histogram, low, high) {
        Some(count) => (Scale { low: low - 0.5, high: high + 0.5, from, to, log: false }, count),
        None => (Scale::linear(low, high, from, to), MAX_BARS),
    };
    let has_unit_bins = count != MAX_BARS;
    let bins = bins(&series.histogram, &x, count);
    let most = bins.iter().map(|bin| bin.1).max().unwrap_or(1) as f64;
    let (base, top) = y_range();
    // The scale starts below 1, so that a single sample is visible.
    let y = Scale { low: 0.6, high: most.max(9.0) * 1.5, from: base, to: top, log: true };
    let mut svg = draw(
        &Axis::of(x, &panel.beyond("from start to end"), series.unit.name()),
        &Axis::of(y, "samples (logarithmic)", ""),
    );
    let width = (to - from) / count as f64;
    let mut rows = Vec::new();
    for (index, samples) in bins {
        let left = from + index as f64 * width;
        let span = (x.high - x.low) / count as f64;
        let start = x.low + index as f64 * span;
        let range = match has_unit_bins {
            true => show(start + 0.5, series.unit.name()),
            false => {
                format!(
                    "{} to {}",
                    show(start, series.unit.name()),
                    show(start + span, series.unit.name())
                )
            }
        };
        let place = y.at(samples as f64);
        svg.bar("c0", [left, place], [width - 0.7, BOTTOM - place], &format!("{range}: {samples}"));
        rows.push(vec![range, samples.to_string()]);
    }
    let mut labels = Labels { free: 0.0, svg: &mut svg };
    for statistic in Statistic::headlines() {
        if let Some(value) = statistic.of_series(series) {
            let tip = format!("{} {}", statistic.name, show(value, series.unit.name()));
            labels.add(statistic.name, x.at(value), &tip);
        }
    }
    if let Some(deadline) = series.deadline.filter(|deadline| (x.low..=x.high).contains(deadline)) {
        let place = x.at(deadline);
        svg.line("limit", [place, BOTTOM], [place, TOP]);
        svg.text("limit-text", [place - 3.0, TOP + 22.0], Anchor::End, "deadline");
    }
    Figure {
        kind: "histogram",
        title: match panel.entries.len() {
            1 => format!("{}: distribution", panel.experiment),
            _ => format!("{}: {}", panel.experiment, entry.name),
        } + stimulus_note(entry),
        reading: if has_unit_bins {
            format!("One bar for each number of {}.", series.unit)
        } else {
            String::new()
        },
        facts: panel.facts(&[entry]),
        svg: svg.finish(&format!("Histogram of {} {}", panel.experiment, entry.name)),
        header: vec!["value", "samples"],
        rows,
        ..Figure::default()
    }
}

/// An addition to the title for interrupts from an external source, whose distribution is over the
/// phases of the program in which the interrupt arrives.
fn stimulus_note(entry: &Entry<'_>) -> &'static str {
    let is_external =
        entry.case.parameters.get("source").is_some_and(|source| source.starts_with("external"));
    if is_external { ", over phases of the stimulus" } else { "" }
}

/// Draws vertical lines with names on top. A name that would overlap the previous one is left out.
struct Labels<'a> {
    /// The right end of the last name.
    free: f64,
    svg: &'a mut super::svg::Svg,
}

impl Labels<'_> {
    fn add(&mut self, name: &str, place: f64, tip: &str) {
        self.svg.line("marker", [place, BOTTOM], [place, TOP]);
        let half = 0.5 * text_width(name);
        let middle = place.min(super::frame::RIGHT - half);
        if middle - half >= self.free {
            self.svg.text("small", [middle, TOP - 4.0], Anchor::Middle, name);
            self.free = middle + half + 4.0;
        }
        self.svg.mark(4, "ink", [place, TOP + 4.0], tip);
    }
}

/// The number of bars with one bar for each value; `None` if values are not whole or span too many.
fn unit_bins(histogram: &[(f64, u64)], low: f64, high: f64) -> Option<usize> {
    let is_whole = histogram.iter().all(|(value, _)| value.fract() == 0.0) && low.fract() == 0.0;
    (is_whole && high - low < (MAX_BARS - 1) as f64).then_some((high - low) as usize + 1)
}

fn value_range(entry: &Entry<'_>) -> (f64, f64) {
    let values = entry.series.histogram.iter().map(|bucket| bucket.0);
    (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
}

/// The index and sample count of each bar that is not empty. Values outside the scale count in the
/// first or last bar.
fn bins(histogram: &[(f64, u64)], x: &Scale, count: usize) -> Vec<(usize, u64)> {
    let mut bins = vec![0_u64; count];
    for (value, samples) in histogram {
        let share = (value - x.low) / (x.high - x.low);
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
        let bars = bins(&histogram, &Scale::linear(0.0, 7300.0, 0.0, 1.0), MAX_BARS);
        assert_eq!(bars.iter().map(|bar| bar.1).sum::<u64>(), 3000);
        assert!(bars.iter().all(|bar| bar.0 < MAX_BARS));
    }

    #[test]
    fn few_whole_values_have_a_bar_each() {
        let histogram: Vec<(f64, u64)> = (12..=49).map(|value| (f64::from(value), 1)).collect();
        let count = unit_bins(&histogram, 0.0, 49.0).expect("they are few");
        let x = Scale { low: -0.5, high: 49.5, from: 0.0, to: 1.0, log: false };
        let bars: Vec<(usize, u64)> = (12..=49).map(|value| (value, 1)).collect();
        assert_eq!((count, bins(&histogram, &x, count)), (50, bars));
        assert_eq!(unit_bins(&[(0.5, 1)], 0.5, 3.5), None);
        assert_eq!(unit_bins(&histogram, 0.0, 59.0), None);
        assert_eq!(unit_bins(&[(f64::NAN, 1)], f64::INFINITY, f64::NEG_INFINITY), None);
    }
}
