//! A case as a child process: its standard output is the stream, its standard error a complaint.

use std::{
    io::Read,
    os::{
        fd::AsFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, kill_process_group},
};

/// Runs `command`, which `name` says what it is, and hands its standard output to `sink`, until it ends.
/// See [`Machine::run`](super::Machine::run).
pub(super) fn run(
    command: &mut Command,
    name: &str,
    limit: Duration,
    stop: &AtomicBool,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: a Ctrl-C reaches the lab alone, and the lab ends the case with all its tasks.
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let mut case = Case { child };
    let complaint = case.pass_on(limit, stop, sink)?;
    let status = case.child.wait()?;
    if status.success() {
        return Ok(());
    }
    let what = match status.signal() {
        Some(signal) => format!("{name} was killed by signal {signal}"),
        None => format!("{name} failed"),
    };
    Err(anyhow!("{what}{}{}", if complaint.is_empty() { "" } else { ": " }, complaint))
}

/// A running case. Dropping it ends every process in it.
struct Case {
    child: Child,
}

impl Case {
    /// Hands the port's bytes on until it closes both its outputs; returns the last line of what it wrote to standard error.
    fn pass_on(
        &mut self,
        limit: Duration,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<String> {
        let mut stream = self.child.stdout.take();
        let mut errors = self.child.stderr.take();
        let deadline = Instant::now() + limit;
        let mut buffer = vec![0; 1 << 16];
        let mut complaint = Vec::new();
        while stream.is_some() || errors.is_some() {
            if stop.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            if Instant::now() >= deadline {
                bail!("the watchdog ended the case after {} s: it hung, or the machine is very slow", limit.as_secs());
            }
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
        Ok(complaint.lines().last().unwrap_or_default().to_owned())
    }
}

fn read(pipe: Option<&mut impl Read>, buffer: &mut [u8]) -> Result<usize> {
    Ok(pipe.map_or(Ok(0), |pipe| pipe.read(buffer))?)
}

impl Drop for Case {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            // There is nobody left to kill when all has gone well.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
