//! Keeps every sample of a case in bounded memory and computes its figures. It knows ticks and a
//! scale, but neither units nor experiments.
//!
//! An [`Accumulator`] counts samples in an auto-resizing HDR histogram with three significant
//! digits (G. Tene, HdrHistogram). Values up to 2047 ticks each have a bucket of their own, so
//! quantiles there are exact; above, a bucket is narrower than 0.1 % of its value. Count, minimum,
//! maximum, deadline misses and the worst samples are exact at any size. Nothing is dropped: zeros
//! count, the histogram grows to the whole range of `u64`, and a cold sample counts like any other
//! and is also kept apart. An accumulator takes less than 1 MiB for any number of samples.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::{
    bursts::{Bursts, RareSamples},
    order::{Over, UpperLimits, limit_rank},
    tail::MissRate,
};

/// The number of worst samples that are kept.
pub const WORST_KEPT: usize = 16;

/// The number of cold samples that are kept apart, the first ones; `cold_count` counts all.
pub const COLD_KEPT: usize = 64;

/// The reason why recording cannot fail.
const GROWS: &str = "an auto-resizing histogram fails only where usize has 16 bits";

/// A sample: its start and its duration, both in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The start of the sample, in ticks.
    pub at: u64,
    /// The duration of the sample, in ticks.
    pub value: u64,
}

/// The error of merging two accumulators with different deadlines: the sum of their misses would
/// belong to neither deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("samples with {} cannot be merged with samples with {}", show(*.into), show(*.merged))]
pub struct DeadlinesDiffer {
    /// The deadline of the accumulator that was to receive the samples, in ticks.
    pub into: Option<u64>,
    /// The deadline of the accumulator that was to be merged, in ticks.
    pub merged: Option<u64>,
}

fn show(deadline: Option<u64>) -> String {
    deadline.map_or("no deadline".to_string(), |ticks| format!("a deadline of {ticks} ticks"))
}

/// Collects the samples of a case, by a call of `push` each; a push costs a histogram update and no
/// allocation, except when the histogram grows.
#[derive(Clone, Debug)]
pub struct Accumulator {
    histogram: Histogram<u64>,
    count: u64,
    min: u64,
    max: u64,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
    deadline: Option<u64>,
    misses: u64,
    rare: RareSamples,
    worst: Vec<Stamped>,
    cold: Vec<Stamped>,
    cold_count: u64,
}

impl Default for Accumulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Accumulator {
    /// Creates an empty accumulator without a deadline.
    pub fn new() -> Self {
        Self::with_deadline(None)
    }

    /// Creates an empty accumulator that counts the samples above `deadline` (ticks). The deadline
    /// is fixed before the first sample, since only then is the count exact.
    pub fn with_deadline(deadline: Option<u64>) -> Self {
        Self {
            histogram: Histogram::new(3).expect("three digits are within the crate's 0 to 5"),
            count: 0,
            min: u64::MAX,
            max: 0,
            mean: 0.0,
            squares: 0.0,
            deadline,
            misses: 0,
            rare: RareSamples::default(),
            worst: Vec::with_capacity(WORST_KEPT + 1),
            cold: Vec::new(),
            cold_count: 0,
        }
    }

