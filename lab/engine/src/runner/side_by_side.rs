//! Runs emulated and simulated cases side by side: their figures do not depend on the host's load.
//! The repetitions of one case never overlap, so the case has the same result as when it runs
//! alone.

use std::{
    cmp::Reverse,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use super::{
    UnderWay,
    entry::Entry,
    remaining::Work,
    repetition::{Progress, Step},
};
use crate::{case::Case, journal::Journal};

/// Repeats all cases that need more repetitions, `jobs` at once, until no case needs more. When
/// `stop` becomes true, the repetitions under way are dropped. Blocks until all workers have ended.
pub(super) fn run(
    under_way: &mut [UnderWay<'_>],
    jobs: usize,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
    journal: &Mutex<&mut Journal>,
) {
    let jobs = jobs.min(under_way.iter().filter(|case| case.needs_more()).count());
    let cases = under_way.iter_mut().map(Slot::new).collect();
    let table = &Mutex::new(Table { cases, jobs, progress });
    thread::scope(|scope| {
        for _ in 1..jobs {
            scope.spawn(|| work(table, stop, journal));
        }
        work(table, stop, journal);
    });
}

/// Runs one repetition after the other, until every case that needs one is under way on another
/// worker. A worker can end then, since each remaining case has a worker of its own.
fn work(table: &Mutex<Table<'_, '_>>, stop: &AtomicBool, journal: &Mutex<&mut Journal>) {
    while !stop.load(Ordering::Relaxed) {
        let Some((index, case)) = lock(table).take() else { return };
        case.repeat(stop, &mut Entry::beside_others(journal, index), &mut |_, _| {});
        lock(table).give_back(index, case);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cases that workers take repetitions from.
struct Table<'s, 'c> {
    cases: Vec<Slot<'s, 'c>>,
    /// The number of workers.
    jobs: usize,
    progress: &'s mut dyn Progress,
}

/// A case in the table.
struct Slot<'s, 'c> {
    case: &'c Case,
    /// `None` while a repetition runs.
    idle: Option<&'s mut UnderWay<'c>>,
    /// The case's work without the repetition that runs.
    work: Work,
    /// The time that a repetition is expected to take.
    expected: Duration,
}

impl<'s, 'c> Slot<'s, 'c> {
    fn new(under_way: &'s mut UnderWay<'c>) -> Self {
        let case = under_way.tally.case;
        let expected = case.expected().saturating_mul(under_way.machine.properties().slowness);
        Self { case, work: under_way.tally.work(), idle: Some(under_way), expected }
    }

    /// Returns whether a repetition is needed and none runs.
    fn is_ready(&self) -> bool {
        self.idle.as_ref().is_some_and(|case| case.needs_more())
    }
}

impl<'s, 'c> Table<'s, 'c> {
    /// Takes the next case out of the table and reports a step of progress. Returns the case with
    /// its index, or `None` if no case is ready.
    ///
    /// Cases with the fewest repetitions come first, so that each case has one repetition before
    /// any case has two. Among these cases, the one with the longest repetition comes first, so
    /// that no long repetition is left for the end.
    fn take(&mut self) -> Option<(usize, &'s mut UnderWay<'c>)> {
        let ready = self.cases.iter().enumerate().filter(|(_, slot)| slot.is_ready());
        let first = ready.min_by_key(|(index, slot)| {
            let Work { done, spent, .. } = slot.work;
            (done, Reverse(spent.checked_div(done).unwrap_or(slot.expected)), *index)
        });
        let index = first?.0;
        let case = self.cases[index].idle.take()?;
        let works: Vec<_> = self.cases.iter().map(|slot| slot.work).collect();
        let running = self.cases.iter().filter(|slot| slot.idle.is_none());
        let running = running.map(|slot| slot.case).collect();
        self.progress.step(&Step::side_by_side(running, &works, self.jobs));
        Some((index, case))
    }

    /// Puts a case whose repetition has ended back into the table.
    fn give_back(&mut self, index: usize, case: &'s mut UnderWay<'c>) {
        let slot = &mut self.cases[index];
        slot.work = case.tally.work();
        slot.idle = Some(case);
    }
}
