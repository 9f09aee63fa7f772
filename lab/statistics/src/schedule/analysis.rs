//! Response-time analysis of fixed priorities with pre-emption: for the job q = 0, 1, … of a busy
//! period, the least fixed point of
//!
//! ```text
//! w(q) = B + (q + 1) (C' + release + wake) + q switch
//!        + Σ ⌈(w + J) / T⌉ (C' + job) + Σ ⌈(w + J) / T⌉ release + ⌈w / tick⌉ tick
//!          more urgent tasks            less urgent tasks
//! R = J + max (w(q) - q T)
//! ```
//!
//! after Joseph and Pandya (1986), Lehoczky (1990), and Audsley, Burns, Richardson, Tindell and
//! Wellings (1993), who added blocking and release jitter; the costs of a kernel as Burns and
//! Wellings' book on real-time systems has them: two switches a job, the handlers of releases and
//! the tick as the most urgent work. A second job belongs to the busy period if the first one's
//! switch ends after its release. Blocking is of priority inheritance (Sha, Rajkumar and Lehoczky
//! 1990): each less urgent task, and each lock, blocks once at most.

use super::{Costs, Task};

/// A response time is sought up to this many of the longest period or deadline.
const FAR: u64 = 1000;

/// The most jobs of a busy period that are looked at.
const MOST_JOBS: u128 = 1000;

/// The bound of a task's response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Every job is done within this many ticks after its arrival.
    Within(u64),
    /// A job may take this long, which is more than its deadline. A later one may take even longer.
    Misses(u64),
    /// No bound: the more urgent tasks and the kernel may take all of the processor.
    Never,
}

impl Response {
    /// Returns whether the deadline is met.
    pub fn meets(self) -> bool {
        matches!(self, Self::Within(_))
    }

    /// The bound in ticks, if there is one.
    pub fn ticks(self) -> Option<u64> {
        match self {
            Self::Within(ticks) | Self::Misses(ticks) => Some(ticks),
            Self::Never => None,
        }
    }
}

/// The bounds of all tasks.
pub fn responses(tasks: &[Task], costs: &Costs) -> Vec<Response> {
    (0..tasks.len()).map(|place| response(tasks, costs, place)).collect()
}

/// Returns whether all tasks meet their deadlines.
pub fn all_meet(tasks: &[Task], costs: &Costs) -> bool {
    (0..tasks.len()).all(|place| response(tasks, costs, place).meets())
}

fn response(tasks: &[Task], costs: &Costs, place: usize) -> Response {
    let task = &tasks[place];
    let demand = demand(tasks, costs, place);
    let [period, jitter, switch] = [task.period, task.jitter, costs.switch].map(u128::from);
    let each = u128::from(costs.release) + u128::from(costs.wake) + demand;
    let (mut own, mut longest) = (blocking(tasks, costs, place) + each, 0);
    let mut window = own;
    for job in 0..MOST_JOBS {
        let Some(end) = fixed_point(tasks, costs, place, own, window) else { break };
        longest = longest.max(end + jitter - job * period);
        // Below the farthest end, which fits.
        let ticks = longest as u64;
        if ticks > task.deadline {
            return Response::Misses(ticks);
        }
        if end + switch + jitter <= (job + 1) * period {
            return Response::Within(ticks);
        }
        (own, window) = (own + each + switch, end + each + switch);
    }
    Response::Never
}

/// The least fixed point from `window` on, if it is not too far; `own` is the work that no length
/// of the window changes.
fn fixed_point(
    tasks: &[Task],
    costs: &Costs,
    place: usize,
    own: u128,
    mut window: u128,
) -> Option<u128> {
    let longest = tasks.iter().map(|task| task.period.max(task.deadline)).max().unwrap_or(0);
    let far = u128::from(FAR) * u128::from(longest);
    loop {
        let mut next = own;
        for (other, task) in tasks.iter().enumerate().filter(|(other, _)| *other != place) {
            let jobs = (window + u128::from(task.jitter)).div_ceil(u128::from(task.period));
            next += jobs
                * if other < place {
                    demand(tasks, costs, other) + costs.of_job()
                } else {
                    costs.release.into()
                };
        }
        if costs.tick_period > 0 {
            next += window.div_ceil(u128::from(costs.tick_period)) * u128::from(costs.tick);
        }
        if next > far {
            return None;
        }
        if next == window {
            return Some(window);
        }
        window = next;
    }
}

