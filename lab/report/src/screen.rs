//! The properties of the terminal, or of the file, that a text is written for.

use std::{
    env,
    io::{IsTerminal, stdout},
    path::Path,
};

use rustix::termios::tcgetwinsize;

use super::Paint;

/// The width of an answer where nothing says otherwise, and its greatest height, in characters.
pub const SIZE: (usize, usize) = (80, 24);

/// The narrowest width that is respected.
const NARROWEST: usize = 40;

/// The place that a text is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    /// The colours of verdicts.
    pub paint: Paint,
    /// The width in characters: `COLUMNS`, or the terminal's width; `None` for a file or a pipe.
    pub columns: Option<usize>,
    /// `TERM` is `dumb`: letters stand for the signs that draw.
    pub dumb: bool,
    /// The word by which a command names the shown run: its number or file; `None` if it is not
    /// kept.
    pub run: Option<String>,
}

impl Screen {
    /// The screen of standard output, or of a file.
    pub fn for_output(file: Option<&Path>, run: Option<&str>) -> Self {
        let named = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let of_terminal = || {
            let size = stdout().is_terminal().then(|| tcgetwinsize(stdout()).ok()).flatten();
            size.map(|size| usize::from(size.ws_col))
        };
        let columns = named.or_else(of_terminal).filter(|columns| *columns > 0);
        Self {
            paint: Paint::for_output(file),
            columns: columns.filter(|_| file.is_none()).map(|columns| columns.max(NARROWEST)),
            dumb: env::var_os("TERM").is_some_and(|terminal| terminal == "dumb"),
            run: run.map(str::to_owned),
        }
    }

    /// A screen without colour and without a width.
    pub fn plain() -> Self {
        Self { paint: Paint::Plain, columns: None, dumb: false, run: None }
    }

    /// The screen for lines of `width` characters: a run whose name leaves no room for a command is
    /// not named.
    pub fn of_width(&self, width: usize) -> Self {
        let line = self.again("→ all figures: --evidence, why: --explain");
        let run = self.run.clone().filter(|_| line.chars().count() <= width);
        Self { run, ..self.clone() }
    }

    /// A command about the shown run: `chronoscope report 12 --full`, or the flag alone where the run is not
    /// kept.
    pub fn again(&self, flag: &str) -> String {
        match &self.run {
            Some(run) => format!("chronoscope report {run} {flag}"),
            None => flag.to_owned(),
        }
    }
}
