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
//! [`super::decide`] has the rules. A **regression** is a difference that exceeds the threshold: the
//! whole interval, corrected for the family, is above it. A **pass** requires that the whole
//! interval is within the threshold. Everything between is **open**: a regression is neither shown
//! nor excluded, although B may be shown to be slower.
//!
//! # Error rates
//!
//! All statistics of all cases of a comparison are one family. Holm's correction keeps the chance
//! of *any* false regression in it at 2 % (see [`alpha`]), also where every case is slower by
//! exactly the threshold. Regressions and improvements are two families, each with half of the
//! error rate. The chance of any
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
//! variance. Where the order of the pairs' ratios shows that neighbours are alike, the interval is
//! wider ([`dependence`]). If all of A ran before all of B, the figures cannot distinguish drift from a
//! regression: [`Case::between`] adds the variance between runs to the interval.

use serde::{Deserialize, Serialize};

use super::{
    between::Between,
    decide::{Evidence, FEWEST_REPETITIONS, Reason, Verdict},
    needed::{Settled, Unsettled},
    order::dependence,
    resample::{Interval, median},
    sequential,
    significance::{Difference, Quantiles, holm, holm_rates, trimmed_mean},
};

/// The two-sided error rate of a family after Holm's correction, by the number of its tests: half
/// of it is for false regressions. The p-value of a trimmed mean is too small: by a factor of 1.3
/// at 0.02 and of 2 at 0.0006, with ten to thirty normal repetitions. These rates correct the
/// excess: a family raises a false regression in 2 % of comparisons, by simulation.
pub fn alpha(family: usize) -> f64 {
    if family <= ONE_CASE { 0.03 } else { 0.02 }
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
    /// The share by which exact figures differ where nothing changed, because the sides do not start
    /// from one state: 0.01 is 1 %. 0 if they do.
    pub apart: f64,
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
    /// The factor by which the interval is wider because neighbouring pairs are alike; `None` without
    /// pairs, or where they are not.
    pub widened: Option<f64>,
    /// The 95 % interval of the ratio, for this statistic alone.
    pub interval: Option<Interval>,
    /// The interval of the ratio after Holm's correction over the family, which decides on a
    /// regression and on an improvement.
    pub corrected: Option<Interval>,
    /// The procedure that gave the p-value.
    pub test: Test,
    /// The two-sided p-value of equality, for this statistic alone.
    pub p: Option<f64>,
    /// The p-value of equality after Holm's correction over the family. No verdict depends on it.
    pub p_holm: Option<f64>,
    /// One step of the clock as a share of the smaller side: 0.02 is 2 %; `None` with an exact
    /// clock.
    pub noise_floor: Option<f64>,
    /// The growth of B over A that cannot be excluded: 0.12 is 12 %; `None` without an interval.
    pub at_most: Option<f64>,
    /// For an open statistic, the numbers of repetitions of each side that would settle it; `None`
    /// if no number would.
    pub settled_by: Option<Settled>,
    /// The verdict, after Holm's correction.
    pub verdict: Verdict,
}

/// Compares all statistics of all cases of a study together and returns one result for each, in the
/// same order. Holm's correction counts those that have a p-value; exact and unusable ones are left
/// out of that count. Apart from `p_holm`, `settled_by` and the verdict, a result depends on its
/// own repetitions alone.
pub fn compare(cases: &[Case], rules: &Rules) -> Vec<Comparison> {
    let mut quantiles = Quantiles::default();
    let mut measured: Vec<Measured> =
        cases.iter().map(|case| Measured::new(case, rules, &mut quantiles)).collect();
    let judged: Vec<(f64, Difference)> = measured
        .iter()
        .filter_map(|one| Some((one.result.p?, one.estimate.as_ref()?.difference)))
        .collect();
    let alpha = rules.alpha(judged.len());
    let threshold = rules.threshold.ln_1p();
    let rates = |side: fn(Difference) -> Difference| {
        let ps = judged.iter().map(|(_, one)| side(*one).test_above(threshold).unwrap_or(2.0));
        holm_rates(&ps.collect::<Vec<f64>>(), alpha)
    };
    let slower = rates(|difference| difference);
    let faster = rates(Difference::reversed);
    let corrected = holm(&judged.iter().map(|(p, _)| *p).collect::<Vec<f64>>());
    let of_family = corrected.into_iter().zip(slower.into_iter().zip(faster));
    let all = measured.iter_mut().filter(|one| one.result.p.is_some() && one.estimate.is_some());
    for (one, (p_holm, (slower, faster))) in all.zip(of_family) {
        one.result.p_holm = Some(p_holm);
        one.decide(rules, [slower, faster], &mut quantiles);
    }
    measured.into_iter().map(|one| one.result).collect()
}

