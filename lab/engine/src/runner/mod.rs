//! Runs cases. Each round runs one repetition of every case, so that drift of the machine affects
//! all cases alike. Every second round runs them in reverse order, so that neither of two
//! neighbours always goes first. Cases whose figures do not depend on the host's load may run side
//! by side instead, after all others.

mod assembly;
pub mod boards;
pub mod context;
mod entry;
mod pair_tally;
pub mod pairs;
mod recovered;
mod remaining;
mod repetition;
mod side_by_side;
mod tally;
#[cfg(test)]
mod tests;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};

pub use self::{
    assembly::runs,
    recovered::recovered,
    repetition::{Progress, Step},
};
use self::{
    entry::Entry,
    remaining::Work,
    repetition::{Intake, play},
    tally::Tally,
};
use crate::{
    case::Case, journal::Journal, journal::MadeForm, journal::Recorded, observation::Observation,
};
use chronoscope_machine::{Machine, Machines, Provenance, SetUpFailed, TargetFailed};
use chronoscope_run::{CaseResult, PeerResult};

/// The results of running cases, and peers if there are any.
pub struct Outcome {
    /// An element for each case: `None` if it needs more and has no complete repetition.
    pub results: Vec<Option<CaseResult>>,
    /// An element for each peer: `None` if it can be run and has no complete pair.
    pub peers: Vec<Option<PeerResult>>,
    /// The number of cases that have all their repetitions, and of peers that have all their pairs
    /// or cannot be run.
    pub complete: usize,
    /// The time of the cases' repetitions together, without set-up.
    pub spent: Duration,
    /// The run was stopped before its end.
    pub interrupted: bool,
    /// Every case was refused at its set-up, and there are no peers: nothing was measured.
    pub refused: bool,
}

impl Outcome {
    /// Adds the outcome of the peers, which ran after the cases.
    pub fn with_peers(self, peers: pairs::Outcome) -> Self {
        Self {
            refused: self.refused && peers.results.is_empty(),
            peers: peers.results,
            complete: self.complete + peers.complete,
            interrupted: self.interrupted || peers.interrupted,
            ..self
        }
    }
}

/// The options that hold for all cases.
#[derive(Clone, Copy)]
pub struct RunOptions {
    /// Every sample is kept in the result.
    pub keep_samples: bool,
    /// The largest number of cases that run at once. With 1, all cases run in turn.
    pub jobs: usize,
}

/// Runs all cases, and keeps each complete repetition in the journal. When `stop` becomes true, the
/// repetition under way is dropped, and the complete ones are kept.
///
/// # Errors
/// A target does not exist. Failures of single cases are reported in their verdicts.
pub fn run(
    machines: &Machines,
    cases: &[Case],
    options: RunOptions,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
    journal: &mut Journal,
) -> Result<Outcome> {
    run_to(machines, cases, options, progress, stop, journal, None)
}

/// Runs a case on a machine that its target does not name, and keeps its samples; otherwise like
/// [`run`].
pub fn run_on_machine(
    case: &Case,
    machine: Box<dyn Machine + '_>,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
    journal: &mut Journal,
) -> Outcome {
    let under_way = UnderWay { tally: Tally::new(case, true), machine };
    run_all(vec![under_way], 1, progress, stop, journal, None)
}

/// Runs all cases as [`run`] does, and then asks `goals`, which is given the results so far. It
/// returns the number of repetitions to reach for each case, or an empty list to end the run.
///
/// # Errors
/// A target does not exist.
pub fn run_until(
    machines: &Machines,
    cases: &[Case],
    options: RunOptions,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
    journal: &mut Journal,
    goals: &mut Goals<'_>,
) -> Result<Outcome> {
    run_to(machines, cases, options, progress, stop, journal, Some(goals))
}

/// Returns the number of repetitions that each case is to reach, given the results so far.
type Goals<'a> = dyn FnMut(&[CaseResult]) -> Vec<usize> + 'a;

