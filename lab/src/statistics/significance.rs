//! The t-tests and Holm's correction.

use super::beta::t_two_sided;

/// A t-test's result. `t` is positive when b is greater; it is infinite when the values of a side
/// do not scatter at all and yet differ from the other's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    pub t: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Two-sided.
    pub p: f64,
}

impl TTest {
    fn new(difference: f64, error: f64, freedom: f64) -> Option<Self> {
        let t = if difference == 0.0 { 0.0 } else { difference / error };
        let p = t_two_sided(t, freedom);
        (!p.is_nan()).then_some(Self { t, freedom, p })
    }
}

/// Welch's t-test (1947) that the means of `a` and `b` are equal, whatever their variances. `None`
/// with fewer than two values on a side or values that are not finite.
pub fn welch_t(a: &[f64], b: &[f64]) -> Option<TTest> {
    let (mean_a, variance_a) = mean_and_variance(a)?;
    let (mean_b, variance_b) = mean_and_variance(b)?;
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let (ea, eb) = (variance_a / na, variance_b / nb);
    let freedom = (ea + eb).powi(2) / (ea * ea / (na - 1.0) + eb * eb / (nb - 1.0));
    // Without any scatter the formula says 0/0; the value then does not matter.
    let freedom = if freedom.is_nan() { na + nb - 2.0 } else { freedom };
    TTest::new(mean_b - mean_a, (ea + eb).sqrt(), freedom)
}

/// The paired t-test (Student 1908) that the mean of the differences b − a is zero. `None` with fewer than two
/// pairs, sides of different length or values that are not finite.
pub fn paired_t(a: &[f64], b: &[f64]) -> Option<TTest> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = b.iter().zip(a).map(|(b, a)| b - a).collect();
    let (mean, variance) = mean_and_variance(&differences)?;
    let n = differences.len() as f64;
    TTest::new(mean, (variance / n).sqrt(), n - 1.0)
}

fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (variance.is_finite() && values.len() > 1).then_some((mean, variance))
}

/// Holm's step-down correction (1979): p-values, in the order given, that stay below α together
/// with a chance of at most α when all cases are equal.
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

    // Literals from `lab/tests/scipy_figures.py` (SciPy 1.17.1).

    const A: [f64; 7] = [100.0, 103.5, 98.2, 101.1, 99.7, 104.4, 97.9];
    const B: [f64; 7] = [109.3, 111.0, 106.8, 112.7, 108.1, 113.9, 107.2];
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
