//! The circumstances of a run: time, machine and program.

use serde::{Deserialize, Serialize};

/// The time, the machine and the program of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Context {
    /// The start of the run in UTC, as `2026-01-31T12:00:00Z`.
    pub date: String,
    /// The duration of the run.
    pub seconds: f64,
    pub host: String,
    /// The name, release and version of the host's kernel.
    pub system: String,
    pub processor: String,
    pub processors: usize,
    /// The processors' clock rate at the start; `None` if the system does not report it.
    #[serde(default)]
    pub megahertz: Option<f64>,
    /// The load at the start, averaged over 1, 5 and 15 minutes; empty if the system does not
    /// report it.
    #[serde(default)]
    pub load: Vec<f64>,
    pub program: String,
    /// The program's build profile: `release` or `debug`; empty in older files.
    #[serde(default)]
    pub build: String,
    /// The command line.
    pub command: Vec<String>,
    /// The doctor's findings at the start, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doctor: Vec<String>,
    /// The run was ended early. All repetitions in it are complete.
    pub interrupted: bool,
}
