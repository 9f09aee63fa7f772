//! Runs a program as a child process: passes on its output, bounds its time, and leaves none of its
//! processes behind. The module knows no meaning of the output.

use std::{
    io::{self, BufRead as _, BufReader, Read},
    os::{fd::AsFd, unix::process::ExitStatusExt},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid},
};

use chronoscope_units::printable;

use crate::{
    error::Error,
    limit::{Deadline, Limit, Passed},
    spawn::spawn,
    supervisor::{self, Supervised},
};

/// Runs `command` and passes its standard output to `sink` in pieces, until it ends; `name` is its
/// name in messages. The child's whole process group is killed when `sink` fails, when `limit` has
/// passed, or within about 0.1 s after `stop` becomes true. Blocks until then.
///
/// # Errors
/// An [`Error`] of the program, or the error of `sink`, unchanged.
pub fn run<E: From<Error>>(
    command: &mut Command,
    name: &str,
    limit: Limit,
    stop: &AtomicBool,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    run_with_input(command.stdin(Stdio::null()), name, limit, stop, sink).map(|_| ())
}

/// Runs `command` as [`run`] does, with the standard input that the caller has configured; the
/// holder of its other end sees it close when the program ends. Returns the last 4096 bytes that
/// the program wrote to standard error.
///
/// # Errors
/// As [`run`].
pub fn run_with_input<E: From<Error>>(
    command: &mut Command,
    name: &str,
    limit: Limit,
    stop: &AtomicBool,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<String, E> {
    let deadline = Deadline::new(limit);
    let patience = Patience { name, deadline, stop, grace: None, expired: None };
    run_patiently(command, patience, sink)
}

/// Runs `command` as [`run`] does, but lets it end by itself after `stop` becomes true: it gets
/// SIGTERM, and has [`GRACE`] before it is killed. A program that ends well then is no error. At
/// `limit` the program gets SIGTERM and as much time, but that is an error in any case.
///
/// # Errors
/// The errors of [`run`], and [`Error::Expired`] if the program reached its limit.
pub fn run_to_an_end<E: From<Error>>(
    command: &mut Command,
    name: &str,
    limit: Limit,
    stop: &AtomicBool,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let grace = Some(Grace { asked: None });
    let patience = Patience { name, deadline: Deadline::new(limit), stop, grace, expired: None };
    run_patiently(command.stdin(Stdio::null()), patience, sink).map(|_| ())
}

/// Runs `command` until it ends or `patience` runs out; returns the end of its standard error.
fn run_patiently<E: From<Error>>(
    command: &mut Command,
    mut patience: Patience<'_>,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<String, E> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn(command);
    // Without this, the input's descriptor would stay open in this process.
    command.stdin(Stdio::null());
    let child = child.map_err(|source| Error::start(command, source))?;
    let mut running = Running::new(child);
    let name = patience.name;
    let errors = running.pass_on(&mut patience, sink)?;
    let status = running.status(&mut patience)?;
    if let Some(expired) = patience.expired {
        return Err(expired.into());
    }
    if status.success() {
        return Ok(errors);
    }
    // An emulator's fatal line has its registers behind it.
    let fatal = errors.lines().rfind(|line| line.contains("fatal: "));
    let complaint = printable(fatal.or(errors.lines().last()).unwrap_or_default());
    let what = match status.signal() {
        Some(signal) => format!("{name} was killed by signal {signal}"),
        None => format!("{name} failed"),
    };
    let between = if complaint.is_empty() { "" } else { ": " };
    Err(Error::Failed(format!("{what}{between}{complaint}")).into())
}

/// Runs `command` to its end and returns its output, as [`Command::output`] does; the command and
/// all its processes are killed when this process ends, or within about 0.1 s after `stop` becomes
/// true. Standard input is empty.
///
/// # Errors
/// If the program cannot be started or is stopped. A failing exit status is no error: the result
/// has the status.
pub fn output(command: &mut Command, stop: &AtomicBool) -> Result<Output, Error> {
    output_with_lines(command, stop, |_| ())
}

/// Runs `command` as [`output`] does; the command and all its processes are killed when `limit` has passed,
/// too.
///
/// # Errors
/// As [`output`], and [`Error::Expired`] if the program reached its limit.
pub fn output_within(
    command: &mut Command,
    limit: Limit,
    stop: &AtomicBool,
) -> Result<Output, Error> {
    collect(command, limit, stop, |_| ())
}

/// Runs `command` as [`output`] does, and passes each line of its standard error to `each_line` as
/// soon as it is complete, without the line's end.
///
/// # Errors
/// As [`output`].
pub fn output_with_lines(
    command: &mut Command,
    stop: &AtomicBool,
    each_line: fn(&str),
) -> Result<Output, Error> {
    collect(command, Limit::ENDLESS, stop, each_line)
}

fn collect(
    command: &mut Command,
    limit: Limit,
    stop: &AtomicBool,
    each_line: fn(&str),
) -> Result<Output, Error> {
    let name = command.get_program().display().to_string();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn(command).map_err(|source| Error::start(command, source))?;
    let mut running = Running::new(child);
    let (mut stdout, mut stderr) = (running.child.stdout.take(), running.child.stderr.take());
    // One thread a pipe: both may fill.
    let stderr = thread::spawn(move || read_lines(stderr.as_mut(), each_line));
    let stdout_reader = thread::spawn(move || read_all(stdout.as_mut()));
    let deadline = Deadline::new(limit);
    let mut patience = Patience { name: &name, deadline, stop, grace: None, expired: None };
    let status = running.status(&mut patience)?;
    let [stdout, stderr] = [stdout_reader, stderr].map(|reader| reader.join().unwrap_or_default());
    Ok(Output { status, stdout, stderr })
}

fn read_all(pipe: Option<&mut impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // After the writer was killed, the bytes that came before are still returned.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

fn read_lines(pipe: Option<&mut impl Read>, each_line: fn(&str)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some(mut reader) = pipe.map(BufReader::new) else { return bytes };
    loop {
        let start = bytes.len();
        // As in `read_all`, an error ends the output.
        if !matches!(reader.read_until(b'\n', &mut bytes), Ok(1..)) {
            return bytes;
        }
        each_line(String::from_utf8_lossy(&bytes[start..]).trim_end());
    }
}

/// The limits of a run.
struct Patience<'a> {
    name: &'a str,
    deadline: Deadline,
    stop: &'a AtomicBool,
    /// `None` if the program is killed at once when it is stopped.
    grace: Option<Grace>,
    /// The error of a program that has reached its deadline.
    expired: Option<Error>,
}

/// The time that a program has to end by itself after SIGTERM.
pub const GRACE: Duration = Duration::from_secs(10);

/// The grace of a program that gets SIGTERM before it is killed.
struct Grace {
    /// The time of SIGTERM.
    asked: Option<Instant>,
}

impl Grace {
    /// Sends SIGTERM at the first call. Returns whether [`GRACE`] has passed since.
    fn is_over(&mut self, child: Pid) -> bool {
        let asked = self.asked.get_or_insert_with(|| {
            // A program that has ended needs no signal.
            let _ = kill_process(child, Signal::TERM);
            Instant::now()
        });
        asked.elapsed() >= GRACE
    }
}

impl Patience<'_> {
    /// # Errors
    /// If the run is stopped or `child` has reached its limit, and there is no grace left.
    fn check(&mut self, child: Pid) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed)
            && self.grace.as_mut().is_none_or(|grace| grace.is_over(child))
        {
            return Err(Error::Interrupted);
        }
        if let Some(passed) = self.deadline.exceeded(child) {
            let name = self.name.to_owned();
            let expired = match passed {
                Passed::Time(taken) => Error::Expired { name, taken },
                Passed::Silence => Error::Silent { name },
                Passed::Sleep => Error::Asleep { name },
            };
            if self.grace.as_mut().is_none_or(|grace| grace.is_over(child)) {
                return Err(expired);
            }
            self.expired.get_or_insert(expired);
        }
        Ok(())
    }
}

