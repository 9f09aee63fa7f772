//! Decides whether side B of a case is slower than side A, from the repetitions of both. This
//! module knows only numbers: how a repetition was run, stored or named is the caller's matter.
//!
//! The unit of evidence is a *repetition*: one fresh start of a case, reduced to its p50. A sample
//! is no such unit, because all samples of one repetition share its memory layout and its
//! neighbours' load; a million of them can agree and still be wrong.
//!
//! A case is a **regression** only when three conditions hold together:
//!
//! - Its p-value is below 0.05 after Holm's correction over all cases (Holm 1979). Where the test's
//!   assumptions hold, a family of equal cases then raises a false alarm at most once in 40.
//! - The whole bootstrap interval of the ratio lies above 1.
//! - The ratio exceeds 1 + max(threshold, noise floor): the difference is large enough to matter,
//!   and larger than the measured difference between equals.
//!
//! An **improvement** is the mirror image. A ratio beyond 1 + threshold that misses another
//! condition is **inconclusive**. Every other case passes; a pass means that no relevant slowdown
//! was found, not that equality was shown.
//!
//! Repetitions needed, from a simulated study of 20 cases with one slowdown of 10 %: with 2 %
//! noise, five repetitions a side find it in 95 % of studies (71 % in pairs), ten in 100 % (97 %).
//! With 5 % noise, ten find it in 46 % (28 %), twenty in 98 % (92 %). Where a neighbour slows 7 %
//! of the repetitions by up to a half, ten find it in 96 % (92 %), and without trimming (see
//! [`significance`](super::significance)) in less than half. Equal sides raised an alarm in at most
//! 2.7 % of studies.
//!
//! # Drift
//!
//! Clock speed, heat and neighbours change all figures of a machine together, by a fifth within
//! minutes on a shared host. When A and B alternate (A B B A A B …), set `interleaved`: repetition
//! i of A and repetition i of B then form a pair. The ratio (the median of the pairs' ratios), its
//! interval, its noise floor and its test (paired t) then depend only on differences *within*
//! pairs. Drift that is slow against the duration of a pair cancels, in size and in variance.
//!
//! Pairing does not remove drift within a pair: if A always goes first, a steady drift favours one
//! side, so alternate the order. Nor does it remove a cause that is bound to a side, such as its
//! binary's layout. If all of A ran before all of B, the figures cannot distinguish drift from a
//! regression; only a measured A/A run, given as `a_again`, shows the size of the drift.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::resample::{Interval, bootstrap_median, bootstrap_ratio, median};
use super::significance::{holm, paired_t, welch_t};

/// The fewest repetitions a side that allow a verdict, unless the clock is exact.
pub const FEWEST_REPETITIONS: usize = 3;

/// The level of significance after Holm's correction.
pub const ALPHA: f64 = 0.05;

/// A case measured on both sides: the p50 of each repetition, all in the same unit and above zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Case<'a> {
    pub a: &'a [f64],
    pub b: &'a [f64],
    /// A second set of repetitions of A, measured in the place of B: the A/A run. They are compared
    /// pair by pair if the case is interleaved and their number equals that of `a`.
    pub a_again: Option<&'a [f64]>,
    /// `true` if the sides took turns, so that repetition i of A and of B are neighbours in time.
    /// Ignored unless both sides have the same number of repetitions.
    pub interleaved: bool,
    /// `true` if the clock is deterministic (instructions, cycles of a model). Medians are then
    /// compared as numbers, without threshold or test; a single repetition suffices and zero is
    /// allowed.
    pub exact: bool,
    /// The clock's effective step, in the unit of the repetitions; 0 if negligible. A difference of
    /// one step counts as noise.
    pub step: f64,
}

/// The parameters of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The smallest relative growth that matters: 0.05 is 5 %.
    pub threshold: f64,
    /// The number of bootstrap resamples for each case; 0 makes every case without an exact clock
    /// inconclusive.
    pub resamples: usize,
    /// The seed of the resampling; the same seed and input give the same result.
    pub seed: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { threshold: 0.05, resamples: 2_000, seed: 1 }
    }
}

/// The verdict on a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Pass,
    Regression,
    Improvement,
    Inconclusive(Reason),
}

/// The reason why a case is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A side has fewer than [`FEWEST_REPETITIONS`] repetitions (with an exact clock: none).
    TooFewRepetitions { a: usize, b: usize },
    /// A repetition is not a number from 1e-100 to 1e100; with an exact clock, zero is allowed too.
    NotPositive,
    /// The ratio exceeds 1 + threshold, but not 1 + the noise floor.
    WithinNoise,
    /// The ratio exceeds 1 + threshold, but the p-value or the interval does not exclude equality.
    NotSignificant,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewRepetitions { a, b } => {
                write!(f, "too few repetitions ({a} and {b}): take {FEWEST_REPETITIONS} or more")
            }
            Self::NotPositive => f.write_str("a repetition is not above zero: time longer batches"),
            Self::WithinNoise => f.write_str(
                "slower than the threshold, but within the noise of equals: quiet the machine or time longer batches",
            ),
            Self::NotSignificant => {
                f.write_str("slower than the threshold, but not significant: take more repetitions")
            }
        }
    }
}