/// The work of a job with the kernel's work for its lock. Giving a lock back costs no more than a
/// switch, which holds a give.
fn demand(tasks: &[Task], costs: &Costs, place: usize) -> u128 {
    let task = &tasks[place];
    let Some(lock) = task.lock else { return task.work.into() };
    let is_lock = |other: &Task| other.lock.is_some_and(|other| other.number == lock.number);
    let contended = if tasks[place + 1..].iter().any(is_lock) { contention(costs) } else { 0 };
    u128::from(task.work) + u128::from(costs.lock) + u128::from(costs.switch) + contended
}

/// The kernel's work for a lock that another task has: two switches, to it and back, and its give.
fn contention(costs: &Costs) -> u128 {
    2 * (u128::from(costs.switch) + u128::from(costs.lock))
}

/// The longest that less urgent work keeps a task from running: a masked stretch, a call of the
/// kernel by which a less urgent task was about to switch, and critical sections.
fn blocking(tasks: &[Task], costs: &Costs, place: usize) -> u128 {
    let lower = &tasks[place + 1..];
    let kernel = if lower.is_empty() { 0 } else { u128::from(costs.switch) };
    // Locks that a task as urgent or more urgent may ask for.
    let asked = |number| tasks[..=place].iter().any(|task| uses(task, number));
    let sections: Vec<_> =
        lower.iter().filter_map(|task| task.lock).filter(|lock| asked(lock.number)).collect();
    let mut numbers: Vec<usize> = sections.iter().map(|lock| lock.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let by_task: u128 = sections.iter().map(|lock| u128::from(lock.hold)).sum();
    let longest = |number: &usize| {
        let holds = sections.iter().filter(|lock| lock.number == *number).map(|lock| lock.hold);
        u128::from(holds.max().unwrap_or(0))
    };
    let by_lock: u128 = numbers.iter().map(longest).sum();
    let times = sections.len().min(numbers.len()) as u128;
    u128::from(costs.masked) + kernel + by_task.min(by_lock) + times * contention(costs)
}

fn uses(task: &Task, number: usize) -> bool {
    task.lock.is_some_and(|lock| lock.number == number)
}

/// How much longer one task may execute until a deadline is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The most that can be added to the execution time, in ticks, with all deadlines met.
    pub ticks: u64,
    /// The task that misses its deadline first with one tick more.
    pub misses: usize,
}

/// The room of the task `place`; `None` if a deadline is missed without any addition.
pub fn room(tasks: &[Task], costs: &Costs, place: usize) -> Option<Room> {
    let longer = |ticks: u64| {
        let mut tasks = tasks.to_vec();
        tasks[place].work += ticks;
        tasks
    };
    let meets = |ticks| all_meet(&longer(ticks), costs);
    if !meets(0) {
        return None;
    }
    // A job that is longer than its deadline misses it.
    let ticks = last(tasks[place].deadline + 1, meets);
    let more = responses(&longer(ticks + 1), costs);
    let misses = more.iter().position(|response| !response.meets())?;
    Some(Room { ticks, misses })
}

/// The greatest factor that [`scale`] tries, in thousandths.
pub const GREATEST_SCALE: u64 = 100_000;

/// The most by which all execution times may be multiplied with all deadlines met, in thousandths,
/// up to [`GREATEST_SCALE`]; critical sections grow as well. 0 if deadlines are missed without any work.
pub fn scale(tasks: &[Task], costs: &Costs) -> u64 {
    let scaled = |thousandths: u64| {
        let times = |ticks: u64| (u128::from(ticks) * u128::from(thousandths) / 1000) as u64;
        let mut tasks = tasks.to_vec();
        for task in &mut tasks {
            task.work = times(task.work);
            if let Some(lock) = &mut task.lock {
                lock.hold = times(lock.hold);
            }
        }
        tasks
    };
    last(GREATEST_SCALE, |thousandths| all_meet(&scaled(thousandths), costs))
}

/// The largest number up to `most` with `holds`, which holds for all below one number and for none
/// from there on; 0 if it holds for none.
fn last(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
