//! The bands in which a new run of a case is expected: false alarms, and power.

use chronoscope_statistics::{SplitMix64, alert::expected};

use crate::{Effort, Row, draw::normal};

/// The scatter between runs: 5 %.
const SCATTER: f64 = 0.05;

pub fn rows(effort: Effort) -> Vec<Row> {
    let rounds = effort.choose(500, 20_000);
    let mut rows = Vec::new();
    for (words, most, draw) in [
        ("scattered by 5 %", 0.03, normal as fn(&mut SplitMix64) -> f64),
        ("heavy-tailed", 0.05, heavy),
    ] {
        for runs in [5, 10, 20] {
            let statement = format!("{runs} earlier runs, {words}: a false alarm");
            rows.push(Row::at_most(statement, most, alarms(runs, 1.0, draw, rounds), rounds));
        }
    }
    let found = alarms(20, 1.5, normal, rounds);
    rows.push(Row::at_least(
        "20 earlier runs: a run slower by half is marked",
        0.95,
        found,
        rounds,
    ));
    rows
}

/// Counts the new runs outside of the band of `runs` earlier ones. The figures of new runs are
/// multiplied by `ratio`.
fn alarms(runs: usize, ratio: f64, draw: fn(&mut SplitMix64) -> f64, rounds: usize) -> usize {
    let mut random = SplitMix64::new(runs as u64);
    let mut figure = || 1000.0 * (SCATTER * draw(&mut random)).exp();
    let is_outside = (0..rounds).filter(|_| {
        let earlier: Vec<f64> = (0..runs).map(|_| figure()).collect();
        let new = ratio * figure();
        expected(&earlier, 0.0).is_some_and(|band| new < band.low || band.high < new)
    });
    is_outside.count()
}

/// Student's t with three degrees of freedom.
pub fn heavy(random: &mut SplitMix64) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / 3.0).sqrt()
}