    /// Counts a sample of `value` ticks that started at tick `at`.
    pub fn push(&mut self, at: u64, value: u64) {
        self.histogram.record(value).expect(GROWS);
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        // Welford's method (1962) does not lose a small spread around a large mean.
        let distance = value as f64 - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value as f64 - self.mean);
        let is_miss = self.deadline.is_some_and(|deadline| value > deadline);
        self.misses += u64::from(is_miss);
        self.rare.push(value, is_miss);
        self.keep_if_worst(Stamped { at, value });
    }

    /// Counts a cold sample, the first of a repetition, in all figures, and keeps it apart as well.
    pub fn push_cold(&mut self, at: u64, value: u64) {
        self.push(at, value);
        self.cold_count += 1;
        if self.cold.len() < COLD_KEPT {
            self.cold.push(Stamped { at, value });
        }
    }

    /// Counts the samples of a block, each given as its distance from the sample before, in ticks, and
    /// its value. `at` is the time of the sample before the block; times before 0 count as 0. The
    /// first sample of all is a cold one. Returns the time of the block's last sample.
    ///
    /// The loop stands here, since this crate is optimized in every build.
    pub fn push_block(&mut self, at: i64, block: &mut dyn Iterator<Item = (i64, u64)>) -> i64 {
        block.fold(at, |before, (gap, value)| {
            let at = before.wrapping_add(gap);
            let ticks = at.max(0).unsigned_abs();
            if self.count == 0 {
                self.push_cold(ticks, value);
            } else {
                self.push(ticks, value);
            }
            at
        })
    }

    /// Adds all samples of `other`, the next repetition, as if they had been pushed here; its cold
    /// samples come last.
    ///
    /// # Errors
    /// If the deadlines differ; this accumulator is then unchanged.
    pub fn merge(&mut self, other: &Self) -> Result<(), DeadlinesDiffer> {
        if self.deadline != other.deadline {
            return Err(DeadlinesDiffer { into: self.deadline, merged: other.deadline });
        }
        if other.count == 0 {
            return Ok(());
        }
        self.histogram.add(&other.histogram).expect(GROWS);
        // Chan, Golub and LeVeque (1979): the combination of two sets of Welford's sums.
        let (own, added) = (self.count as f64, other.count as f64);
        let distance = other.mean - self.mean;
        self.mean += distance * added / (own + added);
        self.squares += other.squares + distance * distance * own * added / (own + added);
        self.count = self.count.saturating_add(other.count);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.misses = self.misses.saturating_add(other.misses);
        self.rare.merge(&other.rare);
        for sample in &other.worst {
            self.keep_if_worst(*sample);
        }
        self.cold_count = self.cold_count.saturating_add(other.cold_count);
        let room = COLD_KEPT - self.cold.len();
        self.cold.extend(other.cold.iter().take(room));
        Ok(())
    }

    /// The number of samples, cold ones included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The deadline in ticks, if there is one.
    pub fn deadline(&self) -> Option<u64> {
        self.deadline
    }

    /// The exact number of samples above the deadline; `None` without a deadline.
    pub fn misses(&self) -> Option<u64> {
        self.deadline.map(|_| self.misses)
    }

    /// Tests whether deadline misses, or the largest samples where misses are few, come in bursts.
    pub fn bursts(&self) -> Bursts {
        self.rare.bursts()
    }

    /// The miss rate, with its bound where the test for bursts allows one; `None` without a
    /// deadline.
    pub fn miss_rate(&self) -> Option<MissRate> {
        let misses = MissRate::new(self.misses()?, self.count);
        Some(misses.unless_in_bursts(&self.bursts()))
    }

    /// The worst samples, at most [`WORST_KEPT`], in falling order of value; equal values in order
    /// of time.
    pub fn worst(&self) -> &[Stamped] {
        &self.worst
    }

    /// The cold samples in the order of their arrival, at most [`COLD_KEPT`].
    pub fn cold(&self) -> &[Stamped] {
        &self.cold
    }

    /// Returns the nearest-rank quantile in ticks: the smallest value with at least ceil(q·n)
    /// samples at or below it (definition 1 of Hyndman and Fan 1996). Exact up to 2047 ticks and at
    /// both ends; elsewhere at most 0.1 % above the true value, never below it. `None` without
    /// samples or with `q` outside 0 to 1.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        match rank(q, self.count)? {
            1 => Some(self.min),
            rank => value_at_rank(self.buckets(), rank),
        }
    }

    /// Returns the upper limit of the quantile `q` in ticks, with 95 % confidence if the samples
    /// are independent: the order statistic of [`limit_rank`], as exact as a
    /// [`quantile`](Self::quantile). `None` where the count allows no limit.
    pub fn quantile_limit(&self, q: f64) -> Option<u64> {
        value_at_rank(self.buckets(), limit_rank(q, self.count)?)
    }

    /// Returns the upper limits of the percentiles over all samples, each multiplied by `scale`.
    /// `None` where the test for bursts does not allow them to be taken as independent, or where
    /// the count allows no limit.
    pub fn upper_limits(&self, scale: f64) -> Option<UpperLimits> {
        let limit = |q: f64| {
            let scaled = self.quantile_limit(q)? as f64 * scale;
            Some(scaled).filter(|value| value.is_finite())
        };
        let [p99, p999, p9999] = [0.99, 0.999, 0.9999].map(limit);
        let limits = UpperLimits { over: Over::Samples, p99, p999, p9999 };
        limits.if_any().filter(|_| self.bursts().allow_a_bound())
    }

    /// The non-empty buckets in rising order: the highest value that falls into the bucket (at most
    /// the maximum), and the number of samples in it.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let last = self.histogram.lowest_equivalent(self.max);
        self.histogram.iter_recorded().map(move |bucket| {
            let value = bucket.value_iterated_to();
            (if value < last { value } else { self.max }, bucket.count_at_value())
        })
    }

    /// The buckets as pairs of value in ticks and count: the compact form to store and to plot
    /// later.
    pub fn bucket_pairs(&self) -> Vec<(u64, u64)> {
        self.buckets().collect()
    }

    /// Returns the figures of the case, each value multiplied by `scale`, which converts ticks to
    /// the reported unit per operation. A figure that is not finite is `None`, as all are with a
    /// NaN scale.
    pub fn summary(&self, scale: f64) -> Summary {
        let scaled = |ticks: f64| Some(ticks * scale).filter(|value| value.is_finite());
        let unless_empty = |ticks: f64| scaled(ticks).filter(|_| self.count > 0);
        let percentile = |q: f64, needed: u64| {
            let supported = self.count >= needed;
            scaled(self.quantile(q).filter(|_| supported)? as f64)
        };
        let worst = self.worst.iter().filter_map(|sample| {
            Some(Worst { at: sample.at, value: scaled(sample.value as f64)? })
        });
        let variance = self.squares / self.count.saturating_sub(1) as f64;
        Summary {
            count: self.count,
            min: unless_empty(self.min as f64),
            p50: percentile(0.5, 2),
            p90: percentile(0.9, 10),
            p99: percentile(0.99, 100),
            p999: percentile(0.999, 1_000),
            p9999: percentile(0.9999, 10_000),
            max: unless_empty(self.max as f64),
            mean: unless_empty(self.mean),
            sigma: scaled(variance.sqrt()),
            worst: worst.collect(),
            cold: self.cold.iter().filter_map(|s| scaled(s.value as f64)).collect(),
            cold_count: self.cold_count,
        }
    }

    fn keep_if_worst(&mut self, sample: Stamped) {
        let is_worse = |than: &Stamped| {
            sample.value > than.value || (sample.value == than.value && sample.at < than.at)
        };
        if self.worst.len() == WORST_KEPT && !self.worst.last().is_some_and(is_worse) {
            return;
        }
        let place = self.worst.partition_point(|kept| !is_worse(kept));
        self.worst.insert(place, sample);
        self.worst.truncate(WORST_KEPT);
    }
}

