//! The set of tasks in a request: `PERIOD.WORK.LOCK.HOLD`, joined by `+`, by falling priority.

use heapless::Vec;

use crate::{refusal::Refusal, spec::request::invalid};

/// The most tasks of a set: one priority above them is for the probes.
pub(super) const MOST_TASKS: usize = 7;

/// The longest period, in ns, so that offsets and releases are numbers of 32 bits.
const LONGEST: u64 = 500_000_000;

/// A set of tasks.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Set {
    /// By falling priority.
    pub tasks: Vec<Task, MOST_TASKS>,
}

/// A task; times are in ns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Task {
    pub period: u64,
    pub work: u64,
    pub lock: Option<Lock>,
}

/// The lock that a task has during a part of its work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lock {
    /// From 1 to [`MOST_TASKS`].
    pub number: usize,
    /// In ns; at most the task's work.
    pub hold: u64,
}

impl Set {
    /// # Errors [`Reason::Invalid`](crate::Reason::Invalid) for a text of another form, more than
    /// [`MOST_TASKS`] tasks, a period of 0 or above [`LONGEST`], or more work than the processor
    /// can do.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        const FORM: Refusal = invalid("a task of the set is not PERIOD.WORK.LOCK.HOLD");
        let mut set = Self::default();
        for text in text.split('+') {
            let mut numbers = [0; 4];
            let mut words = text.split('.');
            for number in &mut numbers {
                let word = words.next().ok_or(FORM)?;
                *number = word.parse().map_err(|_| FORM)?;
            }
            let [period, work, number, hold] = numbers;
            let is_possible = words.next().is_none()
                && (1..=LONGEST).contains(&period)
                && hold <= work
                && work <= period
                && number <= MOST_TASKS as u64;
            if !is_possible {
                return Err(invalid(
                    "a task of the set needs a period of 1 ns to 500 ms, work that fits into it, and \
                     a lock from 0 to 7 that is held for no longer than the work",
                ));
            }
            let lock = (number > 0).then_some(Lock { number: number as usize, hold });
            let task = Task { period, work, lock };
            set.tasks.push(task).map_err(|_| invalid("a set has at most 7 tasks"))?;
        }
        let use_of = |task: &Task| task.work as f64 / task.period as f64;
        if set.tasks.iter().map(use_of).sum::<f64>() > 1.0 {
            return Err(invalid("the set's work is more than the processor can do"));
        }
        Ok(set)
    }

    /// The longest period, in ns; 0 for no task.
    pub fn longest(&self) -> u64 {
        self.tasks.iter().map(|task| task.period).max().unwrap_or(0)
    }

    /// The length of a phase, in ns: tasks are released before its end.
    pub fn horizon(&self) -> u64 {
        2 * self.longest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_read() {
        let set = Set::parse("50000.12000.0.0+100000.20000.2.5000").unwrap();
        assert_eq!((set.tasks.len(), set.horizon()), (2, 200_000));
        assert_eq!(set.tasks[1].lock, Some(Lock { number: 2, hold: 5000 }));
    }

    #[test]
    fn wrong_sets_are_refused() {
        for text in [
            "",
            "1000",
            "1000.1.0.0.0",
            "0.0.0.0",
            "1000.2000.0.0",
            "1000.100.8.10",
            "1000.100.1.101",
            "600000000.1.0.0",
            "1000.600.0.0+1000.600.0.0",
            "1000.1.0.0+1000.1.0.0+1000.1.0.0+1000.1.0.0+1000.1.0.0+1000.1.0.0+1000.1.0.0+1000.1.0.0",
            "1000.-1.0.0",
        ] {
            assert!(Set::parse(text).is_err(), "{text}");
        }
    }
}
