//! Intervals and limits by order statistics. They assume no distribution: each rests on the number
//! of independent values that lie below a quantile, which is binomial.
//!
//! The values must be independent; [`drift_p`] tests repetitions for dependence. `cargo run
//! --release --example trust` shows how often the statements hold where values depend on each
//! other.

use serde::{Deserialize, Serialize};

use super::{
    beta::incomplete_beta,
    resample::{Interval, ranks},
};

/// The fewest repetitions that give an interval. The range of four contains the median in 87.5 % of
/// cases, and no distribution-free interval is wider than the range.
pub const FEWEST: usize = 5;

/// The confidence of all limits, and of all intervals from six repetitions on. Five repetitions
/// give 93.75 %.
const CONFIDENCE: f64 = 0.95;

/// The p-value of [`drift_p`] up to which no interval is given.
const DRIFT: f64 = 0.05;

/// The p-value of [`drift_p`] up to which a mean allows for the dependence of its values. Chosen by
/// simulation: a greater one costs independent values more power than dependent ones gain truth.
const DEPENDENT: f64 = 0.1;

/// The largest correlation between neighbours that is allowed for.
const MOST_ALIKE: f64 = 0.9;

/// The p-value of [`drift_p`] up to which the interval is the whole range. Chosen by simulation:
/// with a correlation of 0.4 between neighbours, eight repetitions or more keep 93 %.
const DOUBT: f64 = 0.3;

/// The source of the interval of a median over repetitions, or the reason why there is none.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum Basis {
    /// Order statistics of the repetitions' medians.
    #[serde(rename = "repetitions")]
    Repetitions,
    /// The range of the repetitions' medians, as their order is in doubt: neighbours are rather
    /// alike.
    #[serde(rename = "range")]
    Range,
    /// All repetitions of a deterministic target have the same median: both ends are it.
    #[serde(rename = "exact")]
    Exact,
    /// The repetitions of a deterministic target start from chosen states and differ: they are all
    /// that there are, and no sample of others, so there is no interval.
    #[serde(rename = "start states")]
    States,
    /// There are fewer than [`FEWEST`] repetitions: no interval.
    #[default]
    #[serde(rename = "too few repetitions")]
    TooFew,
    /// The medians drift from repetition to repetition: no interval.
    #[serde(rename = "drift")]
    Drift,
}

/// Upper limits of percentiles with 95 % confidence, in the summary's unit. `None`: the count
/// allows no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UpperLimits {
    /// The values whose order statistics the limits are.
    pub over: Over,
    /// The limit of p99.
    pub p99: Option<f64>,
    /// The limit of p99.9.
    pub p999: Option<f64>,
    /// The limit of p99.99.
    pub p9999: Option<f64>,
}

/// The values whose order statistics are limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// All samples, which must be independent: a limit of the percentile.
    Samples,
    /// The repetitions' percentiles: a limit of their median. Only repetitions must be independent.
    Repetitions,
}

impl UpperLimits {
    /// Returns the limits over repetitions, given the percentiles of each in the order in which
    /// they ran. A percentile that some repetition lacks, or that drifts, has no limit. `None` if
    /// no percentile has one.
    pub fn over_repetitions(percentiles: &[[Option<f64>; 3]]) -> Option<Self> {
        let limit = |place: usize| {
            let values: Option<Vec<f64>> = percentiles.iter().map(|each| each[place]).collect();
            median_limit(&values?)
        };
        Self { over: Over::Repetitions, p99: limit(0), p999: limit(1), p9999: limit(2) }.if_any()
    }

    /// `None` if no percentile has a limit.
    pub(super) fn if_any(self) -> Option<Self> {
        self.p99.or(self.p999).or(self.p9999).map(|_| self)
    }
}

/// Returns the interval of the median of repetitions and its basis. `values` has one value for each
/// repetition, in the order in which they ran.
///
/// The interval runs from the k-th smallest value to the k-th largest, for the largest k with a
/// coverage of at least 95 %; with five repetitions it is their range, 93.75 %. The interval covers
/// the median of the distribution of repetitions, for any distribution: samples in a repetition may
/// depend on each other, repetitions may not. Equal values make the coverage higher.
///
/// Where [`drift_p`] finds neighbours alike, the interval is the range, or withheld.
pub fn median_interval(values: &[f64]) -> (Option<Interval>, Basis) {
    if values.len() < FEWEST {
        return (None, Basis::TooFew);
    }
    match drift_p(values) {
        p if p <= DRIFT => (None, Basis::Drift),
        p if p <= DOUBT => (between(values, 1), Basis::Range),
        _ => (order_interval(values), Basis::Repetitions),
    }
}