/// A result whose verdict may still depend on the family.
struct Measured {
    result: Comparison,
    /// `None` where nothing was estimated: an exact clock, or figures that are not usable.
    estimate: Option<Estimate>,
}

/// The difference of logarithms on which the intervals of a result rest.
struct Estimate {
    /// The difference with the variance between runs.
    difference: Difference,
    /// The difference by the repetitions alone.
    within: Difference,
    /// The repetitions of the side that has fewer.
    repetitions: usize,
    /// The variance between runs, which further repetitions do not reduce.
    fixed: f64,
}

impl Measured {
    /// Computes the figures of a statistic except the corrected p-value, and the verdict where it
    /// depends on no p-value.
    fn new(case: &Case, rules: &Rules, quantiles: &mut Quantiles) -> Self {
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
                widened: None,
                interval: None,
                corrected: None,
                test,
                p: None,
                p_holm: None,
                noise_floor: None,
                at_most: None,
                settled_by: None,
                verdict: Verdict::Open,
            },
            estimate: None,
        };
        match unusable(case) {
            Some(reason) => measured.result.verdict = Verdict::Inconclusive(reason),
            None if case.exact => measured.count(case.apart),
            None => measured.estimate(case, rules, quantiles),
        }
        measured
    }

    /// Compares the medians of an exact clock, of which those within the share `apart` are equal.
    fn count(&mut self, apart: f64) {
        let Comparison { a: Some(a), b: Some(b), .. } = self.result else { return };
        self.result.ratio = Some(b / a).filter(|ratio| ratio.is_finite());
        self.result.verdict = match b.total_cmp(&a) {
            _ if (b - a).abs() <= apart * a.abs() => Verdict::Pass,
            std::cmp::Ordering::Less => Verdict::Improvement,
            std::cmp::Ordering::Equal => Verdict::Pass,
            std::cmp::Ordering::Greater => Verdict::Regression,
        };
    }

    fn estimate(&mut self, case: &Case, rules: &Rules, quantiles: &mut Quantiles) {
        let (a, b) = (logarithms(case.a), logarithms(case.b));
        let found = match case.interleaved {
            true => Difference::paired(&a, &b),
            false => Difference::independent(&a, &b),
        };
        let Some(mut within) = found else { return };
        let result = &mut self.result;
        if case.interleaved {
            let ratios: Vec<f64> = b.iter().zip(&a).map(|(b, a)| b - a).collect();
            let factor = dependence(&ratios, rules.look.is_some());
            within.variance *= factor;
            result.widened = (factor > 1.0).then(|| factor.sqrt());
        }
        result.ratio = Some(within.value.exp());
        let smaller = result.a.zip(result.b).map_or(f64::INFINITY, |(a, b)| a.min(b));
        result.noise_floor = Some(case.step / smaller);
        // Runs whose scatter is unknown leave every ratio open.
        if case.between.is_some_and(|between| !between.allows_verdict()) {
            return;
        }
        let difference = case.between.map_or(within, |between| between.widen(within));
        result.interval = Some(ratios(quantiles.interval(&difference, rules.interval_rate())));
        result.p = difference.test().map(|test| test.p);
        self.estimate = Some(Estimate {
            difference,
            within,
            repetitions: case.a.len().min(case.b.len()),
            fixed: case.between.map_or(0.0, |between| between.variance()),
        });
    }

    /// Decides by the corrected interval. `rates` are the error rates at which Holm's correction
    /// tests a regression and an improvement.
    fn decide(&mut self, rules: &Rules, rates: [f64; 2], quantiles: &mut Quantiles) {
        let result = &mut self.result;
        let (Some(ratio), Some(interval), Some(estimate)) =
            (result.ratio, result.interval, &self.estimate)
        else {
            return;
        };
        let [slower, faster] =
            rates.map(|rate| ratios(quantiles.interval(&estimate.difference, rate)));
        let corrected = Interval { low: slower.low, high: faster.high };
        let step = result.noise_floor.unwrap_or_default();
        let evidence = Evidence { ratio, interval, corrected, step };
        result.corrected = Some(corrected);
        result.at_most = Some(evidence.upper() - 1.0).filter(|share| share.is_finite());
        result.verdict = evidence.decide(rules.threshold);
        if result.verdict == Verdict::Open {
            let unsettled = Unsettled {
                difference: estimate.within,
                repetitions: estimate.repetitions,
                fixed: estimate.fixed,
                threshold: rules.threshold.ln_1p(),
                interval_rate: rules.interval_rate(),
                test_rate: rates[0],
            };
            result.settled_by = unsettled.settled();
        }
    }
}

/// The interval of a ratio from the interval of its logarithm.
fn ratios((low, high): (f64, f64)) -> Interval {
    Interval { low: low.exp(), high: high.exp() }
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
