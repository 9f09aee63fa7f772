//! Runs cases on several boards at once. All repetitions of a case run on one board, so that its
//! figures never mix two boards. The module knows neither who lends the boards nor how they are flashed.
//!
//! Each board runs a health case before its first case, and after each case that failed on it. A
//! board that fails twice is set aside, and its cases run on others. A case that fails on two boards
//! which are healthy afterwards has failed itself, and is no fault of the boards.

mod plan;
#[cfg(test)]
mod tests;

use std::{
    mem,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::Result;

use self::plan::{After, Plan};
use super::{
    Outcome, UnderWay,
    entry::Entry,
    repetition::{Progress, Step},
    tally::Tally,
};
use crate::{
    case::Case,
    journal::{Journal, MadeForm, Recorded},
};
use chronoscope_base::console;
use chronoscope_machine::Machines;

/// The boards of a run.
pub struct Boards<'a> {
    /// The names of the boards in messages, at least one.
    pub names: Vec<String>,
    /// Prepares a board before its first case, as by flashing it. Called once for each board, from
    /// several threads.
    pub prepare: &'a (dyn Fn(&str) -> Result<()> + Sync),
}

/// The cases of a run on several machines that are alike: each case on each of them, first the first
/// case on all machines. [`run`] measures each case on one of its machines.
pub fn on_each(cases: &[Case], machines: &[String]) -> Vec<Case> {
    let on = |case: &Case, machine: &String| {
        let mut case = case.clone();
        case.target.machine.clone_from(machine);
        case
    };
    cases.iter().flat_map(|case| machines.iter().map(move |machine| on(case, machine))).collect()
}

/// The interval at which an idle board looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// Runs all cases, each of them on one board, and keeps each complete repetition in the journal.
/// `cases` are from [`on_each`]. When `stop` becomes true, the repetitions under way are dropped.
///
/// The outcome has a result for each case on the board that measured it. It counts a case once.
///
/// # Errors
/// A target does not exist. Failures of boards and of single cases are reported in remarks and
/// verdicts.
pub fn run(
    machines: &Machines,
    cases: &[Case],
    boards: &Boards<'_>,
    keep_samples: bool,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
    journal: &mut Journal,
) -> Result<Outcome> {
    let count = boards.names.len();
    let open = |case| {
        Ok(Some(UnderWay {
            tally: Tally::new(case, keep_samples),
            machine: machines.open(&case.target)?,
        }))
    };
    let under_way = cases.iter().map(open).collect::<Result<Vec<_>>>()?;
    let firsts: Vec<&Case> = cases.iter().step_by(count).collect();
    let expected: Vec<Duration> =
        firsts.iter().map(|case| case.expected().saturating_mul(repetitions(case))).collect();
    let soakless = (0..firsts.len()).filter(|&index| firsts[index].soak().is_none());
    let table = Table {
        plan: Plan::new(&expected, count),
        under_way,
        running: vec![None; count],
        progress,
    };
    let run = Run {
        machines,
        cases,
        boards,
        health: soakless.min_by_key(|&index| firsts[index].expected()),
        stop,
        journal: &Mutex::new(journal),
        table: Mutex::new(table),
        changed: Condvar::new(),
    };
    thread::scope(|scope| {
        for board in 1..count {
            let run = &run;
            scope.spawn(move || run.work(board));
        }
        run.work(0);
    });
    let table = run.table.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(table.outcome(count, stop))
}

fn repetitions(case: &Case) -> u32 {
    u32::try_from(case.repeat).unwrap_or(u32::MAX)
}

/// A run on several boards.
struct Run<'a, 'j> {
    machines: &'a Machines,
    /// Each case on each board.
    cases: &'a [Case],
    boards: &'a Boards<'a>,
    /// The case that shows a board's health; `None` if all take hours.
    health: Option<usize>,
    stop: &'a AtomicBool,
    journal: &'a Mutex<&'j mut Journal>,
    table: Mutex<Table<'a>>,
    /// Woken after each change of the table.
    changed: Condvar,
}

struct Table<'a> {
    plan: Plan,
    /// Each case on each board; `None` while a board has it.
    under_way: Vec<Option<UnderWay<'a>>>,
    /// The case that each board runs.
    running: Vec<Option<usize>>,
    progress: &'a mut dyn Progress,
}

