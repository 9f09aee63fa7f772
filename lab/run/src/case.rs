//! The results of one case.

use std::collections::BTreeMap;

use chronoscope_statistics::Slope;
use serde::{Deserialize, Serialize};

use crate::{
    cycles::Cycles,
    limit::Limit,
    published::Published,
    series::{EvidenceResult, FigureResult, SeriesResult},
    verdict::Verdict,
    words::{Domain, Role},
};

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
        self.series.iter().filter(|series| series.role == Role::Measured)
    }

    pub fn control(&self) -> Option<&SeriesResult> {
        self.series.iter().find(|series| series.role == Role::Control)
    }

    /// What the instrument costs that a series was taken with.
    pub fn control_of(&self, series: &SeriesResult) -> Option<&SeriesResult> {
        let role = series.role.control()?;
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
    pub domain: Domain,
    pub hertz: u64,
    /// The smallest step seen, in ticks.
    pub resolution: u64,
}
