//! The parts that all watches share: their end, the bounds and the lines of the live view, and the
//! records of their series.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::{
    marks::{self, Pairing, View},
    observe,
    stream::{StreamBuilder, samples},
};
use chronoscope_base::console;
use chronoscope_run::Target;
use chronoscope_suite::wire::{Record, Series, Unit};

/// The pause between two looks of the user at the terminal.
const SHOWN: Duration = Duration::from_millis(250);

/// The most intervals that are kept.
const MOST_INTERVALS: usize = 4_000_000;

/// The time after which a watch ends, and the bounds of its live view.
pub(super) struct Terms {
    duration: Option<Duration>,
    bounds: BTreeMap<String, f64>,
}

impl Terms {
    /// A watch that ends after this time; `None` for the end of its program or stream.
    pub fn new(duration: Option<Duration>) -> Self {
        Self { duration, bounds: BTreeMap::new() }
    }

    /// Sets the longest lengths that are allowed, by the name of the series, in ns: the live view
    /// counts the rounds above.
    pub fn with_bounds(self, bounds: BTreeMap<String, f64>) -> Self {
        Self { bounds, ..self }
    }

    /// The name and the value of the case's parameter for the time.
    pub fn setting(&self) -> Option<(String, String)> {
        let duration = self.duration?;
        Some(("duration_s".to_owned(), duration.as_secs_f64().to_string()))
    }

    /// The time is over for a watch that began then.
    pub fn is_over(&self, begun: Instant) -> bool {
        self.duration.is_some_and(|most| begun.elapsed() >= most)
    }

    pub fn live(&self) -> Live {
        Live { view: View::new(self.bounds.clone()), shown: None }
    }
}

/// The live view of a watch.
#[derive(Default)]
pub(super) struct Live {
    view: View,
    /// The time at which the user was shown the view.
    shown: Option<Instant>,
}

impl Live {
    /// Shows the view, if it is time. `tick` is the length of a tick in ns.
    pub fn show(&mut self, pairing: &Pairing, tick: f64) {
        if self.shown.is_some_and(|shown| shown.elapsed() < SHOWN) {
            return;
        }
        self.shown = Some(Instant::now());
        console::show_lines_in_bar(&self.view.lines(pairing, tick));
    }
}

/// The target that the case of a watched file names.
pub(super) fn target(file: &Path, machine: &str) -> Target {
    let (kernel, machine) = (observe::name(file), machine.to_owned());
    Target { kernel, machine, image: Some(file.to_owned()) }
}

/// Returns whether there is room beyond this number of intervals.
pub(super) fn has_room(intervals: usize) -> bool {
    intervals < MOST_INTERVALS
}

/// The remark on a watch that has no room for further intervals.
pub(super) fn full() -> String {
    format!("ended after {MOST_INTERVALS} intervals: mark fewer, or use -D")
}

/// Sends the remarks on a series, and the series unless it is empty.
pub(super) fn send(stream: &mut StreamBuilder, series: &marks::Series) -> Result<()> {
    for line in marks::remarks(series) {
        stream.send(&Record::Log(&line))?;
    }
    if series.intervals.is_empty() {
        return Ok(());
    }
    let unit = if series.is_time() { Unit::Ticks } else { Unit::Count };
    let head = Series { unit, ..Series::measured(&series.name) };
    stream.series(head, samples(&series.intervals))
}
