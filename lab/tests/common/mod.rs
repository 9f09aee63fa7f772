//! Running the built program, and what tests ask of its answer.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::process::{Command, Output, Stdio};

/// Runs the built program with these arguments.
pub fn chronoscope(arguments: &[&str]) -> Answer {
    run(Command::new(env!("CARGO_BIN_EXE_chronoscope")).args(arguments))
}

/// Runs a command, without input.
pub fn run(command: &mut Command) -> Answer {
    let shown = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    Answer::of(output.unwrap_or_else(|error| panic!("{shown} does not start: {error}")), shown)
}

/// What a run of the program gave.
#[derive(Debug)]
pub struct Answer {
    pub command: String,
    /// The exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    pub fn of(output: Output, command: String) -> Self {
        Self {
            command,
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }

    #[track_caller]
    pub fn exits(&self, status: i32) -> &Self {
        assert_eq!(self.status, Some(status), "{self:#?}");
        self
    }

    /// Standard output has `text` somewhere.
    #[track_caller]
    pub fn shows(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "no `{text}` in {self:#?}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }

    /// An error as every error is told: exit status 1, one line that holds `text`, and nothing on standard output.
    #[track_caller]
    pub fn complains(&self, text: &str) -> &Self {
        self.exits(1);
        assert_eq!(self.stdout, "", "{self:#?}");
        let line = self.stderr.strip_suffix('\n').unwrap_or_else(|| panic!("no line in {self:#?}"));
        assert!(!line.contains('\n') && line.starts_with("chronoscope: "), "{self:#?}");
        assert!(line.contains(text), "no `{text}` in {self:#?}");
        self
    }
}
