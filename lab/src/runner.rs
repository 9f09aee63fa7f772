//! Running cases: repetition after repetition, all cases in turn, so that what drifts in the machine drifts through all of
//! them alike. Every second round goes through them backwards, so that of two neighbours neither always goes first.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::{
    case::Case,
    machine::{self, Machine},
    observation::Observation,
    run::CaseResult,
    stream::Decoder,
};

/// Told of every step; the progress bar is one.
pub trait Progress {
    /// A repetition of `case` is about to run. `done` of `total` seconds, as expected, lie behind.
    fn step(&mut self, case: &Case, done: Duration, total: Duration);
    fn finish(&mut self);
}

/// What came of running.
pub struct Outcome {
    /// One result for each case that is complete.
    pub results: Vec<CaseResult>,
    pub interrupted: bool,
}

/// Runs all cases. When `stop` becomes true the case under way is ended, and the cases that have all their repetitions
/// remain.
///
/// # Errors
/// When a target does not exist. Failures of single cases are told in their verdicts.
pub fn run(cases: &[Case], keep_samples: bool, progress: &mut dyn Progress, stop: &AtomicBool) -> Result<Outcome> {
    let mut under_way = cases
        .iter()
        .map(|case| {
            Ok(UnderWay {
                case,
                machine: machine::find(&case.target)?,
                observation: Observation::new(case, keep_samples),
                spent: Duration::ZERO,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let total = expected_left(&under_way);
    let mut order: Vec<usize> = (0..under_way.len()).collect();
    while under_way.iter().any(UnderWay::needs_more) && !stop.load(Ordering::Relaxed) {
        for &index in &order {
            if !under_way[index].needs_more() {
                continue;
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let left = expected_left(&under_way);
            progress.step(under_way[index].case, total.saturating_sub(left), total);
            under_way[index].repeat(stop);
        }
        order.reverse();
    }
    progress.finish();
    let interrupted = stop.load(Ordering::Relaxed);
    let complete = under_way.into_iter().filter(|case| !case.needs_more());
    Ok(Outcome { results: complete.map(|case| case.observation.finish(case.case)).collect(), interrupted })
}

fn expected_left(cases: &[UnderWay<'_>]) -> Duration {
    cases.iter().map(UnderWay::expected_left).fold(Duration::ZERO, Duration::saturating_add)
}

struct UnderWay<'a> {
    case: &'a Case,
    machine: Box<dyn Machine>,
    observation: Observation,
    spent: Duration,
}

impl UnderWay<'_> {
    fn needs_more(&self) -> bool {
        !self.observation.is_refused()
            && (self.observation.repetitions() < self.case.repeat
                || self.case.duration.is_some_and(|duration| self.spent < duration))
    }

    fn expected_left(&self) -> Duration {
        if !self.needs_more() {
            return Duration::ZERO;
        }
        let repetitions = self.case.repeat.saturating_sub(self.observation.repetitions());
        let by_count = self.case.expected().saturating_mul(u32::try_from(repetitions).unwrap_or(u32::MAX));
        let by_time = self.case.duration.map_or(Duration::ZERO, |duration| duration.saturating_sub(self.spent));
        by_count.max(by_time)
    }

    fn repeat(&mut self, stop: &AtomicBool) {
        if let Err(error) = self.machine.prepare() {
            self.observation.fail(format!("{error:#}"));
            return;
        }
        let start = Instant::now();
        // Expectations are rough, and machines differ: hung is what takes ten times as long.
        let patience = Duration::from_secs(10).saturating_add(self.case.expected().saturating_mul(10));
        let limit = self.case.watchdog.unwrap_or(patience);
        let mut decoder = Decoder::default();
        let observation = &mut self.observation;
        let outcome = self
            .machine
            .run(&self.case.request(), limit, stop, &mut |bytes| {
                decoder.feed(bytes, &mut |record| observation.take(record))
            })
            .and_then(|()| decoder.finish());
        self.spent += start.elapsed();
        if let Err(error) = outcome
            && !stop.load(Ordering::Relaxed)
        {
            self.observation.fail(format!("{error:#}"));
        }
    }
}
