//! The rows of a history: the properties of each run, and of each measured series, by which a store
//! finds them. The module knows no store.

use chronoscope_units::OneLine;

use crate::{Label, Status};

/// A run as a row of a list.
#[derive(Debug, serde::Serialize)]
pub struct RunRow {
    /// The number of the run in its store.
    pub run: i64,
    /// The start of the run in UTC, as `2026-01-31T12:00:00Z`.
    pub started: OneLine,
    /// The study's name; empty for cases given on the command line.
    pub study: OneLine,
    /// The number of cases.
    pub cases: i64,
    /// The run's status in words.
    pub status: OneLine,
    /// `true` if the run was ended early.
    pub interrupted: bool,
    /// The host's name.
    pub host: OneLine,
    /// The name, release and version of the host's kernel.
    pub system: OneLine,
    /// The machine of the run's context; empty if it names none.
    pub machine: OneLine,
    /// The run's UUID; empty for a run of an older program.
    pub uuid: OneLine,
}

/// A measured series of a case in a run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CaseRow {
    /// The number of the run in its store.
    pub run: i64,
    /// The start of the run in UTC.
    pub started: OneLine,
    /// The host's name.
    pub host: OneLine,
    /// The case's key, as [`CaseResult::key`](crate::CaseResult::key) gives it.
    pub key: OneLine,
    /// The case's label.
    pub label: Label,
    /// The name of the series; empty for a case that never ran.
    pub series: OneLine,
    /// The unit of the median.
    pub unit: OneLine,
    /// The part of the duration that the median excludes.
    pub nominal: f64,
    /// The median; `None` for a case that never ran.
    pub p50: Option<f64>,
    /// The case's status in words.
    pub status: OneLine,
    /// The machine of the run's context; empty if it names none.
    #[serde(skip)]
    pub machine: OneLine,
    /// The name of the experiment.
    #[serde(skip)]
    pub experiment: OneLine,
}

impl CaseRow {
    /// Returns the median, unless the case is inconclusive or failed.
    pub fn figure(&self) -> Option<f64> {
        let none = [Status::Inconclusive, Status::Error].map(Status::words);
        self.p50.filter(|_| !none.contains(&self.status.as_str()))
    }
}