/// The procedure that compared the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Medians compared as numbers, without a p-value.
    Exact,
    /// Welch's t-test on logarithms, trimmed from ten repetitions on.
    Welch,
    /// The paired t-test on logarithms, trimmed from ten pairs on.
    Paired,
}

/// The figures of a case and its verdict. A figure that could not be computed is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// B relative to A: the ratio of the medians, or with pairs the median of the pairs' ratios.
    pub ratio: Option<f64>,
    /// The bootstrap interval of the ratio, nominally 95 % (see [`Interval`]).
    pub interval: Option<Interval>,
    pub test: Test,
    /// The two-sided p-value of this case alone.
    pub p: Option<f64>,
    /// The p-value after Holm's correction over all cases.
    pub p_holm: Option<f64>,
    /// The relative difference observed between equals: 0.02 is 2 %. The greatest of the difference
    /// of odd and even repetitions, of the A/A run and of one clock step; `None` with an exact
    /// clock.
    pub noise_floor: Option<f64>,
    pub verdict: Verdict,
}

/// Compares all cases of a study together and returns one result for each case, in the same order.
/// Holm's correction counts the cases that have a p-value; exact and unusable cases are left out of
/// that count. Apart from `p_holm` and the verdict, a result depends on its own case alone.
///
/// The cost is `resamples` sorts of the repetitions for each case.
pub fn compare(cases: &[Case], rules: &Rules) -> Vec<Comparison> {
    let mut results: Vec<Comparison> = cases.iter().map(|case| measure(case, rules)).collect();
    let ps: Vec<f64> = results.iter().filter_map(|result| result.p).collect();
    let mut corrected = holm(&ps).into_iter();
    for result in results.iter_mut().filter(|result| result.p.is_some()) {
        result.p_holm = corrected.next();
        result.verdict = decide(result, rules.threshold);
    }
    results
}

/// Computes the figures of a case except the corrected p-value, and the verdict where it depends on
/// no p-value.
fn measure(case: &Case, rules: &Rules) -> Comparison {
    let (a, b) = (median(case.a), median(case.b));
    let paired = case.interleaved && case.a.len() == case.b.len();
    let fewest = if case.exact { 1 } else { FEWEST_REPETITIONS };
    // Keeps far from the ends of f64's range, so that no ratio overflows.
    let usable = |value: &f64| (1e-100..1e100).contains(value) || (case.exact && *value == 0.0);
    let mut result = Comparison {
        a: a.filter(|value| value.is_finite()),
        b: b.filter(|value| value.is_finite()),
        ratio: None,
        interval: None,
        test: if paired { Test::Paired } else { Test::Welch },
        p: None,
        p_holm: None,
        noise_floor: None,
        verdict: Verdict::Inconclusive(Reason::NotSignificant),
    };
    if case.exact {
        result.test = Test::Exact;
    }
    let (Some(a), Some(b)) = (a, b) else {
        result.verdict = too_few(case);
        return result;
    };
    if case.a.len().min(case.b.len()) < fewest {
        result.verdict = too_few(case);
    } else if !case.a.iter().chain(case.b).chain(case.a_again.unwrap_or(&[])).all(usable) {
        result.verdict = Verdict::Inconclusive(Reason::NotPositive);
    } else if case.exact {
        result.ratio = Some(b / a).filter(|ratio| ratio.is_finite());
        result.verdict = match b.total_cmp(&a) {
            std::cmp::Ordering::Less => Verdict::Improvement,
            std::cmp::Ordering::Equal => Verdict::Pass,
            std::cmp::Ordering::Greater => Verdict::Regression,
        };
    } else {
        let logs = |side: &[f64]| side.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        let by_pairs = |side: &[f64]| -> Vec<f64> {
            side.iter().zip(case.a).map(|(side, a)| side / a).collect()
        };
        let floors = if paired {
            let ratios = by_pairs(case.b);
            result.ratio = median(&ratios);
            result.interval = bootstrap_median(&ratios, rules.seed, rules.resamples);
            result.p = paired_t(&logs(case.a), &logs(case.b)).map(|test| test.p);
            [halves_differ_by(&ratios), 0.0]
        } else {
            result.ratio = Some(b / a);
            result.interval = bootstrap_ratio(case.a, case.b, rules.seed, rules.resamples);
            result.p = welch_t(&logs(case.a), &logs(case.b)).map(|test| test.p);
            [halves_differ_by(case.a), halves_differ_by(case.b)]
        };
        let again = case.a_again.and_then(|again| {
            let in_pairs = paired && again.len() == case.a.len();
            if in_pairs { median(&by_pairs(again)) } else { Some(median(again)? / a) }
        });
        let again = again.map_or(0.0, |ratio| ratio.ln().abs());
        let step = (case.step / a.min(b)).ln_1p();
        let floor = floors.into_iter().chain([again, step]).fold(0.0, f64::max);
        result.noise_floor = Some(floor.exp_m1());
    }
    result
}

