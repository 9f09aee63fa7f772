//! The results of one case. The module computes no figure and no verdict.

use std::collections::BTreeMap;

use chronoscope_statistics::Slope;
use chronoscope_units::{OneLine, Text};
use serde::{Deserialize, Serialize};

use crate::{
    cycles::Cycles,
    label::Label,
    limit::Limit,
    names::{KERNEL_ORIGIN, TOGETHER},
    published::Published,
    series::{EvidenceResult, FigureResult, SeriesResult},
    verdict::{Status, Verdict},
    words::{Domain, Role},
};

/// The results of a case: an experiment on a target with parameters.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CaseResult {
    /// The name of the experiment.
    pub experiment: OneLine,
    /// The target, as `kernel@machine`.
    pub target: OneLine,
    /// The version that the target reported; empty if it reported none.
    pub release: OneLine,
    /// The properties on which the figures depend, by name, if known: versions, hashes, options.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub identity: BTreeMap<OneLine, OneLine>,
    /// All parameters with their values.
    pub parameters: BTreeMap<OneLine, OneLine>,
    /// The parameters that distinguish the case from others of its experiment, for display.
    #[schemars(with = "OneLine")]
    pub label: Label,
    /// The event at which a sample starts.
    pub start: OneLine,
    /// The event at which a sample ends.
    pub end: OneLine,
    /// The target's clock; `None` if the case did not run.
    pub clock: Option<Clock>,
    /// The number of completed repetitions, each a fresh start of the target.
    pub repetitions: usize,
    /// The series of samples, controls included.
    pub series: Vec<SeriesResult>,
    /// The slope of the measured series' medians over their `x`; `None` without `x`.
    pub slope: Option<Slope>,
    /// The single numbers that the target reported.
    pub figures: Vec<FigureResult>,
    /// The counts that show whether the mechanism happened.
    pub evidence: Vec<EvidenceResult>,
    /// The cycles of the first repetition's samples by function, if the machine sees every
    /// instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Cycles>,
    /// Lines for the user.
    pub log: Vec<Text>,
    /// Texts from the target besides its samples, by name, such as a trace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attachments: BTreeMap<OneLine, String>,
    /// The limits that the study sets.
    pub limits: Vec<Limit>,
    /// The statistics that a comparison judges, if the study names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judge: Vec<OneLine>,
    /// The published figures that the case is compared with.
    pub published: Vec<Published>,
    /// The verdict, from evidence, controls and limits.
    pub verdict: Verdict,
}

impl CaseResult {
    /// Returns the key by which cases of two runs are matched: experiment, target and all
    /// parameters.
    pub fn key(&self) -> String {
        let parameters: Vec<_> =
            self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} {} {}", self.experiment, self.target, parameters.join(" "))
    }

    /// The package that a guest's kernel is from, with its version and SHA-256; `None` for a kernel of
    /// the user's, and for every other machine.
    pub fn packaged_kernel(&self) -> Option<&OneLine> {
        self.identity.get(KERNEL_ORIGIN).filter(|origin| origin.contains(", sha256 "))
    }

    /// Returns whether the word is the case's experiment, its target, or a parameter as
    /// `NAME=VALUE`.
    pub fn is_called(&self, word: &str) -> bool {
        let parameter = word.split_once('=');
        [&self.experiment, &self.target].into_iter().any(|own| own == word)
            || parameter.is_some_and(|(name, value)| {
                self.parameters.get(name).is_some_and(|own| own == value)
            })
    }

    /// The series that are shown and judged.
    pub fn measured(&self) -> impl Iterator<Item = &SeriesResult> {
        self.series.iter().filter(|series| series.role == Role::Measured)
    }

    /// The measured series that have each sample once: the series of all processors together if there is
    /// one, or else all measured ones.
    pub fn counted(&self) -> impl Iterator<Item = &SeriesResult> {
        let has_all = self.measured().any(|series| *series.name == *TOGETHER);
        self.measured().filter(move |series| !has_all || *series.name == *TOGETHER)
    }

    /// The series with the lower bounds of a model beside a series; `None` without a model.
    pub fn at_least(&self, series: &SeriesResult) -> Option<&SeriesResult> {
        self.beside(series, "at least")
    }

    /// The series with the upper bounds of a model beside a series; `None` without a model.
    pub fn at_most(&self, series: &SeriesResult) -> Option<&SeriesResult> {
        self.beside(series, "at most")
    }

    fn beside(&self, series: &SeriesResult, words: &str) -> Option<&SeriesResult> {
        let name = format!("{}, {words}", series.name);
        self.series.iter().find(|one| *one.name == *name)
    }

    /// The first control by the target's own marks.
    pub fn control(&self) -> Option<&SeriesResult> {
        self.series.iter().find(|series| series.role == Role::Control)
    }

    /// The control of a series: the cost of its instrument, in the same unit.
    pub fn control_of(&self, series: &SeriesResult) -> Option<&SeriesResult> {
        let role = series.role.control()?;
        self.series.iter().find(|control| control.role == role && control.unit == series.unit)
    }

    /// Returns whether there is evidence and all of it holds. The samples of an unproven case are
    /// not shown as figures.
    pub fn is_proven(&self) -> bool {
        !self.evidence.is_empty() && self.evidence.iter().all(|evidence| evidence.holds)
    }

    /// The verdict in words; a passing case without limits is `measured`.
    pub fn outcome(&self) -> &'static str {
        match self.verdict.status {
            Status::Pass if self.limits.is_empty() => "measured",
            status => status.words(),
        }
    }

    /// Returns the figure with this name.
    pub fn figure(&self, name: &str) -> Option<&FigureResult> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

/// The clock of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Clock {
    /// The kind of ticks.
    pub domain: Domain,
    /// The rate, in ticks per second.
    pub hertz: u64,
    /// The smallest observed step, in ticks.
    pub resolution: u64,
}