/// Returns the interval of [`median_interval`] without the test for drift. `None` with fewer than
/// [`FEWEST`] values.
pub fn order_interval(values: &[f64]) -> Option<Interval> {
    let count = values.len();
    if count < FEWEST {
        return None;
    }
    // The largest cut that leaves at most 2.5 % on each side: one more would leave more.
    let outside = |rank: u64| below(rank, 0.5, count as u64);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let cut = first(1, count as u64 / 2, |rank| outside(rank + 1) > tail).unwrap_or(1);
    between(values, cut as usize)
}

/// The interval from the `cut`-th smallest value to the `cut`-th largest.
fn between(values: &[f64], cut: usize) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let low = *sorted.get(cut.checked_sub(1)?)?;
    let high = *sorted.get(sorted.len().checked_sub(cut)?)?;
    Some(Interval { low, high })
}

/// Returns the rank of the sample that is an upper limit of the quantile `q` with 95 % confidence:
/// the smallest rank r, counted from 1, so that r − 1 or fewer of `count` independent samples lie
/// below the quantile in at least 95 % of cases. `None` if even the largest sample is no such limit
/// (below 299 samples for p99, 2,995 for p99.9, 29,956 for p99.99), or `q` is not between 0 and 1.
pub fn limit_rank(q: f64, count: u64) -> Option<u64> {
    let is_inside = q > 0.0 && q < 1.0;
    first(1, count, |rank| below(rank, q, count) >= CONFIDENCE).filter(|_| is_inside)
}

/// Returns the upper limit, with 95 % confidence, of the median of independent repetitions: one of
/// their values. `None` with fewer than [`FEWEST`] values, and where they [drift](drift_p).
pub fn median_limit(values: &[f64]) -> Option<f64> {
    let rank = limit_rank(0.5, values.len() as u64)?;
    if drift_p(values) <= DRIFT {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(rank as usize - 1).copied()
}

/// The probability that fewer than `rank` of `count` independent values lie below the quantile `q`.
fn below(rank: u64, q: f64, count: u64) -> f64 {
    if rank > count {
        return 1.0;
    }
    incomplete_beta((count - rank + 1) as f64, rank as f64, 1.0 - q, q)
}

/// The first number from `low` to `high` for which `is_reached` holds, which must hold for all
/// numbers after it; `None` if there is none.
fn first(low: u64, high: u64, is_reached: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut from, mut to) = (low, high.saturating_add(1));
    while from < to {
        let middle = from + (to - from) / 2;
        if is_reached(middle) { to = middle } else { from = middle + 1 }
    }
    (from <= high).then_some(from)
}

/// Returns the factor by which the variance of a mean is greater than for independent values, from
/// 1 on, where [`drift_p`] finds neighbours alike: (1 + r) / (1 − r) for the correlation r of the
/// neighbours' ranks, which is corrected for its bias in few values. 1 where it finds no dependence.
///
/// The test has little power with few values. `is_repeated` says that the values are looked at again
/// and again, as more come: the factor is then never left out, and its correlation is an upper
/// bound.
pub fn dependence(values: &[f64], is_repeated: bool) -> f64 {
    let count = values.len() as f64;
    if values.len() < FEWEST || !is_repeated && drift_p(values) > DEPENDENT {
        return 1.0;
    }
    let ranks = ranks(values);
    let mean = (count + 1.0) / 2.0;
    let spread: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    let both: f64 = ranks.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    if spread == 0.0 {
        return 1.0;
    }
    // The expected correlation of n values in random order is about −1 / n, and of dependent ones
    // r − (1 + 4 r) / n.
    let corrected = (count * both / spread + 1.0) / (count - 4.0).max(2.0);
    let bound = if is_repeated { count.sqrt().recip() } else { 0.0 };
    let alike = (corrected + bound).clamp(0.0, MOST_ALIKE);
    (1.0 + alike) / (1.0 - alike)
}