/// A running program; its whole process group is killed on drop.
struct Running {
    child: Child,
    /// Kills the group when this process is killed; `None` once the group has ended.
    held: Option<Supervised>,
}

impl Running {
    fn new(child: Child) -> Self {
        let held = supervisor::hold_group(Pid::from_child(&child));
        Self { child, held: Some(held) }
    }

    /// Passes on standard output until the program closes both its outputs; returns the end of its
    /// standard error.
    fn pass_on<E: From<Error>>(
        &mut self,
        patience: &mut Patience<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<String, E> {
        let mut stream = self.child.stdout.take();
        let mut errors = self.child.stderr.take();
        let mut buffer = vec![0; 1 << 16];
        let mut complaint = Vec::new();
        while stream.is_some() || errors.is_some() {
            patience.check(self.group())?;
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
                return Err(Error::Pipe(error.into()).into());
            }
            let mut ready = watched
                .iter()
                .map(|pipe| !pipe.revents().is_empty())
                .collect::<Vec<_>>()
                .into_iter();
            if stream.is_some() && ready.next() == Some(true) {
                match read(stream.as_mut(), &mut buffer)? {
                    0 => stream = None,
                    length => {
                        patience.deadline.hear();
                        sink(&buffer[..length])?;
                    }
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
    fn status(&mut self, patience: &mut Patience<'_>) -> Result<ExitStatus, Error> {
        let process = WaitId::Pid(self.group());
        // The status is not taken yet, so that the process number, which is also the group's, is
        // not reused.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while waitid(process.clone(), look).map_err(io::Error::from)?.is_none() {
            patience.check(self.group())?;
            thread::sleep(Duration::from_millis(1));
        }
        Ok(self.end()?)
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn end(&mut self) -> io::Result<ExitStatus> {
        // After a normal end no process is left to kill.
        let _ = kill_process_group(self.group(), Signal::KILL);
        // Released before `wait`, which frees the number for another group.
        self.held = None;
        self.child.wait()
    }
}

fn read(pipe: Option<&mut impl Read>, buffer: &mut [u8]) -> Result<usize, Error> {
    Ok(pipe.map_or(Ok(0), |pipe| pipe.read(buffer))?)
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.held.is_some() {
            // On drop the exit status does not matter.
            let _ = self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn a_stopped_program_ends_with_its_children() {
        let stop = AtomicBool::new(false);
        let mut child = None;
        let ran = run(
            // The background process would outlive the shell.
            &mut shell("sleep 100 & echo $!; wait"),
            "sh",
            Duration::from_secs(60).into(),
            &stop,
            &mut |bytes| {
                child = String::from_utf8_lossy(bytes).trim().parse().ok().and_then(Pid::from_raw);
                stop.store(true, Ordering::Relaxed);
                Ok::<_, Error>(())
            },
        );
        assert_eq!(ran.unwrap_err().to_string(), "interrupted");
        let child = child.unwrap();
        // The kernel takes a moment to end it; there is no bound that a busy machine must meet.
        while std::fs::read_to_string(format!("/proc/{}/comm", child.as_raw_pid()))
            .is_ok_and(|name| name.trim() == "sleep")
        {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_program_that_is_asked_to_end_ends_well() {
        let stop = AtomicBool::new(false);
        let mut output = Vec::new();
        run_to_an_end(
            // The shell runs its trap between two sleeps.
            &mut shell("trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.1; done"),
            "sh",
            Duration::from_secs(60).into(),
            &stop,
            &mut |bytes| {
                output.extend_from_slice(bytes);
                stop.store(true, Ordering::Relaxed);
                Ok::<_, Error>(())
            },
        )
        .unwrap();
        assert_eq!(output, b"ready\nasked\n");
    }

    #[test]
    fn a_program_at_its_limit_is_asked_to_end_and_its_output_is_passed_on() {
        let mut output = Vec::new();
        let ran = run_to_an_end(
            &mut shell("trap 'echo asked; exit 0' TERM; while :; do sleep 0.1; done"),
            "sh",
            Duration::from_secs(1).into(),
            &AtomicBool::new(false),
            &mut |bytes| {
                output.extend_from_slice(bytes);
                Ok::<_, Error>(())
            },
        );
        assert!(matches!(ran.unwrap_err(), Error::Expired { .. }));
        assert_eq!(output, b"asked\n");
    }

    #[test]
    fn work_is_limited_in_processor_time() {
        let start = Instant::now();
        // A busy machine may give the loop a small share of its processor.
        let wall = Duration::from_secs(300);
        let work = Some(Duration::from_millis(200));
        let limit = Limit { wall, work, silence: None, sleep: None };
        let stop = AtomicBool::new(false);
        let error =
            run(&mut shell("while :; do :; done"), "the loop", limit, &stop, &mut |_| Ok(()));
        let error: Error = error.unwrap_err();
        let error = error.to_string();
        assert!(error.contains("processor time"), "{error}");
        assert!(start.elapsed() >= Duration::from_millis(190));
    }

    #[test]
    fn output_is_whole_and_has_the_status() {
        let stop = AtomicBool::new(false);
        let script = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3";
        let output = output(&mut shell(script), &stop).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 200_000));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn output_is_waited_for_within_its_limit() {
        let stop = AtomicBool::new(false);
        let within = |script, limit| output_within(&mut shell(script), limit, &stop);
        let output = within("echo out", Duration::from_secs(60).into()).unwrap();
        assert_eq!(output.stdout, b"out\n");
        let expired = within("echo out; sleep 1000", Duration::from_millis(200).into());
        assert!(matches!(expired.unwrap_err(), Error::Expired { .. }));
    }

    #[test]
    fn lines_of_standard_error_are_passed_on_as_they_come() {
        static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
        static STOP: AtomicBool = AtomicBool::new(false);
        // The shell never ends: only the callback for the second line stops the call.
        let mut shell = shell("echo out; echo one >&2; printf 'two\\nthr' >&2; sleep 1000");
        let stopped = output_with_lines(&mut shell, &STOP, |line| {
            LINES.lock().unwrap().push(line.to_owned());
            STOP.store(line == "two", Ordering::Relaxed);
        });
        assert_eq!(stopped.unwrap_err().to_string(), "interrupted");
        assert_eq!(LINES.lock().unwrap()[..2], ["one", "two"]);
    }

    #[test]
    fn a_thread_that_ends_takes_no_child_with_it() {
        let output = thread::spawn(|| {
            let stop = AtomicBool::new(false);
            output(&mut shell("echo started"), &stop)
        });
        assert_eq!(output.join().unwrap().unwrap().stdout, b"started\n");
        // The next child is started by the same long-lived thread.
        let mut child =
            thread::spawn(|| spawn(&mut shell("sleep 0.2; exit 5"))).join().unwrap().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(5));
    }
}
