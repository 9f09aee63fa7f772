//! What remains of a run: the documented form that is stored, compared and reported (`docs/run-file.md`).
//!
//! What may differ between two identical runs stands in [`Context`] alone.

use std::{collections::BTreeMap, env, ffi::CStr, fs, thread};

use jiff::Timestamp;
use rustix::system::uname;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    peer::PeerResult,
    profile::Cycles,
    statistics::{Interval, MissRate, Slope, Summary},
    study::{Limit, Published},
    verdict::{Status, Verdict},
};

/// The version of this form.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub schema: u32,
    pub context: Context,
    /// The study's name, or empty for cases given on the command line.
    pub study: String,
    /// What the study asks, in one line.
    pub title: String,
    /// How to read it, and how it differs from its source; may be empty.
    pub notes: String,
    pub cases: Vec<CaseResult>,
    /// Tools that stand beside cases of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerResult>,
}

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

impl Run {
    /// The worst verdict of all cases and peers.
    pub fn status(&self) -> Status {
        let cases = self.cases.iter().map(|case| case.verdict.status);
        let peers = self.peers.iter().map(|peer| peer.verdict.status);
        cases.chain(peers).max().unwrap_or(Status::Pass)
    }
}

impl Context {
    /// This machine, now.
    pub fn now() -> Self {
        let system = uname();
        let text = |part: &CStr| part.to_string_lossy().into_owned();
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let fact = |name: &str| {
            cpuinfo.lines().find_map(|line| Some(line.strip_prefix(name)?.split_once(": ")?.1))
        };
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            date: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            seconds: 0.0,
            host: text(system.nodename()),
            system: [system.sysname(), system.release(), system.version()].map(text).join(" "),
            processor: fact("model name").map_or_else(|| text(system.machine()), str::to_owned),
            processors: thread::available_parallelism().map_or(1, usize::from),
            megahertz: fact("cpu MHz").and_then(|number| number.parse().ok()),
            load: load.split(' ').take(3).filter_map(|number| number.parse().ok()).collect(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
            program: concat!("chronoscope ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            doctor: Vec::new(),
            interrupted: false,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseResult {
    pub experiment: String,
    pub target: String,
    /// The target's own version, as it said hello; empty when it did not.
    pub release: String,
    /// All that the figures follow from, by name, where that can be told: versions, hashes, options.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub identity: BTreeMap<String, String>,
    pub parameters: BTreeMap<String, String>,
    /// What tells the case from its sisters, for people.
    pub label: String,
    /// The event that a sample starts at.
    pub start: String,
    pub end: String,
    pub clock: Option<Clock>,
    /// Fresh starts of the target that were completed.
    pub repetitions: usize,
    pub series: Vec<SeriesResult>,
    /// Slope of the measured series' medians over their `x`, where they have one.
    pub slope: Option<Slope>,
    pub figures: Vec<FigureResult>,
    pub evidence: Vec<EvidenceResult>,
    /// Where the cycles of the first repetition's samples went, where the machine sees every instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Cycles>,
    /// Lines that the target had for the user.
    pub log: Vec<String>,
    /// Texts that the target left beside its samples, by name: a trace, for example.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attachments: BTreeMap<String, String>,
    pub limits: Vec<Limit>,
    pub published: Vec<Published>,
    pub verdict: Verdict,
}

impl CaseResult {
    /// What a case is called when two runs are compared: everything that was asked for.
    pub fn key(&self) -> String {
        let parameters: Vec<_> =
            self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} {} {}", self.experiment, self.target, parameters.join(" "))
    }

    pub fn measured(&self) -> impl Iterator<Item = &SeriesResult> {
        self.series.iter().filter(|series| series.role == "measured")
    }

    pub fn control(&self) -> Option<&SeriesResult> {
        self.series.iter().find(|series| series.role == "control")
    }

    /// What the instrument costs that a series was taken with.
    pub fn control_of(&self, series: &SeriesResult) -> Option<&SeriesResult> {
        let role = match series.role.as_str() {
            "measured" => "control",
            "pin" => "pin-control",
            _ => return None,
        };
        self.series.iter().find(|control| control.role == role && control.unit == series.unit)
    }

    /// There is evidence, and all of it holds. Without, the samples are no figures of this case.
    pub fn is_proven(&self) -> bool {
        !self.evidence.is_empty() && self.evidence.iter().all(|evidence| evidence.holds)
    }

    pub fn figure(&self, name: &str) -> Option<&FigureResult> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// `wall`, `instructions` or `cycles`.
    pub domain: String,
    pub hertz: u64,
    /// The smallest step seen, in ticks.
    pub resolution: u64,
}

/// One series of a case, over all repetitions. All values are in `unit`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeriesResult {
    pub name: String,
    /// `measured`, `control` or `auxiliary` by the target's own marks; `pin`, `pin-control` or `pin-auxiliary`, the same samples as
    /// pins show them.
    pub role: String,
    /// `ns`, `instructions`, `cycles` or `count`.
    pub unit: String,
    /// To be added to the values for the whole duration: 50 ms, where the values tell what a 50 ms delay took above
    /// that.
    pub nominal: f64,
    /// Operations in one sample, on average over the repetitions; the values are for one.
    pub per: f64,
    pub x: Option<f64>,
    #[serde(flatten)]
    pub summary: Summary,
    /// 95 % interval of the median over repetitions, by bootstrap.
    pub p50_interval: Option<Interval>,
    pub deadline: Option<f64>,
    pub misses: Option<MissRate>,
    /// One entry for each repetition, in the order in which they ran.
    pub by_repetition: Vec<Repetition>,
    /// The distribution: `(value, samples)`, exact up to 2047 ticks and within 0.1 % above.
    pub histogram: Vec<(f64, u64)>,
    /// Every sample in the order measured, as `(start, value)`; kept on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Repetition {
    pub count: u64,
    pub min: f64,
    pub p50: f64,
    pub p99: Option<f64>,
    pub max: f64,
    pub mean: f64,
}

/// A number found besides the samples: its median over the repetitions, and its range.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FigureResult {
    pub name: String,
    pub unit: String,
    #[serde(deserialize_with = "number")]
    pub value: f64,
    #[serde(deserialize_with = "number")]
    pub min: f64,
    #[serde(deserialize_with = "number")]
    pub max: f64,
}

/// A count that must lie in a range; of all repetitions, the first that does not, else the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvidenceResult {
    pub name: String,
    #[serde(deserialize_with = "number")]
    pub value: f64,
    #[serde(deserialize_with = "number")]
    pub low: f64,
    /// `null` in JSON: no upper bound.
    pub high: Option<f64>,
    pub holds: bool,
}

/// A target may tell what is no number; JSON has `null` for it.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
