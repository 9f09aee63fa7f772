//! Runs cases. Each round runs one repetition of every case, so that drift of the machine affects
//! all cases alike. Every second round runs them in reverse order, so that neither of two
//! neighbours always goes first.

pub mod context;
pub mod pairs;
mod repetition;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::Result;

pub use self::repetition::Progress;
use self::repetition::repetition;
use crate::{
    case::Case,
    machine::{self, Machine},
    observation::Observation,
    run::CaseResult,
};

/// The results of running cases.
pub struct Outcome {
    /// A result for each case that has at least one complete repetition.
    pub results: Vec<CaseResult>,
    /// The number of cases that have all their repetitions.
    pub complete: usize,
    pub interrupted: bool,
}

/// Runs all cases. When `stop` becomes true, the repetition under way is ended, and the complete
/// ones are kept.
///
/// # Errors
/// A target does not exist. Failures of single cases are reported in their verdicts.
pub fn run(
    cases: &[Case],
    keep_samples: bool,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<Outcome> {
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
    let complete = under_way.iter().filter(|case| !case.needs_more()).count();
    let results = under_way.into_iter().filter_map(UnderWay::finish).collect();
    Ok(Outcome { results, complete, interrupted })
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

    /// The case's result; `None` if it is interrupted before its first complete repetition.
    fn finish(mut self) -> Option<CaseResult> {
        let done = self.observation.repetitions();
        if self.needs_more() && done == 0 {
            return None;
        }
        if self.needs_more() {
            self.observation.remark(format!(
                "interrupted after {done} of {} repetitions",
                self.case.repeat.max(done)
            ));
        }
        Some(self.observation.finish(self.case))
    }

    fn expected_left(&self) -> Duration {
        if !self.needs_more() {
            return Duration::ZERO;
        }
        let repetitions = self.case.repeat.saturating_sub(self.observation.repetitions());
        let by_count =
            self.case.expected().saturating_mul(u32::try_from(repetitions).unwrap_or(u32::MAX));
        let by_time = self
            .case
            .duration
            .map_or(Duration::ZERO, |duration| duration.saturating_sub(self.spent));
        by_count.max(by_time)
    }

    fn repeat(&mut self, stop: &AtomicBool) {
        match self.machine.prepare(&self.case.request(), stop) {
            Ok(made) => self.observation.made(made),
            Err(_) if stop.load(Ordering::Relaxed) => return,
            Err(error) => return self.observation.fail(format!("{error:#}")),
        }
        let start = Instant::now();
        let outcome = repetition(self.machine.as_ref(), self.case, &mut self.observation, stop);
        self.spent += start.elapsed();
        if let Err(error) = outcome
            && !stop.load(Ordering::Relaxed)
        {
            self.observation.fail(format!("{error:#}"));
        }
    }
}
