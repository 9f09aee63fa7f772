//! Verdicts: the outcome of a case, and its reasons.

use chronoscope_units::OneLine;
use serde::{Deserialize, Serialize};

/// The outcome of a case, ordered from good to bad. A run has that of its worst case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Pass,
    /// The kernel lacks the measured mechanism; this is no failure of the run.
    NotOffered,
    Inconclusive,
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
            Status::Regression => 3,
            Status::Inconclusive => 4,
        }
    }

    /// The status as it is shown.
    pub fn words(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::NotOffered => "not offered",
            Status::Inconclusive => "inconclusive",
            Status::Regression => "regression",
            Status::LimitMissed => "limit missed",
            Status::Error => "error",
        }
    }
}

/// A status with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use super::Status;

    /// All statuses in the order of `docs/method.md`, from good to bad.
    const ALL: [(Status, &str, u8); 6] = [
        (Status::Pass, "pass", 0),
        (Status::NotOffered, "not offered", 0),
        (Status::Inconclusive, "inconclusive", 4),
        (Status::Regression, "regression", 3),
        (Status::LimitMissed, "limit missed", 2),
        (Status::Error, "error", 1),
    ];

    #[test]
    fn every_status_has_its_words_and_exit_status() {
        for (status, words, code) in ALL {
            assert_eq!((status.words(), status.exit_code()), (words, code));
            let json = serde_json::to_value(status).unwrap();
            assert_eq!(json, words.replace(' ', "-"));
        }
        assert!(ALL.is_sorted_by_key(|(status, ..)| *status));
    }

    #[test]
    fn a_run_is_as_good_as_its_worst_case_or_peer() {
        let mut run = crate::sample::run();
        run.cases.truncate(2);
        let peer = crate::sample::full().peers.remove(0);
        for (first, ..) in ALL {
            for (second, ..) in ALL {
                run.cases[0].verdict.status = first;
                run.cases[1].verdict.status = second;
                run.peers.clear();
                assert_eq!(run.status(), first.max(second));
                run.peers.push(peer.clone());
                run.cases[0].verdict.status = Status::Pass;
                run.peers[0].verdict.status = first;
                assert_eq!(run.status(), first.max(second));
            }
        }
        (run.cases, run.peers) = (Vec::new(), Vec::new());
        assert_eq!(run.status(), Status::Pass);
    }
}
