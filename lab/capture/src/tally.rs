//! Counts of values, exact as long as there are not too many different ones.
//!
//! An [`Accumulator`] rounds what is above 2047 ticks to 0.1 %, and ticks differ from format to format, so that one signal would have
//! as many medians. Pulses have few different widths: those are counted each for itself, and only when they become too
//! many does an accumulator take over.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use serde::Serialize;

use chronoscope_statistics::{Accumulator, Summary, Worst, quantile_of};

/// Different values that are counted each for itself. With the map's spare room they take about 1 MB.
const MOST: usize = 1 << 15;

pub(super) struct Tally {
    counts: HashMap<u64, u64, BuildHasherDefault<Spread>>,
    /// The latest value, and how often it came in a row: it is mostly the same again.
    run: (u64, u64),
    /// The greatest value, and when it was.
    worst: Option<(u64, u64)>,
    rounded: Option<Box<Accumulator>>,
}

/// What became of a tally.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    #[serde(flatten)]
    pub summary: Summary,
    /// The greatest value less the least.
    pub peak_to_peak: Option<f64>,
    /// Whether there were too many different values, so that percentiles are rounded to 0.1 %.
    pub rounded: bool,
    /// Each value, and how often it came.
    pub histogram: Vec<(f64, u64)>,
}

impl Tally {
    pub fn new() -> Self {
        Self { counts: HashMap::default(), run: (0, 0), worst: None, rounded: None }
    }

    pub fn push(&mut self, at: u64, value: u64) {
        if self.worst.is_none_or(|(_, worst)| value > worst) {
            self.worst = Some((at, value));
        }
        if let Some(rounded) = &mut self.rounded {
            rounded.push(at, value);
        } else if self.run.0 == value {
            self.run.1 += 1;
        } else {
            self.flush();
            self.run = (value, 1);
        }
    }

    fn flush(&mut self) {
        let (value, count) = std::mem::take(&mut self.run);
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

    /// The statistics, each value made into what is reported by `scale`.
    pub fn finish(mut self, scale: impl Fn(u64) -> f64) -> Statistics {
        // What is in the run goes where all others are.
        let (value, count) = std::mem::take(&mut self.run);
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

/// As [`Accumulator::summary`], of values that are all known.
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

/// Spreads whole numbers over the map by Fibonacci hashing (Knuth, volume 3, 6.4); nobody who could choose widths to collide
/// would gain more than a slow answer.
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
        // The map looks at both ends.
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
