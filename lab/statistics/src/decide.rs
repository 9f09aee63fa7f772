//! The rules for verdicts: from the figures of a statistic to its verdict, and from the verdicts on
//! a case's statistics to the verdict on the case. The module computes no figures; they come from
//! [`mod@super::compare`].

use std::fmt;

use serde::{Deserialize, Serialize};

use super::resample::Interval;

/// The fewest repetitions of each side that allow a verdict, unless the clock is exact. With five, the
/// interval covers the true ratio in 95 % of cases on simulated and recorded data, and its half width is
/// 2.8 standard errors; with three it is 4.3 standard errors, and a single disturbed repetition decides.
pub const FEWEST_REPETITIONS: usize = 5;

/// The verdict on a statistic, or on a case, ordered from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B is faster, by more than the threshold.
    Improvement,
    /// B is shown not to be slower by more than the threshold.
    Pass,
    /// No regression is shown, and none excluded.
    Open,
    /// The figures allow no statement, for this reason.
    Inconclusive(Reason),
    /// Statistics of one case differ in sign: some are slower, others faster.
    Mixed,
    /// B is slower, by more than the threshold.
    Regression,
}

/// The reason why a statistic is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A side has fewer than [`FEWEST_REPETITIONS`] repetitions (with an exact clock: none).
    TooFewRepetitions {
        /// The repetitions of A.
        a: usize,
        /// The repetitions of B.
        b: usize,
    },
    /// The sides took turns, but have different numbers of repetitions, which form no pairs.
    Unpaired {
        /// The repetitions of A.
        a: usize,
        /// The repetitions of B.
        b: usize,
    },
    /// A repetition is not a number from 1e-100 to 1e100; with an exact clock, zero is allowed too.
    NotPositive,
    /// B is slower by more than the threshold, but by less than one step of the clock.
    WithinStep,
    /// A regression or a mixed verdict, which other conditions of A and B may explain.
    InDoubt,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewRepetitions { a, b } => {
                write!(f, "too few repetitions ({a} and {b}): take {FEWEST_REPETITIONS} or more")
            }
            Self::Unpaired { a, b } => {
                write!(f, "A and B took turns, but have {a} and {b} repetitions: measure again")
            }
            Self::NotPositive => f.write_str("a repetition is not above zero: time longer batches"),
            Self::WithinStep => f.write_str(
                "slower than the threshold, but by less than one step of the clock: time longer batches",
            ),
            Self::InDoubt => f.write_str("in doubt: the conditions of A and B differ"),
        }
    }
}

/// The figures on which the verdict on a statistic depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// B / A.
    pub ratio: f64,
    /// The interval of the ratio, for this statistic alone.
    pub interval: Interval,
    /// The interval of the ratio after the correction for the family.
    pub corrected: Interval,
    /// The clock's step, as a share of the smaller side.
    pub step: f64,
}

impl Evidence {
    /// The greatest ratio that cannot be excluded: the upper end of the interval, raised by one step of
    /// the clock.
    pub fn upper(&self) -> f64 {
        self.interval.high * (1.0 + self.step)
    }

    /// Decides on a statistic. `threshold` is the smallest relative growth that matters.
    ///
    /// A regression requires that every ratio in the corrected interval exceeds the threshold, so
    /// the word means *slower by more than the threshold*, and that the ratio exceeds one step of the clock.
    /// An improvement is the mirror image. A pass requires that [`upper`](Self::upper) does not exceed the
    /// threshold.
    pub fn decide(&self, threshold: f64) -> Verdict {
        let is_slower = self.corrected.low > 1.0 + threshold;
        let is_faster = self.corrected.high < 1.0 / (1.0 + threshold);
        if is_slower && self.ratio > 1.0 + self.step {
            Verdict::Regression
        } else if is_faster && self.ratio < 1.0 / (1.0 + self.step) {
            Verdict::Improvement
        } else if is_slower {
            Verdict::Inconclusive(Reason::WithinStep)
        } else if self.upper() <= 1.0 + threshold {
            Verdict::Pass
        } else {
            Verdict::Open
        }
    }
}

impl Verdict {
    /// Returns the verdict for conditions of A and B that differ in a way that may explain any
    /// difference: a regression is in doubt, and an improvement or a pass shows nothing.
    pub fn doubted(self) -> Self {
        match self {
            Self::Regression | Self::Mixed => Self::Inconclusive(Reason::InDoubt),
            Self::Improvement | Self::Pass => Self::Open,
            Self::Open | Self::Inconclusive(_) => self,
        }
    }

    /// Returns the verdict on a case from the verdicts on its statistics: *mixed* if some are
    /// slower and others faster, else the worst. One improvement makes the case an improvement if
    /// all other statistics pass or improve. `None` without statistics.
    pub fn together(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let all: Vec<Self> = all.into_iter().collect();
        let has = |wanted: Self| all.contains(&wanted);
        if has(Self::Mixed) || has(Self::Regression) && has(Self::Improvement) {
            return Some(Self::Mixed);
        }
        if has(Self::Improvement)
            && all.iter().all(|one| matches!(one, Self::Improvement | Self::Pass))
        {
            return Some(Self::Improvement);
        }
        all.into_iter().reduce(|worst, one| if one.rank() > worst.rank() { one } else { worst })
    }

