//! A set of tasks on a simulated processor, event by event: fixed priorities with pre-emption,
//! locks with priority inheritance, and a kernel that takes time.

use std::collections::VecDeque;

use super::{Costs, Task};

/// A job that is released and not done.
#[derive(Clone, Copy)]
struct Job {
    arrival: u64,
    /// The ticks that it has executed, with the kernel's: its wake-up, its work and its switch.
    done: u64,
}

/// A handler that waits or runs.
struct Handler {
    left: u64,
    /// The task that it releases, with the job's arrival; `None` for the kernel's tick.
    releases: Option<(usize, u64)>,
}

/// The piece that executes next, and the ticks until it changes.
enum Next {
    Handler(u64),
    Job(usize, u64),
}

/// A processor at work.
struct Processor<'a> {
    tasks: &'a [Task],
    costs: &'a Costs,
    handlers: VecDeque<Handler>,
    jobs: Vec<VecDeque<Job>>,
}

/// The longest response time of each task until `end`, with the arrivals from `offsets` on; `None`
/// for a task none of whose jobs was done. A job takes its lock after half of its work outside of
/// it.
///
/// Each arrival and each tick of the kernel has a handler, which interrupts all but the first
/// `masked` ticks of a switch. A job begins with `wake`, and ends with `switch`, in which no other
/// task runs; its response ends before. Locks cost nothing.
pub fn longest_responses(
    tasks: &[Task],
    costs: &Costs,
    offsets: &[u64],
    end: u64,
) -> Vec<Option<u64>> {
    let mut arrivals: Vec<u64> = offsets.to_vec();
    let mut tick = costs.tick_period;
    let jobs = vec![VecDeque::new(); tasks.len()];
    let mut processor = Processor { tasks, costs, handlers: VecDeque::new(), jobs };
    let mut longest = vec![None; tasks.len()];
    let mut now = 0;
    while now < end {
        for (place, arrival) in arrivals.iter_mut().enumerate() {
            while *arrival <= now {
                processor.interrupt(costs.release, Some((place, *arrival)));
                *arrival += tasks[place].period;
            }
        }
        while costs.tick_period > 0 && tick <= now {
            processor.interrupt(costs.tick, None);
            tick += costs.tick_period;
        }
        let until = arrivals.iter().copied().min().unwrap_or(end).min(end);
        let until = if costs.tick_period > 0 { until.min(tick) } else { until };
        match processor.next() {
            None => now = until,
            Some(Next::Handler(left)) => {
                let step = left.min(until - now);
                now += step;
                processor.handle(step);
            }
            Some(Next::Job(place, left)) => {
                let step = left.min(until - now);
                now += step;
                if let Some(arrival) = processor.execute(place, step) {
                    longest[place] = longest[place].max(Some(now - arrival));
                }
            }
        }
    }
    longest
}

impl Processor<'_> {
    /// Adds a handler; one without any work ends at once.
    fn interrupt(&mut self, left: u64, releases: Option<(usize, u64)>) {
        self.handlers.push_back(Handler { left, releases });
        self.handle(0);
    }

    /// The first handler runs for some ticks. Handlers without any work left release their tasks.
    fn handle(&mut self, step: u64) {
        if let Some(first) = self.handlers.front_mut() {
            first.left -= step;
        }
        while let Some(first) = self.handlers.pop_front_if(|first| first.left == 0) {
            if let Some((place, arrival)) = first.releases {
                self.jobs[place].push_back(Job { arrival, done: 0 });
            }
        }
    }

    /// A task's job executes for some ticks. Returns its arrival when its work is done.
    fn execute(&mut self, place: usize, step: u64) -> Option<u64> {
        let (work_done, all) = (self.work_end(place), self.switch_end(place));
        let job = &mut self.jobs[place][0];
        let before = job.done;
        job.done += step;
        let Job { arrival, done } = *job;
        if done >= all {
            self.jobs[place].pop_front();
        }
        (before < work_done && done >= work_done).then_some(arrival)
    }

    /// The executed ticks of a job at the end of its work, and at the end of its switch.
    fn work_end(&self, place: usize) -> u64 {
        self.costs.wake + self.tasks[place].work
    }

    fn switch_end(&self, place: usize) -> u64 {
        self.work_end(place) + self.costs.switch
    }

    /// The piece that executes next: a switch with interrupts masked, a handler, the rest of a
    /// switch, a task.
    fn next(&self) -> Option<Next> {
        let switches = |place: &usize| {
            let job = self.jobs[*place].front();
            job.is_some_and(|job| job.done >= self.work_end(*place))
        };
        let switching = (0..self.tasks.len()).find(switches);
        if let Some(place) = switching {
            let done = self.jobs[place][0].done;
            let unmasked = (self.work_end(place) + self.costs.masked).min(self.switch_end(place));
            if done < unmasked {
                return Some(Next::Job(place, unmasked - done));
            }
        }
        if let Some(first) = self.handlers.front() {
            return Some(Next::Handler(first.left));
        }
        let place = switching.or_else(|| self.runs())?;
        let (start, end) = self.section(place).unwrap_or((0, 0));
        let done = self.jobs[place][0].done;
        let points = [start, end, self.work_end(place), self.switch_end(place)];
        let next = points.into_iter().find(|point| *point > done)?;
        Some(Next::Job(place, next - done))
    }

    /// The executed ticks at which a job takes its lock, and at which it gives it back.
    fn section(&self, place: usize) -> Option<(u64, u64)> {
        let task = &self.tasks[place];
        let lock = task.lock.filter(|lock| lock.hold > 0)?;
        let start = self.costs.wake + (task.work - lock.hold) / 2;
        Some((start, start + lock.hold))
    }

    /// The task that runs: the most urgent ready one, or whoever has the lock that it waits for.
    fn runs(&self) -> Option<usize> {
        let ready = (0..self.tasks.len()).find(|place| !self.jobs[*place].is_empty())?;
        let done = self.jobs[ready][0].done;
        let asks = self.section(ready).is_some_and(|(start, _)| done == start);
        let number = self.tasks[ready].lock.map(|lock| lock.number);
        let has = |place: &usize| {
            let inside = self.section(*place).zip(self.jobs[*place].front());
            let is_inside =
                inside.is_some_and(|((start, end), job)| start < job.done && job.done < end);
            is_inside && self.tasks[*place].lock.map(|lock| lock.number) == number
        };
        let owner = (0..self.tasks.len()).filter(|place| *place != ready).find(has);
        if asks { owner.or(Some(ready)) } else { Some(ready) }
    }
}
