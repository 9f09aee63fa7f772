//! Progress on standard error: a bar on a terminal, plain lines elsewhere. Both show the remaining
//! time of the measurement. The console shows set-up.

use std::{
    io::{IsTerminal, stderr},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use chronoscope_base::console;
use chronoscope_engine::{case::Case, runner::Progress, runner::Step};
use chronoscope_units::{rough_time, show};

/// The number of steps of a full bar.
const FULL: u64 = 1000;

/// Returns the progress display for standard error; with `quiet` it prints nothing.
pub fn new(quiet: bool) -> Box<dyn Progress> {
    match (quiet, stderr().is_terminal()) {
        (true, _) => Box::new(Silent),
        (false, true) => Box::new(Bar::new()),
        (false, false) => Box::new(Lines { next: Instant::now() }),
    }
}

/// The names of the cases under way, and the worst sample so far.
fn name(step: &Step<'_>) -> String {
    let case = |case: &&Case| format!("{} {}", case.spec.name, case.label()).trim_end().to_owned();
    let cases = step.cases.iter().map(case).collect::<Vec<_>>().join(" | ");
    match step.worst {
        Some((worst, unit)) => format!("{cases}  worst {}", show(worst, unit.name())),
        None => cases,
    }
}

/// Prints nothing.
struct Silent;

impl Progress for Silent {
    fn step(&mut self, _: &Step<'_>) {}
    fn finish(&mut self) {}
}

/// A bar with the remaining time and the cases under way.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new(FULL);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {wide_msg}") {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl Progress for Bar {
    fn step(&mut self, step: &Step<'_>) {
        if self.0.is_finished() {
            // The peers' progress follows the cases'.
            self.0.reset();
        }
        console::set_bar(Some(self.0.clone()));
        if step.cases.iter().all(|case| case.expected().is_zero()) {
            // An observation or a watch has no known end, and so no percentage.
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                self.0.set_style(style);
            }
            self.0.set_message(name(step));
            return;
        }
        self.0.set_message(format!("{} left  {}", rough_time(step.left), name(step)));
        self.0.set_position((step.done * FULL as f64) as u64);
    }

    fn finish(&mut self) {
        console::set_bar(None);
        self.0.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        console::set_bar(None);
    }
}

/// The interval between two lines.
const INTERVAL: Duration = Duration::from_secs(5);

/// The remaining time beyond which a line is printed each minute only.
const LONG: Duration = Duration::from_secs(600);

/// Prints a line every five seconds; while more than ten minutes are left, every minute.
struct Lines {
    next: Instant,
}

impl Progress for Lines {
    fn step(&mut self, step: &Step<'_>) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + if step.left > LONG { LONG / 10 } else { INTERVAL };
        if step.cases.iter().all(|case| case.expected().is_zero()) {
            return;
        }
        let percent = (100.0 * step.done) as u64;
        let (left, name) = (rough_time(step.left), name(step));
        console::line(&format!("{percent:>3} %  {left} left  {name}"));
    }

    fn finish(&mut self) {}
}
