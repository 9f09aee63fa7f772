//! When, where and by what a run was made.

use serde::{Deserialize, Serialize};

/// When, where and by what.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Context {
    /// When it started: UTC, as `2026-01-31T12:00:00Z`.
    pub date: String,
    /// How long it took.
    pub seconds: f64,
    pub host: String,
    /// Kernel name, release and version of the machine that the lab ran on.
    pub system: String,
    pub processor: String,
    pub processors: usize,
    /// Of the processors' clock when it started, where the system tells it.
    #[serde(default)]
    pub megahertz: Option<f64>,
    /// Tasks ready to run when it started, averaged over 1, 5 and 15 minutes; empty where the system does not tell it.
    #[serde(default)]
    pub load: Vec<f64>,
    pub program: String,
    /// How the program was built: `release` or `debug`.
    #[serde(default)]
    pub build: String,
    /// The command line.
    pub command: Vec<String>,
    /// What the doctor found to spoil measurements when it started, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doctor: Vec<String>,
    /// The run was ended early; every repetition that is here is complete.
    pub interrupted: bool,
}
