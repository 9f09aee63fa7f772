//! The number of repetitions that would settle a comparison which did not: enough to show either
//! that B is not slower by more than the threshold, or that it is slower.

use serde::{Deserialize, Serialize};

use super::{beta::t_quantile, significance::Difference};

/// The largest number of repetitions that is ever returned; beyond it, more repetitions are no
/// remedy.
pub const MOST: usize = 100_000;

/// Rounds of the computation; each brings the result three times as near.
const ROUNDS: usize = 8;

/// The growth of the number with which the rounds start: small, as a quantile of Student's t with
/// many degrees of freedom takes long.
const START: f64 = 4.0;

/// The normal quantile of 80 %: a number settles four of five comparisons.
const POWER: f64 = 0.841_621_233_572_914_2;

/// The error rate of each of the two intervals, of the difference and of its variance, that bound
/// the numbers. Chosen by simulation: the number that the true difference and the true variance
/// need is within the range in 80 % of the open comparisons at least.
const RANGE: f64 = 0.2;

/// The numbers of repetitions of each side that would settle a comparison with a chance of 80 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The number if the difference is as far from the threshold, and the scatter as small, as the
    /// repetitions allow.
    pub from: usize,
    /// The number in the opposite case; `None` if the difference may be the threshold itself, or
    /// more than [`MOST`] are needed.
    pub to: Option<usize>,
}

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
    /// The error rate of the interval, by which B is shown not to be slower.
    pub interval_rate: f64,
    /// The error rate of the test, by which B is shown to be slower.
    pub test_rate: f64,
}

impl Unsettled {
    /// Returns the range of the numbers of repetitions of each side that would settle the
    /// comparison with a chance of 80 %. `None` if more than [`MOST`] are needed in any case.
    ///
    /// The number depends on the true difference and the true scatter, of which few repetitions
    /// know little: the range is often a factor of ten wide.
    pub fn settled(&self) -> Option<Settled> {
        let Difference { value, variance, freedom } = self.difference;
        let (low, high) = self.difference.interval(RANGE);
        let spread = |upper: f64| variance * freedom / chi_squared_quantile(upper, freedom);
        let (calm, wild) = (spread(RANGE / 2.0), spread(1.0 - RANGE / 2.0));
        let far = [low, high].map(|end| self.needed(end, calm)).into_iter().flatten().min();
        let from = far.into_iter().chain(self.needed(value, calm)).min()?;
        let may_be_at_threshold = low <= self.threshold && self.threshold <= high;
        let near = [low, high].map(|end| self.needed(end, wild));
        let to = match near {
            [Some(one), Some(other)] if !may_be_at_threshold => Some(one.max(other)),
            _ => None,
        };
        let above = |number: usize| number.max(self.repetitions + 1);
        Some(Settled { from: above(from), to: to.map(above) })
    }

    /// Returns the number of repetitions of each side, from the present one on, that settles the
    /// comparison with a chance of 80 % if `value` is the true difference and `variance` its true variance with the present
    /// number. `None` if more than [`MOST`] are needed, or no number is enough.
    ///
    /// A difference within the threshold is settled when the upper end of the interval is within
    /// it; a greater one when the lower end of the corrected interval is above it.
    pub fn needed(&self, value: f64, variance: f64) -> Option<usize> {
        let margin = (value - self.threshold).abs();
        let rate = if value > self.threshold { self.test_rate } else { self.interval_rate };
        let quantile = Quantile::new(rate);
        let now = self.repetitions as f64;
        // The quantile depends on the number that it determines; a few rounds settle both.
        let mut growth = START;
        for _ in 0..ROUNDS {
            let error = margin / (quantile.at(self.difference.freedom * growth) + POWER);
            // The variance that remains for the part that repetitions reduce.
            let room = error.powi(2) - self.fixed;
            growth = variance / room;
            if !(room > 0.0 && growth.is_finite()) {
                return None;
            }
            growth = growth.max(1.0);
        }
        let needed = (growth * now).ceil();
        (needed <= MOST as f64).then_some(needed as usize)
    }
}

/// The two-sided quantile of Student's t of an error rate, for many degrees of freedom in turn.
struct Quantile {
    rate: f64,
    normal: f64,
}

impl Quantile {
    /// The degrees of freedom from which the quantile is a series in their inverse, with an error
    /// below 0.4 %, and below 0.01 % from a hundred on.
    const SERIES: f64 = 20.0;

    fn new(rate: f64) -> Self {
        // The series in reverse, which is exact to 1e-6 here.
        let (freedom, t) = (200.0, t_quantile(rate, 200.0));
        let first = (t.powi(3) + t) / (4.0 * freedom);
        let second = (13.0 * t.powi(5) + 8.0 * t.powi(3) + 3.0 * t) / (96.0 * freedom * freedom);
        Self { rate, normal: t - first + second }
    }

