//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use std::{
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{case::Case, runner::Progress};

/// The progress display for standard error; `quiet` gives one that prints nothing.
pub fn new(quiet: bool) -> Box<dyn Progress> {
    match (quiet, stderr().is_terminal()) {
        (true, _) => Box::new(Silent),
        (false, true) => Box::new(Bar::new()),
        (false, false) => Box::new(Lines { next: Instant::now() }),
    }
}

fn name(case: &Case) -> String {
    format!("{} {}", case.spec.name, case.label()).trim_end().to_owned()
}

struct Silent;

impl Progress for Silent {
    fn step(&mut self, _: &Case, _: Duration, _: Duration) {}
    fn finish(&mut self) {}
}

struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) =
            ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta} left  {wide_msg}")
        {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl Progress for Bar {
    fn step(&mut self, case: &Case, done: Duration, total: Duration) {
        self.0.set_length(total.as_millis() as u64);
        self.0.set_position(done.as_millis() as u64);
        self.0.set_message(name(case));
    }

    fn finish(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Prints a line every five seconds.
struct Lines {
    next: Instant,
}

impl Progress for Lines {
    fn step(&mut self, case: &Case, done: Duration, total: Duration) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + Duration::from_secs(5);
        let percent = 100 * done.as_millis() / total.as_millis().max(1);
        // A closed standard error must not end the run.
        let _ = writeln!(stderr(), "{percent:>3} %  {}", name(case));
    }

    fn finish(&mut self) {}
}