    fn rank(self) -> u8 {
        match self {
            Self::Improvement => 0,
            Self::Pass => 1,
            Self::Open => 2,
            Self::Inconclusive(_) => 3,
            Self::Mixed => 4,
            Self::Regression => 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Verdict::{Improvement, Inconclusive, Mixed, Open, Pass, Regression},
        *,
    };

    /// The threshold is 1/16; all figures are exact in binary.
    #[test]
    fn each_condition_has_its_bound() {
        let within = Inconclusive(Reason::WithinStep);
        for (ratio, [low, high], corrected, step, expected) in [
            (1.25, [1.125, 1.5], [1.09375, 1.75], 0.0, Regression),
            // The threshold itself is not exceeded.
            (1.25, [1.125, 1.5], [1.0625, 1.75], 0.0, Open),
            // Slower, but perhaps by less than the threshold.
            (1.25, [1.03125, 1.5], [1.015625, 1.75], 0.0, Open),
            (1.25, [1.125, 1.5], [1.09375, 1.5], 0.25, within),
            (1.5, [1.25, 1.75], [1.125, 2.0], 0.25, Regression),
            // The correction for the family opens a finding.
            (1.25, [1.125, 1.5], [0.875, 1.75], 0.0, Open),
            (4.0, [0.5, 32.0], [0.25, 64.0], 0.0, Open),
            // A pass needs the whole interval within the threshold, with a step of the clock.
            (1.0, [0.96875, 1.03125], [0.9375, 1.0625], 0.0, Pass),
            (1.0, [0.5, 1.0625], [0.25, 4.0], 0.0, Pass),
            (1.0, [0.96875, 1.09375], [0.9375, 1.125], 0.0, Open),
            (1.0, [0.96875, 1.03125], [0.9375, 1.0625], 0.125, Open),
            (1.03125, [1.015625, 1.046875], [1.0078125, 1.0625], 0.0, Pass),
            (0.75, [0.5, 0.875], [0.5, 0.9375], 0.0, Improvement),
            (0.75, [0.5, 0.875], [0.5, 0.9375], 0.25, Improvement),
            // Faster, but by no more than a step of the clock, or perhaps by less than the
            // threshold.
            (0.875, [0.75, 0.9375], [0.75, 0.9375], 0.25, Open),
            (0.75, [0.5, 0.875], [0.5, 1.0], 0.0, Pass),
            (1.0 / 1.0625, [0.875, 0.984375], [0.75, 1.0], 0.0, Pass),
            (0.96875, [0.953125, 0.984375], [0.9375, 1.0], 0.0, Pass),
        ] {
            let interval = |[low, high]: [f64; 2]| Interval { low, high };
            let evidence = Evidence {
                ratio,
                interval: interval([low, high]),
                corrected: interval(corrected),
                step,
            };
            let found = evidence.decide(0.0625);
            assert_eq!(found, expected, "{ratio} in {low}..{high}, {corrected:?}, step {step}");
        }
    }

    #[test]
    fn a_case_is_as_bad_as_its_worst_statistic_and_never_both_ways() {
        let vague = Inconclusive(Reason::NotPositive);
        let table: [(&[Verdict], Verdict); 13] = [
            (&[Pass, Pass], Pass),
            (&[Pass, Improvement], Improvement),
            (&[Improvement, Improvement], Improvement),
            (&[Improvement, Open], Open),
            (&[Pass, Open], Open),
            (&[Open, vague], vague),
            (&[Pass, Regression], Regression),
            (&[vague, Regression], Regression),
            (&[Regression, Improvement], Mixed),
            (&[Improvement, Pass, Regression], Mixed),
            (&[Regression, Improvement, vague], Mixed),
            (&[Mixed, Regression], Mixed),
            (&[vague], vague),
        ];
        for (all, expected) in table {
            let found = Verdict::together(all.iter().copied());
            assert_eq!(found, Some(expected), "{all:?}");
            assert_eq!(Verdict::together(all.iter().rev().copied()), Some(expected), "{all:?}");
        }
        assert_eq!(Verdict::together([]), None);
        // Of two reasons, the first one is given.
        let within = Inconclusive(Reason::WithinStep);
        assert_eq!(Verdict::together([vague, within]), Some(vague));
        assert_eq!(Verdict::together([within, vague]), Some(within));
    }

    #[test]
    fn under_other_conditions_nothing_is_shown() {
        let doubt = Inconclusive(Reason::InDoubt);
        let few = Inconclusive(Reason::TooFewRepetitions { a: 1, b: 2 });
        for (verdict, doubted) in [
            (Regression, doubt),
            (Mixed, doubt),
            (Pass, Open),
            (Improvement, Open),
            (Open, Open),
            (few, few),
        ] {
            assert_eq!(verdict.doubted(), doubted);
        }
    }
}
