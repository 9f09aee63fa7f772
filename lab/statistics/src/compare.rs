//! Compares side B of each case with side A, by the repetitions of both, one statistic at a time.
//! This module knows only numbers: how a repetition was run, stored or named, and which statistic a
//! number is, is the caller's matter.
//!
//! The unit of evidence is a *repetition*: one fresh start of a case, reduced to one number: its
//! p50, its p99. A sample is no such unit, because all samples of one repetition share its memory
//! layout and its neighbours' load; a million of them can agree and still be wrong.
//!
//! Estimate, interval and test measure the same quantity: the difference of the means of the
//! logarithms, from ten repetitions on of the trimmed means (see [`super::significance`]).
//! The ratio is its exponential, the interval comes from its standard error, and the p-value too.
//!
//! [`super::decide`] has the rules. A **regression** is a difference that is significant
//! and exceeds the threshold; a **pass** requires that the whole interval is within the threshold;
//! everything between is **open**: no regression is shown, and none excluded.
//!
//! # Error rates
//!
//! All statistics of all cases of a comparison are one family. Holm's correction keeps the chance
//! of *any* false regression in it at 2 % (see [`alpha`]). The chance of any
//! false alarm is controlled, not the share of false ones among the alarms (the false discovery
//! rate), because a single false alarm stops a release, and because the usual change concerns a
//! case or two, for which a false discovery rate finds no more. An interval covers its statistic
//! alone, at 95 %: a false pass is a matter of one statistic.
//!
//! The crate `chronoscope-trust` computes power and false alarms on simulated and recorded data.
//!
//! # Drift
//!
//! Clock speed, heat and neighbours change all figures of a machine together, by a fifth within
//! minutes on a shared host. When A and B alternate (A B B A A B …), set `interleaved`: repetition
//! i of A and repetition i of B then form a pair, and the ratio depends only on differences
//! *within* pairs. Drift that is slow against the duration of a pair cancels, in size and in
//! variance. If all of A ran before all of B, the figures cannot distinguish drift from a
//! regression: [`Case::between`] adds the variance between runs to the interval.

use serde::{Deserialize, Serialize};

use super::{
    between::Between,
    decide::{Evidence, FEWEST_REPETITIONS, Reason, Verdict},
    needed::Unsettled,
    resample::{Interval, median},
    sequential,
    significance::{Difference, holm, trimmed_mean},
};

/// The two-sided error rate of a family after Holm's correction, by the number of its tests: half
/// of it is for false regressions. The p-value of a trimmed mean is too small: by a factor of 1.3
/// at 0.02 and of 2 at 0.0006, with ten to thirty normal repetitions. These rates correct the
/// excess: a family raises a false regression in 2 % of comparisons, by simulation.
pub fn alpha(family: usize) -> f64 {
    if family <= ONE_CASE { 0.035 } else { 0.02 }
}

/// The most tests of a family that is one series.
const ONE_CASE: usize = 3;

/// The two-sided error rate of an interval.
pub const INTERVAL: f64 = 0.05;

/// A statistic of a case on both sides: its value in each repetition, all in the same unit and
/// above zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Case<'a> {
    /// The repetitions of side A, in the order in which they ran.
    pub a: &'a [f64],
    /// The repetitions of side B, in the order in which they ran.
    pub b: &'a [f64],
    /// `true` if the sides took turns, so that repetition i of A and of B are neighbours in time.
    /// Both sides then need the same number of repetitions.
    pub interleaved: bool,
    /// `true` if the clock is deterministic (instructions, cycles of a model). Medians are then
    /// compared as numbers, without threshold or test; a single repetition suffices and zero is
    /// allowed.
    pub exact: bool,
    /// The clock's effective step, in the unit of the repetitions; 0 if negligible. A difference of
    /// one step counts as noise.
    pub step: f64,
    /// The variance between runs, if the sides are different runs.
    pub between: Option<Between>,
}

/// The parameters of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The smallest relative growth that matters: 0.05 is 5 %.
    pub threshold: f64,
    /// The number of this look, from 1, if the comparison may go on after it (see
    /// [`super::sequential`]); `None` if it is the only one.
    pub look: Option<usize>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { threshold: 0.05, look: None }
    }
}

impl Rules {
    fn alpha(&self, family: usize) -> f64 {
        alpha(family) * sequential::share(self.look)
    }

