//! The difference between two sides of repetitions, with its standard error: t-tests and intervals
//! that agree with each other, and Holm's correction for a family of tests. The caller chooses the
//! scale of the values (this lab passes logarithms) and draws the conclusion.
//!
//! From ten values on, a fifth of them is trimmed at each end (Yuen 1974). On a shared machine a
//! neighbour disturbs one pair in twenty, and one such value widens the standard error of a plain
//! mean until nothing is significant. With fewer values, trimming would cost more power than it
//! saves.

use std::collections::BTreeMap;

use super::beta::{t_quantile, t_two_sided};

/// The most degrees of freedom that are computed with; Student's t is normal there.
const MOST_FREEDOM: f64 = 1e6;

/// The fewest values that are trimmed.
const TRIMMED_FROM: usize = 10;

/// The result of a t-test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    /// Student's t: positive if b is greater; infinite if the sides differ without any scatter.
    pub t: f64,
    /// The degrees of freedom.
    pub freedom: f64,
    /// The two-sided p-value, from 0 to 1.
    pub p: f64,
}

/// The (trimmed) mean of b less the (trimmed) mean of a. Test and interval come from the same
/// standard error, so an interval of error rate α excludes 0 exactly when p < α.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference, in the unit of the values.
    pub value: f64,
    /// The square of the standard error.
    pub variance: f64,
    /// The degrees of freedom of `variance`; at least 1.
    pub freedom: f64,
}

impl Difference {
    /// Returns the difference of two independent sides, whose variances may differ (Welch 1947).
    /// `None` with fewer than two values on a side or values that are not finite.
    pub fn independent(a: &[f64], b: &[f64]) -> Option<Self> {
        let (a, b) = (Mean::trimmed(a)?, Mean::trimmed(b)?);
        let sum = Self { value: b.mean - a.mean, variance: a.variance, freedom: a.freedom };
        Some(sum.with(b.variance, b.freedom))
    }

    /// Returns the (trimmed) mean of the differences b − a within pairs (Student 1908). `None` with
    /// fewer than two pairs, sides of different length or values that are not finite.
    pub fn paired(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.len() != b.len() {
            return None;
        }
        let differences: Vec<f64> = b.iter().zip(a).map(|(b, a)| b - a).collect();
        let Mean { mean, variance, freedom } = Mean::trimmed(&differences)?;
        Some(Self { value: mean, variance, freedom })
    }

    /// Adds the variance of an independent error with `freedom` degrees of freedom (Satterthwaite
    /// 1946). A known variance has `f64::INFINITY` of them.
    pub fn with(self, variance: f64, freedom: f64) -> Self {
        let both = self.variance + variance;
        let joint =
            both.powi(2) / (self.variance.powi(2) / self.freedom + variance.powi(2) / freedom);
        // Without any variance the formula gives 0/0; every freedom then leads to the same result.
        let joint = if joint.is_nan() { self.freedom + freedom } else { joint };
        Self { variance: both, freedom: joint.min(MOST_FREEDOM), ..self }
    }

    /// Returns the t-test of the hypothesis that the difference is zero. `None` if a figure is not
    /// a number.
    ///
    /// The p-value assumes independent values (or pairs) whose trimmed means are about normal.
    pub fn test(&self) -> Option<TTest> {
        let t = if self.value == 0.0 { 0.0 } else { self.value / self.variance.sqrt() };
        let p = t_two_sided(t, self.freedom);
        (!p.is_nan()).then_some(TTest { t, freedom: self.freedom, p })
    }

    /// Returns the p-value of the hypothesis that the difference is at most `margin`, doubled: it is
    /// below an error rate α exactly when the lower end of the [interval](Self::interval) of α is
    /// above the margin. From 0 to 2; `None` if a figure is not a number.
    pub fn test_above(&self, margin: f64) -> Option<f64> {
        let beyond = self.value - margin;
        let t = if beyond == 0.0 { 0.0 } else { beyond / self.variance.sqrt() };
        let p = t_two_sided(t, self.freedom);
        (!p.is_nan()).then_some(if beyond > 0.0 { p } else { 2.0 - p })
    }

    /// Returns the difference of a less b.
    pub fn reversed(self) -> Self {
        Self { value: -self.value, ..self }
    }

