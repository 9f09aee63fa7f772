//! The tasks of a kernel that tells its switches by marks: the number `task_runs` at each switch is the
//! task's id, and `task_ready` the id of a task that has become ready. A series of each task's times in a
//! row on the processor, and one of its waits until it runs.

use std::collections::BTreeMap;

use super::{Kind, Series};
use crate::stream::Interval;

/// The names of the marks.
pub const RUNS: &str = "task_runs";
pub const READY: &str = "task_ready";

/// The most tasks that have series.
const MOST: usize = 40;

/// The names of tasks by their ids, as the program has sent them.
pub type Names = BTreeMap<u64, String>;

/// The series, in which the tasks' take the place of the two numbers.
pub fn by_task(all: Vec<Series>, names: &Names) -> Vec<Series> {
    let is_task = |series: &Series| {
        series.kind == Kind::Value && (series.name == RUNS || series.name == READY)
    };
    let (tasks, mut others): (Vec<Series>, Vec<Series>) = all.into_iter().partition(is_task);
    let numbers = |name: &str| {
        let found = tasks.iter().find(|series| series.name == name);
        found.map_or(&[][..], |series| &series.intervals)
    };
    let (runs, ready) = (numbers(RUNS), numbers(READY));
    let named = |id: u64| names.get(&id).cloned().unwrap_or_else(|| format!("task {id:#x}"));
    let sorts = [
        (times_on_the_processor(runs), ", on the processor"),
        (waits(runs, ready), ", ready to running"),
    ];
    for (by_id, ending) in sorts {
        for (id, intervals) in by_id.into_iter().take(MOST) {
            let name = format!("{}{ending}", named(id));
            let hits = intervals.len() as u64;
            others.push(Series { hits, intervals, ..Series::whole(name) });
        }
    }
    others
}

/// The times in a row of each task. The last one has no end. Id 0 is no task.
fn times_on_the_processor(runs: &[Interval]) -> BTreeMap<u64, Vec<Interval>> {
    let mut all: BTreeMap<u64, Vec<Interval>> = BTreeMap::new();
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
    all
}

/// The waits of each task from the first time that it was ready to its next run.
fn waits(runs: &[Interval], ready: &[Interval]) -> BTreeMap<u64, Vec<Interval>> {
    let mut all: BTreeMap<u64, Vec<Interval>> = BTreeMap::new();
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
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(name: &str, all: &[(u64, u64)]) -> Series {
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
        let all = vec![numbers(RUNS, &runs), numbers("other", &[(1, 2)]), numbers(READY, &ready)];
        let names = Names::from([(7, "control".to_owned())]);
        let all = by_task(all, &names);
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
        assert_eq!(by_task(Vec::new(), &names), []);
    }
}
