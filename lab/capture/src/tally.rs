//! Exact statistics of values that are mostly equal, such as pulse widths. The module knows neither
//! the meaning nor the unit of a value.
//!
//! An [`Accumulator`] rounds values above 2047 ticks to 0.1 %. Since formats differ in their tick,
//! a signal would then have a different median in each. A tally counts each different value
//! exactly, and hands over to an accumulator only when there are too many.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use serde::Serialize;

use chronoscope_statistics::{Accumulator, Summary, Worst, quantile_of};

/// The greatest number of distinct values that are counted exactly. The map then takes about 1 MB.
const MOST: usize = 1 << 15;

/// The values of one measure of one channel.
pub(super) struct Tally {
    counts: HashMap<u64, u64, BuildHasherDefault<Spread>>,
    /// The latest value and its count so far: values mostly repeat, and a streak of equal ones needs the map
    /// once.
    streak: (u64, u64),
    /// The greatest value: its time and the value.
    worst: Option<(u64, u64)>,
    rounded: Option<Box<Accumulator>>,
}

/// The finished statistics of a tally, in the reported unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// The figures; its list of worst values has only the greatest one.
    #[serde(flatten)]
    pub summary: Summary,
    /// The greatest value minus the least.
    pub peak_to_peak: Option<f64>,
    /// `true` if there were too many different values, so that percentiles are rounded to 0.1 %.
    pub rounded: bool,
    /// Each value and its count, in rising order.
    pub histogram: Vec<(f64, u64)>,
}

impl Tally {
    pub fn new() -> Self {
        Self { counts: HashMap::default(), streak: (0, 0), worst: None, rounded: None }
    }

    pub fn push(&mut self, at: u64, value: u64) {
        if self.worst.is_none_or(|(_, worst)| value > worst) {
            self.worst = Some((at, value));
        }
        if let Some(rounded) = &mut self.rounded {
            rounded.push(at, value);
        } else if self.streak.0 == value {
            self.streak.1 += 1;
        } else {
            self.flush();
            self.streak = (value, 1);
        }
    }

    /// Adds the streak to the counts, and hands over to an accumulator where there are too many.
    fn flush(&mut self) {
        let (value, count) = std::mem::take(&mut self.streak);
        if count > 0 {
            *self.counts.entry(value).or_default() += count;
        }
        if self.counts.len() > MOST {
            let mut rounded = Accumulator::new();
            for (value, count) in self.counts.drain() {
                (0..count).for_each(|_| rounded.push(0, value));
            }
            self.counts.shrink_to_fit();
            self.rounded = Some(Box::new(rounded));
        }
    }

    /// Finishes the statistics; `scale` converts a value to the reported unit and must be linear.
    pub fn finish(mut self, scale: impl Fn(u64) -> f64) -> Statistics {
        // The last streak is added to the other values.
        let (value, count) = std::mem::take(&mut self.streak);
        match &mut self.rounded {
            Some(rounded) => (0..count).for_each(|_| rounded.push(0, value)),
            None if count > 0 => *self.counts.entry(value).or_default() += count,
            None => {}
        }
        let worst = self.worst.map(|(at, value)| Worst { at, value: scale(value) });
        let (summary, pairs) = match &self.rounded {
            Some(rounded) => (rounded.summary(scale(1)), rounded.bucket_pairs()),
            None => {
                let mut pairs: Vec<(u64, u64)> = self.counts.into_iter().collect();
                pairs.sort_unstable();
                (summary(&pairs, &scale), pairs)
            }
        };
        let summary = Summary { worst: worst.into_iter().collect(), ..summary };
        Statistics {
            peak_to_peak: summary.max.zip(summary.min).map(|(max, min)| max - min),
            rounded: self.rounded.is_some(),
            histogram: pairs.into_iter().map(|(value, count)| (scale(value), count)).collect(),
            summary,
        }
    }
}

