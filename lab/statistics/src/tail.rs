//! Statistics of rare events: upper bounds of the true rate of deadline misses, the number of
//! samples that a claim needs, and the chance of a new maximum. The module knows only numbers.

use serde::{Deserialize, Serialize};

use super::{
    beta::{incomplete_beta, inverse_incomplete_beta},
    bursts::Bursts,
};

/// The confidence of every bound in this module.
pub const CONFIDENCE: f64 = 0.95;

/// Deadline misses among samples and an upper bound of the true miss rate. Rates are fractions from
/// 0 to 1.
///
/// The bound holds only for independent misses. Where misses come in bursts, its coverage is far
/// below 95 %: [`MissRate::unless_in_bursts`] withholds it there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MissRate {
    /// The number of deadline misses.
    pub misses: u64,
    /// The number of samples, misses included.
    pub samples: u64,
    /// The observed rate; `None` without samples.
    pub rate: Option<f64>,
    /// The one-sided 95 % upper bound of the true rate (Clopper and Pearson 1934, exact). With zero
    /// misses it is 1 − 0.05^(1/n), and without samples it is 1. `None` if it is withheld.
    pub upper: Option<f64>,
    /// With zero misses, the rule of three: min(3/n, 1), an approximation slightly above `upper`;
    /// otherwise, or if the bound is withheld, `None`.
    pub rule_of_three: Option<f64>,
}

impl MissRate {
    /// Computes the rate and its bound, for independent misses. More misses than samples count as
    /// `samples` misses.
    pub fn new(misses: u64, samples: u64) -> Self {
        let misses = misses.min(samples);
        let n = samples as f64;
        let upper = if misses == samples {
            1.0
        } else if misses == 0 {
            -((1.0 - CONFIDENCE).ln() / n).exp_m1()
        } else {
            inverse_incomplete_beta(misses as f64 + 1.0, (samples - misses) as f64, CONFIDENCE)
        };
        Self {
            misses,
            samples,
            rate: (samples > 0).then(|| misses as f64 / n),
            upper: Some(upper),
            rule_of_three: (misses == 0 && samples > 0).then(|| (3.0 / n).min(1.0)),
        }
    }

    /// Withholds the bound where the samples do not allow the assumption of independence.
    pub fn unless_in_bursts(self, bursts: &Bursts) -> Self {
        if bursts.allow_a_bound() { self } else { self.without_bound() }
    }

    /// Returns the counts and the rate without any bound.
    pub fn without_bound(self) -> Self {
        Self { upper: None, rule_of_three: None, ..self }
    }
}

