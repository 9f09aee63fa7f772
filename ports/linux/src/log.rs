//! The usual way to log from a Linux program: a line, formatted and written at once to standard
//! error.

use std::{
    io::Write,
    os::fd::{AsFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use rustix::{
    fs::{Mode, OFlags, open},
    io::{dup, write},
    stdio::stderr,
};

/// Standard error, and the number of bytes that it has accepted.
pub struct StandardError {
    /// `None` if standard error is closed; every line is then dropped.
    file: Option<OwnedFd>,
    bytes: AtomicU64,
}

impl StandardError {
    /// Opens standard error a second time as non-blocking: the flag on the original would affect
    /// all its users, such as the user's shell. Lines to a full pipe are dropped, so the case does
    /// not hang. A file that cannot be opened again (a socket) is used as it is.
    pub fn open() -> Self {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let again = open("/proc/self/fd/2", flags, Mode::empty());
        Self { file: again.or_else(|_| dup(stderr())).ok(), bytes: AtomicU64::new(0) }
    }

    /// Writes a line in one system call, like `fprintf` in C. A pipe accepts so short a line whole
    /// or not at all.
    #[inline(never)]
    pub fn log(&self, round: u32, ticks: u64) {
        let mut line = [0; 64];
        let mut rest = &mut line[..];
        // The line fits: at most 10 digits, at most 20 digits, and the text.
        let _ = writeln!(rest, "round {round}: {ticks} ns");
        let left = rest.len();
        let line = &line[..line.len() - left];
        let written = self.file.as_ref().and_then(|file| write(file.as_fd(), line).ok());
        if written == Some(line.len()) {
            self.bytes.fetch_add(line.len() as u64, Relaxed);
        }
    }

    /// Returns the number of bytes accepted so far.
    pub fn logged(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}
