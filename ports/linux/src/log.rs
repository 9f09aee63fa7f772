//! The usual way to log from a Linux program: a line, formatted and written at once to standard
//! error.

use std::{
    io::Write,
    os::fd::{AsFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use chronoscope_suite::kernel::Log;
use rustix::{
    fs::{Mode, OFlags, open},
    io::{dup, write},
    stdio::stderr,
};

use crate::kernel::Linux;

/// Standard error, and what it has accepted.
pub struct StandardError {
    /// `None` when it is closed: then every line is refused.
    file: Option<OwnedFd>,
    bytes: AtomicU64,
}

impl StandardError {
    /// Opens standard error a second time, so that it can be told not to block: a flag on the
    /// original would also bind whoever else has it open, such as the user's shell. When nobody
    /// empties the pipe behind it, lines are refused and the case does not hang. What cannot be
    /// opened again (a socket) is used as it is.
    pub fn open() -> Self {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let again = open("/proc/self/fd/2", flags, Mode::empty());
        Self { file: again.or_else(|_| dup(stderr())).ok(), bytes: AtomicU64::new(0) }
    }
}

impl Log for Linux {
    /// One system call a line, as C's `fprintf` does it; a pipe takes all of so short a line, or
    /// nothing.
    #[inline(never)]
    fn log(&self, round: u32, ticks: u64) {
        let mut line = [0; 64];
        let mut rest = &mut line[..];
        // It fits: 10 digits at most, 20 at most, and the text.
        let _ = writeln!(rest, "round {round}: {ticks} ns");
        let left = rest.len();
        let line = &line[..line.len() - left];
        let error = &self.standard_error;
        let written = error.file.as_ref().and_then(|file| write(file.as_fd(), line).ok());
        if written == Some(line.len()) {
            error.bytes.fetch_add(line.len() as u64, Relaxed);
        }
    }

    fn logged(&self) -> u64 {
        self.standard_error.bytes.load(Relaxed)
    }
}
