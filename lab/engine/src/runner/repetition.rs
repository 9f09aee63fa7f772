//! One repetition of a case on its machine, and how progress is reported.

use std::{sync::atomic::AtomicBool, time::Duration};

use anyhow::Result;
use chronoscope_suite::wire::Record;

use super::remaining::{Work, remaining, remaining_side_by_side};
use crate::{
    case::Case, observation::Checkpoint, observation::Observation, observation::Recordings,
    stream::Decoder,
};
use chronoscope_child::Limit;
use chronoscope_machine::{Machine, Start};
use chronoscope_run::Unit;

/// The state of a run just before a repetition.
pub struct Step<'a> {
    /// The case of the repetition, or all cases of which a repetition runs.
    pub cases: Vec<&'a Case>,
    /// The part of the work that is done, from 0 to 1. A case that failed counts as done.
    pub done: f64,
    /// How much longer the measurement takes, without set-up.
    pub left: Duration,
    /// The largest sample so far, with its unit, while a soak is under way.
    pub worst: Option<(f64, Unit)>,
}

impl<'a> Step<'a> {
    /// The step of `case` in a run that consists of these works.
    pub(super) fn alone(case: &'a Case, works: &[Work]) -> Self {
        let left = remaining(works);
        let spent: f64 = works.iter().map(|work| work.spent.as_secs_f64()).sum();
        let total = spent + left.as_secs_f64();
        let done = if total > 0.0 { spent / total } else { 1.0 };
        Self { cases: vec![case], done, left, worst: None }
    }

    /// The step of a run that consists of these works, with up to `jobs` at once. `cases` are under
    /// way, and one of them has just begun a repetition.
    pub(super) fn side_by_side(cases: Vec<&'a Case>, works: &[Work], jobs: usize) -> Self {
        let spent: f64 = works.iter().map(|work| work.spent.as_secs_f64()).sum();
        let total = spent + remaining(works).as_secs_f64();
        let done = if total > 0.0 { spent / total } else { 1.0 };
        Self { cases, done, left: remaining_side_by_side(works, jobs), worst: None }
    }

    /// The step of a soak that has run for `elapsed`; `others` are the other works of the run.
    pub(super) fn during_soak(case: &'a Case, elapsed: Duration, others: &[Work]) -> Self {
        let length = case.soak().unwrap_or_default();
        let left = remaining(others).saturating_add(length.saturating_sub(elapsed));
        let spent = others.iter().fold(elapsed, |sum, work| sum.saturating_add(work.spent));
        let total = spent.saturating_add(left).as_secs_f64();
        let done = if total > 0.0 { spent.as_secs_f64() / total } else { 1.0 };
        Self { cases: vec![case], done, left, worst: None }
    }
}

/// Receives progress updates; implemented by the progress bar.
pub trait Progress: Send {
    /// Reports that a repetition is about to run.
    fn step(&mut self, step: &Step<'_>);
    /// Reports that the last repetition has ended.
    fn finish(&mut self);
}

/// A repetition that an observation takes in, from a machine or from a journal. Its end counts only
/// once the machine is done, so that a stopped repetition can be dropped whole.
pub struct Intake<'a> {
    observation: &'a mut Observation,
    before: Checkpoint,
    decoder: Decoder,
    /// The number of records by the stream's last record.
    end: Option<u32>,
}

impl<'a> Intake<'a> {
    /// Begins a repetition.
    pub fn new(observation: &'a mut Observation) -> Self {
        let before = observation.checkpoint();
        Self { observation, before, decoder: Decoder::default(), end: None }
    }

    /// The observation, to which the caller adds the facts known before the repetition runs.
    pub fn observation(&mut self) -> &mut Observation {
        self.observation
    }

    /// Takes in a piece of the stream.
    ///
    /// # Errors
    /// If the stream is damaged or does not fit the earlier records.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        let Self { observation, decoder, end, .. } = self;
        decoder.feed(bytes, &mut |record| match record {
            Record::End { records } => {
                *end = Some(*records);
                Ok(())
            }
            _ => observation.take(record),
        })
    }

    /// Returns whether the case's first complete repetition has just ended.
    pub fn is_first(&self) -> bool {
        self.end.is_some() && self.observation.repetitions() == 0
    }

    /// Ends the repetition with the machine's recordings.
    ///
    /// # Errors
    /// If the machine failed, the stream was cut short, or the recordings do not fit the stream.
    pub fn finish(self, seen: Result<&Recordings>) -> Result<()> {
        finish(self.observation, &self.decoder, self.end, seen)
    }

    /// Ends the repetition; an error fails the case. Gives back the observation.
    pub fn end(self, seen: Result<&Recordings>) -> &'a mut Observation {
        let Self { observation, decoder, end, .. } = self;
        if let Err(error) = finish(observation, &decoder, end, seen) {
            observation.fail(format!("{error:#}"));
        }
        observation
    }

    /// Drops the repetition.
    pub fn discard(self) {
        self.observation.restore(self.before);
    }
}

fn finish(
    observation: &mut Observation,
    decoder: &Decoder,
    end: Option<u32>,
    seen: Result<&Recordings>,
) -> Result<()> {
    if let Some(records) = end {
        observation.take(&Record::End { records })?;
    }
    let seen = seen?;
    decoder.finish()?;
    observation.record(seen)
}

/// Runs the next repetition of the case. Each piece of its stream goes to `keep` and then to
/// `intake`, after which `look` gets the observation. Returns the recordings of the machine's
/// instruments.
///
/// # Errors
/// The target failed, or its stream is damaged.
pub fn play(
    machine: &dyn Machine,
    case: &Case,
    intake: &mut Intake<'_>,
    stop: &AtomicBool,
    keep: &mut dyn FnMut(&[u8]),
    look: &mut dyn FnMut(&Observation),
) -> Result<Recordings> {
    let request = case.request_for(intake.observation.repetitions());
    let start = Start { request: &request, limit: patience(case, machine), stop };
    let recording = machine.run(&start, &mut |bytes| {
        keep(bytes);
        intake.feed(bytes)?;
        look(intake.observation);
        Ok(())
    })?;
    Recordings::new(recording, intake.is_first())
}

/// The time that a soak may take beyond its length.
const SOAK_PATIENCE: Duration = Duration::from_secs(300);

/// The limit for one repetition: the user's, in wall time, or a multiple of the expected time. On
/// an emulated machine the multiple counts the emulator's processor time, so that a busy host does
/// not make a case inconclusive.
pub fn patience(case: &Case, machine: &dyn Machine) -> Limit {
    if let Some(watchdog) = case.watchdog {
        return watchdog.into();
    }
    if let Some(length) = case.soak() {
        return length.saturating_add(SOAK_PATIENCE).into();
    }
    let properties = machine.properties();
    let patience = Duration::from_secs(10)
        .saturating_add(case.expected().saturating_mul(10))
        .saturating_mul(properties.slowness);
    if properties.is_emulated { Limit::for_work(patience) } else { patience.into() }
}
