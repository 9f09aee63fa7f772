//! The rows of a history: what a store keeps of each run and of each measured series beside the run
//! itself.

use chronoscope_units::OneLine;

use crate::{Label, Status};

/// A run as a row of a list.
#[derive(Debug, serde::Serialize)]
pub struct RunRow {
    pub run: i64,
    pub started: OneLine,
    pub study: OneLine,
    pub cases: i64,
    pub status: OneLine,
    pub interrupted: bool,
    pub host: OneLine,
    pub system: OneLine,
    /// The machine of the run's context; empty if it names none.
    pub machine: OneLine,
    /// Empty for a run of an older program.
    pub uuid: OneLine,
}

/// A measured series of a case in a run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CaseRow {
    pub run: i64,
    pub started: OneLine,
    pub host: OneLine,
    pub key: OneLine,
    pub label: Label,
    pub series: OneLine,
    pub unit: OneLine,
    pub nominal: f64,
    pub p50: Option<f64>,
    pub status: OneLine,
    /// The machine of the run's context; empty if it names none.
    #[serde(skip)]
    pub machine: OneLine,
    #[serde(skip)]
    pub experiment: OneLine,
}

impl CaseRow {
    /// The median, unless the case is inconclusive.
    pub fn figure(&self) -> Option<f64> {
        let none = [Status::Inconclusive, Status::Error].map(Status::words);
        self.p50.filter(|_| !none.contains(&self.status.as_str()))
    }
}
