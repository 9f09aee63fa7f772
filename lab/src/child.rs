//! Runs a program as a child process: passes on its output, bounds its time, and leaves none of its
//! processes behind. It knows nothing of the output's meaning.

use std::{
    io::Read,
    os::{
        fd::AsFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};

use crate::units::printable;

/// Runs `command` and passes its standard output to `sink` in pieces, until it ends; `name` is its
/// name in messages. The child's whole process group is killed when `sink` fails, when `limit` has
/// passed, or within about 0.1 s after `stop` becomes true. Blocks until then.
///
/// # Errors
/// If the program cannot be started, fails, is killed or stopped, or `sink` fails. A failure's
/// message ends with the last line of the program's standard error.
pub fn run(
    command: &mut Command,
    name: &str,
    limit: Duration,
    stop: &AtomicBool,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    run_with_input(command.stdin(Stdio::null()), name, limit, stop, sink).map(|_| ())
}

/// Runs `command` as [`run`] does, with the standard input that the caller has configured; the
/// holder of its other end sees it close when the program ends. Returns the last 4096 bytes that
/// the program wrote to standard error.
///
/// # Errors
/// As [`run`].
pub fn run_with_input(
    command: &mut Command,
    name: &str,
    limit: Duration,
    stop: &AtomicBool,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<String> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // In a group of its own, a Ctrl-C reaches only the lab, which then ends the program with all
    // its processes.
    let child = command.process_group(0).spawn();
    // Without this, the input's descriptor would stay open in this process.
    command.stdin(Stdio::null());
    let child =
        child.with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let mut running = Running { child, ended: false };
    let patience = Patience { name, limit, deadline: Instant::now() + limit, stop };
    let errors = running.pass_on(&patience, sink)?;
    let status = running.status(&patience)?;
    if status.success() {
        return Ok(errors);
    }
    let complaint = printable(errors.lines().last().unwrap_or_default());
    let what = match status.signal() {
        Some(signal) => format!("{name} was killed by signal {signal}"),
        None => format!("{name} failed"),
    };
    Err(anyhow!("{what}{}{}", if complaint.is_empty() { "" } else { ": " }, complaint))
}

/// The limits of a run.
struct Patience<'a> {
    name: &'a str,
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
            let (name, seconds) = (self.name, self.limit.as_secs());
            bail!(
                "the watchdog ended {name} after {seconds} s: it hung, or the machine is very slow"
            );
        }
        Ok(())
    }
}

/// A running program; its whole process group is killed on drop.
struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    /// Passes on standard output until the program closes both its outputs; returns the end of its
    /// standard error.
    fn pass_on(
        &mut self,
        patience: &Patience<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<String> {
        let mut stream = self.child.stdout.take();
        let mut errors = self.child.stderr.take();
        let mut buffer = vec![0; 1 << 16];
        let mut complaint = Vec::new();
        while stream.is_some() || errors.is_some() {
            patience.check()?;
            let mut watched: Vec<PollFd<'_>> = Vec::with_capacity(2);
            watched.extend(
                stream.iter().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)),
            );
            watched.extend(
                errors.iter().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)),
            );
            let tick = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            if let Err(error) = poll(&mut watched, Some(&tick))
                && error != rustix::io::Errno::INTR
            {
                return Err(error.into());
            }
            let mut ready = watched
                .iter()
                .map(|pipe| !pipe.revents().is_empty())
                .collect::<Vec<_>>()
                .into_iter();
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
        Ok(String::from_utf8_lossy(&complaint).into_owned())
    }

    /// Waits for the first process to end and returns its status; kills the rest of its group.
    fn status(&mut self, patience: &Patience<'_>) -> Result<ExitStatus> {
        let process = WaitId::Pid(self.group());
        // The status is not taken yet, so that the process number, which is also the group's, is
        // not reused.
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
        // After a normal end no process is left to kill.
        let _ = kill_process_group(self.group(), Signal::KILL);
        self.ended = true;
        Ok(self.child.wait()?)
    }
}

fn read(pipe: Option<&mut impl Read>, buffer: &mut [u8]) -> Result<usize> {
    Ok(pipe.map_or(Ok(0), |pipe| pipe.read(buffer))?)
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // On drop the exit status does not matter.
            let _ = self.end();
        }
    }
}
