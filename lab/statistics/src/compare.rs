//! Is B slower than A?
//!
//! The unit of evidence is a *repetition* (one fresh start of a case, reduced to its p50), never a
//! sample: samples of one repetition share its memory layout, its neighbours' load and its luck, so
//! a million of them can agree and still be wrong.
//!
//! A case is a **regression** only when three things hold together: its p-value is below 0.05 after
//! Holm's correction over all cases (Holm 1979), so that a family of cases raises a false alarm at
//! most once in 40; the whole bootstrap interval of the ratio lies above 1; and the ratio exceeds
//! 1 + max(threshold, noise floor), so that a difference is large enough to matter and larger than
//! what this machine shows between equals. An **improvement** is the mirror image. A ratio beyond
//! 1 + threshold that lacks any of the others is **inconclusive**: the threshold could not be
//! decided. All else passes.
//!
//! How much that needs: in a simulated study of 20 cases, 2 % noise and one slowdown of 10 %, five
//! repetitions a side find it in 95 % of runs (71 % in pairs), ten in 100 % (97 %); with 5 % noise, ten find it
//! in 46 % (28 %), twenty in 98 % (92 %). Where a neighbour slows 7 % of the repetitions by up to a half, ten
//! find it in 96 % (92 %); without trimming (see [`significance`](super::significance)) in less than half. Equals raised an
//! alarm in at most 2.7 % of studies.
//!
//! # Drift
//!
//! Machines drift: clock speed, heat and neighbours change all figures together, by a fifth within
//! minutes on a shared host. When A and B alternate (A B B A A B …), set `interleaved`: repetition i
//! of A and of B then form a pair, and the ratio (the median of the pairs' ratios), its interval, its
//! noise floor and its test (paired t) see only what happens *within* a pair. Drift that is slow
//! against a pair cancels, in size and in variance. It does not protect from drift inside a pair
//! (if A always goes first, a steady drift favours one side: alternate the order), nor
//! from a cause that is bound to a side, such as its binary's layout. If all of A ran before all of
//! B, nothing in the figures can tell drift from regression; only a measured A/A run, given
//! as `a_again`, shows its size.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::resample::{Interval, bootstrap_median, bootstrap_ratio, median};
use super::significance::{holm, paired_t, welch_t};

/// The fewest repetitions of a side from which a clock that is not exact allows a verdict.
pub const FEWEST_REPETITIONS: usize = 3;

/// The level of significance after Holm's correction.
pub const ALPHA: f64 = 0.05;

/// One case measured on both sides: the p50 of each repetition, in any one unit, above zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Case<'a> {
    pub a: &'a [f64],
    pub b: &'a [f64],
    /// Repetitions of A once more, measured as B was: the A/A run. Interleaved too, and as many, they
    /// are compared pair by pair.
    pub a_again: Option<&'a [f64]>,
    /// The sides took turns, so that repetition i of A and of B are neighbours in time. Takes effect
    /// when both sides have the same number.
    pub interleaved: bool,
    /// The clock is deterministic (instructions, cycles of a model): medians are compared as
    /// numbers, one repetition is enough, zero is allowed.
    pub exact: bool,
    /// The clock's effective step, in the unit of the repetitions; 0 where it is negligible. A
    /// difference of one step is noise.
    pub step: f64,
}

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The smallest growth that matters: 0.05 is 5 %.
    pub threshold: f64,
    /// The number of bootstrap resamples.
    pub resamples: usize,
    /// The seed of the resampling.
    pub seed: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { threshold: 0.05, resamples: 2_000, seed: 1 }
    }
}

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Pass,
    Regression,
    Improvement,
    Inconclusive(Reason),
}

/// Why a case is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Fewer than [`FEWEST_REPETITIONS`] on a side (fewer than one with an exact clock).
    TooFewRepetitions { a: usize, b: usize },
    /// A repetition is not a number above zero.
    NotPositive,
    /// The ratio is beyond the threshold but within what equals show here.
    WithinNoise,
    /// The ratio is beyond the threshold, but the repetitions scatter too much to be sure.
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

/// The test behind a p-value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Medians compared as numbers.
    Exact,
    /// Welch's t on logarithms, trimmed from ten repetitions on.
    Welch,
    /// Paired t on logarithms, trimmed from ten repetitions on.
    Paired,
}

/// A case's figures and its verdict. What could not be computed is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// How B compares to A: the ratio of the medians, or the median of the pairs' ratios.
    pub ratio: Option<f64>,
    /// The ratio's 95 % bootstrap interval.
    pub interval: Option<Interval>,
    pub test: Test,
    /// The two-sided p-value of this case alone.
    pub p: Option<f64>,
    /// The p-value after Holm's correction over all cases.
    pub p_holm: Option<f64>,
    /// The ratio less 1 that equals show here: 0.02 is 2 %.
    pub noise_floor: Option<f64>,
    pub verdict: Verdict,
}

/// Compares all cases of a study together: Holm's correction needs to know how many there are.
/// Cases without a p-value (exact, or unusable) do not count for it. One result for each case, in
/// order; a case's figures but for `p_holm` do not depend on its neighbours.
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

/// All figures of a case but the corrected p-value, and the verdict where it needs none.
fn measure(case: &Case, rules: &Rules) -> Comparison {
    let (a, b) = (median(case.a), median(case.b));
    let paired = case.interleaved && case.a.len() == case.b.len();
    let fewest = if case.exact { 1 } else { FEWEST_REPETITIONS };
    // Far from the ends of the number range, so that no ratio overflows.
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
        // The question is whether B is slower: an unproved improvement is a pass.
        Verdict::Pass
    } else if ratio <= needed {
        Verdict::Inconclusive(Reason::WithinNoise)
    } else {
        Verdict::Inconclusive(Reason::NotSignificant)
    }
}

/// |ln| of the ratio of the medians of the odd and the even repetitions: what equals show. Halves
/// scatter more than the whole, which errs on the safe side.
fn halves_differ_by(reps: &[f64]) -> f64 {
    let half = |first: usize| -> Vec<f64> { reps.iter().skip(first).step_by(2).copied().collect() };
    match (median(&half(0)), median(&half(1))) {
        (Some(odd), Some(even)) => (odd / even).ln().abs(),
        _ => 0.0,
    }
}