    /// Returns the two-sided interval that misses the true difference with the probability
    /// `error_rate`, from 0 to 1, under the assumptions of [`test`](Self::test).
    pub fn interval(&self, error_rate: f64) -> (f64, f64) {
        self.around(t_quantile(error_rate, self.freedom))
    }

    /// Returns the interval of `quantile` standard errors on each side.
    fn around(&self, quantile: f64) -> (f64, f64) {
        let half = quantile * self.variance.sqrt();
        // No variance leaves a point, also where the quantile is infinite.
        let half = if self.variance == 0.0 { 0.0 } else { half };
        (self.value - half, self.value + half)
    }
}

/// Quantiles of Student's t that were computed before: the statistics of a family share most of
/// them, and one takes as long as sixty p-values.
#[derive(Debug, Default)]
pub(super) struct Quantiles(BTreeMap<[u64; 2], f64>);

impl Quantiles {
    /// Returns [`Difference::interval`].
    pub fn interval(&mut self, difference: &Difference, error_rate: f64) -> (f64, f64) {
        let key = [error_rate, difference.freedom].map(f64::to_bits);
        let quantile =
            self.0.entry(key).or_insert_with(|| t_quantile(error_rate, difference.freedom));
        difference.around(*quantile)
    }
}

/// Returns the (trimmed) mean that a difference of independent sides subtracts: from ten values on,
/// without a fifth at each end. `None` with fewer than two values, or values that are not finite.
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    Mean::trimmed(values).map(|mean| mean.mean)
}

/// A trimmed mean and its precision.
struct Mean {
    mean: f64,
    /// The square of the mean's standard error.
    variance: f64,
    freedom: f64,
}

impl Mean {
    /// Trims a fifth at each end from ten values on. `None` with fewer than two values, or values
    /// that are not finite.
    fn trimmed(values: &[f64]) -> Option<Self> {
        let trimmed = if values.len() < TRIMMED_FROM { 0 } else { values.len() / 5 };
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let kept = sorted.get(trimmed..values.len() - trimmed).filter(|kept| kept.len() > 1)?;
        let (n, h) = (values.len() as f64, kept.len() as f64);
        let mean = kept.iter().sum::<f64>() / h;
        // Winsorized sums: each trimmed value counts as the outermost kept value of its side.
        let (low, high) = (kept[0], kept[kept.len() - 1]);
        let full = |power: i32, from: f64| -> f64 {
            let outer = trimmed as f64 * ((low - from).powi(power) + (high - from).powi(power));
            kept.iter().map(|value| (value - from).powi(power)).sum::<f64>() + outer
        };
        let winsorized = full(1, 0.0) / n;
        let variance = full(2, winsorized) / (h * (h - 1.0));
        (variance.is_finite() && sorted.iter().all(|value| value.is_finite())).then_some(Self {
            mean,
            variance,
            freedom: h - 1.0,
        })
    }
}

/// Holm's step-down correction (1979). Returns a corrected p-value for each of `ps`, in the same
/// order, from 0 to 1. Among all true hypotheses, the chance that any corrected p-value falls below
/// α is at most α, whatever the dependence between the tests.
pub fn holm(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|&i, &j| ps[i].total_cmp(&ps[j]));
    let mut corrected = vec![1.0; ps.len()];
    let mut highest = 0.0_f64;
    for (rank, &i) in order.iter().enumerate() {
        highest = highest.max((ps.len() - rank) as f64 * ps[i]).min(1.0);
        corrected[i] = highest;
    }
    corrected
}

