//! A command's exit status, wall-clock time and processor time.

use std::{
    fs, io,
    ops::AddAssign,
    process::{Child, Command, ExitStatus},
    time::{Duration, Instant},
};

use rustix::{
    param::clock_ticks_per_second,
    process::{Pid, WaitId, WaitIdOptions, waitid},
};

/// Wall-clock time and processor time.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeSpent {
    pub wall: Duration,
    /// User and system time, also of all descendants that were waited for.
    pub cpu: Duration,
}

impl AddAssign for TimeSpent {
    fn add_assign(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

/// Runs a command to its end.
///
/// # Errors
/// The command does not start.
pub fn run(command: &mut Command) -> io::Result<(ExitStatus, TimeSpent)> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    // The kernel drops the processor time of a process that has been waited for.
    waitid(WaitId::Pid(Pid::from_child(&child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    let cpu = cpu(&child).unwrap_or_default();
    Ok((child.wait()?, TimeSpent { wall: start.elapsed(), cpu }))
}

/// The processor time of an ended child; `None` if /proc does not report it.
fn cpu(child: &Child) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    ticks(&stat)
        .map(|ticks| Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
}

/// The sum of utime, stime, cutime and cstime, the fields 14 to 17 of proc_pid_stat(5).
fn ticks(stat: &str) -> Option<u64> {
    // The second field is the program's name in parentheses, which may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).take(4);
    (0..4).map(|_| times.next()?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_any_name() {
        let stat = "7 (a) b) Z 1 7 7 0 -1 4 0 0 0 0 10 20 300 4000 20 0 1 0";
        assert_eq!(ticks(stat), Some(4330));
        assert_eq!(ticks("7 (a) Z 1 7 7 0 -1 4 0 0 0 0 10 20"), None);
    }

    #[test]
    fn a_command_s_own_time_and_its_children_s_are_counted() {
        // Two shells that count until the kernel's own account of them has ten ticks.
        let script = "count() { while read -r _ _ _ _ _ _ _ _ _ _ _ _ _ user _ </proc/self/stat; \
                      [ \"$user\" -lt 10 ]; do :; done; }; count; (count)";
        let (status, spent) = run(Command::new("sh").args(["-c", script])).unwrap();
        assert!(status.success());
        let least = Duration::from_secs_f64(20.0 / clock_ticks_per_second() as f64);
        assert!(spent.cpu >= least && spent.wall >= least, "{spent:?}");
    }
}
