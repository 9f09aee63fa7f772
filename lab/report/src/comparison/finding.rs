//! The findings of a comparison: of a statistic, of a series, and of the whole.

use serde::Serialize;

use chronoscope_run::Status;
use chronoscope_statistics::Verdict;

/// Ordered from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// B is shown to be faster by more than the threshold.
    Improvement,
    /// B is shown not to be slower by more than the threshold.
    Pass,
    /// A side does not offer the case.
    NotOffered,
    /// No regression is shown, and none excluded.
    NoRegressionShown,
    /// The figures do not allow an answer.
    Inconclusive,
    /// Some statistics of a case are slower, others faster.
    Mixed,
    /// B is shown to be slower by more than the threshold.
    Regression,
}

impl Finding {
    /// The finding in words, as `no regression shown`.
    pub fn words(self) -> &'static str {
        match self {
            Finding::Improvement => "improvement",
            Finding::Pass => "pass",
            Finding::NotOffered => "not offered",
            Finding::NoRegressionShown => "no regression shown",
            Finding::Inconclusive => "inconclusive",
            Finding::Mixed => "mixed",
            Finding::Regression => "regression",
        }
    }

    /// The status that the finding has for a CI system. `strict` makes a regression that is not
    /// excluded inconclusive.
    pub fn status(self, strict: bool) -> Status {
        match self {
            Finding::NoRegressionShown if strict => Status::Inconclusive,
            Finding::Improvement | Finding::Pass | Finding::NoRegressionShown => Status::Pass,
            Finding::NotOffered => Status::NotOffered,
            Finding::Inconclusive => Status::Inconclusive,
            Finding::Mixed => Status::Mixed,
            Finding::Regression => Status::Regression,
        }
    }
}

impl From<Verdict> for Finding {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Finding::Pass,
            Verdict::Open => Finding::NoRegressionShown,
            Verdict::Improvement => Finding::Improvement,
            Verdict::Mixed => Finding::Mixed,
            Verdict::Regression => Finding::Regression,
            Verdict::Inconclusive(_) => Finding::Inconclusive,
        }
    }
}
