//! A set of tasks on a simulated processor, event by event: fixed priorities with pre-emption,
//! locks with priority inheritance, and no costs of a kernel.

use super::Task;

/// A job that is released and not done.
#[derive(Clone, Copy)]
struct Job {
    arrival: u64,
    /// The ticks that it has executed.
    done: u64,
}

/// The longest response time of each task until `end`, with the arrivals from `offsets` on; `None`
/// for a task none of whose jobs was done. A job takes its lock after half of its work outside of
/// it.
pub fn longest_responses(tasks: &[Task], offsets: &[u64], end: u64) -> Vec<Option<u64>> {
    let mut arrivals: Vec<u64> = offsets.to_vec();
    let mut jobs: Vec<Vec<Job>> = vec![Vec::new(); tasks.len()];
    let mut longest = vec![None; tasks.len()];
    let mut now = 0;
    while now < end {
        for (place, task) in tasks.iter().enumerate() {
            while arrivals[place] <= now {
                jobs[place].push(Job { arrival: arrivals[place], done: 0 });
                arrivals[place] += task.period;
            }
        }
        let next = arrivals.iter().copied().min().unwrap_or(end).min(end);
        let Some(place) = runs(tasks, &jobs) else {
            now = next;
            continue;
        };
        let job = &mut jobs[place][0];
        let step = until_change(&tasks[place], job.done).min(next - now);
        job.done += step;
        now += step;
        if job.done >= tasks[place].work {
            let response = now - job.arrival;
            longest[place] = longest[place].max(Some(response));
            jobs[place].remove(0);
        }
    }
    longest
}

/// The ticks of work at which a job takes its lock, and at which it gives it back.
fn section(task: &Task) -> Option<(u64, u64)> {
    let lock = task.lock.filter(|lock| lock.hold > 0)?;
    let start = (task.work - lock.hold) / 2;
    Some((start, start + lock.hold))
}

/// The work of a job until it takes or gives its lock, or is done.
fn until_change(task: &Task, done: u64) -> u64 {
    let (start, end) = section(task).unwrap_or((task.work, task.work));
    let points = [start, end, task.work];
    points.into_iter().find(|point| *point > done).map_or(0, |point| point - done)
}

/// The task that runs: the most urgent ready one, or whoever has the lock that it waits for.
fn runs(tasks: &[Task], jobs: &[Vec<Job>]) -> Option<usize> {
    let ready = (0..tasks.len()).find(|place| !jobs[*place].is_empty())?;
    let job = jobs[ready][0];
    let asks = section(&tasks[ready]).is_some_and(|(start, _)| job.done == start);
    let number = tasks[ready].lock.map(|lock| lock.number);
    let has = |place: &usize| {
        let inside = section(&tasks[*place]).zip(jobs[*place].first());
        let is_inside =
            inside.is_some_and(|((start, end), job)| start < job.done && job.done < end);
        is_inside && tasks[*place].lock.map(|lock| lock.number) == number
    };
    let owner = (0..tasks.len()).filter(|place| *place != ready).find(has);
    if asks { owner.or(Some(ready)) } else { Some(ready) }
}