/// Returns for each of `ps` the error rate at which Holm's correction tests it, in the same order:
/// α divided by the number of hypotheses that are not rejected before it. A p-value is below its
/// rate exactly when its corrected p-value is below α. All that are not rejected share one rate,
/// and the chance that any of their intervals misses a true value is at most α.
pub fn holm_rates(ps: &[f64], alpha: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|&i, &j| ps[i].total_cmp(&ps[j]));
    let rate = |rejected: usize| alpha / (ps.len() - rejected) as f64;
    let rejected = order.iter().enumerate().take_while(|(rank, i)| ps[**i] < rate(*rank)).count();
    let mut rates = vec![0.0; ps.len()];
    for (rank, &i) in order.iter().enumerate() {
        rates[i] = rate(rank.min(rejected));
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found:e} is not {expected:e}");
    }

    // Literals from `lab/statistics/tests/scipy_figures.py` (SciPy 1.17.1).

    const A: [f64; 7] = [100.0, 103.5, 98.2, 101.1, 99.7, 104.4, 97.9];
    const B: [f64; 7] = [109.3, 111.0, 106.8, 112.7, 108.1, 113.9, 107.2];
    const D: [f64; 11] = [100.0, 103.5, 98.2, 101.1, 99.7, 104.4, 97.9, 161.3, 99.1, 100.8, 102.6];
    const E: [f64; 11] =
        [109.3, 111.0, 106.8, 112.7, 108.1, 113.9, 107.2, 110.4, 108.8, 188.1, 109.9];
    const C: [f64; 5] = [131.0, 95.5, 120.2, 99.1, 150.7];

    fn check(found: Option<TTest>, t: f64, freedom: f64, p: f64) {
        let found = found.unwrap();
        near(found.t, t);
        near(found.freedom, freedom);
        near(found.p, p);
    }

    fn logs(values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| value.ln()).collect()
    }

    fn welch_t(a: &[f64], b: &[f64]) -> Option<TTest> {
        Difference::independent(a, b)?.test()
    }

    fn paired_t(a: &[f64], b: &[f64]) -> Option<TTest> {
        Difference::paired(a, b)?.test()
    }

    fn welch(a: &[f64], b: &[f64]) -> Option<TTest> {
        welch_t(&logs(a), &logs(b))
    }

    fn paired(a: &[f64], b: &[f64]) -> Option<TTest> {
        paired_t(&logs(a), &logs(b))
    }

    #[test]
    fn welch_as_scipy() {
        // stats.ttest_ind(np.log(B), np.log(A), equal_var=False), and so for C.
        let (t, p) = (6.570855910322333, 2.6501485588502482e-05);
        check(welch(&A, &B), t, 11.997668280444044, p);
        let (t, p) = (1.804660680353117, 0.14378138564165804);
        check(welch(&A, &C), t, 4.095101749148925, p);
        check(welch(&C, &A), -t, 4.095101749148925, p);
    }

    #[test]
    fn paired_as_scipy() {
        // stats.ttest_rel(np.log(B), np.log(A)); stats.ttest_rel(np.log(A[:5]), np.log(C)).
        let (t, p) = (19.704082386883545, 1.1078476573984803e-06);
        check(paired(&A, &B), t, 6.0, p);
        let (t, p) = (-1.7121495697754614, 0.16203235318936146);
        check(paired(&C, &A[..5]), t, 4.0, p);
    }

    #[test]
    fn trimmed_as_scipy() {
        // stats.ttest_ind(np.log(E), np.log(D), equal_var=False, trim=0.2), and yuen_paired(D, E).
        check(welch(&D, &E), 7.0159184839765905, 11.931708032673292, 1.4461141356239123e-05);
        check(paired(&D, &E), 17.926780026635964, 6.0, 1.937300805801027e-06);
    }

    #[test]
    fn an_interval_excludes_zero_exactly_if_its_test_is_significant() {
        for (a, b) in [(&A[..], &B[..]), (&A, &C), (&D, &E)] {
            let difference = Difference::independent(&logs(a), &logs(b)).unwrap();
            let p = difference.test().unwrap().p;
            let at = |rate: f64| difference.interval(rate).0;
            assert!(at(p * 1.0001) > 0.0 && at(p * 0.9999) < 0.0, "{p}");
        }
        // scipy.stats.ttest_ind(np.log(B), np.log(A), equal_var=False).confidence_interval(0.95)
        let (low, high) = Difference::independent(&logs(&A), &logs(&B)).unwrap().interval(0.05);
        near(low, 0.05826469066526711);
        near(high, 0.11607466526859107);
    }

    #[test]
    fn a_further_variance_widens_by_its_own_precision() {
        let narrow = Difference { value: 0.1, variance: 1e-4, freedom: 8.0 };
        let known = narrow.with(3e-4, f64::INFINITY);
        // (1 + 3)² / (1² / 8), and (1 + 3)² / (1² / 8 + 3² / 2).
        assert!((known.variance - 4e-4).abs() < 1e-18 && (known.freedom - 128.0).abs() < 1e-9);
        assert!((narrow.with(3e-4, 2.0).freedom - 16.0 / 4.625).abs() < 1e-9);
        assert_eq!(narrow.with(0.0, f64::INFINITY), narrow);
        let still = Difference { value: 0.1, variance: 0.0, freedom: 4.0 };
        assert_eq!(still.interval(0.05), (0.1, 0.1));
        assert_eq!(still.with(0.0, 3.0).freedom, 7.0);
        assert!(still.with(1e-4, f64::INFINITY).test().unwrap().t > 9.99);
    }

    #[test]
    fn one_wild_value_in_ten_hides_nothing() {
        let equal: Vec<f64> = (0..10).map(|i| 4.0 + 0.01 * f64::from(i % 3)).collect();
        let slower: Vec<f64> = equal.iter().rev().map(|value| value + 0.1).collect();
        let mut wild = equal.clone();
        wild[4] += 0.5;
        assert!(paired_t(&wild, &slower).unwrap().p < 1e-4);
        assert!(paired_t(&wild[..9], &slower[..9]).unwrap().p > 0.05);
    }

    #[test]
    fn holm_by_hand() {
        let found = holm(&[0.01, 0.04, 0.03, 0.005, 0.9, 0.03]);
        for (found, by_hand) in found.iter().zip([0.05, 0.12, 0.12, 0.03, 0.9, 0.12]) {
            near(*found, by_hand);
        }
    }

    #[test]
    fn holm_tests_each_at_its_rate() {
        let ps = [0.01, 0.04, 0.03, 0.005, 0.9, 0.03];
        // 0.06/6, 0.06/5; then 0.03 is above 0.06/4, and the rest shares its rate.
        let rates = holm_rates(&ps, 0.06);
        for (found, by_hand) in rates.iter().zip([0.012, 0.015, 0.015, 0.01, 0.015, 0.015]) {
            near(*found, by_hand);
        }
        for alpha in [0.01, 0.04, 0.06, 0.2] {
            for (corrected, (p, rate)) in
                holm(&ps).iter().zip(ps.iter().zip(holm_rates(&ps, alpha)))
            {
                assert_eq!(*corrected < alpha, *p < rate, "{p} at {alpha}");
            }
        }
        assert_eq!(holm_rates(&[], 0.05), Vec::<f64>::new());
        assert_eq!(holm_rates(&[1e-9, 1e-9], 0.05), [0.025, 0.05]);
    }

    #[test]
    fn an_interval_is_above_a_margin_exactly_if_the_test_is_significant() {
        let difference = Difference::independent(&logs(&A), &logs(&B)).unwrap();
        for margin in [-0.1, 0.0, 0.05, difference.value] {
            let p = difference.test_above(margin).unwrap();
            let low = |rate: f64| difference.interval(rate).0;
            assert!(low((p * 1.0001).min(1.0)) >= margin && low(p * 0.9999) < margin, "{margin}");
        }
        near(difference.test_above(0.0).unwrap(), difference.test().unwrap().p);
        assert!(difference.test_above(0.2).unwrap() > 1.9);
        near(difference.reversed().test_above(0.0).unwrap(), 2.0 - difference.test().unwrap().p);
        let still = Difference { value: 0.1, variance: 0.0, freedom: 4.0 };
        assert_eq!((still.test_above(0.05), still.test_above(0.1)), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn without_scatter() {
        let same = welch_t(&[2.0; 4], &[2.0; 4]).unwrap();
        assert_eq!((same.t, same.p), (0.0, 1.0));
        let differ = welch_t(&[2.0; 4], &[3.0; 4]).unwrap();
        assert_eq!((differ.t, differ.p), (f64::INFINITY, 0.0));
        assert_eq!(paired_t(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]).unwrap().p, 0.0);
        assert_eq!(paired_t(&[1.0, 2.0], &[1.0, 2.0]).unwrap().p, 1.0);
    }

    #[test]
    fn odd_input() {
        assert_eq!(welch_t(&[], &[]), None);
        assert_eq!(welch_t(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(welch_t(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(paired_t(&[1.0, 2.0], &[1.0]), None);
        assert_eq!(paired_t(&[0.0, 0.0], &[f64::INFINITY, 1.0]), None);
        // A value that would be trimmed must be finite, too.
        let mut infinite: Vec<f64> = (0..10).map(f64::from).collect();
        infinite[4] = f64::INFINITY;
        assert_eq!(trimmed_mean(&infinite), None);
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
