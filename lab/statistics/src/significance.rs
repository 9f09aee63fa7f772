//! The t-tests for two sides of repetitions and Holm's correction for a family of cases. The caller
//! chooses the scale of the values (this lab passes logarithms) and draws the conclusion.
//!
//! From ten values on, a fifth of them is trimmed at each end (Yuen 1974). On a shared machine a
//! neighbour disturbs one pair in twenty, and one such value widens the standard error of a plain
//! mean until nothing is significant. With fewer values, trimming would cost more power than it
//! saves.

use super::beta::t_two_sided;

/// The result of a t-test. `t` is positive when b is greater. `t` is infinite when the values do
/// not scatter at all and yet the sides differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    pub t: f64,
    /// The degrees of freedom.
    pub freedom: f64,
    /// The two-sided p-value, from 0 to 1.
    pub p: f64,
}

impl TTest {
    fn new(difference: f64, error: f64, freedom: f64) -> Option<Self> {
        let t = if difference == 0.0 { 0.0 } else { difference / error };
        let p = t_two_sided(t, freedom);
        (!p.is_nan()).then_some(Self { t, freedom, p })
    }
}

/// Welch's t-test (1947) of the hypothesis that the (trimmed) means of `a` and `b` are equal; the
/// variances may differ. `None` with fewer than two values on a side or values that are not finite.
///
/// The p-value assumes independent values whose trimmed means are about normal.
pub fn welch_t(a: &[f64], b: &[f64]) -> Option<TTest> {
    let (a, b) = (Mean::of(a)?, Mean::of(b)?);
    let both = a.variance + b.variance;
    let freedom = both.powi(2) / (a.variance.powi(2) / a.freedom + b.variance.powi(2) / b.freedom);
    // Without any scatter the formula gives 0/0; the p-value is then 0 or 1 for any freedom.
    let freedom = if freedom.is_nan() { a.freedom + b.freedom } else { freedom };
    TTest::new(b.mean - a.mean, both.sqrt(), freedom)
}

/// The paired t-test (Student 1908) of the hypothesis that the (trimmed) mean of the differences b
/// − a is zero. `None` with fewer than two pairs, sides of different length or values that are not
/// finite.
///
/// The p-value assumes independent pairs and a trimmed mean that is about normal.
pub fn paired_t(a: &[f64], b: &[f64]) -> Option<TTest> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = b.iter().zip(a).map(|(b, a)| b - a).collect();
    let mean = Mean::of(&differences)?;
    TTest::new(mean.mean, mean.variance.sqrt(), mean.freedom)
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
    fn of(values: &[f64]) -> Option<Self> {
        let trimmed = if values.len() < 10 { 0 } else { values.len() / 5 };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, theirs: f64) {
        assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours:e} is not {theirs:e}");
    }

    // Literals from `lab/statistics/tests/scipy_figures.py` (SciPy 1.17.1).

    const A: [f64; 7] = [100.0, 103.5, 98.2, 101.1, 99.7, 104.4, 97.9];
    const B: [f64; 7] = [109.3, 111.0, 106.8, 112.7, 108.1, 113.9, 107.2];
    const D: [f64; 11] = [100.0, 103.5, 98.2, 101.1, 99.7, 104.4, 97.9, 161.3, 99.1, 100.8, 102.6];
    const E: [f64; 11] =
        [109.3, 111.0, 106.8, 112.7, 108.1, 113.9, 107.2, 110.4, 108.8, 188.1, 109.9];
    const C: [f64; 5] = [131.0, 95.5, 120.2, 99.1, 150.7];

    fn check(ours: Option<TTest>, t: f64, freedom: f64, p: f64) {
        let ours = ours.unwrap();
        near(ours.t, t);
        near(ours.freedom, freedom);
        near(ours.p, p);
    }

    fn logs(values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| value.ln()).collect()
    }

    #[test]
    fn welch_as_scipy() {
        // stats.ttest_ind(np.log(B), np.log(A), equal_var=False), and so for C.
        let (t, p) = (6.570855910322333, 2.6501485588502482e-05);
        check(welch_t(&logs(&A), &logs(&B)), t, 11.997668280444044, p);
        let (t, p) = (1.804660680353117, 0.14378138564165804);
        check(welch_t(&logs(&A), &logs(&C)), t, 4.095101749148925, p);
        check(welch_t(&logs(&C), &logs(&A)), -t, 4.095101749148925, p);
    }

    #[test]
    fn paired_as_scipy() {
        // stats.ttest_rel(np.log(B), np.log(A)); stats.ttest_rel(np.log(A[:5]), np.log(C)).
        let (t, p) = (19.704082386883545, 1.1078476573984803e-06);
        check(paired_t(&logs(&A), &logs(&B)), t, 6.0, p);
        let (t, p) = (-1.7121495697754614, 0.16203235318936146);
        check(paired_t(&logs(&C), &logs(&A[..5])), t, 4.0, p);
    }

    #[test]
    fn trimmed_as_scipy() {
        // stats.ttest_ind(np.log(E), np.log(D), equal_var=False, trim=0.2), and yuen_paired(D, E).
        check(
            welch_t(&logs(&D), &logs(&E)),
            7.0159184839765905,
            11.931708032673292,
            1.4461141356239123e-05,
        );
        check(paired_t(&logs(&D), &logs(&E)), 17.926780026635964, 6.0, 1.937300805801027e-06);
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
        let ours = holm(&[0.01, 0.04, 0.03, 0.005, 0.9, 0.03]);
        for (ours, by_hand) in ours.iter().zip([0.05, 0.12, 0.12, 0.03, 0.9, 0.12]) {
            near(*ours, by_hand);
        }
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
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
