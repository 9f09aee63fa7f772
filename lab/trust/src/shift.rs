//! The band of the ratio of two distributions, at one quantile.

use chronoscope_statistics::{SplitMix64, order::order_interval};

use crate::{Effort, Row, draw::heavy};

/// The true ratio, and the scatter of repetitions.
const RATIO: f64 = 1.3;
const SCATTER: f64 = 0.1;

pub fn rows(effort: Effort) -> Vec<Row> {
    let rounds = effort.choose(500, 20_000);
    let row = |repetitions: usize| {
        let mut random = SplitMix64::new(repetitions as u64);
        let held = (0..rounds).filter(|_| holds(repetitions, &mut random)).count();
        let statement =
            format!("{repetitions} repetitions, heavy-tailed: the band holds the ratio");
        Row::at_least(statement, 0.95, held, rounds)
    };
    [5, 7, 10, 20].map(row).to_vec()
}

fn holds(repetitions: usize, random: &mut SplitMix64) -> bool {
    let mut side = |level: f64| {
        let one = |_| level * (SCATTER * heavy(random)).exp();
        order_interval(&(0..repetitions).map(one).collect::<Vec<f64>>())
    };
    let (Some(a), Some(b)) = (side(1000.0), side(1000.0 * RATIO)) else { return false };
    b.low / a.high <= RATIO && RATIO <= b.high / a.low
}
