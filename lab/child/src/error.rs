//! The ways in which a child process ends badly.

use std::{io, process::Command};

/// The error of a program that did not run to a good end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program cannot be started.
    #[error("cannot start {program}")]
    Start {
        /// The program's name or path.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The program failed, or a signal killed it. The text has the last line of its standard error.
    #[error("{0}")]
    Failed(String),
    /// The program reached its limit.
    #[error("the watchdog ended {name} after {taken}: it hung, or the machine is very slow")]
    Expired {
        /// The program's name in messages.
        name: String,
        /// The time that the program took, with its unit.
        taken: String,
    },
    /// The program wrote nothing for the time that its limit allows.
    #[error("{name} wrote nothing")]
    Silent {
        /// The program's name in messages.
        name: String,
    },
    /// The program slept for the time that its limit allows.
    #[error("{name} sleeps, and nothing wakes it")]
    Asleep {
        /// The program's name in messages.
        name: String,
    },
    /// The program was stopped by the caller's flag.
    #[error("interrupted")]
    Interrupted,
    /// A pipe to the program, or the wait for its end, failed.
    #[error(transparent)]
    Pipe(#[from] io::Error),
}

impl Error {
    pub(crate) fn start(command: &Command, source: io::Error) -> Self {
        Self::Start { program: command.get_program().display().to_string(), source }
    }

    /// Returns whether the program is not installed.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