/// Returns the nearest-rank quantile of stored buckets (value and count, values rising), as
/// [`Accumulator::quantile`] defines it, but at rank 1 the first bucket's value instead of the
/// exact minimum. `None` without samples or with `q` outside 0 to 1.
pub fn quantile_of(buckets: &[(u64, u64)], q: f64) -> Option<u64> {
    let count = buckets.iter().fold(0, |sum: u64, bucket| sum.saturating_add(bucket.1));
    value_at_rank(buckets.iter().copied(), rank(q, count)?)
}

/// Returns the value of the `rank`-th sample, counted from 1.
fn value_at_rank(buckets: impl IntoIterator<Item = (u64, u64)>, rank: u64) -> Option<u64> {
    let mut before = 0_u64;
    for (value, count) in buckets {
        before = before.saturating_add(count);
        if before >= rank {
            return Some(value);
        }
    }
    None
}

/// Returns ceil(q·n), clamped to 1 to n; `None` without samples or with `q` outside 0 to 1. The
/// product is first lowered by its rounding error: 0.07 × 100 is slightly above 7 in binary, and
/// must give 7.
pub fn rank(q: f64, count: u64) -> Option<u64> {
    if count == 0 || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let product = q * count as f64;
    Some(((product * (1.0 - 2.0 * f64::EPSILON)).ceil() as u64).clamp(1, count))
}

/// A sample among the worst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Worst {
    /// The start of the sample, in ticks.
    pub at: u64,
    /// The duration of the sample, in the summary's unit.
    pub value: f64,
}

/// The figures of a case, in the reported unit per operation.
///
/// Without samples every figure is `None`. A percentile is also `None` with fewer than 1/(1−q)
/// samples (p99.99 with fewer than 10,000), where it would only repeat the maximum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Summary {
    /// The number of samples, cold ones included.
    pub count: u64,
    /// The smallest sample.
    pub min: Option<f64>,
    /// The median, by the nearest rank.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The 99.99th percentile.
    pub p9999: Option<f64>,
    /// The largest sample.
    pub max: Option<f64>,
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The sample standard deviation (divisor n − 1); `None` with fewer than two samples.
    pub sigma: Option<f64>,
    /// The worst samples in falling order of value; equal values in order of time.
    pub worst: Vec<Worst>,
    /// The first samples of the repetitions, at most [`COLD_KEPT`]; all other figures include them.
    pub cold: Vec<f64>,
    /// The number of cold samples, also beyond [`COLD_KEPT`].
    pub cold_count: u64,
}
