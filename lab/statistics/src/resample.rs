//! Resamples repetitions: medians, and their intervals by the percentile bootstrap (Efron 1979).
//! The results depend only on the values and the seed; the meaning of a value is the caller's
//! matter.

use serde::{Deserialize, Serialize};

/// A two-sided interval. Its confidence is that of the function that returns it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The random generator SplitMix64 (Steele, Lea and Flood 2014). A seed gives the same numbers on
/// every machine; it is not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator. Every seed is equally good.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number above 0 and below 1, uniform in steps of 2^−52.
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Returns a number from 0 to `bound` − 1, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The high half of the product is uniform to within bound/2^64.
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }
}

/// Returns the median: the middle value, or the mean of the two middle ones. `None` without values.
/// This is not [`rank`](super::rank)'s nearest rank, which would be biased low with the usual 5 to
/// 20 repetitions.
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

fn median_in_place(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(lower + (upper - lower) / 2.0)
}

/// Returns the interval of the median of repetitions, nominally 95 %, from `n` resamples (1,000 or
/// more are usual). The same input and seed give the same interval. `None` without repetitions or
/// resamples.
///
/// The repetitions must be independent. With five of them the interval is about as wide as their
/// range, and no distribution-free method does better.
pub fn bootstrap_median(reps: &[f64], seed: u64, n: usize) -> Option<Interval> {
    let mut drawn = Vec::with_capacity(reps.len());
    bootstrap(seed, n, |random| median_of_resample(reps, random, &mut drawn))
}

/// Returns the interval of median(b) / median(a), nominally 95 %; the two sides are resampled
/// independently. `None` without repetitions or resamples. The medians of `a` must not be zero.
pub fn bootstrap_ratio(a: &[f64], b: &[f64], seed: u64, n: usize) -> Option<Interval> {
    let mut drawn = Vec::with_capacity(a.len().max(b.len()));
    bootstrap(seed, n, |random| {
        let of_a = median_of_resample(a, random, &mut drawn)?;
        Some(median_of_resample(b, random, &mut drawn)? / of_a)
    })
}

fn median_of_resample(reps: &[f64], random: &mut SplitMix64, drawn: &mut Vec<f64>) -> Option<f64> {
    drawn.clear();
    drawn.extend(reps.iter().map(|_| reps[random.below(reps.len())]));
    median_in_place(drawn)
}

fn bootstrap(
    seed: u64,
    n: usize,
    mut statistic: impl FnMut(&mut SplitMix64) -> Option<f64>,
) -> Option<Interval> {
    let mut random = SplitMix64::new(seed);
    let mut results: Vec<f64> = (0..n).map_while(|_| statistic(&mut random)).collect();
    results.sort_unstable_by(f64::total_cmp);
    // As many results are cut off above as below: 2.5 % of them at each end, rounded down.
    let cut = results.len() / 40;
    let low = *results.get(cut)?;
    let high = results[results.len() - 1 - cut];
    Some(Interval { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_gives_the_published_numbers() {
        // The first outputs of the reference implementation for seed 1234567.
        let mut random = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        let published =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first, published);
        assert!((0..1_000).all(|_| random.below(7) < 7));
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn interval_holds_the_median_and_repeats() {
        let reps = [9.0, 10.0, 10.5, 11.0, 12.0, 10.2, 9.7];
        let interval = bootstrap_median(&reps, 1, 2_000).unwrap();
        assert!(9.0 <= interval.low && interval.low <= 10.2);
        assert!(10.2 <= interval.high && interval.high <= 12.0);
        assert_eq!(bootstrap_median(&reps, 1, 2_000), Some(interval));
        assert_eq!(bootstrap_median(&[5.0], 1, 100), Some(Interval { low: 5.0, high: 5.0 }));
    }

    #[test]
    fn interval_covers_the_true_median() {
        // The repetitions are uniform on 0.5 to 1.5, so the true median is 1. The interval of 20
        // repetitions must hold it in about 95 % of the draws.
        let mut random = SplitMix64::new(7);
        let held = (0..400).filter(|&seed| {
            let reps: Vec<f64> =
                (0..20).map(|_| 0.5 + random.below(1_000_001) as f64 / 1e6).collect();
            let interval = bootstrap_median(&reps, seed, 300).unwrap();
            interval.low <= 1.0 && 1.0 <= interval.high
        });
        let held = held.count();
        assert!((360..=396).contains(&held), "{held} of 400");
    }

    #[test]
    fn odd_input() {
        assert_eq!(bootstrap_median(&[], 1, 100), None);
        assert_eq!(bootstrap_median(&[1.0], 1, 0), None);
        assert_eq!(bootstrap_ratio(&[], &[1.0], 1, 100), None);
        assert!(bootstrap_median(&[f64::NAN, 1.0], 1, 100).is_some());
    }
}
