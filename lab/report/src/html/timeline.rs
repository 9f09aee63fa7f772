//! Timeline charts: a series' raw samples in order, which show whether the worst occur singly, in
//! bursts or periodically.

use super::{
    figure::{Figure, note_longest},
    frame::{Axis, BOTTOM, TOP, X, Y, draw},
    panel::{Entry, Panel, domain, worst},
    scale::Scale,
};
use crate::cause;
use chronoscope_run::Domain;
use chronoscope_units::show;

/// Number of columns; each shows its smallest and its largest sample.
const COLUMNS: usize = 300;

/// Number of worst samples that are marked.
const MAX_MARKED: usize = 8;

/// Most charts of a panel: those with the largest maxima are drawn.
const MAX_CHARTS: usize = 4;

/// Fewest samples of a chart.
const MIN_SAMPLES: usize = 20;

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    // Equal samples have no worst one.
    let varies = |entry: &&Entry<'_>| {
        entry.series.samples.iter().any(|sample| sample.1 != entry.series.samples[0].1)
    };
    let is_long = |entry: &&Entry<'_>| entry.series.samples.len() >= MIN_SAMPLES;
    let all: Vec<&Entry<'_>> = panel.measured().filter(is_long).filter(varies).collect();
    let mut figures: Vec<Figure> =
        worst(&all, MAX_CHARTS).map(|entry| figure(panel, entry)).collect();
    note_longest(&mut figures, MAX_CHARTS, all.len());
    figures
}

/// Concatenates the repetitions, whose samples have starts relative to the repetition's first
/// sample. Returns the samples with absolute starts, and the start of each repetition but the
/// first.
fn concatenate(samples: &[(f64, f64)]) -> (Vec<(f64, f64)>, Vec<f64>) {
    let (mut placed, mut boundaries) = (Vec::with_capacity(samples.len()), Vec::new());
    let (mut offset, mut last, mut count) = (0.0, f64::NEG_INFINITY, 0.0);
    for (start, value) in
        samples.iter().filter(|(start, value)| start.is_finite() && value.is_finite())
    {
        if *start < last {
            // The gap between repetitions is arbitrary: the mean distance between samples.
            offset += last + last / (count - 1.0_f64).max(1.0);
            boundaries.push(offset);
            count = 0.0;
        }
        (last, count) = (*start, count + 1.0);
        placed.push((offset + start, *value));
    }
    (placed, boundaries)
}

fn figure(panel: &Panel<'_>, entry: &Entry<'_>) -> Figure {
    let (samples, boundaries) = concatenate(&entry.series.samples);
    let end = samples.iter().map(|sample| sample.0).fold(0.0, f64::max);
    let x = Scale::exact(0.0, if end > 0.0 { end } else { 1.0 }, X);
    let y = Scale::fitting(samples.iter().map(|sample| sample.1), Y);
    let unit = if domain(entry.case) == Some(Domain::Wall) { "ns" } else { "" };
    let title = if unit.is_empty() { "ticks since the start" } else { "since the start" };
    let mut svg =
        draw(&Axis::new(x, title, unit), &Axis::new(y, &panel.beyond("sample"), panel.unit.name()));
    for boundary in &boundaries {
        svg.line("floor", [x.at(*boundary), TOP], [x.at(*boundary), BOTTOM]);
    }
    // Few samples are drawn as dots.
    let class = if samples.len() < COLUMNS { "samples few c0" } else { "samples c0" };
    for (place, low, high) in columns(&samples, &x) {
        svg.line(class, [place, y.at(low) + 0.8], [place, y.at(high) - 0.8]);
    }
    let mut worst: Vec<(f64, f64)> = samples;
    worst.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.total_cmp(&other.0)));
    let least = worst.get(MAX_MARKED - 1).map_or(f64::INFINITY, |sample| sample.1);
    let ties = worst.iter().skip(MAX_MARKED).take_while(|sample| sample.1 >= least).count();
    worst.truncate(MAX_MARKED);
    let mut reading = format!("▲ the {} worst", worst.len());
    if ties > 0 {
        reading.push_str(&format!("; {ties} more are as long as the last of these"));
    }
    reading.push_str(if boundaries.is_empty() { "." } else { ". Dashed: the next repetition." });
    let at =
        |start: f64| if unit.is_empty() { format!("tick {start:.0}") } else { show(start, unit) };
    for (start, value) in worst.iter().rev() {
        svg.mark(
            2,
            "c1",
            [x.at(*start), y.at(*value)],
            &format!("{} at {}", show(*value, panel.unit.name()), at(*start)),
        );
    }
    Figure {
        kind: "timeline",
        title: match panel.entries.len() {
            1 => format!("{}: over time", panel.experiment),
            _ => format!("{} over time: {}", panel.experiment, entry.name),
        },
        reading,
        facts: panel.facts(&[entry]),
        notes: cause::sentences(entry.case, entry.series),
        svg: svg.finish(&format!("Samples of {} over time", entry.name)),
        header: vec!["worst", "at"],
        rows: worst
            .iter()
            .map(|(start, value)| vec![show(*value, panel.unit.name()), at(*start)])
            .collect(),
        ..Figure::default()
    }
}

/// The position, smallest and largest sample of each column that has samples.
fn columns(samples: &[(f64, f64)], x: &Scale) -> Vec<(f64, f64, f64)> {
    let mut columns: Vec<Option<(f64, f64)>> = vec![None; COLUMNS];
    for (start, value) in samples {
        let share = (start - x.low) / (x.high - x.low);
        let column = (share * COLUMNS as f64).clamp(0.0, COLUMNS as f64 - 1.0) as usize;
        let (low, high) = columns[column].unwrap_or((*value, *value));
        columns[column] = Some((low.min(*value), high.max(*value)));
    }
    let place = |index: usize| x.from + (index as f64 + 0.5) / COLUMNS as f64 * (x.to - x.from);
    columns
        .iter()
        .enumerate()
        .filter_map(|(index, ends)| ends.map(|(low, high)| (place(index), low, high)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_follow_each_other() {
        let (placed, boundaries) =
            concatenate(&[(0.0, 5.0), (5.0, 1.0), (10.0, 6.0), (0.0, 7.0), (4.0, 8.0), (0.0, 9.0)]);
        assert_eq!(
            placed,
            [(0.0, 5.0), (5.0, 1.0), (10.0, 6.0), (15.0, 7.0), (19.0, 8.0), (23.0, 9.0)]
        );
        assert_eq!(boundaries, [15.0, 23.0]);
    }

    #[test]
    fn a_column_keeps_its_extremes() {
        let samples: Vec<(f64, f64)> =
            (0..10_000).map(|index| (f64::from(index), f64::from(index % 100))).collect();
        let x = Scale::exact(0.0, 9_999.0, [0.0, 300.0]);
        let columns = columns(&samples, &x);
        assert_eq!(columns.len(), COLUMNS);
        assert!(columns.iter().any(|column| column.2 == 99.0));
    }
}
