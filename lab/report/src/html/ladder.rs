//! The percentile ladder: a quantile plot on the scale −log10(1 − share), on which each step holds
//! a tenth of the samples of the previous one, so that the tail gets as much room as the rest.

use super::{
    figure::Figure,
    frame::{Axis, draw, x_range, y_range},
    panel::{Entry, Panel, statistic},
    scale::Scale,
};
use chronoscope_run::{Role, STATISTICS, SeriesResult};
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
    let mut entries: Vec<&Entry<'_>> = panel
        .entries
        .iter()
        .filter(|entry| {
            entry.series.role == Role::Measured && entry.series.summary.count >= MIN_SAMPLES
        })
        .filter(|entry| entry.series.histogram.len() > MIN_VALUES)
        .collect();
    let all = entries.len();
    if all == 0 {
        return Vec::new();
    }
    entries.sort_by(|one, other| longest(other).total_cmp(&longest(one)));
    entries.truncate(MAX_LINES);
    let mut figure = figure(panel, &entries);
    if all > MAX_LINES {
        figure.notes.push(format!("The {MAX_LINES} of {all} with the longest maximum are drawn."));
    }
    vec![figure]
}

fn longest(entry: &Entry<'_>) -> f64 {
    entry.series.summary.max.unwrap_or(0.0)
}

fn figure(panel: &Panel<'_>, entries: &[&Entry<'_>]) -> Figure {
    let most = entries.iter().map(|entry| entry.series.summary.count).max().unwrap_or(1) as f64;
    let (from, to) = x_range();
    let x = Scale { low: 0.0, high: most.log10() + 0.1, from, to, log: false };
    let tail_positions = percentiles()
        .chain(MORE_TICKS)
        .map(|(name, share)| (tail_position(share), name.to_owned()));
    let ticks: Vec<(f64, String)> = tail_positions.filter(|(place, _)| *place <= x.high).collect();
    let (base, top) = y_range();
    let lows =
        entries.iter().filter_map(|entry| entry.series.summary.p50.or(entry.series.summary.min));
    let low = lows.fold(f64::INFINITY, f64::min);
    let high = entries.iter().map(|entry| longest(entry)).fold(0.0, f64::max);
    // A linear scale would flatten the rest below a tail ten times as long.
    let y = match low > 0.0 && high > 10.0 * low {
        true => Scale::log(low, high, base, top),
        false => Scale::fitting([low, high].into_iter(), base, top),
    };
    let mut svg = draw(
        &Axis::with(x, "share of samples that took no longer", ticks),
        &Axis::of(y, &panel.beyond("latency"), panel.unit.name()),
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
                svg.mark(
                    index,
                    &format!("c{index}"),
                    [x.at(tail_position(share)), y.at(value)],
                    &tip,
                );
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

/// The position of a quantile on the x axis: −log10(1 − share), so 1 for p90 and 2 for p99.
fn tail_position(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// The quantile function as steps, from the smallest value to the largest: pairs of x position and
/// value.
fn quantile_steps(series: &SeriesResult) -> Vec<(f64, f64)> {
    let all =
        series.histogram.iter().fold(0_u64, |sum, bucket| sum.saturating_add(bucket.1)).max(1);
    let (mut points, mut before) = (Vec::new(), 0_u64);
    for (value, samples) in &series.histogram {
        points.push((tail_position(before as f64 / all as f64), *value));
        before = before.saturating_add(*samples);
        // The last step ends at the position of the last sample, not at infinity.
        points.push((tail_position(before.min(all - 1) as f64 / all as f64), *value));
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