impl<'a> Run<'a, '_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Table<'a>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, case: usize, board: usize) -> usize {
        case * self.boards.names.len() + board
    }

    /// Runs the cases of a board, until none is left or the board is set aside.
    fn work(&self, board: usize) {
        let prepared = (self.boards.prepare)(&self.boards.names[board]);
        let healthy = prepared
            .map_err(|error| format!("{error:#}"))
            .and_then(|()| self.check(board).or_else(|_| self.check(board)));
        if let Err(why) = healthy {
            return self.set_aside(board, &why);
        }
        while let Some((index, mut case)) = self.take(board) {
            let place = self.place(index, board);
            while case.needs_more() && !self.is_stopped() {
                self.show();
                case.repeat(
                    self.stop,
                    &mut Entry::without_failures(self.journal, place),
                    &mut |_, _| {},
                );
                let mut table = self.lock();
                table.plan.work(index, case.tally.work());
            }
            let failure = case.tally.observation.failure();
            let mut table = self.lock();
            table.running[board] = None;
            table.under_way[place] = Some(case);
            drop(table);
            if self.is_stopped() {
                break;
            }
            let Some(why) = failure else {
                self.lock().plan.done(index);
                self.changed.notify_all();
                continue;
            };
            if !self.goes_on(index, board, &why) {
                return;
            }
        }
        self.changed.notify_all();
    }

    /// Decides what a failed case means. Returns whether the board stays in service.
    fn goes_on(&self, index: usize, board: usize, why: &str) -> bool {
        let is_second = self.lock().plan.fail(index, board);
        let health = if is_second { Err(why.to_owned()) } else { self.check(board) };
        if self.is_stopped() {
            return false;
        }
        if let Err(second) = health {
            let both = if second == why { second } else { format!("{why}; then {second}") };
            self.set_aside(board, &both);
            return false;
        }
        let after = self.lock().plan.suspect(index, board);
        match after {
            After::Elsewhere => self.remark_on(index, board, why),
            After::Failed => self.record_failure(self.place(index, board), why),
        }
        self.changed.notify_all();
        true
    }

    /// Runs the health case once.
    fn check(&self, board: usize) -> Result<(), String> {
        let Some(health) = self.health else { return Ok(()) };
        let case = &self.cases[self.place(health, board)];
        let case = Case { repeat: 1, duration: None, ..case.clone() };
        let machine = self.machines.open(&case.target).map_err(|error| format!("{error:#}"))?;
        let mut case = UnderWay { tally: Tally::new(&case, false), machine };
        let mut nowhere = Journal::none();
        let nowhere = Mutex::new(&mut nowhere);
        case.repeat(self.stop, &mut Entry::alone(&nowhere, 0), &mut |_, _| {});
        case.tally.observation.failure().map_or(Ok(()), Err)
    }

    /// Sets a board aside. Its cases go to the other boards, or fail if there is none.
    fn set_aside(&self, board: usize, why: &str) {
        if self.is_stopped() {
            return;
        }
        let (moved, stranded) = self.lock().plan.set_aside(board);
        let name = &self.boards.names[board];
        console::remark(&format!("the board {name} is set aside: {why}"));
        for index in moved {
            self.remark_on(index, board, why);
        }
        for index in stranded {
            let why = format!("no other board is left for it: {name} failed last: {why}");
            self.record_failure(self.place(index, board), &why);
        }
        self.changed.notify_all();
    }

    /// Notes on the next boards' results of a case that a board has begun that it failed there.
    fn remark_on(&self, index: usize, board: usize, why: &str) {
        let mut table = self.lock();
        let begun = self.place(index, board);
        // A case that has not run on this board has lost nothing there.
        let is_begun = table.under_way[begun]
            .as_ref()
            .is_some_and(|case| case.tally.observation.failure().is_some());
        if !is_begun {
            return;
        }
        let name = &self.boards.names[board];
        for other in (0..self.boards.names.len()).filter(|other| *other != board) {
            let place = self.place(index, other);
            if let Some(case) = &mut table.under_way[place] {
                case.tally
                    .observation
                    .remark(format!("the board {name} failed at this case: {why}"));
            }
        }
    }

    /// Ends a case as failed, in the table and in the journal.
    fn record_failure(&self, place: usize, why: &str) {
        let mut entry = Entry::beside_others(self.journal, place);
        entry.begin(Some(MadeForm::default()));
        entry.end(&Recorded { failed: Some(why.to_owned()), ..Recorded::default() });
        if let Some(case) = &mut self.lock().under_way[place] {
            case.tally.observation.fail(why.to_owned());
        }
    }

    /// Waits for the next case of a board. `None` if every case has ended, or after a signal.
    fn take(&self, board: usize) -> Option<(usize, UnderWay<'a>)> {
        let mut table = self.lock();
        loop {
            if self.is_stopped() || table.plan.is_done() {
                return None;
            }
            if let Some(index) = table.plan.take(board) {
                table.running[board] = Some(index);
                let place = self.place(index, board);
                return mem::take(&mut table.under_way[place]).map(|case| (index, case));
            }
            let waited = self.changed.wait_timeout(table, LOOK);
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Reports a step of progress.
    fn show(&self) {
        let mut table = self.lock();
        let Table { plan, running, progress, .. } = &mut *table;
        let cases = running.iter().enumerate();
        let cases = cases.filter_map(|(board, index)| Some((board, (*index)?)));
        let cases = cases.map(|(board, index)| &self.cases[self.place(index, board)]).collect();
        progress.step(&Step::side_by_side(cases, plan.works(), self.boards.names.len()));
    }
}

impl Table<'_> {
    fn outcome(self, count: usize, stop: &AtomicBool) -> Outcome {
        let Self { plan, under_way, progress, .. } = self;
        progress.finish();
        let spent = under_way.iter().flatten().map(|case| case.tally.spent).sum();
        let mut refused = true;
        let results = under_way.into_iter().enumerate().map(|(place, case)| {
            let (index, board) = (place / count, place % count);
            let case = case.filter(|_| plan.board_of(index) == Some(board))?;
            refused &= case.tally.observation.is_refused_at_set_up();
            case.tally.finish()
        });
        let results: Vec<_> = results.collect();
        Outcome {
            complete: plan.complete(),
            interrupted: stop.load(Ordering::Relaxed),
            peers: Vec::new(),
            results,
            spent,
            refused,
        }
    }
}
