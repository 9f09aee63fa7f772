//! A peer with the values of its pairs so far, from running it or from a journal.

use std::time::Duration;

use super::remaining::Work;
use crate::{journal::Pair, journal::PairOutcome, journal::PairValue, journal::PeerForm};
use chronoscope_run::{Paired, PeerResult, Status, Verdict, judge::judge_peer};

/// The number of failed pairs that ends a peer. A tool that is starved on a busy machine fails
/// once; a broken one fails each time.
const MAX_FAILURES: usize = 3;

pub(super) struct PairTally {
    /// The result, whose statistics grow.
    result: PeerResult,
    repeat: usize,
    duration: Option<Duration>,
    spent: Duration,
    failures: Vec<String>,
    /// The statistics that single pairs lack: for each, its place, the pair's number from 1, and
    /// the reason.
    gaps: Vec<(usize, usize, String)>,
    /// Why no more pairs are run, if there is a reason.
    trouble: Option<Verdict>,
}

impl PairTally {
    pub(super) fn new(form: &PeerForm) -> Self {
        Self {
            result: form.result.clone(),
            repeat: form.repeat,
            duration: form.duration,
            spent: Duration::ZERO,
            failures: Vec::new(),
            gaps: Vec::new(),
            trouble: form.is_given_up.then(|| form.result.verdict.clone()),
        }
    }

    pub(super) fn pairs(&self) -> usize {
        self.result.pairs
    }

    pub(super) fn needs_more(&self) -> bool {
        let too_short = self.duration.is_some_and(|duration| self.spent < duration);
        self.trouble.is_none() && (self.pairs() < self.repeat || too_short)
    }

    /// The pairs that ran and those that are left, of which one is expected to take `expected`.
    pub(super) fn work(&self, expected: Duration) -> Work {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let done = count(self.pairs() + self.failures.len());
        let work = Work { expected, done, spent: self.spent, ..Work::default() };
        if !self.needs_more() {
            return work;
        }
        Work {
            left: count(self.repeat.saturating_sub(self.pairs())),
            at_least: self.duration.unwrap_or_default().saturating_sub(self.spent),
            ..work
        }
    }

    /// Adds a pair. A pair that failed is run again, until three have failed. A statistic that the
    /// pair lacks is left out.
    pub(super) fn add(&mut self, pair: Pair) {
        // A journal's pair may have taken any time.
        self.spent = self.spent.saturating_add(pair.spent);
        match pair.outcome {
            PairOutcome::Values(values) => {
                self.result.pairs += 1;
                let statistics = self.result.statistics.iter_mut().enumerate();
                for ((place, paired), value) in statistics.zip(values) {
                    match value.missing {
                        Some(why) => self.gaps.push((place, self.result.pairs, why)),
                        None => add(paired, value),
                    }
                }
            }
            PairOutcome::Unprepared(why) => {
                self.trouble = Some(Verdict::new(Status::Error, why));
            }
            PairOutcome::Failed(why) => {
                self.failures.push(why.clone());
                if self.failures.len() == MAX_FAILURES {
                    self.trouble = Some(Verdict::new(Status::Inconclusive, why));
                }
            }
        }
    }

    /// The peer's result; `None` if it needs more and not even one pair is complete.
    pub(super) fn finish(mut self) -> Option<PeerResult> {
        let (pairs, is_cut) = (self.pairs(), self.needs_more());
        if is_cut && pairs == 0 {
            return None;
        }
        let mut result = self.result;
        result.statistics = result.statistics.into_iter().map(Paired::finish).collect();
        if self.trouble.is_none() {
            let again = self.failures.iter();
            let again = again.map(|why| format!("A pair failed and was run again: {why}\n"));
            let gaps = self.gaps.iter().map(|(place, pair, why)| {
                let name = result.statistics[*place].name();
                format!("Pair {pair} is left out of {name}: {why}\n")
            });
            result.note = (again.chain(gaps).collect::<String>() + &result.note).into();
        }
        if is_cut {
            let all = self.repeat.max(pairs);
            let why = format!("interrupted after {pairs} of {all} pairs");
            self.trouble = Some(Verdict::new(Status::Inconclusive, why));
        }
        result.verdict = self.trouble.unwrap_or_else(|| judge_peer(&result.statistics));
        Some(result)
    }
}

fn add(paired: &mut Paired, value: PairValue) {
    paired.ours.extend(value.ours);
    paired.theirs.extend(value.theirs);
    paired.unit = value.unit.into();
}
