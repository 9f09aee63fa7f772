//! The tasks of a kernel that tells its switches by marks: the number `task_runs` at each switch is the
//! task's id, and `task_ready` the id of a task that has become ready. A series of each task's times in a
//! row on the processor, and one of its waits until it runs.

use std::collections::{BTreeMap, BTreeSet};

use super::{Kind, Series};
use crate::stream::Interval;

/// The names of the marks.
pub const RUNS: &str = "task_runs";
pub const READY: &str = "task_ready";

/// The most tasks that have series.
const MOST: usize = 40;

/// The names of tasks by their ids, as the program has sent them.
pub type Names = BTreeMap<u64, String>;

/// The numbers of `task_runs` and of `task_ready` before a place at which hits are missing.
pub type Break = [usize; 2];

/// The intervals of each task, by its id.
type ById = BTreeMap<u64, Vec<Interval>>;

/// Returns whether a series has the numbers of tasks.
fn is_of_tasks(series: &Series) -> bool {
    series.kind == Kind::Value && (series.name == RUNS || series.name == READY)
}

/// The numbers of `task_runs` and of `task_ready`, in this order.
fn numbers(all: &[Series]) -> [&[Interval]; 2] {
    [RUNS, READY].map(|name| {
        let found = all.iter().find(|series| is_of_tasks(series) && series.name == name);
        found.map_or(&[][..], |series| &series.intervals)
    })
}

/// The place behind all numbers so far.
pub fn place(all: &[Series]) -> Break {
    numbers(all).map(<[Interval]>::len)
}

/// The series, in which the tasks' take the place of the two numbers, and the number of tasks that have
/// intervals and no series. No interval is made across a break.
pub fn by_task(all: Vec<Series>, names: &Names, breaks: &[Break]) -> (Vec<Series>, usize) {
    let [runs, ready] = numbers(&all);
    let (mut on_processor, mut waiting) = (ById::new(), ById::new());
    let mut start = [0, 0];
    for (number, end) in breaks.iter().copied().chain([place(&all)]).enumerate() {
        let (runs, ready) = (&runs[start[0]..end[0]], &ready[start[1]..end[1]]);
        add_times_on_the_processor(runs, &mut on_processor);
        // Behind a break it is not known which task runs until one is chosen.
        let is_known = number == 0;
        let first = runs.first().filter(|_| !is_known).map_or(0, |run| run.start);
        add_waits(runs, &ready[ready.partition_point(|one| one.start < first)..], &mut waiting);
        start = end;
    }
    let mut others: Vec<Series> = all.into_iter().filter(|series| !is_of_tasks(series)).collect();
    let ids: BTreeSet<u64> = on_processor.keys().chain(waiting.keys()).copied().collect();
    let left_out = ids.len().saturating_sub(MOST);
    let ids: BTreeSet<u64> = ids.into_iter().take(MOST).collect();
    let shown =
        |by_id: ById| by_id.into_iter().filter(|(id, _)| ids.contains(id)).collect::<ById>();
    let sorts =
        [(shown(on_processor), ", on the processor"), (shown(waiting), ", ready to running")];
    let called = called(&ids, names);
    for (by_id, ending) in sorts {
        for (id, intervals) in by_id {
            let name = called.get(&id).map_or("", String::as_str);
            let hits = intervals.len() as u64;
            others.push(Series { hits, intervals, ..Series::whole(format!("{name}{ending}")) });
        }
    }
    (others, left_out)
}

/// The names of these tasks. A task's id follows where several have the name.
fn called(ids: &BTreeSet<u64>, names: &Names) -> Names {
    let name = |id: u64| names.get(&id).cloned().unwrap_or_else(|| format!("task {id:#x}"));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    ids.iter().for_each(|id| *counts.entry(name(*id)).or_default() += 1);
    let of_its_own = |id: u64| match name(id) {
        name if counts.get(&name) == Some(&1) => name,
        name => format!("{name} {id:#x}"),
    };
    ids.iter().map(|id| (*id, of_its_own(*id))).collect()
}

/// Adds the times in a row of each task. The last one has no end. Id 0 is no task.
fn add_times_on_the_processor(runs: &[Interval], all: &mut ById) {
    let mut running: Option<Interval> = None;
    for run in runs {
        if running.is_some_and(|before| before.length == run.length) {
            // The kernel chose the same task again.
            continue;
        }
        if let Some(Interval { start, length: id }) = running.filter(|before| before.length != 0) {
            let length = run.start.saturating_sub(start);
            all.entry(id).or_default().push(Interval { start, length });
        }
        running = Some(*run);
    }
}

