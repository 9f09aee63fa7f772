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
    stream::{MOST_SERIES, StreamBuilder, samples},
};
use chronoscope_base::console;
use chronoscope_run::Target;
use chronoscope_suite::wire::{Record, Series, Unit};

/// The least time between two updates of the live view.
const REFRESH: Duration = Duration::from_millis(250);

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
    /// counts the intervals above.
    pub fn with_bounds(self, bounds: BTreeMap<String, f64>) -> Self {
        Self { bounds, ..self }
    }

    /// The name and the value of the case's parameter for the duration.
    pub fn setting(&self) -> Option<(String, String)> {
        let duration = self.duration?;
        Some(("duration_s".to_owned(), duration.as_secs_f64().to_string()))
    }

    /// Returns whether a watch that began at `begun` has lasted its duration.
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
    /// The time of the last update.
    shown: Option<Instant>,
}

impl Live {
    /// Shows the view, if it is time. `tick` is the length of a tick in ns.
    pub fn show(&mut self, pairing: &Pairing, tick: f64) {
        if self.shown.is_some_and(|shown| shown.elapsed() < REFRESH) {
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

/// The room in a stream for the series of marks.
pub(super) struct Room(usize);

impl Room {
    /// The room that a stream has for these series beside `others` that follow. Sends a remark on the
    /// series that will be left out.
    ///
    /// # Errors
    /// The remark is longer than a frame.
    pub fn new<'s>(
        stream: &mut StreamBuilder,
        all: impl Iterator<Item = &'s marks::Series>,
        others: usize,
    ) -> Result<Self> {
        let room = stream.room().saturating_sub(others);
        let count = all.filter(|series| !series.intervals.is_empty()).count();
        let rest = count.saturating_sub(room);
        if rest > 0 {
            stream.send(&Record::Log(&format!(
                "the last {rest} of {count} marks and tasks are left out, since a run has room for \
                 {MOST_SERIES} series: mark fewer"
            )))?;
        }
        Ok(Self(room))
    }

    /// Sends the remarks on a series, and the series unless it is empty or has no room.
    ///
    /// # Errors
    /// A name is longer than a frame.
    pub fn send(&mut self, stream: &mut StreamBuilder, series: &marks::Series) -> Result<()> {
        for line in marks::remarks(series) {
            stream.send(&Record::Log(&line))?;
        }
        if series.intervals.is_empty() || self.0 == 0 {
            return Ok(());
        }
        self.0 -= 1;
        let unit = if series.is_time() { Unit::Ticks } else { Unit::Count };
        let head = Series { unit, ..Series::measured(&series.name) };
        stream.series(head, samples(&series.intervals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        marks::{Kind, Mark},
        stream::frames,
    };
    use chronoscope_suite::wire;

    #[test]
    fn marks_beyond_the_room_are_left_out_and_the_control_is_not() {
        let mark = |number: u32| Mark {
            name: format!("mark {number}"),
            kind: Kind::Value,
            address: 0,
            argument: None,
        };
        let marks: Vec<Mark> = (0..300).map(mark).collect();
        let mut pairing = Pairing::new(&marks);
        // The first mark is never reached.
        (1..marks.len()).for_each(|place| pairing.hit(place, 0, 1, Some(7)).unwrap());
        let all = pairing.finish();
        let mut stream = StreamBuilder::new();
        let mut room = Room::new(&mut stream, all.iter(), 1).unwrap();
        all.iter().for_each(|series| room.send(&mut stream, series).unwrap());
        stream.series(Series::control("mark to mark"), [].into_iter()).unwrap();
        let (mut names, mut logs) = (Vec::new(), Vec::new());
        for mut frame in frames(&stream.end().unwrap()).unwrap() {
            match wire::decode(&mut frame).unwrap() {
                Record::Series(series) => names.push(series.name.to_owned()),
                Record::Log(line) => logs.push(line.to_owned()),
                _ => {}
            }
        }
        assert_eq!((names.len(), &*names[0], &*names[254]), (255, "mark 1", "mark to mark"));
        assert!(logs[0].starts_with("the last 45 of 299 marks and tasks"), "{logs:?}");
        assert_eq!(logs[1..], ["`mark 0` was never reached"]);
    }
}
