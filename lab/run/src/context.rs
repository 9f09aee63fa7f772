//! The circumstances of a run: time, machine and program. The module collects none of them.

use std::collections::BTreeMap;

use chronoscope_units::OneLine;
use serde::{Deserialize, Serialize};

/// The time, the machine and the program of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Context {
    /// The start of the run in UTC, as `2026-01-31T12:00:00Z`.
    pub date: OneLine,
    /// The duration of the run, in seconds.
    pub seconds: f64,
    /// The sum of the times of all cases' repetitions, without their set-up. Cases that run side by
    /// side make it exceed `seconds`. `None` in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_seconds: Option<f64>,
    /// The host's name.
    pub host: OneLine,
    /// The name, release and version of the host's kernel.
    pub system: OneLine,
    /// The model of the processor.
    pub processor: OneLine,
    /// The number of processors; 0 in an imported run whose file does not have it.
    pub processors: usize,
    /// The processors' clock rate at the start; `None` if the system does not report it.
    #[serde(default)]
    pub megahertz: Option<f64>,
    /// The load at the start, averaged over 1, 5 and 15 minutes; empty if the system does not
    /// report it.
    #[serde(default)]
    pub load: Vec<f64>,
    /// The run's UUID, the same in every copy of the run; empty in older files.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub uuid: OneLine,
    /// The machine that the lab ran on: the name that the user gave it, or 16 hexadecimal digits of
    /// the SHA-256 of its machine id. Empty if there is none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub machine: OneLine,
    /// The labels of the user and of the CI system.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<OneLine, OneLine>,
    /// The program with its version, as `chronoscope 0.1.0`.
    pub program: OneLine,
    /// The commit that the program was built from; empty if it is unknown.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub revision: OneLine,
    /// How the port to Linux beside the program was built: `release` or `debug`; empty in older files.
    #[serde(default)]
    pub build: OneLine,
    /// The command line.
    pub command: Vec<OneLine>,
    /// The doctor's findings at the start, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doctor: Vec<OneLine>,
    /// `true` if the run was ended early. All its repetitions are complete.
    pub interrupted: bool,
    /// The shard of a plan that the run is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The file of another tool that the run was imported from; `None` for a run of the lab's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// The source of an imported run. Chronoscope has not measured it, and has seen the file alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Imported {
    /// The tool, with its version where the file has it.
    pub tool: OneLine,
    /// The file's name without its folder; `-` for standard input.
    pub file: OneLine,
    /// The time of the import, as the run's `date`.
    pub on: OneLine,
    /// The source of the run's `date`: `by the file`, `by the file's last change` or `by the import`.
    pub dated: OneLine,
}

/// A part of a plan: the cases and peers that one lab runs, all repetitions of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Shard {
    /// The number of the shard, from 1.
    pub number: usize,
    /// The number of shards.
    pub of: usize,
    /// The SHA-256 of the plan, in hexadecimal.
    pub plan: OneLine,
    /// The place in the plan, from 0, of each case of the run.
    pub cases: Vec<usize>,
    /// The place in the plan, from 0, of each peer of the run.
    pub peers: Vec<usize>,
}