/// Returns the smallest number of samples that, with at most `misses` misses among them, bounds the
/// true miss rate by `rate` with 95 % confidence. As with [`MissRate`], misses must be independent.
/// `None` when `rate` is not between 0 and 1 or the number is above 2^53.
pub fn samples_to_claim(rate: f64, misses: u64) -> Option<u64> {
    const MOST: u64 = 1 << 53;
    if !(rate > 0.0 && rate < 1.0) {
        return None;
    }
    // The chance of more misses than allowed, at a true rate of `rate`.
    let proves = |samples: u64| {
        let more = (misses as f64 + 1.0, (samples - misses) as f64);
        incomplete_beta(more.0, more.1, rate, 1.0 - rate) >= CONFIDENCE
    };
    if misses == 0 {
        let samples = ((1.0 - CONFIDENCE).ln() / (-rate).ln_1p()).ceil();
        return (samples <= MOST as f64).then_some(samples as u64);
    }
    // Samples that are all misses prove nothing. From there the number is doubled until it proves
    // the claim, then bisected.
    let (mut too_few, mut enough) = (misses, misses.saturating_add(1));
    while enough <= MOST && !proves(enough) {
        (too_few, enough) = (enough, enough.saturating_mul(2));
    }
    while enough <= MOST && enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if proves(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    (enough <= MOST).then_some(enough)
}

/// Returns the number of samples that proves as much as `samples` independent ones, where rare
/// samples have this `dispersion` (see [`Bursts::dispersion`]). A dispersion below 1, or NaN,
/// counts as 1.
///
/// The number is rather too large than too small: a burst of k misses adds k² to the variance, as
/// much as k² single misses, and so weighs at least its length.
pub fn samples_in_bursts(samples: u64, dispersion: f64) -> u64 {
    (samples as f64 * dispersion.max(1.0)).ceil() as u64
}

/// Returns the chance that the maximum of `more` further samples exceeds the maximum of the `seen`
/// samples. Each of the n + m samples is the largest with the same chance, so the chance is
/// m / (n + m) for n seen and m more. The only assumption is that the circumstances stay the same.
/// Both arguments are numbers of samples, or both are times. `None` unless both are finite, not
/// negative and not both 0.
pub fn chance_of_new_maximum(seen: f64, more: f64) -> Option<f64> {
    let chance = more / (seen + more);
    (seen >= 0.0 && more >= 0.0 && chance.is_finite()).then_some(chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found:e} is not {expected:e}");
    }

    // Literals from `lab/statistics/tests/scipy_figures.py` (SciPy 1.17.1).

    #[test]
    fn bound_as_scipy() {
        // stats.beta.ppf(0.95, misses + 1, samples - misses)
        for (misses, samples, upper) in [
            (0, 100, 0.029513049607039925),
            (0, 100_000_000, 2.995732228681931e-08),
            (1, 10, 0.39416330243650466),
            (3, 1_000, 0.007735244718479458),
            (50, 100, 0.5863782853690882),
            (7, 1_000_000, 1.3148073384401915e-05),
            (1_234, 100_000_000, 1.2933669010058418e-05),
        ] {
            near(MissRate::new(misses, samples).upper.unwrap(), upper);
        }
    }

    #[test]
    fn samples_to_claim_as_scipy() {
        // The smallest n with stats.binom.cdf(misses, n, rate) <= 0.05.
        assert_eq!(samples_to_claim(0.01, 0), Some(299));
        assert_eq!(samples_to_claim(0.01, 1), Some(473));
        assert_eq!(samples_to_claim(0.001, 3), Some(7_752));
        // 4.74 divided by the rate is above 2^53.
        assert_eq!(samples_to_claim(3e-16, 1), None);
    }

    #[test]
    fn zero_misses() {
        let zero = MissRate::new(0, 1_000);
        let upper = zero.upper.unwrap();
        near(upper, 1.0 - 0.05_f64.powf(1e-3));
        assert_eq!(zero.rule_of_three, Some(0.003));
        assert!(upper < 0.003);
        // The closed form for zero misses must agree with the general formula.
        near(upper, inverse_incomplete_beta(1.0, 1_000.0, CONFIDENCE));
    }

    #[test]
    fn bursts_withhold_the_bound() {
        let bursts = |p| Bursts { tested: 100, dispersion: p, p, episodes: 1, longest: 1 };
        let rate = MissRate::new(3, 1_000);
        assert_eq!(rate.unless_in_bursts(&bursts(Some(0.05))), rate);
        for p in [Some(0.049), None] {
            let withheld = MissRate::new(0, 1_000).unless_in_bursts(&bursts(p));
            assert_eq!((withheld.upper, withheld.rule_of_three), (None, None));
            assert_eq!((withheld.misses, withheld.samples, withheld.rate), (0, 1_000, Some(0.0)));
        }
    }

    #[test]
    fn a_maximum_is_exceeded_by_rank() {
        assert_eq!(chance_of_new_maximum(1e6, 1e6), Some(0.5));
        assert_eq!(chance_of_new_maximum(1e6, 9e6), Some(0.9));
        assert_eq!(chance_of_new_maximum(10.0, 0.0), Some(0.0));
        assert_eq!(chance_of_new_maximum(0.0, 5.0), Some(1.0));
        for (seen, more) in [(0.0, 0.0), (-1.0, 5.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert_eq!(chance_of_new_maximum(seen, more), None);
        }
    }

    #[test]
    fn bursts_need_more_samples() {
        assert_eq!(samples_in_bursts(2_995_731, 1.0), 2_995_731);
        assert_eq!(samples_in_bursts(1_000, 0.7), 1_000);
        assert_eq!(samples_in_bursts(10, 1.25), 13);
        assert_eq!(samples_in_bursts(1_000, 12.5), 12_500);
        assert_eq!(samples_in_bursts(1_000, f64::NAN), 1_000);
    }

    #[test]
    fn samples_to_claim_is_the_inverse_of_the_bound() {
        assert_eq!(samples_to_claim(0.05, 0), Some(59));
        for (rate, misses) in [(0.5, 0), (1e-3, 0), (1e-3, 1), (1e-4, 7), (0.3, 40), (1e-6, 2)] {
            let samples = samples_to_claim(rate, misses).unwrap();
            let upper = |samples| MissRate::new(misses, samples).upper.unwrap();
            assert!(upper(samples) <= rate * (1.0 + 1e-12));
            assert!(upper(samples - 1) > rate);
        }
    }

    #[test]
    fn odd_input() {
        assert_eq!(MissRate::new(3, 12).rate, Some(0.25));
        assert_eq!(MissRate::new(0, 7).rate, Some(0.0));
        assert_eq!(MissRate::new(3, 12).rule_of_three, None);
        assert_eq!(MissRate::new(0, 2).rule_of_three, Some(1.0));
        let none = MissRate::new(0, 0);
        assert_eq!((none.rate, none.upper, none.rule_of_three), (None, Some(1.0), None));
        assert_eq!(MissRate::new(9, 4), MissRate::new(4, 4));
        assert_eq!(MissRate::new(4, 4).upper, Some(1.0));
        let huge = MissRate::new(3, u64::MAX).upper.unwrap();
        assert!(huge > 0.0 && huge < 1e-18);
        for rate in [0.0, -1.0, 1.0, f64::NAN, 1e-300] {
            assert_eq!(samples_to_claim(rate, 0), None);
            assert_eq!(samples_to_claim(rate, 2), None);
        }
        assert_eq!(samples_to_claim(0.5, u64::MAX), None);
    }
}