/// Computes the figures of [`Accumulator::summary`] from exact counts.
fn summary(pairs: &[(u64, u64)], scale: &impl Fn(u64) -> f64) -> Summary {
    let count: u64 = pairs.iter().map(|(_, count)| count).sum();
    let percentile =
        |q: f64, needed: u64| quantile_of(pairs, q).filter(|_| count >= needed).map(scale);
    let values = || pairs.iter().map(|(value, count)| (scale(*value), *count as f64));
    let mean = values().map(|(value, count)| value * count).sum::<f64>() / count as f64;
    let squares: f64 = values().map(|(value, count)| (value - mean).powi(2) * count).sum();
    Summary {
        count,
        min: pairs.first().map(|(value, _)| scale(*value)),
        p50: percentile(0.5, 2),
        p90: percentile(0.9, 10),
        p99: percentile(0.99, 100),
        p999: percentile(0.999, 1_000),
        p9999: percentile(0.9999, 10_000),
        max: pairs.last().map(|(value, _)| scale(*value)),
        mean: Some(mean).filter(|_| count > 0),
        sigma: Some((squares / count.saturating_sub(1) as f64).sqrt())
            .filter(|sigma| sigma.is_finite()),
        ..Summary::default()
    }
}

/// Hashes whole numbers by Fibonacci hashing (Knuth, volume 3, 6.4). Chosen values can collide;
/// that makes the tally slow, not wrong.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, value: u64) {
        let product = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The map takes bits from both ends of the hash.
        self.0 = product ^ (product >> 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(values: impl IntoIterator<Item = u64>) -> Statistics {
        let mut tally = Tally::new();
        values.into_iter().enumerate().for_each(|(at, value)| tally.push(at as u64, value));
        tally.finish(|value| value as f64)
    }

    #[test]
    fn values_are_exact() {
        let seen = tally([5_001, 5_001, 7_000, 5_001, 6_003].into_iter().cycle().take(100));
        assert_eq!(
            (seen.summary.p50, seen.summary.p90, seen.summary.p99),
            (Some(5_001.0), Some(7_000.0), Some(7_000.0))
        );
        assert_eq!(seen.histogram, [(5_001.0, 60), (6_003.0, 20), (7_000.0, 20)]);
        assert_eq!((seen.peak_to_peak, seen.rounded), (Some(1_999.0), false));
        assert_eq!(seen.summary.worst, [Worst { at: 2, value: 7_000.0 }]);
        assert!((seen.summary.mean.unwrap() - 5_601.2).abs() < 1e-9);
        assert_eq!(tally([]).summary, Summary::default());
    }

    #[test]
    fn figures_are_the_accumulator_s() {
        // An accumulator is exact up to 2047.
        for count in [1, 2, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000] {
            let values = || (0..count).map(|value| value * 7_919 % 2_048);
            let (ours, mut theirs) = (tally(values()).summary, Accumulator::new());
            values().zip(0..).for_each(|(value, at)| theirs.push(at, value));
            let theirs = theirs.summary(1.0);
            let near = |ours: Option<f64>, theirs: Option<f64>| match (ours, theirs) {
                (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-12 * theirs,
                (ours, theirs) => ours == theirs,
            };
            assert!(near(ours.sigma, theirs.sigma), "{:?}, not {:?}", ours.sigma, theirs.sigma);
            assert!(near(ours.mean, theirs.mean), "{:?}, not {:?}", ours.mean, theirs.mean);
            let exact = |of: &Summary| {
                (of.count, [of.min, of.p50, of.p90, of.p99, of.p999, of.p9999, of.max])
            };
            assert_eq!(exact(&ours), exact(&theirs));
        }
    }

    #[test]
    fn many_different_values_are_rounded_but_none_is_lost() {
        let values = || (0..100_000_u64).map(|value| value * 1_000_003 % 100_000_007);
        let (ours, mut theirs) = (tally(values()), Accumulator::new());
        values().for_each(|value| theirs.push(0, value));
        let theirs = theirs.summary(1.0);
        assert!(ours.rounded);
        assert_eq!(
            (ours.summary.count, ours.summary.p50, ours.summary.max),
            (100_000, theirs.p50, theirs.max)
        );
        assert_eq!(ours.histogram.iter().map(|(_, count)| count).sum::<u64>(), 100_000);
    }
}
