//! The plan of a run, and its shards. A case belongs to a shard by its key, so that it stays in its
//! shard when others are added to the study.

use std::str::FromStr;

use anyhow::{Context as _, Error, Result};
use serde::Serialize;

use crate::{case::Case, journal::CaseForm, journal::PeerForm, study::Peer, study::Study};
use chronoscope_base::digest::sha256;
use chronoscope_machine::Machines;
use chronoscope_run::{Label, Shard};
use chronoscope_units::OneLine;

/// The most shards of a plan.
pub const MOST_SHARDS: usize = 10_000;

/// The number of a shard, as `3/8` on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// From 1 to `of`.
    pub number: usize,
    /// The number of shards.
    pub of: usize,
}

impl FromStr for Number {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').and_then(|(number, of)| {
            Some(Self { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        let sensible = |shard: &Self| (1..=MOST_SHARDS).contains(&shard.of);
        let shard =
            numbers.filter(|shard| sensible(shard) && (1..=shard.of).contains(&shard.number));
        shard.with_context(|| {
            format!("write I/N, as 1/8 to 8/8, with an N of at most {MOST_SHARDS}")
        })
    }
}

/// The cases and peers of a run, before it is known who runs them.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// The study's name; empty for experiments of the command line.
    pub study: OneLine,
    /// The study's question.
    pub title: OneLine,
    /// The SHA-256 of everything that the plan asks for, in hexadecimal.
    pub plan: String,
    /// A row for each case.
    pub cases: Vec<Row>,
    /// A row for each peer.
    pub peers: Vec<Row>,
}

/// A case of a plan, or a peer.
#[derive(Debug, Serialize)]
pub struct Row {
    /// 16 hexadecimal digits of the SHA-256 of the name, and of the case's experiment, target and
    /// parameters.
    pub key: String,
    /// The peer's name; left out for a case.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The experiment's name.
    pub experiment: String,
    /// The kernel and the machine.
    pub target: String,
    /// The parameters that distinguish the case from others of its experiment.
    pub label: Label,
    /// The number of repetitions, or pairs.
    pub repeat: usize,
    /// The time in seconds that a repetition is expected to take on the target, without set-up.
    pub seconds: f64,
    /// The shard that runs it, if the plan is divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<usize>,
}

impl Row {
    fn new(machines: &Machines, name: &str, case: &Case, repeat: usize) -> Result<Self> {
        let slowness = case.properties(machines)?.slowness;
        Ok(Self {
            key: sha256(format!("{name} {}", case.key()).trim_start().as_bytes())[..16].to_owned(),
            name: name.to_owned(),
            experiment: case.spec.name.to_owned(),
            target: case.target.to_string(),
            label: case.label(),
            repeat,
            seconds: case.expected().saturating_mul(slowness).as_secs_f64(),
            shard: None,
        })
    }

    /// The shard that a row with this key is in, from 1.
    fn shard_of(&self, of: usize) -> usize {
        let number = u64::from_str_radix(&self.key, 16).unwrap_or_default();
        1 + (number % of as u64) as usize
    }
}

impl Plan {
    /// The plan of a study with these cases and peers. `forms` has the form of each peer;
    /// `keep_samples` is part of the plan, since it changes the results.
    ///
    /// # Errors
    /// A target does not exist.
    pub fn new(
        machines: &Machines,
        study: &Study,
        cases: &[Case],
        peers: &[Peer],
        forms: &[PeerForm],
        keep_samples: bool,
    ) -> Result<Self> {
        let case_forms: Vec<CaseForm> = cases.iter().map(CaseForm::new).collect();
        let answering = (&study.answering, keep_samples);
        let all = (&study.name, &study.title, &study.notes, answering, case_forms, forms);
        Ok(Self {
            study: study.name.clone(),
            title: study.title.clone(),
            plan: sha256(&serde_json::to_vec(&all)?),
            cases: cases
                .iter()
                .map(|case| Row::new(machines, "", case, case.repeat))
                .collect::<Result<_>>()?,
            peers: peers
                .iter()
                .zip(forms)
                .map(|(peer, form)| Row::new(machines, &form.result.name, &peer.case, form.repeat))
                .collect::<Result<_>>()?,
        })
    }

    /// Notes the shard of each row.
    pub fn divide(&mut self, of: usize) {
        for row in self.cases.iter_mut().chain(&mut self.peers) {
            row.shard = Some(row.shard_of(of));
        }
    }

    /// The shard of that number, with the places of its cases and peers.
    pub fn shard(&self, Number { number, of }: Number) -> Shard {
        let places = |rows: &[Row]| {
            let ours = rows.iter().enumerate().filter(|(_, row)| row.shard_of(of) == number);
            ours.map(|(place, _)| place).collect()
        };
        let (cases, peers) = (places(&self.cases), places(&self.peers));
        Shard { number, of, plan: self.plan.as_str().into(), cases, peers }
    }
}

/// The elements at these places.
pub fn chosen<T>(all: Vec<T>, places: &[usize]) -> Vec<T> {
    let all = all.into_iter().enumerate();
    all.filter(|(place, _)| places.contains(place)).map(|(_, one)| one).collect()
}
