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
    /// The time after which a child that has written nothing yet is ended: of processor time, or of
    /// wall time in which it did not wait for a processor. `None` if it may be silent.
    pub silence: Option<Duration>,
    /// The wall time after which a child is ended that has slept, and not waited for a processor. It is
    /// noticed within twice that time. `None` if it may sleep.
    pub sleep: Option<Duration>,
}

impl From<Duration> for Limit {
    /// A limit in wall time only.
    fn from(wall: Duration) -> Self {
        Self { wall, work: None, silence: None, sleep: None }
    }
}

impl Limit {
    /// The wall time that an emulator may take, as a multiple of `work`: it shares the host, and a
    /// dead one uses no processor time.
    const PATIENCE: u32 = 20;

    /// A year of wall time, which no program reaches.
    pub const ENDLESS: Self = Self {
        wall: Duration::from_secs(365 * 24 * 60 * 60),
        work: None,
        silence: None,
        sleep: None,
    };

    /// Creates a limit for an emulator or a simulator: `work` of processor time, and a multiple of
    /// `work` in wall time, for an emulator that hangs without using the processor.
    pub fn for_work(work: Duration) -> Self {
        let wall = work.saturating_mul(Self::PATIENCE);
        Self { wall, work: Some(work), silence: None, sleep: None }
    }

    /// Adds `more` time on both clocks.
    pub fn saturating_add(self, more: Duration) -> Self {
        Self {
            wall: self.wall.saturating_add(more),
            work: self.work.map(|work| work.saturating_add(more)),
            ..self
        }
    }
}

/// The interval between two readings of the processor time.
const LOOK: Duration = Duration::from_millis(100);

/// The share of its time that a sleeping child works at most: an emulator looks after its own timers.
const WORKS: f64 = 0.02;

/// The share of its time that a sleeping child waits for a processor at most: on a busy host, before each
/// look at a timer. A child that is kept from its work waits nearly always.
const WAITS: f64 = 0.5;

/// A stretch of a child's life in which it may have slept.
struct Stretch {
    start: Instant,
    /// The processor time that the child had used at the start.
    worked: Duration,
    /// The time that it had waited for a processor.
    waited: Duration,
}

/// A limit that has begun.
pub(crate) struct Deadline {
    limit: Limit,
    start: Instant,
    /// The latest stretch, as long as [`Limit::sleep`].
    stretch: Option<Stretch>,
    /// The time of the latest reading of the processor time, which takes up to three system calls.
    looked: Instant,
    /// The child has written something.
    heard: bool,
}

/// The part of a [`Limit`] that has passed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The time, in words.
    Time(String),
    Silence,
    Sleep,
}

impl Deadline {
    pub(crate) fn new(limit: Limit) -> Self {
        let start = Instant::now();
        Self { limit, start, stretch: None, looked: start, heard: false }
    }

    /// Notes that the child has written something.
    pub(crate) fn hear(&mut self) {
        self.heard = true;
    }

    /// Returns the limit that has passed, if one has. Cheap enough for a call at every piece of
    /// output.
    pub(crate) fn exceeded(&mut self, child: Pid) -> Option<Passed> {
        let elapsed = self.start.elapsed();
        if elapsed >= self.limit.wall {
            return Some(Passed::Time(format!("{} s", self.limit.wall.as_secs())));
        }
        let silence = self.limit.silence.filter(|_| !self.heard);
        let looks = self.limit.work.or(silence).or(self.limit.sleep).is_some();
        let unseen = self.looked.elapsed();
        if !looks || unseen < LOOK {
            return None;
        }
        self.looked = Instant::now();
        let taken = processor_time(child)?;
        if let Some(work) = self.limit.work.filter(|work| taken >= *work) {
            return Some(Passed::Time(format!("{} s of processor time", work.as_secs())));
        }
        let is_silent = |most| taken >= most || elapsed.saturating_sub(wait(child)) >= most;
        if silence.is_some_and(is_silent) {
            return Some(Passed::Silence);
        }
        let most = self.limit.sleep?;
        if unseen > most / 2 {
            // This process did not run either: the whole machine was stopped.
            self.stretch = None;
        }
        self.has_slept(most, taken, child).then_some(Passed::Sleep)
    }

    /// Returns whether the child has slept for a stretch of `most`; the next one then begins.
    fn has_slept(&mut self, most: Duration, taken: Duration, child: Pid) -> bool {
        if self.stretch.as_ref().is_some_and(|stretch| stretch.start.elapsed() < most) {
            return false;
        }
        let (worked, waited) = (taken, wait(child));
        let before = self.stretch.replace(Stretch { start: Instant::now(), worked, waited });
        before.is_some_and(|before| {
            let is_below = |time: Duration, share| time < before.start.elapsed().mul_f64(share);
            is_below(worked.saturating_sub(before.worked), WORKS)
                && is_below(waited.saturating_sub(before.waited), WAITS)
        })
    }
}

/// The time that the threads of a process waited for a processor, the longest of them, from
/// `/proc/PID/task/TID/schedstat`. A kernel without that file does not say: zero.
fn wait(process: Pid) -> Duration {
    let threads = fs::read_dir(format!("/proc/{}/task", process.as_raw_pid()));
    let waited = threads.into_iter().flatten().flatten().filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok()
    });
    Duration::from_nanos(waited.max().unwrap_or_default())
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
    fn a_silent_child_is_told_from_one_that_wrote() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let limit = Limit { silence: Some(LOOK), ..Limit::ENDLESS };
        let (mut silent, mut heard) = (Deadline::new(limit), Deadline::new(limit));
        heard.hear();
        let begin = Instant::now();
        while silent.exceeded(pid).is_none() {
            assert!(begin.elapsed() < Duration::from_secs(60));
            std::thread::sleep(LOOK / 10);
        }
        assert_eq!(heard.exceeded(pid), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_sleeping_child_is_told_from_one_that_works() {
        let limit = Limit { sleep: Some(10 * LOOK), ..Limit::ENDLESS };
        let mut shells = ["exec sleep 30", "while :; do :; done"]
            .map(|script| Command::new("sh").args(["-c", script]).spawn().unwrap());
        let [sleeping, working] = [&shells[0], &shells[1]].map(Pid::from_child);
        let (mut asleep, mut awake) = (Deadline::new(limit), Deadline::new(limit));
        let begin = Instant::now();
        let passed = loop {
            assert_eq!(awake.exceeded(working), None);
            assert!(begin.elapsed() < Duration::from_secs(60));
            if let Some(passed) = asleep.exceeded(sleeping) {
                break passed;
            }
            std::thread::sleep(LOOK / 10);
        };
        assert_eq!(passed, Passed::Sleep);
        for shell in &mut shells {
            shell.kill().unwrap();
            shell.wait().unwrap();
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