    fn at(&self, freedom: f64) -> f64 {
        if freedom < Self::SERIES {
            return t_quantile(self.rate, freedom);
        }
        let z = self.normal;
        let first = (z.powi(3) + z) / (4.0 * freedom);
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom.powi(2));
        z + first + second
    }
}

/// Returns the value that a chi-squared variable with `freedom` degrees of freedom exceeds with the
/// chance `upper`, by the formula of Wilson and Hilferty (1931): within 3 % from four degrees on,
/// between chances of 5 and 95 %.
fn chi_squared_quantile(upper: f64, freedom: f64) -> f64 {
    let normal = match upper {
        0.5 => 0.0,
        _ => Quantile::new(2.0 * upper.min(1.0 - upper)).normal.copysign(0.5 - upper),
    };
    let part = 2.0 / (9.0 * freedom);
    freedom * (1.0 - part + normal * part.sqrt()).max(0.05).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsettled(value: f64, deviation: f64, fixed: f64) -> Unsettled {
        Unsettled {
            difference: Difference { value, variance: deviation.powi(2) / 10.0, freedom: 9.0 },
            repetitions: 10,
            fixed,
            threshold: 1.05_f64.ln(),
            interval_rate: 0.05,
            test_rate: 0.04,
        }
    }

    fn needed(value: f64, deviation: f64, fixed: f64) -> Option<usize> {
        unsettled(value, deviation, fixed).needed(value, deviation.powi(2) / 10.0)
    }

    #[test]
    fn the_number_agrees_with_the_textbook() {
        // ((1.96 + 0.84) · deviation / margin)², a little more for the quantile of t.
        // The expected numbers come from eight rounds with scipy.stats.t.ppf.
        for (value, deviation, expected) in [
            // Equal: the margin is the whole threshold.
            (0.0, 0.6, 1_189),
            // Half the threshold above: half the margin.
            (1.05_f64.ln() / 2.0, 0.1, 134),
            // Beyond the threshold: the margin is the rest.
            (0.3 + 1.05_f64.ln(), 0.6, 36),
        ] {
            assert_eq!(needed(value, deviation, 0.0), Some(expected), "{value} {deviation}");
        }
        assert_eq!(needed(1.05_f64.ln(), 0.1, 0.0), None, "no number is enough at the threshold");
    }

    #[test]
    fn the_quantile_is_student_s() {
        for rate in [0.05, 0.02 / 102.0] {
            for freedom in [5.0, 20.0, 100.0, 5e4] {
                let found = Quantile::new(rate).at(freedom);
                let exact = t_quantile(rate, freedom);
                assert!((found / exact - 1.0).abs() < 4e-3, "{rate} {freedom}: {found} {exact}");
            }
        }
    }

    #[test]
    fn a_fixed_variance_is_not_settled_by_repetitions() {
        let between = 2.0 * 1.15_f64.ln().powi(2);
        assert_eq!(needed(0.0, 0.1, between), None);
        assert_eq!(unsettled(0.0, 0.1, between).settled(), None);
        assert_eq!(needed(0.0, 10.0, 0.0), None);
        // 99,999.5 and 100,019.5 repetitions.
        assert_eq!(needed(0.0, 5.507_103_9, 0.0), Some(MOST));
        assert_eq!(needed(0.0, 5.507_654_6, 0.0), None);
        assert!(needed(2.0, 0.6, between).is_some());
    }

    #[test]
    fn the_range_holds_the_number_and_is_open_at_the_threshold() {
        // scipy.stats.chi2.isf: 16.919 and 3.325 with nine degrees of freedom.
        assert!((chi_squared_quantile(0.05, 9.0) / 16.919 - 1.0).abs() < 0.01);
        assert!((chi_squared_quantile(0.95, 9.0) / 3.325 - 1.0).abs() < 0.01);
        assert!((chi_squared_quantile(0.5, 9.0) / 8.343 - 1.0).abs() < 0.01);
        let far = unsettled(0.6, 0.6, 0.0).settled().unwrap();
        let number = needed(0.6, 0.6, 0.0).unwrap();
        assert!(far.from <= number.max(11) && far.to.unwrap() > number, "{far:?} {number}");
        let near = unsettled(0.06, 0.6, 0.0).settled().unwrap();
        assert_eq!((near.from > 10, near.to), (true, None));
        // At least one more is returned: the present number did not settle the comparison.
        assert_eq!(unsettled(0.0, 0.001, 0.0).settled(), Some(Settled { from: 11, to: Some(11) }));
    }
}
