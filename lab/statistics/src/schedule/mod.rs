//! Response times of periodic tasks under fixed priorities, by analysis and by simulation.
//!
//! [`analysis`] bounds them with the costs of a kernel; [`simulation`] runs a set second by second
//! and shares no code with it, so that each can be held against the other. Times are whole ticks of
//! any clock. The module knows no kernel and no unit.

pub mod analysis;
pub mod simulation;

/// A task. Tasks stand in a slice by falling priority, each priority once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// The period, or the least distance between two releases; not 0.
    pub period: u64,
    /// The time after the arrival until which a job must be done; at most the period.
    pub deadline: u64,
    /// The execution time of a job at most, its critical section included.
    pub work: u64,
    /// The latest that a job is released after its arrival.
    pub jitter: u64,
    /// The lock that a job takes once.
    pub lock: Option<Lock>,
}

/// The critical section of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The number of the lock; tasks with the same number share it, with priority inheritance.
    pub number: usize,
    /// How long a job has the lock; at most its work.
    pub hold: u64,
}

/// The longest times that the kernel takes, in the ticks of the tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// From the handler of a release to the first instruction of the task.
    pub wake: u64,
    /// From the end of a job to the next task: a wait that blocks, and a switch.
    pub switch: u64,
    /// The handler of a release, which interrupts whoever runs.
    pub release: u64,
    /// All that a job without work takes from less urgent work: its release, its wake-up and its
    /// switch. `None` if it was not measured: the sum of the three.
    pub job: Option<u64>,
    /// The handler of the kernel's tick; 0 without one.
    pub tick: u64,
    /// The period of the tick; 0 without one.
    pub tick_period: u64,
    /// The longest wait of an interrupt until its handler.
    pub masked: u64,
    /// To take a lock that is free.
    pub lock: u64,
}

impl Costs {
    /// The kernel's time for a job that less urgent work waits for, its release included.
    fn of_job(&self) -> u128 {
        let parts = [self.release, self.wake, self.switch].map(u128::from).into_iter().sum();
        self.job.map_or(parts, |job| parts.min(job.into()))
    }
}

/// The share of the processor that the tasks use, without the kernel: 1 is all of it.
pub fn utilization(tasks: &[Task]) -> f64 {
    tasks.iter().map(|task| task.work as f64 / task.period as f64).sum()
}

#[cfg(test)]
mod tests;