/// Returns the one-sided p-value of the hypothesis that the order of the values is random, against
/// neighbours that are alike: Bartels' rank version of von Neumann's ratio (1982). Equal values
/// share the mean of their ranks. Up to eight values all orders are counted, which is exact; for
/// more, the ratio is taken as a beta variable, as Bartels proposes for ten and more. 1 with fewer
/// than four values, or when all are equal.
pub fn drift_p(values: &[f64]) -> f64 {
    const COUNTED: usize = 8;
    let mut ranks = ranks(values);
    let count = ranks.len() as f64;
    let mean = (count + 1.0) / 2.0;
    let spread: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    if ranks.len() < 4 || spread == 0.0 {
        return 1.0;
    }
    let seen = neighbours(&ranks);
    if ranks.len() <= COUNTED {
        let (mut alike, mut all) = (0_u32, 0_u32);
        each_order(&mut ranks, 0, &mut |order| {
            // Mid-ranks are multiples of a half: sums of their squares are exact.
            alike += u32::from(neighbours(order) <= seen);
            all += 1;
        });
        return f64::from(alike) / f64::from(all);
    }
    // The ratio lies in 0…4 and is symmetric about 2; the parameter gives it Bartels' variance.
    let n = count;
    let shape = 5.0 * n * (n + 1.0) * (n - 1.0).powi(2)
        / (2.0 * (n - 2.0) * (5.0 * n * n - 2.0 * n - 9.0))
        - 0.5;
    let share = (seen / spread / 4.0).clamp(0.0, 1.0);
    incomplete_beta(shape, shape, share, 1.0 - share)
}

/// The sum of squared differences between neighbours.
fn neighbours(ranks: &[f64]) -> f64 {
    ranks.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum()
}

