//! Verdicts: the outcome of a case, and its reasons.

use serde::{Deserialize, Serialize};

/// Ordered from good to bad; the worst of a run is the run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Pass,
    /// This kernel has no such thing; nobody's fault, and no failure of the run.
    NotOffered,
    Inconclusive,
    Regression,
    LimitMissed,
}

impl Status {
    /// The program's exit status. 1 is for errors.
    pub fn exit_code(self) -> u8 {
        match self {
            Status::Pass | Status::NotOffered => 0,
            Status::LimitMissed => 2,
            Status::Regression => 3,
            Status::Inconclusive => 4,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::NotOffered => "not offered",
            Status::Inconclusive => "inconclusive",
            Status::Regression => "regression",
            Status::LimitMissed => "limit missed",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub status: Status,
    /// Empty for a pass.
    pub reasons: Vec<String>,
}

impl Verdict {
    pub fn new(status: Status, reason: impl Into<String>) -> Self {
        Self { status, reasons: vec![reason.into()] }
    }
}
