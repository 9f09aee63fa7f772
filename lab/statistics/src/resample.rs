//! Medians and ranks of values, intervals, and random numbers from a seed. The module knows no
//! meaning of a value.

use serde::{Deserialize, Serialize};

/// A two-sided interval. The function that returns it defines its confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The random generator SplitMix64 (Steele, Lea and Flood 2014). A seed gives the same numbers on
/// every machine. The numbers are predictable: never use them for secrets.
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
/// The nearest rank of [`rank`](super::rank) would be biased low with the usual 5 to 20
/// repetitions.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(lower + (upper - lower) / 2.0)
}

/// Returns the rank of each value, from 1; equal values share the mean of their ranks.
pub(super) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut next = 0.0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let count = equal.len() as f64;
        equal.iter().for_each(|place| ranks[*place] = next + (count + 1.0) / 2.0);
        next += count;
    }
    ranks
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
        // (first >> 12) + 0.5 of 2^52.
        assert_eq!(SplitMix64::new(1_234_567).unit(), 0.350_079_542_021_408_1);
        assert!((0..1_000).all(|_| random.below(7) < 7));
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
