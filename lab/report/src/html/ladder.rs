//! The percentile ladder: a quantile plot on the scale −log10(1 − share), on which each step holds
//! a tenth of the samples of the previous one, so that the tail gets as much room as the rest.

use super::{
    figure::{Figure, note_longest},
    frame::{Axis, X, Y, draw},
    panel::{Entry, Panel, statistic},
    scale::{Scale, tail},
};
use chronoscope_run::{STATISTICS, SeriesResult};
use chronoscope_units::show;

/// Most lines of a chart: those with the largest maxima are drawn.
const MAX_LINES: usize = 6;

/// Fewest samples that show a tail.
const MIN_SAMPLES: u64 = 1_000;

/// Number of distinct values that a series must exceed; an emulator's few values have no tail.
const MIN_VALUES: usize = 20;

/// Ticks beyond the percentiles of the table of statistics; lines have no mark there.
const MORE_TICKS: [(&str, f64); 2] = [("99.999", 0.99999), ("99.9999", 0.999_999)];

/// The percentiles of the table of statistics, with their shares. Each line has a mark there.
fn percentiles() -> impl Iterator<Item = (&'static str, f64)> {
    STATISTICS.iter().filter_map(|statistic| Some((statistic.name, statistic.percentile?)))
}

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    let has_tail = |entry: &&Entry<'_>| {
        entry.series.summary.count >= MIN_SAMPLES && entry.series.histogram.len() > MIN_VALUES
    };
    let mut entries: Vec<&Entry<'_>> = panel.measured().filter(has_tail).collect();
    let all = entries.len();
    if all == 0 {
        return Vec::new();
    }
    entries.sort_by(|one, other| longest(other).total_cmp(&longest(one)));
    entries.truncate(MAX_LINES);
    let mut figures = vec![figure(panel, &entries)];
    note_longest(&mut figures, entries.len(), all);
    figures
}

fn longest(entry: &Entry<'_>) -> f64 {
    entry.series.summary.max.unwrap_or(0.0)
}

fn figure(panel: &Panel<'_>, entries: &[&Entry<'_>]) -> Figure {
    let most = entries.iter().map(|entry| entry.series.summary.count).max().unwrap_or(1) as f64;
    let x = Scale::exact(0.0, most.log10() + 0.1, X);
    let places =
        percentiles().chain(MORE_TICKS).map(|(name, share)| (tail(share), name.to_owned()));
    let ticks: Vec<(f64, String)> = places.filter(|(place, _)| *place <= x.high).collect();
    let lows =
        entries.iter().filter_map(|entry| entry.series.summary.p50.or(entry.series.summary.min));
    let low = lows.fold(f64::INFINITY, f64::min);
    let high = entries.iter().map(|entry| longest(entry)).fold(0.0, f64::max);
    // A linear scale would flatten the rest below a tail ten times as long.
    let y = match low > 0.0 && high > 10.0 * low {
        true => Scale::log(low, high, Y),
        false => Scale::fitting([low, high].into_iter(), Y),
    };
    let mut svg = draw(
        &Axis::with(x, "share of samples that took no longer", ticks),
        &Axis::new(y, &panel.beyond("latency"), panel.unit.name()),
    );
    let mut rows = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let points: Vec<[f64; 2]> = quantile_steps(entry.series)
            .into_iter()
            .map(|(share, value)| [x.at(share), y.at(value)])
            .collect();
        svg.curve(&format!("line c{index}"), &thin(&points));
        let mut row = vec![entry.name.clone()];
        for (name, share) in percentiles() {
            let value = statistic(entry.series, name);
            row.push(value.map_or("–".to_owned(), |value| show(value, panel.unit.name())));
            if let Some(value) = value {
                let tip = format!("{}: {name} {}", entry.name, show(value, panel.unit.name()));
                svg.mark(index, &format!("c{index}"), [x.at(tail(share)), y.at(value)], &tip);
            }
        }
        if let Some(max) = entry.series.summary.max {
            let tip = format!("{}: maximum {}", entry.name, show(max, panel.unit.name()));
            let end = (entry.series.summary.count as f64).log10();
            svg.mark(index, &format!("c{index}"), [x.at(end), y.at(max)], &tip);
            row.push(show(max, panel.unit.name()));
        }
        rows.push(row);
    }
    Figure {
        kind: "ladder",
        title: format!("{}: percentile ladder", panel.experiment),
        reading: "Each step to the right is a tenth as many samples; a line ends at its maximum."
            .to_owned(),
        facts: panel.facts(entries),
        svg: svg.finish(&format!("Percentiles of {}", panel.experiment)),
        legend: entries.iter().map(|entry| entry.name.clone()).collect(),
        header: [vec!["case"], percentiles().map(|one| one.0).collect(), vec!["max"]].concat(),
        rows,
        ..Figure::default()
    }
}

/// The quantile function as steps, from the smallest value to the largest: pairs of x position and
/// value.
fn quantile_steps(series: &SeriesResult) -> Vec<(f64, f64)> {
    let all =
        series.histogram.iter().fold(0_u64, |sum, bucket| sum.saturating_add(bucket.1)).max(1);
    let (mut points, mut before) = (Vec::new(), 0_u64);
    for (value, samples) in &series.histogram {
        points.push((tail(before as f64 / all as f64), *value));
        before = before.saturating_add(*samples);
        // The last step ends at the position of the last sample, not at infinity.
        points.push((tail(before.min(all - 1) as f64 / all as f64), *value));
    }
    points
}

/// Drops points closer than 1.5 SVG units to the previous one in both directions; the last is kept.
fn thin(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut kept: Vec<[f64; 2]> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let far =
            |last: &[f64; 2]| (last[0] - point[0]).abs() > 1.5 || (last[1] - point[1]).abs() > 1.5;
        if index + 1 == points.len() || kept.last().is_none_or(far) {
            kept.push(*point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn the_ladder_ends_at_the_maximum_with_one_sample_left() {
        let mut series = sample::series("switch", 10.0);
        series.histogram = vec![(10.0, 900), (20.0, 99), (30.0, 1)];
        let points = quantile_steps(&series);
        let round = |(x, y): &(f64, f64)| ((x * 100.0).round() / 100.0, *y);
        assert_eq!(
            points.iter().map(round).collect::<Vec<_>>(),
            [(0.0, 10.0), (1.0, 10.0), (1.0, 20.0), (3.0, 20.0), (3.0, 30.0), (3.0, 30.0)]
        );
    }
}