/// Adds the waits of each task from the first time that it was ready to its next run.
fn add_waits(runs: &[Interval], ready: &[Interval], all: &mut ById) {
    let (mut since, mut running) = (BTreeMap::new(), 0);
    let mut ready = ready.iter().peekable();
    for Interval { start: now, length: task } in runs {
        while let Some(Interval { start, length: id }) = ready.next_if(|one| one.start <= *now) {
            if *id != running {
                since.entry(*id).or_insert(*start);
            }
        }
        running = *task;
        if let Some(start) = since.remove(task) {
            all.entry(*task).or_default().push(Interval { start, length: now - start });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(name: &str, all: &[(u64, u64)]) -> Series {
        let intervals = all.iter().map(|&(start, length)| Interval { start, length }).collect();
        Series { kind: Kind::Value, intervals, ..Series::whole(name.to_owned()) }
    }

    fn shown(all: &[Series]) -> Vec<(&str, Vec<(u64, u64)>)> {
        let pairs = |series: &Series| {
            series.intervals.iter().map(|one| (one.start, one.length)).collect::<Vec<_>>()
        };
        all.iter().map(|series| (&*series.name, pairs(series))).collect()
    }

    #[test]
    fn a_task_runs_until_the_next_and_waits_from_ready() {
        let runs = [(10, 7), (30, 9), (35, 9), (40, 0), (60, 7), (90, 9)];
        // While it runs, a task that is made ready waits for nothing.
        let ready = [(5, 7), (20, 9), (32, 9), (50, 7), (55, 7), (95, 7)];
        let all =
            vec![numbered(RUNS, &runs), numbered("other", &[(1, 2)]), numbered(READY, &ready)];
        let names = Names::from([(7, "control".to_owned())]);
        let (all, _) = by_task(all, &names, &[]);
        assert_eq!(
            shown(&all),
            [
                ("other", vec![(1, 2)]),
                ("control, on the processor", vec![(10, 20), (60, 30)]),
                ("task 0x9, on the processor", vec![(30, 10)]),
                ("control, ready to running", vec![(5, 5), (50, 10)]),
                ("task 0x9, ready to running", vec![(20, 10)]),
            ]
        );
        assert!(all[1].is_time() && all[3].is_time());
        assert_eq!(by_task(Vec::new(), &names, &[]), (Vec::new(), 0));
    }

    #[test]
    fn tasks_of_one_name_have_their_ids_and_those_beyond_the_most_are_counted() {
        let runs = [(10, 7), (30, 9), (35, 8), (40, 0)];
        let names = [(7, "worker"), (9, "worker"), (8, "control")];
        let names = Names::from(names.map(|(id, name)| (id, name.to_owned())));
        let (all, _) = by_task(vec![numbered(RUNS, &runs)], &names, &[]);
        assert_eq!(
            shown(&all),
            [
                ("worker 0x7, on the processor", vec![(10, 20)]),
                ("control, on the processor", vec![(35, 5)]),
                ("worker 0x9, on the processor", vec![(30, 5)]),
            ]
        );
        let many: Vec<(u64, u64)> = (1..=MOST as u64 + 3).map(|id| (10 * id, id)).collect();
        // The last one has no end, so that it has no interval. A task of a high id alone has waits.
        let ready = [(5, 1), (25, MOST as u64 + 2)];
        let all = vec![numbered(RUNS, &many), numbered(READY, &ready)];
        let (all, left_out) = by_task(all, &Names::new(), &[]);
        assert_eq!((all.len(), left_out), (MOST + 1, 2));
        assert_eq!(all[MOST].name, "task 0x1, ready to running");
    }

    #[test]
    fn a_break_ends_and_begins_nothing() {
        let (runs, ready) = ([(10, 7), (50, 9), (60, 0)], [(20, 9), (55, 7)]);
        let all = vec![numbered(RUNS, &runs), numbered(READY, &ready)];
        let with = |breaks: &[Break]| by_task(all.clone(), &Names::new(), breaks).0;
        assert_eq!(shown(&with(&[])).len(), 3);
        let all = with(&[[1, 1]]);
        assert_eq!(shown(&all), [("task 0x9, on the processor", vec![(50, 10)])]);
        // A task that runs across a break waits for nothing, though it is made ready.
        let (runs, ready) = ([(10, 7), (30, 9), (50, 7)], [(20, 7), (40, 7)]);
        let all = vec![numbered(RUNS, &runs), numbered(READY, &ready)];
        let (all, _) = by_task(all, &Names::new(), &[[1, 0]]);
        let waits = ("task 0x7, ready to running", vec![(40, 10)]);
        assert_eq!(shown(&all), [("task 0x9, on the processor", vec![(30, 20)]), waits]);
        // Nor does the task that runs when the first hits are lost.
        let (runs, ready) = ([(30, 9), (50, 7)], [(20, 7)]);
        let all = vec![numbered(RUNS, &runs), numbered(READY, &ready)];
        let (all, _) = by_task(all, &Names::new(), &[[0, 0]]);
        assert_eq!(shown(&all), [("task 0x9, on the processor", vec![(30, 20)])]);
    }
}
