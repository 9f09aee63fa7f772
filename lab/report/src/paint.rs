//! The colours of verdicts on a terminal.

use std::{
    env,
    io::{IsTerminal, stdout},
    path::Path,
};

use chronoscope_run::{CaseResult, Status};

/// How verdicts are printed: as plain words, or in colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Without colours.
    Plain,
    /// With the escape sequences of a terminal.
    Coloured,
}

impl Paint {
    /// Chooses colour for standard output (`file` is `None`) when it is a terminal, `TERM` is not
    /// `dumb` and `NO_COLOR` is unset or empty (<https://no-color.org>); plain words otherwise.
    pub fn for_output(file: Option<&Path>) -> Self {
        let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        if file.is_none() && stdout().is_terminal() && !refused && !dumb {
            Self::Coloured
        } else {
            Self::Plain
        }
    }

    /// The outcome of a case, in its colour.
    pub fn outcome(self, case: &CaseResult) -> String {
        self.in_colour(colour(case.verdict.status), case.outcome())
    }

    /// The words of a status, in its colour.
    pub fn status(self, status: Status) -> String {
        self.in_colour(colour(status), status.words())
    }

    /// A text in the colour of an ANSI code.
    pub fn in_colour(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// The ANSI code of a status.
fn colour(status: Status) -> &'static str {
    match status {
        Status::Pass => "32",
        Status::NotOffered => "2",
        Status::Inconclusive => "33",
        Status::Mixed | Status::Regression | Status::LimitMissed | Status::Error => "31",
    }
}
