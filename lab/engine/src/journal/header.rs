//! The header of a journal: everything about a run that is known before its first repetition.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use crate::{case::Analyser, case::Case, case::Vary, case::experiment};
use chronoscope_run::{
    self as run, Answering, CaseResult, Context, Limit, PeerResult, Published, SCHEMA,
    compared::StatisticChoice,
};
use chronoscope_units::{OneLine, Text};

/// The parts of a journal's runs other than their results. `run` makes one run; `compare` makes
/// two, whose cases take turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version of the run form in which results were measured.
    pub schema: u32,
    /// The context in which the runs began.
    pub context: Context,
    /// The study's name; empty for cases given on the command line.
    pub study: OneLine,
    /// The title of each run.
    pub titles: Vec<OneLine>,
    /// The study's notes.
    pub notes: Text,
    /// The rules by which the study's question is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answering: Option<Answering>,
    /// Every sample is kept in the result.
    pub keep_samples: bool,
    /// The cases; the case at place `i` belongs to the run `i % titles.len()`.
    pub cases: Vec<CaseForm>,
    /// The peers of the first run.
    pub peers: Vec<PeerForm>,
}

/// A case, with everything that it takes to judge it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseForm {
    experiment: String,
    target: String,
    parameters: Vec<(String, String)>,
    asked: Vec<String>,
    repeat: usize,
    #[serde(default)]
    vary: Vary,
    duration: Option<Duration>,
    deadline: Option<f64>,
    analyser: Option<Analyser>,
    limits: Vec<Limit>,
    #[serde(default)]
    judge: Vec<OneLine>,
    published: Vec<Published>,
}

/// A peer before its first pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerForm {
    /// The result without any value.
    pub result: PeerResult,
    /// The minimum of pairs.
    pub repeat: usize,
    /// The minimum of time to run pairs for.
    pub duration: Option<Duration>,
    /// The peer cannot be run, for the reason in the result's verdict.
    pub is_given_up: bool,
}

impl CaseForm {
    /// The form of a case.
    pub fn new(case: &Case) -> Self {
        Self {
            experiment: case.spec.name.to_owned(),
            target: case.target.to_string(),
            parameters: case.parameters.clone(),
            asked: case.asked.clone(),
            repeat: case.repeat,
            vary: case.vary,
            duration: case.duration,
            deadline: case.deadline,
            analyser: case.analyser,
            limits: case.limits.clone(),
            judge: case.judge.names(),
            published: case.published.clone(),
        }
    }

    /// Returns whether a result is of this case, by its experiment and its target.
    pub(super) fn has(&self, result: &CaseResult) -> bool {
        *result.experiment == *self.experiment && *result.target == *self.target
    }

    /// The case, which can be judged but lacks its watchdog.
    ///
    /// # Errors
    /// If this program does not know the experiment or a statistic, or the target is none.
    pub fn case(self) -> Result<Case> {
        Ok(Case {
            spec: experiment(&self.experiment)?,
            target: self.target.parse()?,
            parameters: self.parameters,
            asked: self.asked,
            repeat: self.repeat,
            vary: self.vary,
            duration: self.duration,
            watchdog: None,
            deadline: self.deadline,
            analyser: self.analyser,
            limits: self.limits,
            judge: StatisticChoice::read(&self.judge)?,
            published: self.published,
        })
    }
}

impl Header {
    /// The header of cases that belong to no study, and whose samples are not kept.
    pub fn new(context: Context, titles: Vec<OneLine>, cases: &[Case]) -> Self {
        Self {
            schema: SCHEMA,
            context,
            study: OneLine::new(),
            titles,
            notes: Text::new(),
            answering: None,
            keep_samples: false,
            cases: cases.iter().map(CaseForm::new).collect(),
            peers: Vec::new(),
        }
    }

    /// Checks that this program can judge the journal.
    ///
    /// # Errors
    /// If the journal has another schema, or makes neither one run nor two.
    pub(super) fn check(&self) -> Result<()> {
        if !run::is_readable(self.schema) {
            bail!("it has schema {} and this program reads {}", self.schema, run::READABLE);
        }
        if !(1..=2).contains(&self.titles.len()) {
            bail!("it makes {} runs, and a lab makes one or two", self.titles.len());
        }
        Ok(())
    }

    /// The cases of all runs.
    ///
    /// # Errors
    /// If this program does not know an experiment or a statistic, or a target is none.
    pub fn cases(&self) -> Result<Vec<Case>> {
        let cases = self.cases.iter().cloned().map(CaseForm::case);
        cases.collect::<Result<_>>().context("use the chronoscope that wrote it")
    }
}
