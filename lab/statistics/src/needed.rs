//! The number of repetitions that would settle a comparison which did not: enough to show either
//! that B is not slower by more than the threshold, or that it is slower.

use super::{beta::t_quantile, significance::Difference};

/// The largest number of repetitions that is ever returned; beyond it, more repetitions are no
/// remedy.
pub const MOST: usize = 100_000;

/// Rounds of the computation; each brings the result three times as near.
const ROUNDS: usize = 8;

/// The normal quantile of 80 %: the returned number settles four of five comparisons whose true
/// difference equals the measured one.
const POWER: f64 = 0.841_621_233_572_914_2;

/// A comparison of logarithms that is to be settled.
#[derive(Clone, Copy, Debug)]
pub struct Unsettled {
    /// The difference by the repetitions alone, without a variance between runs.
    pub difference: Difference,
    /// The repetitions of the side that has fewer.
    pub repetitions: usize,
    /// The variance of the difference that further repetitions do not reduce.
    pub fixed: f64,
    /// The logarithm of 1 + the threshold.
    pub threshold: f64,
    /// The error rate of the interval, by which B is shown to be no slower.
    pub interval_rate: f64,
    /// The error rate of the test, by which B is shown to be slower.
    pub test_rate: f64,
}

impl Unsettled {
    /// Returns the number of repetitions of each side, above the present one, that would settle the
    /// comparison with a chance of 80 %, if their scatter stays the same. `None` if more than
    /// [`MOST`] are needed, or no number is enough.
    ///
    /// A difference within the threshold is settled when the upper end of the interval is within
    /// it; a greater one when it is significant. The true difference is assumed to equal the
    /// measured one, but to be no nearer to the threshold than half of it: on the threshold itself
    /// no number of repetitions is enough.
    pub fn repetitions(&self) -> Option<usize> {
        let Difference { value, variance, freedom } = self.difference;
        let half = self.threshold / 2.0;
        let (rate, margin) = match value > self.threshold {
            true => (self.test_rate, value),
            false => (self.interval_rate, (self.threshold - value.max(0.0)).max(half)),
        };
        let now = self.repetitions as f64;
        // The quantile depends on the number that it determines; a few rounds settle both.
        let mut growth = MOST as f64 / now;
        for _ in 0..ROUNDS {
            let error = margin / (t_quantile(rate, freedom * growth) + POWER);
            // The variance that remains for the part that repetitions reduce.
            let room = error.powi(2) - self.fixed;
            growth = variance / room;
            if !(room > 0.0 && growth.is_finite()) {
                return None;
            }
            growth = growth.max(1.0);
        }
        let needed = (growth * now).ceil();
        (needed <= MOST as f64).then_some((needed as usize).max(self.repetitions + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(value: f64, deviation: f64, fixed: f64) -> Option<usize> {
        let unsettled = Unsettled {
            difference: Difference { value, variance: deviation.powi(2) / 10.0, freedom: 9.0 },
            repetitions: 10,
            fixed,
            threshold: 1.05_f64.ln(),
            interval_rate: 0.05,
            test_rate: 0.04,
        };
        unsettled.repetitions()
    }

    #[test]
    fn the_number_agrees_with_the_textbook() {
        // ((1.96 + 0.84) · deviation / margin)², a little more for the quantile of t.
        // The expected numbers come from eight rounds with scipy.stats.t.ppf.
        for (value, deviation, expected) in [
            // Equal or faster: the margin is the whole threshold.
            (0.0, 0.6, 1_189),
            (-0.5, 0.6, 1_189),
            // Half the threshold above: half the margin. Nearer to the threshold: no less.
            (1.05_f64.ln() / 2.0, 0.1, 134),
            (1.05_f64.ln(), 0.1, 134),
            // Beyond the threshold: significance decides.
            (0.3, 0.6, 36),
        ] {
            assert_eq!(needed(value, deviation, 0.0), Some(expected), "{value} {deviation}");
        }
    }

    #[test]
    fn a_fixed_variance_is_not_settled_by_repetitions() {
        let between = 2.0 * 1.15_f64.ln().powi(2);
        assert_eq!(needed(0.0, 0.1, between), None);
        assert_eq!(needed(0.0, 10.0, 0.0), None);
        // 99,999.5 and 100,019.5 repetitions.
        assert_eq!(needed(0.0, 5.507_103_9, 0.0), Some(MOST));
        assert_eq!(needed(0.0, 5.507_654_6, 0.0), None);
        // At least one more is returned: the present number did not settle the comparison.
        assert_eq!(needed(0.0, 0.001, 0.0), Some(11));
        assert!(needed(2.0, 0.6, between).is_some());
    }
}