/// Calls `visit` with every order of the elements from `fixed` on; equal elements count apart.
fn each_order(ranks: &mut [f64], fixed: usize, visit: &mut impl FnMut(&[f64])) {
    if fixed == ranks.len() {
        return visit(ranks);
    }
    for chosen in fixed..ranks.len() {
        ranks.swap(fixed, chosen);
        each_order(ranks, fixed + 1, visit);
        ranks.swap(fixed, chosen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An order whose p-value is exactly 0.05: six orders of five ranks have neighbours as alike.
    const SIX_IN_120: [f64; 5] = [2.0, 1.0, 3.0, 4.0, 5.0];

    #[test]
    fn a_limit_over_repetitions_needs_each_of_them_and_no_drift() {
        let p99 = [3.0, 7.0, 1.0, 5.0, 2.0, 8.0, 4.0, 6.0];
        let of = |place: usize| [Some(p99[place]), Some(place as f64), None];
        let percentiles: Vec<[Option<f64>; 3]> = (0..8).map(of).collect();
        let limits = UpperLimits::over_repetitions(&percentiles);
        let expected =
            UpperLimits { over: Over::Repetitions, p99: Some(7.0), p999: None, p9999: None };
        assert_eq!(limits, Some(expected));
        let reversed: Vec<_> = percentiles.iter().map(|[p99, _, _]| [None, None, *p99]).collect();
        let limits = UpperLimits::over_repetitions(&reversed).unwrap();
        assert_eq!((limits.p99, limits.p999, limits.p9999), (None, None, Some(7.0)));
        assert_eq!(UpperLimits::over_repetitions(&percentiles[..4]), None);
        assert_eq!(UpperLimits::over_repetitions(&[]), None);
    }

    #[test]
    fn intervals_are_the_narrowest_that_cover() {
        let range = |count: usize| {
            let values: Vec<f64> = (1..=count).map(|value| value as f64).collect();
            order_interval(&values).map(|interval| (interval.low, interval.high))
        };
        // As in the published tables of the sign test's confidence intervals.
        assert_eq!(range(4), None);
        for (count, low) in [(5, 1), (6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (20, 6), (30, 10)] {
            let high = count + 1 - low;
            assert_eq!(range(count), Some((low as f64, high as f64)), "{count}");
        }
        assert_eq!(range(86_400).unwrap().0, 42_912.0);
    }

    #[test]
    fn limits_begin_where_the_count_allows_them() {
        for (q, fewest) in [(0.99, 299), (0.999, 2_995), (0.9999, 29_956)] {
            assert_eq!(limit_rank(q, fewest - 1), None);
            assert_eq!(limit_rank(q, fewest), Some(fewest));
        }
        // As sums of the binomial probabilities in double precision.
        assert_eq!(limit_rank(0.99, 10_000), Some(9_917));
        assert_eq!(limit_rank(0.999, 1_000_000), Some(999_053));
        assert_eq!(
            (limit_rank(0.0, 100), limit_rank(1.0, 100), limit_rank(0.5, 0)),
            (None, None, None)
        );
        assert_eq!(median_limit(&[1.0; 4]), None);
        assert_eq!(median_limit(&[3.0, 1.0, 5.0, 2.0, 4.0]), Some(5.0));
        assert_eq!(median_limit(&[3.0, 7.0, 1.0, 5.0, 2.0, 8.0, 4.0, 6.0]), Some(7.0));
        assert_eq!(median_limit(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), None);
        assert_eq!(median_limit(&SIX_IN_120), None);
    }

    #[test]
    fn drift_is_a_matter_of_order() {
        // Two of the 120 orders of five ranks have neighbours as alike as a rising one.
        assert_eq!(drift_p(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 120.0);
        assert_eq!(drift_p(&[5e6, 4.0, 3.5, 3.0, -2.0]), 2.0 / 120.0);
        assert!(drift_p(&[3.0, 1.0, 5.0, 2.0, 4.0]) > 0.5);
        assert_eq!(drift_p(&SIX_IN_120), 0.05);
        assert_eq!(drift_p(&[1.0, 2.0, 3.0, 4.0]), 2.0 / 24.0);
        // Counted by itertools.permutations: up to eight values.
        assert_eq!(drift_p(&[2.0, 1.0, 4.0, 3.0, 6.0, 5.0, 8.0, 7.0]), 832.0 / 40_320.0);
        // scipy.special.betainc with Bartels' parameter: from nine on.
        for (values, p) in [
            (&[2.0, 1.0, 9.0, 3.0, 5.0, 4.0, 6.0, 8.0, 7.0][..], 0.449_158_694_224_676_9),
            (
                &[5.0, 3.0, 8.0, 1.0, 9.0, 2.0, 7.0, 4.0, 6.0, 10.0, 12.0, 11.0],
                0.329_136_585_462_275_26,
            ),
        ] {
            assert!((drift_p(values) / p - 1.0).abs() < 1e-9, "{}", drift_p(values));
        }
        assert_eq!(drift_p(&[1.0, 2.0, 3.0]), 1.0);
        assert_eq!(drift_p(&[7.0; 30]), 1.0);
        // Eight by counting, and nine as a beta variable: the two methods meet.
        let step = |count: usize| -> Vec<f64> {
            (0..count).map(|index| f64::from(u8::from(index > count / 2))).collect()
        };
        assert!(drift_p(&step(8)) < 0.05 && drift_p(&step(9)) < 0.05);
        let rising: Vec<f64> = (0..1_000).map(f64::from).collect();
        assert!(drift_p(&rising) < 1e-9);
    }

    #[test]
    fn dependent_values_make_a_mean_less_certain() {
        let mixed = [3.0, 1.0, 6.0, 2.0, 5.0, 4.0];
        assert_eq!(dependence(&mixed, false), 1.0);
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        assert!((dependence(&rising, false) - 19.0).abs() < 1e-9, "the largest is allowed for");
        // Sums of 20 ranks by hand: r = 0.6, corrected 13 / 16.
        let blocks: Vec<f64> = (0..20).map(|place| f64::from(place / 5 % 2)).collect();
        let both = (19.0 - 2.0 * 3.0) / 20.0;
        let alike = (20.0 * both + 1.0) / 16.0;
        let expected = (1.0 + alike) / (1.0 - alike);
        assert!((dependence(&blocks, false) - expected).abs() < 1e-9);
        // Values that are looked at again carry the upper bound.
        assert!(dependence(&blocks, true) > dependence(&blocks, false));
        assert_eq!(dependence(&[7.0; 30], true), 1.0);
        assert_eq!(dependence(&rising[..4], false), 1.0);
    }

    #[test]
    fn a_median_that_drifts_has_no_interval() {
        let rising = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(median_interval(&rising), (None, Basis::Drift));
        assert_eq!(median_interval(&rising[..4]), (None, Basis::TooFew));
        let mixed = [3.0, 1.0, 6.0, 2.0, 5.0, 4.0];
        let interval = Interval { low: 1.0, high: 6.0 };
        assert_eq!(median_interval(&mixed), (Some(interval), Basis::Repetitions));
        let five = median_interval(&[3.0, 1.0, 5.0, 2.0, 4.0]);
        assert_eq!(five, (Some(Interval { low: 1.0, high: 5.0 }), Basis::Repetitions));
        assert_eq!(median_interval(&SIX_IN_120), (None, Basis::Drift));
        let steps = [2.0, 1.0, 4.0, 3.0, 5.0, 9.0, 6.0, 8.0, 10.0, 7.0];
        assert_eq!(median_interval(&steps).1, Basis::Drift);
        let doubtful = [2.0, 1.0, 9.0, 3.0, 5.0, 4.0, 6.0, 8.0, 10.0, 7.0];
        let range = Interval { low: 1.0, high: 10.0 };
        assert_eq!(median_interval(&doubtful), (Some(range), Basis::Range));
        assert_eq!(median_interval(&[f64::NAN, 1.0]), (None, Basis::TooFew));
    }
}
