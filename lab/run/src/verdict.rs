//! Verdicts: the outcome of a case, and its reasons. The module makes none.

use chronoscope_units::OneLine;
use serde::{Deserialize, Serialize};

/// The outcome of a case, ordered from good to bad. A run has the outcome of its worst case.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// All limits are kept, or there are none.
    Pass,
    /// The kernel lacks the measured mechanism; no failure of the run.
    NotOffered,
    /// The samples allow no statement, for a reason.
    Inconclusive,
    /// Statistics of a case differ in sign: some are slower, others faster.
    Mixed,
    /// The case is slower than in another run, by more than the threshold.
    Regression,
    /// A limit is missed.
    LimitMissed,
    /// The set-up failed: a program is missing, or a build or a download failed. Nothing ran.
    Error,
}

impl Status {
    /// The program's exit status.
    pub fn exit_code(self) -> u8 {
        match self {
            Status::Pass | Status::NotOffered => 0,
            Status::Error => 1,
            Status::LimitMissed => 2,
            Status::Mixed | Status::Regression => 3,
            Status::Inconclusive => 4,
        }
    }

    /// The status in words, as in tables and messages.
    pub fn words(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::NotOffered => "not offered",
            Status::Inconclusive => "inconclusive",
            Status::Mixed => "mixed",
            Status::Regression => "regression",
            Status::LimitMissed => "limit missed",
            Status::Error => "error",
        }
    }
}

/// A status with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verdict {
    /// The status.
    pub status: Status,
    /// The reasons, one sentence each; empty for a pass.
    pub reasons: Vec<OneLine>,
}

impl Verdict {
    /// Creates a verdict with a single reason.
    pub fn new(status: Status, reason: impl Into<OneLine>) -> Self {
        Self { status, reasons: vec![reason.into()] }
    }
}
