//! The header of a journal: everything about a run that is known before its first repetition.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use crate::{case::Analyser, case::Case, case::Vary, case::experiment};
use chronoscope_base::digest;
use chronoscope_run::{
    self as run, Answering, CaseResult, Context, Limit, PeerResult, Published, Run, SCHEMA,
    judged::Judge,
};
use chronoscope_units::{OneLine, Text};

/// The parts of a journal's runs other than their results. `run` makes one run; `compare` makes
/// two, whose cases take turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    pub schema: u32,
    pub context: Context,
    /// The study's name; empty for cases given on the command line.
    pub study: OneLine,
    /// The title of each run.
    pub titles: Vec<OneLine>,
    pub notes: Text,
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
    pub repeat: usize,
    pub duration: Option<Duration>,
    /// The peer cannot be run, for the reason in the result's verdict.
    pub is_given_up: bool,
}

impl CaseForm {
    pub fn of(case: &Case) -> Self {
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
            judge: Judge::read(&self.judge)?,
            published: self.published,
        })
    }
}

impl Header {
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

    /// All cases.
    ///
    /// # Errors
    /// As [`CaseForm::case`].
    pub fn cases(&self) -> Result<Vec<Case>> {
        let cases = self.cases.iter().cloned().map(CaseForm::case);
        cases.collect::<Result<_>>().context("use the chronoscope that wrote it")
    }

    /// The runs that these results make: `cases` and `peers` have one element for each case and peer,
    /// `None` for one without a complete repetition or pair.
    pub fn runs(
        &self,
        context: &Context,
        cases: Vec<Option<CaseResult>>,
        peers: Vec<Option<PeerResult>>,
    ) -> Vec<Run> {
        let mut context = context.clone();
        if let Some(shard) = &mut context.shard {
            retain(&mut shard.cases, &cases);
            retain(&mut shard.peers, &peers);
        }
        let run = |(index, title): (usize, &OneLine)| Run {
            schema: SCHEMA,
            context: Context { uuid: uuid(&context, index), ..context.clone() },
            study: self.study.clone(),
            title: title.clone(),
            notes: self.notes.clone(),
            answering: self.answering.clone(),
            cases: Vec::new(),
            peers: Vec::new(),
        };
        let mut runs: Vec<Run> = self.titles.iter().enumerate().map(run).collect();
        let count = runs.len().max(1);
        for (place, result) in cases.into_iter().enumerate() {
            if let Some(run) = runs.get_mut(place % count) {
                run.cases.extend(result);
            }
        }
        if let Some(first) = runs.first_mut() {
            first.peers = peers.into_iter().flatten().collect();
        }
        runs
    }
}

/// The UUID of the run at `index`: the context's for the first, and one made from it for others, so
/// that a journal gives the same ones whenever it is read.
fn uuid(context: &Context, index: usize) -> OneLine {
    if index == 0 || context.uuid.is_empty() {
        return context.uuid.clone();
    }
    digest::uuid(format!("{} {index}", context.uuid).as_bytes()).into()
}

/// Keeps the places of those that have a result.
fn retain<T>(places: &mut Vec<usize>, results: &[Option<T>]) {
    let mut results = results.iter();
    places.retain(|_| results.next().is_some_and(Option::is_some));
}
