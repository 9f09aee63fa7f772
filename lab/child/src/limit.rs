//! Limits of a child's duration, in wall time and in processor time. The module ends no process.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::{param::clock_ticks_per_second, process::Pid};

/// The duration after which the watchdog ends a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The limit in wall time.
    pub wall: Duration,
    /// The limit in processor time of the child's first process. An emulator uses processor time in
    /// proportion to the instructions that it executes, however busy the host is.
    pub work: Option<Duration>,
}

impl From<Duration> for Limit {
    /// A limit in wall time only.
    fn from(wall: Duration) -> Self {
        Self { wall, work: None }
    }
}

impl Limit {
    /// The wall time that an emulator may take, as a multiple of `work`: it shares the host, and a
    /// dead one uses no processor time.
    const PATIENCE: u32 = 20;

    /// A year of wall time, which no program reaches.
    pub const ENDLESS: Self = Self { wall: Duration::from_secs(365 * 24 * 60 * 60), work: None };

    /// Creates a limit for an emulator or a simulator: `work` of processor time, and a multiple of
    /// `work` in wall time, for an emulator that hangs without using the processor.
    pub fn for_work(work: Duration) -> Self {
        Self { wall: work.saturating_mul(Self::PATIENCE), work: Some(work) }
    }

    /// Adds `more` time on both clocks.
    pub fn saturating_add(self, more: Duration) -> Self {
        Self {
            wall: self.wall.saturating_add(more),
            work: self.work.map(|work| work.saturating_add(more)),
        }
    }
}

/// The interval between two readings of the processor time.
const LOOK: Duration = Duration::from_millis(100);

/// A limit that has begun.
pub(crate) struct Deadline {
    limit: Limit,
    start: Instant,
    /// The time of the latest reading of the processor time, which takes up to three system calls.
    looked: Instant,
}

impl Deadline {
    pub(crate) fn new(limit: Limit) -> Self {
        let start = Instant::now();
        Self { limit, start, looked: start }
    }

    /// Returns the limit that has passed, in words, if one has. Cheap enough for a call at every
    /// piece of output.
    pub(crate) fn exceeded(&mut self, child: Pid) -> Option<String> {
        if self.start.elapsed() >= self.limit.wall {
            return Some(format!("{} s", self.limit.wall.as_secs()));
        }
        let work = self.limit.work?;
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        (processor_time(child)? >= work).then(|| format!("{} s of processor time", work.as_secs()))
    }
}

/// The processor time that a process has used, from `/proc/PID/stat` (proc_pid_stat(5)); `None`
/// when it has ended.
fn processor_time(process: Pid) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).ok()?;
    // The second field, the name in parentheses, may hold spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn processor_time_of_this_process_grows() {
        let own = rustix::process::getpid();
        let before = processor_time(own).unwrap();
        let mut number = 1_u64;
        while processor_time(own).unwrap() == before {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
    }

    #[test]
    fn sleep_is_no_work() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut deadline = Deadline::new(Limit::for_work(Duration::from_millis(100)));
        std::thread::sleep(2 * LOOK);
        assert_eq!(deadline.exceeded(pid), None);
        assert!(processor_time(pid).unwrap() < Duration::from_millis(100));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(processor_time(pid), None);
    }
}
