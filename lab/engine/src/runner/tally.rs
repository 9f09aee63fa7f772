//! A case and the results of its repetitions so far, from a machine or from a journal.

use std::time::Duration;

use anyhow::{Result, anyhow};

use super::{remaining::Work, repetition::Intake};
use crate::{
    case::Case, journal::Event, journal::Unfinished, observation::Observation,
    observation::Recordings,
};
use chronoscope_run::CaseResult;

pub(super) struct Tally<'a> {
    pub(super) case: &'a Case,
    pub(super) observation: Observation,
    /// The time of the repetitions that ran, without set-up.
    pub(super) spent: Duration,
    /// The number of repetitions to reach.
    pub(super) goal: usize,
}

impl<'a> Tally<'a> {
    pub(super) fn new(case: &'a Case, keep_samples: bool) -> Self {
        let observation = Observation::new(case, keep_samples);
        Self { case, observation, spent: Duration::ZERO, goal: case.repeat }
    }

    /// The tally that the repetitions in a journal make of the case at `place` in its header.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(super) fn replayed(case: &'a Case, place: usize, journal: &Unfinished) -> Result<Self> {
        let mut tally = Self::new(case, journal.header.keep_samples);
        let mut repetition: Option<(Intake<'_>, Result<()>, bool)> = None;
        let Self { observation, spent, .. } = &mut tally;
        // The observation is lent to one repetition after the other.
        let mut observation = Some(observation);
        journal.replay(place, &mut |event| match event {
            Event::Begin(made) => {
                let Some(observation) = observation.take() else { return };
                let mut intake = Intake::new(observation);
                let is_set_up = made.is_some();
                if let Some(made) = made {
                    intake.observation().made(made.identity, &made.remark);
                }
                repetition = Some((intake, Ok(()), is_set_up));
            }
            Event::Stream(bytes) => {
                // A stream that was refused went no further.
                if let Some((intake, fed @ Ok(()), _)) = &mut repetition {
                    *fed = intake.feed(bytes);
                }
            }
            Event::End(end) => {
                let Some((mut intake, fed, is_set_up)) = repetition.take() else { return };
                if let (false, Some(why)) = (is_set_up, &end.failed) {
                    intake.observation().fail_set_up((*why).to_owned());
                }
                // The time is the journal's word, and may be any.
                *spent = spent.saturating_add(end.spent);
                let seen = Recordings {
                    capture: end.capture.map(<[u8]>::to_vec),
                    cycles: end.cycles.cloned(),
                    runs: end.runs.map(str::to_owned),
                };
                let seen = match end.failed {
                    Some(why) => Err(anyhow!(why)),
                    None => fed.map(|()| &seen),
                };
                observation = Some(intake.end(seen));
            }
        })?;
        drop((repetition, observation));
        Ok(tally)
    }

    pub(super) fn needs_more(&self) -> bool {
        !self.observation.is_refused()
            && (self.observation.repetitions() < self.goal
                || self.case.duration.is_some_and(|duration| self.spent < duration))
    }

    /// The case's judged result; `None` if it needs more and not even one repetition is complete.
    pub(super) fn finish(mut self) -> Option<CaseResult> {
        let done = self.observation.repetitions();
        if self.needs_more() && done == 0 {
            return None;
        }
        if self.needs_more() {
            self.observation
                .remark(format!("interrupted after {done} of {} repetitions", self.goal.max(done)));
        }
        Some(self.observation.finish(self.case).judged())
    }

    /// The case's judged result so far.
    pub(super) fn so_far(&self) -> CaseResult {
        self.observation.clone().finish(self.case).judged()
    }

    /// The repetitions that ran and those that are left.
    pub(super) fn work(&self) -> Work {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let done = self.observation.repetitions();
        let work = Work {
            expected: self.case.expected(),
            done: count(done),
            spent: self.spent,
            ..Work::default()
        };
        if !self.needs_more() {
            return work;
        }
        let duration = self.case.duration.unwrap_or_default();
        Work {
            left: count(self.goal.saturating_sub(done)),
            at_least: duration.saturating_sub(self.spent),
            ..work
        }
    }
}
