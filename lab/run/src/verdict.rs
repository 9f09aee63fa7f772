//! Verdicts: the outcome of a case, and its reasons.

use chronoscope_units::OneLine;
use serde::{Deserialize, Serialize};

/// The outcome of a case, ordered from good to bad. A run has that of its worst case.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Pass,
    /// The kernel lacks the measured mechanism; this is no failure of the run.
    NotOffered,
    Inconclusive,
    /// Statistics of a case differ in sign: some are slower, others faster.
    Mixed,
    Regression,
    LimitMissed,
    /// The case was not set up: a program is missing, or a build or a download failed. Nothing ran,
    /// so nothing is known of the kernel.
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

    /// The status as it is shown.
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
    pub status: Status,
    /// The reasons, one sentence each; empty for a pass.
    pub reasons: Vec<OneLine>,
}

impl Verdict {
    /// A verdict with a single reason.
    pub fn new(status: Status, reason: impl Into<OneLine>) -> Self {
        Self { status, reasons: vec![reason.into()] }
    }
}