fn run_to(
    machines: &Machines,
    cases: &[Case],
    options: RunOptions,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
    journal: &mut Journal,
    goals: Option<&mut Goals<'_>>,
) -> Result<Outcome> {
    let under_way = cases
        .iter()
        .map(|case| {
            Ok(UnderWay {
                tally: Tally::new(case, options.keep_samples),
                machine: case.open(machines)?,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(run_all(under_way, options.jobs, progress, stop, journal, goals))
}

fn run_all(
    mut under_way: Vec<UnderWay<'_>>,
    jobs: usize,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
    journal: &mut Journal,
    mut goals: Option<&mut Goals<'_>>,
) -> Outcome {
    // The cases that run in turn, each alone.
    let mut order: Vec<usize> =
        (0..under_way.len()).filter(|&index| jobs == 1 || !under_way[index].shares()).collect();
    let journal = &Mutex::new(journal);
    while !stop.load(Ordering::Relaxed) {
        if !under_way.iter().any(UnderWay::needs_more) {
            let Some(goals) = &mut goals else { break };
            if !extend(&mut under_way, goals) {
                break;
            }
        }
        if order.iter().any(|&index| under_way[index].needs_more()) {
            round(&mut under_way, &order, progress, stop, journal);
            order.reverse();
        } else {
            side_by_side::run(&mut under_way, jobs, progress, stop, journal);
        }
    }
    progress.finish();
    let interrupted = stop.load(Ordering::Relaxed);
    let complete = under_way.iter().filter(|case| !case.needs_more()).count();
    let spent = under_way.iter().map(|case| case.tally.spent).sum();
    let refused = under_way.iter().all(|case| case.tally.observation.is_refused_at_set_up());
    let results = under_way.into_iter().map(|case| case.tally.finish()).collect();
    Outcome { results, peers: Vec::new(), complete, spent, interrupted, refused }
}

/// Runs a repetition of each case in `order` that needs more.
fn round(
    under_way: &mut [UnderWay<'_>],
    order: &[usize],
    progress: &mut dyn Progress,
    stop: &AtomicBool,
    journal: &Mutex<&mut Journal>,
) {
    for &index in order {
        if !under_way[index].needs_more() {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let works: Vec<_> = under_way.iter().map(|case| case.tally.work()).collect();
        progress.step(&Step::alone(under_way[index].tally.case, &works));
        let mut watch = Watch::new(progress, works, index);
        let look = &mut |case: &_, seen: &_| watch.look(case, seen);
        under_way[index].repeat(stop, &mut Entry::alone(journal, index), look);
    }
}

/// Sets the numbers of repetitions to reach. Returns whether any case needs more.
fn extend(under_way: &mut [UnderWay<'_>], goals: &mut Goals<'_>) -> bool {
    let results: Vec<CaseResult> = under_way.iter().map(|case| case.tally.so_far()).collect();
    for (case, goal) in under_way.iter_mut().zip(goals(&results)) {
        case.tally.goal = goal;
    }
    under_way.iter().any(UnderWay::needs_more)
}

/// Reports the progress of a soak while it runs.
struct Watch<'a> {
    progress: &'a mut dyn Progress,
    /// The works of the run without the soak.
    others: Vec<Work>,
    start: Instant,
    reported: Instant,
}

impl<'a> Watch<'a> {
    /// How often progress is reported.
    const OFTEN: Duration = Duration::from_millis(500);

    /// The watch of the case whose work is at `index`.
    fn new(progress: &'a mut dyn Progress, mut works: Vec<Work>, index: usize) -> Self {
        works[index] = Work { left: 0, at_least: Duration::ZERO, ..works[index] };
        let start = Instant::now();
        Self { progress, others: works, start, reported: start }
    }

    fn look(&mut self, case: &Case, seen: &Observation) {
        if case.soak().is_none() || self.reported.elapsed() < Self::OFTEN {
            return;
        }
        self.reported = Instant::now();
        let step = Step::during_soak(case, self.start.elapsed(), &self.others);
        self.progress.step(&Step { worst: seen.worst(), ..step });
    }
}

struct UnderWay<'a> {
    tally: Tally<'a>,
    machine: Box<dyn Machine + 'a>,
}

impl UnderWay<'_> {
    fn needs_more(&self) -> bool {
        self.tally.needs_more()
    }

    /// Returns whether repetitions of the case may run beside other cases' repetitions.
    fn shares(&self) -> bool {
        self.machine.properties().shares_the_host
    }

    /// Runs one more repetition of the case, and writes its entry. A stopped repetition is dropped.
    /// `look` is given the observation after each piece of the stream.
    fn repeat(
        &mut self,
        stop: &AtomicBool,
        entry: &mut Entry<'_, '_>,
        look: &mut dyn FnMut(&Case, &Observation),
    ) {
        let Self { tally, machine } = self;
        let made = match machine.prepare(&tally.case.request(), stop) {
            Ok(made) => made,
            Err(_) if stop.load(Ordering::Relaxed) => return,
            Err(error) => {
                let why = format!("{error:#}");
                let has_failed = error.is::<TargetFailed>();
                // In a journal, a repetition without provenance is one whose set-up failed.
                entry.begin(has_failed.then(MadeForm::default));
                entry.end(&Recorded { failed: Some(why.clone()), ..Recorded::default() });
                return match has_failed {
                    true => tally.observation.fail(why),
                    false => tally.observation.fail_set_up(why),
                };
            }
        };
        let Provenance { identity, remark } = made;
        let start = Instant::now();
        let mut intake = Intake::new(&mut tally.observation);
        entry.begin(Some(MadeForm { identity: identity.clone(), remark: remark.clone() }));
        intake.observation().made(identity, &remark);
        let case = tally.case;
        let is_soak = case.soak().is_some();
        let seen = if is_soak {
            let mut checkpoints = Checkpoints::new(start, tally.spent);
            let look = &mut |seen: &_| {
                checkpoints.look(case, seen, entry);
                look(case, seen);
            };
            play(machine.as_ref(), case, &mut intake, stop, &mut |_| (), look)
        } else {
            let look = &mut |seen: &_| look(case, seen);
            let each = &mut |bytes: &[u8]| entry.stream(bytes);
            play(machine.as_ref(), case, &mut intake, stop, each, look)
        };
        if seen.is_err() && stop.load(Ordering::Relaxed) {
            entry.discard();
            return intake.discard();
        }
        if let Err(error) = &seen
            && error.is::<SetUpFailed>()
        {
            let why = format!("{error:#}");
            entry.discard();
            intake.discard();
            entry.begin(None);
            entry.end(&Recorded { failed: Some(why.clone()), ..Recorded::default() });
            return tally.observation.fail_set_up(why);
        }
        let spent = start.elapsed();
        tally.spent += spent;
        let recorded = match &seen {
            Ok(seen) => Recorded {
                spent,
                failed: None,
                capture: seen.capture.as_deref(),
                runs: seen.runs.as_deref(),
                cycles: seen.cycles.as_ref(),
            },
            Err(error) => {
                Recorded { spent, failed: Some(format!("{error:#}")), ..Recorded::default() }
            }
        };
        let ended = seen.as_ref().map_err(|error| anyhow!("{error:#}"));
        if is_soak {
            intake.end(ended);
            entry.end_soak(tally.so_far(), tally.spent, &recorded);
        } else {
            entry.end(&recorded);
            intake.end(ended);
        }
    }
}

/// Keeps the result so far of a soak.
struct Checkpoints {
    start: Instant,
    /// The time of the repetitions before.
    spent: Duration,
    /// When the next checkpoint is due.
    due: Duration,
}

impl Checkpoints {
    /// How much of a soak a killed lab loses at most, and at least: a checkpoint takes a fiftieth of the
    /// time at most, up to the longest of these.
    const EVERY: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(60)];

    /// The checkpoints of a repetition that began at `start`, after others that took `spent`.
    fn new(start: Instant, spent: Duration) -> Self {
        Self { start, spent, due: Self::EVERY[0] }
    }

    fn look(&mut self, case: &Case, seen: &Observation, entry: &mut Entry<'_, '_>) {
        let time = self.start.elapsed();
        if time < self.due {
            return;
        }
        entry.checkpoint(seen.under_way(case, time), self.spent.saturating_add(time));
        let [least, most] = Self::EVERY;
        let taken = self.start.elapsed().saturating_sub(time);
        self.due = self.start.elapsed() + taken.saturating_mul(50).clamp(least, most);
    }
}
