//! The circumstances of a run: time, machine and program.

use chronoscope_units::OneLine;
use serde::{Deserialize, Serialize};

/// The time, the machine and the program of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Context {
    /// The start of the run in UTC, as `2026-01-31T12:00:00Z`.
    pub date: OneLine,
    /// The duration of the run.
    pub seconds: f64,
    /// The sum of the times of all cases' repetitions, without their set-up. Cases that run side by
    /// side make it exceed `seconds`. `None` in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_seconds: Option<f64>,
    pub host: OneLine,
    /// The name, release and version of the host's kernel.
    pub system: OneLine,
    pub processor: OneLine,
    pub processors: usize,
    /// The processors' clock rate at the start; `None` if the system does not report it.
    #[serde(default)]
    pub megahertz: Option<f64>,
    /// The load at the start, averaged over 1, 5 and 15 minutes; empty if the system does not
    /// report it.
    #[serde(default)]
    pub load: Vec<f64>,
    pub program: OneLine,
    /// The program's build profile: `release` or `debug`; empty in older files.
    #[serde(default)]
    pub build: OneLine,
    /// The command line.
    pub command: Vec<OneLine>,
    /// The doctor's findings at the start, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doctor: Vec<OneLine>,
    /// The run was ended early. All repetitions in it are complete.
    pub interrupted: bool,
}