fn too_few(case: &Case) -> Verdict {
    Verdict::Inconclusive(Reason::TooFewRepetitions { a: case.a.len(), b: case.b.len() })
}

fn decide(result: &Comparison, threshold: f64) -> Verdict {
    let (Some(ratio), Some(interval), Some(p)) = (result.ratio, result.interval, result.p_holm)
    else {
        return Verdict::Inconclusive(Reason::NotSignificant);
    };
    let needed = 1.0 + threshold.max(result.noise_floor.unwrap_or(0.0));
    let significant = p < ALPHA;
    if significant && interval.low > 1.0 && ratio > needed {
        Verdict::Regression
    } else if significant && interval.high < 1.0 && ratio < 1.0 / needed {
        Verdict::Improvement
    } else if ratio <= 1.0 + threshold {
        // The question is whether B is slower: an improvement that is not significant passes.
        Verdict::Pass
    } else if ratio <= needed {
        Verdict::Inconclusive(Reason::WithinNoise)
    } else {
        Verdict::Inconclusive(Reason::NotSignificant)
    }
}

/// |ln| of the ratio between the medians of the odd and of the even repetitions: the difference
/// that equals show. Half as many repetitions scatter more than all of them, so the estimate errs
/// upwards.
fn halves_differ_by(reps: &[f64]) -> f64 {
    let half = |first: usize| -> Vec<f64> { reps.iter().skip(first).step_by(2).copied().collect() };
    match (median(&half(0)), median(&half(1))) {
        (Some(odd), Some(even)) => (odd / even).ln().abs(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on a ratio, the interval around it, and its corrected p-value, with a threshold
    /// of 1/16 and this noise floor. All are exact in binary.
    fn verdict(ratio: f64, low: f64, high: f64, p: f64, floor: f64) -> Verdict {
        let result = Comparison {
            a: None,
            b: None,
            ratio: Some(ratio),
            interval: Some(Interval { low, high }),
            test: Test::Welch,
            p: Some(p),
            p_holm: Some(p),
            noise_floor: Some(floor),
            verdict: Verdict::Pass,
        };
        decide(&result, 0.0625)
    }

    #[test]
    fn each_condition_has_its_bound() {
        use Verdict::{Improvement, Inconclusive, Pass, Regression};
        let (noise, significance) =
            (Inconclusive(Reason::WithinNoise), Inconclusive(Reason::NotSignificant));
        for (ratio, low, high, p, floor, expected) in [
            (1.25, 1.125, 1.5, 0.01, 0.0, Regression),
            // The threshold alone is not exceeded.
            (1.0625, 1.03125, 1.5, 0.01, 0.0, Pass),
            (1.0, 0.5, 1.5, 0.9, 0.0, Pass),
            // One of the three conditions is missed, on its bound and beyond.
            (1.25, 1.125, 1.5, ALPHA, 0.0, significance),
            (1.25, 1.125, 1.5, 0.9, 0.0, significance),
            (1.25, 1.0, 1.5, 0.01, 0.0, significance),
            (1.25, 0.5, 1.5, 0.01, 0.0, significance),
            (1.25, 1.125, 1.5, 0.01, 0.25, noise),
            (1.25, 1.125, 1.5, 0.01, 0.5, noise),
            (1.25, 1.125, 1.5, 0.9, 0.5, noise),
            (1.0625, 1.03125, 1.5, 0.01, 0.5, Pass),
            // The mirror image: 1/1.0625 is about 0.94, and 1/1.25 is 0.8.
            (0.75, 0.5, 0.875, 0.01, 0.0, Improvement),
            (0.75, 0.5, 0.875, 0.01, 0.25, Improvement),
            (0.8, 0.5, 0.875, 0.01, 0.25, Pass),
            (0.9375, 0.5, 0.96875, 0.01, 0.0, Improvement),
            (0.95, 0.5, 0.96875, 0.01, 0.0, Pass),
            (0.75, 0.5, 1.0, 0.01, 0.0, Pass),
            (0.75, 0.5, 1.5, 0.01, 0.0, Pass),
            (0.75, 0.5, 0.875, ALPHA, 0.0, Pass),
            (0.75, 0.5, 0.875, 0.9, 0.0, Pass),
        ] {
            let found = verdict(ratio, low, high, p, floor);
            assert_eq!(found, expected, "{ratio} in {low}..{high}, p {p}, floor {floor}");
        }
    }
}
