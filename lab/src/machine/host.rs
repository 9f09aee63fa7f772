//! `host`: the Linux machine that the lab runs on. A case is one fresh process of the port.

use std::{
    env,
    io::Read,
    os::{
        fd::AsFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use chronoscope_suite::{Parameter, Values};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
    thread::{CpuSet, sched_getaffinity},
};

use super::Machine;
use crate::units::printable;

/// The port's own keys; `ports/linux/src/settings.rs` reads them.
static PARAMETERS: [Parameter; 5] = [
    Parameter {
        name: "policy",
        unit: "",
        default: "fifo",
        values: Values::Word(&["fifo", "other"]),
        help: "scheduling class of urgent tasks: SCHED_FIFO or SCHED_OTHER",
    },
    Parameter {
        name: "priority",
        unit: "",
        default: "80",
        values: Values::Number(1, 91),
        help: "real-time priority of the least urgent urgent task",
    },
    Parameter {
        name: "cpu",
        unit: "",
        default: "0",
        values: Values::Number(0, 4095),
        help: "the processor that all tasks run on; the last one, unless given",
    },
    Parameter {
        name: "slack_ns",
        unit: "ns",
        default: "0",
        values: Values::Number(0, 1_000_000_000),
        help: "timer slack of SCHED_OTHER tasks; 0: leave the system's (50 µs)",
    },
    Parameter {
        name: "mlock",
        unit: "",
        default: "yes",
        values: Values::Word(&["yes", "no"]),
        help: "lock all memory, so that no page fault falls into a sample",
    },
];

pub struct Host;

/// The port's program: beside the lab's own. Cargo puts tests one folder deeper, into `deps`.
fn port() -> Result<PathBuf> {
    let program = env::current_exe().context("where am I?")?;
    let folder = program.parent().filter(|folder| !folder.ends_with("deps"));
    let folder = folder.or(program.ancestors().nth(2)).unwrap_or(Path::new("."));
    let port = folder.join("chronoscope-linux");
    if !port.is_file() {
        bail!("chronoscope-linux is not beside {}: build the whole workspace", program.display());
    }
    Ok(port)
}

impl Machine for Host {
    fn parameters(&self) -> Vec<(&'static Parameter, String)> {
        let default = |parameter: &'static Parameter| match parameter.name {
            "cpu" => last_cpu().to_string(),
            _ => parameter.default.to_owned(),
        };
        PARAMETERS.iter().map(|parameter| (parameter, default(parameter))).collect()
    }

    fn run(
        &self,
        request: &str,
        limit: Duration,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let port = port()?;
        let child = Command::new(&port)
            .args(request.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own: a Ctrl-C reaches the lab alone, and the lab ends the case with all its tasks.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", port.display()))?;
        let mut case = Case { child, ended: false };
        let patience = Patience { limit, deadline: Instant::now() + limit, stop };
        let complaint = case.pass_on(&patience, sink)?;
        let status = case.status(&patience)?;
        if status.success() {
            return Ok(());
        }
        let what = match status.signal() {
            Some(signal) => format!("the port was killed by signal {signal}"),
            None => "the port failed".to_owned(),
        };
        Err(anyhow!("{what}{}{}", if complaint.is_empty() { "" } else { ": " }, complaint))
    }
}

/// When to give a case up.
struct Patience<'a> {
    limit: Duration,
    deadline: Instant,
    stop: &'a AtomicBool,
}

impl Patience<'_> {
    fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        if Instant::now() >= self.deadline {
            bail!("the watchdog ended the case after {} s: it hung, or the machine is very slow", self.limit.as_secs());
        }
        Ok(())
    }
}

/// A running case. Dropping it ends every process in it.
struct Case {
    child: Child,
    ended: bool,
}

impl Case {
    /// Hands the port's bytes on until it closes both its outputs; returns the last line of what it wrote to standard error.
    fn pass_on(&mut self, patience: &Patience<'_>, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<String> {
        let mut stream = self.child.stdout.take();
        let mut errors = self.child.stderr.take();
        let mut buffer = vec![0; 1 << 16];
        let mut complaint = Vec::new();
        while stream.is_some() || errors.is_some() {
            patience.check()?;
            let mut watched: Vec<PollFd<'_>> = Vec::with_capacity(2);
            watched.extend(stream.iter().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
            watched.extend(errors.iter().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
            let tick = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            if let Err(error) = poll(&mut watched, Some(&tick))
                && error != rustix::io::Errno::INTR
            {
                return Err(error.into());
            }
            let mut ready = watched.iter().map(|pipe| !pipe.revents().is_empty()).collect::<Vec<_>>().into_iter();
            if stream.is_some() && ready.next() == Some(true) {
                match read(stream.as_mut(), &mut buffer)? {
                    0 => stream = None,
                    length => sink(&buffer[..length])?,
                }
            }
            if errors.is_some() && ready.next() == Some(true) {
                match read(errors.as_mut(), &mut buffer)? {
                    0 => errors = None,
                    length => {
                        complaint.extend_from_slice(&buffer[..length]);
                        let excess = complaint.len().saturating_sub(4096);
                        complaint.drain(..excess);
                    }
                }
            }
        }
        let complaint = String::from_utf8_lossy(&complaint);
        Ok(printable(complaint.lines().last().unwrap_or_default()))
    }

    /// How the port's first process ended; whatever it left behind is ended too.
    fn status(&mut self, patience: &Patience<'_>) -> Result<ExitStatus> {
        let process = WaitId::Pid(self.group());
        // Without taking its status, so that its number, which is also its group's, is not given to another process yet.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while waitid(process.clone(), look)?.is_none() {
            patience.check()?;
            thread::sleep(Duration::from_millis(1));
        }
        self.end()
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn end(&mut self) -> Result<ExitStatus> {
        // There is nobody left to kill when all has gone well.
        let _ = kill_process_group(self.group(), Signal::KILL);
        self.ended = true;
        Ok(self.child.wait()?)
    }
}

fn read(pipe: Option<&mut impl Read>, buffer: &mut [u8]) -> Result<usize> {
    Ok(pipe.map_or(Ok(0), |pipe| pipe.read(buffer))?)
}

impl Drop for Case {
    fn drop(&mut self) {
        if !self.ended {
            // Nobody wants to know how it ended.
            let _ = self.end();
        }
    }
}

/// The last processor that this process may use: the first ones get most of the system's interrupts.
pub fn last_cpu() -> usize {
    let Ok(set) = sched_getaffinity(None) else { return 0 };
    (0..CpuSet::MAX_CPU).rev().find(|&cpu| set.is_set(cpu)).unwrap_or(0)
}

/// How many processors this process may use.
pub fn usable_cpus() -> usize {
    sched_getaffinity(None).map_or(1, |set| set.count() as usize)
}