    fn interval_rate(&self) -> f64 {
        INTERVAL * sequential::share(self.look)
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

/// The figures of a statistic and its verdict. A figure that could not be computed is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The typical repetition of A: the geometric mean, from ten repetitions on without a fifth at
    /// each end; with an exact clock the median.
    pub a: Option<f64>,
    /// The typical repetition of B, computed as for A.
    pub b: Option<f64>,
    /// B relative to A: `b / a`, or with pairs the typical ratio of a pair.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio.
    pub interval: Option<Interval>,
    /// The procedure that gave the p-value.
    pub test: Test,
    /// The two-sided p-value of this statistic alone.
    pub p: Option<f64>,
    /// The p-value after Holm's correction over the family.
    pub p_holm: Option<f64>,
    /// One step of the clock as a share of the smaller side: 0.02 is 2 %; `None` with an exact
    /// clock.
    pub noise_floor: Option<f64>,
    /// The growth of B over A that cannot be excluded: 0.12 is 12 %; `None` without an interval.
    pub at_most: Option<f64>,
    /// For an open statistic, the number of repetitions of each side that would settle it with a
    /// chance of 80 %; `None` if no number would.
    pub settled_by: Option<usize>,
    /// The verdict, after Holm's correction.
    pub verdict: Verdict,
}

/// Compares all statistics of all cases of a study together and returns one result for each, in the
/// same order. Holm's correction counts those that have a p-value; exact and unusable ones are left
/// out of that count. Apart from `p_holm`, `settled_by` and the verdict, a result depends on its
/// own repetitions alone.
pub fn compare(cases: &[Case], rules: &Rules) -> Vec<Comparison> {
    let mut measured: Vec<Measured> = cases.iter().map(|case| Measured::new(case, rules)).collect();
    let ps: Vec<f64> = measured.iter().filter_map(|one| one.result.p).collect();
    let mut corrected = holm(&ps).into_iter();
    let alpha = rules.alpha(ps.len());
    let test_rate = alpha / ps.len().max(1) as f64;
    for one in measured.iter_mut().filter(|one| one.result.p.is_some()) {
        one.result.p_holm = corrected.next();
        one.decide(rules, alpha, test_rate);
    }
    measured.into_iter().map(|one| one.result).collect()
}

/// A result whose verdict may still depend on the family, with the figures that determine
/// `settled_by`.
struct Measured {
    result: Comparison,
    /// The difference of logarithms by the repetitions alone, their number, and the variance
    /// between runs.
    difference: Option<(Difference, usize, f64)>,
}

impl Measured {
    /// Computes the figures of a statistic except the corrected p-value, and the verdict where it
    /// depends on no p-value.
    fn new(case: &Case, rules: &Rules) -> Self {
        let test = match (case.exact, case.interleaved) {
            (true, _) => Test::Exact,
            (false, true) => Test::Paired,
            (false, false) => Test::Welch,
        };
        let mut measured = Self {
            result: Comparison {
                a: typical(case.a, case.exact),
                b: typical(case.b, case.exact),
                ratio: None,
                interval: None,
                test,
                p: None,
                p_holm: None,
                noise_floor: None,
                at_most: None,
                settled_by: None,
                verdict: Verdict::Open,
            },
            difference: None,
        };
        match unusable(case) {
            Some(reason) => measured.result.verdict = Verdict::Inconclusive(reason),
            None if case.exact => measured.count(),
            None => measured.estimate(case, rules),
        }
        measured
    }

    /// Compares the medians of an exact clock.
    fn count(&mut self) {
        let Comparison { a: Some(a), b: Some(b), .. } = self.result else { return };
        self.result.ratio = Some(b / a).filter(|ratio| ratio.is_finite());
        self.result.verdict = match b.total_cmp(&a) {
            std::cmp::Ordering::Less => Verdict::Improvement,
            std::cmp::Ordering::Equal => Verdict::Pass,
            std::cmp::Ordering::Greater => Verdict::Regression,
        };
    }

    fn estimate(&mut self, case: &Case, rules: &Rules) {
        let (a, b) = (logarithms(case.a), logarithms(case.b));
        let found = match case.interleaved {
            true => Difference::paired(&a, &b),
            false => Difference::independent(&a, &b),
        };
        let Some(within) = found else { return };
        let difference = case.between.map_or(within, |between| between.widen(within));
        let (low, high) = difference.interval(rules.interval_rate());
        let result = &mut self.result;
        result.ratio = Some(within.value.exp());
        result.interval = Some(Interval { low: low.exp(), high: high.exp() });
        result.p = difference.test().map(|test| test.p);
        let smaller = result.a.zip(result.b).map_or(f64::INFINITY, |(a, b)| a.min(b));
        result.noise_floor = Some(case.step / smaller);
        self.difference = Some((
            within,
            case.a.len().min(case.b.len()),
            case.between.map_or(0.0, |between| between.variance()),
        ));
    }

    /// Decides by the corrected p-value. `alpha` is the error rate of the family,
    /// `test_rate` the error rate of a single test in it.
    fn decide(&mut self, rules: &Rules, alpha: f64, test_rate: f64) {
        let result = &mut self.result;
        let (Some(ratio), Some(interval), Some(p)) = (result.ratio, result.interval, result.p_holm)
        else {
            return;
        };
        let evidence =
            Evidence { ratio, interval, p, step: result.noise_floor.unwrap_or_default() };
        result.at_most = Some(evidence.upper() - 1.0).filter(|share| share.is_finite());
        result.verdict = evidence.decide(rules.threshold, alpha);
        let (Verdict::Open, Some((difference, repetitions, fixed))) =
            (result.verdict, self.difference)
        else {
            return;
        };
        let unsettled = Unsettled {
            difference,
            repetitions,
            fixed,
            threshold: rules.threshold.ln_1p(),
            interval_rate: rules.interval_rate(),
            test_rate,
        };
        result.settled_by = unsettled.repetitions();
    }
}

/// Returns why a statistic cannot be compared.
fn unusable(case: &Case) -> Option<Reason> {
    let (a, b) = (case.a.len(), case.b.len());
    let fewest = if case.exact { 1 } else { FEWEST_REPETITIONS };
    // Keeps far from the ends of f64's range, so that no ratio overflows.
    let usable = |value: &f64| (1e-100..1e100).contains(value) || (case.exact && *value == 0.0);
    if a.min(b) < fewest {
        Some(Reason::TooFewRepetitions { a, b })
    } else if !case.a.iter().chain(case.b).all(usable) {
        Some(Reason::NotPositive)
    } else if case.interleaved && !case.exact && a != b {
        Some(Reason::Unpaired { a, b })
    } else {
        None
    }
}

fn logarithms(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

/// The typical repetition of a side: the geometric mean, from ten repetitions on without a fifth at
/// each end. The median of an exact clock, and where there is no mean of logarithms. `None` without
/// repetitions, or if the figure is not a finite number.
pub fn typical(values: &[f64], exact: bool) -> Option<f64> {
    let mean = if exact { None } else { trimmed_mean(&logarithms(values)).map(f64::exp) };
    mean.or_else(|| median(values)).filter(|value| value.is_finite())
}
