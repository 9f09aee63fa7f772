//! Tracks from a bench board's own instruments: its pins, and the function of each retired
//! instruction. It reads attachments of a case; how they were recorded is the machine's matter.
//!
//! Both instruments count cycles from the board's reset, so their tracks are aligned. The tracks
//! start at the first of the capture's start and the first instruction.

use super::{Event, EventKind, LATEST, Timeline, TrackId, cut, samples};
use chronoscope_capture::{Capture, Tick};
use chronoscope_run::{CaseResult, names::CAPTURE, names::RUNS};

/// The most pins that are shown; no board has more.
const PINS: usize = 256;

pub(super) fn add(timeline: &mut Timeline<'_>, group: TrackId, case: &CaseResult) {
    let capture = case.attachments.get(CAPTURE).and_then(|dump| {
        let capture = Capture::from_vcd(CAPTURE, dump.as_bytes());
        let complain =
            |error| timeline.remarks.push(format!("its capture cannot be read: {error:#}"));
        capture.map_err(complain).ok()
    });
    let (runs, skipped) =
        case.attachments.get(RUNS).map_or_else(Default::default, |text| read(text));
    if skipped > 0 {
        timeline.remarks.push(format!(
            "{skipped} lines of {RUNS} are no runs of a function, in the order of time: skipped"
        ));
    }
    let first = runs.first().map_or(u64::MAX, |run| run.start);
    let clock = Clock {
        origin: capture.as_ref().map_or(first, |capture| capture.start.min(first)),
        tick: capture.as_ref().map(|capture| capture.tick),
        ns: samples::tick(case),
    };
    add_runs(timeline, group, &runs, &clock);
    if let Some(capture) = &capture {
        add_pins(timeline, group, capture, &clock);
    }
}

/// The conversion from cycles to ns since the first event of either instrument.
struct Clock {
    origin: u64,
    tick: Option<Tick>,
    /// The length of a tick in ns, used if no capture gives it exactly.
    ns: f64,
}

impl Clock {
    fn at(&self, cycle: u64) -> u64 {
        let since = cycle.saturating_sub(self.origin);
        let ns = self.tick.map_or_else(|| since as f64 * self.ns, |tick| tick.ns(since));
        (ns.round() as u64).min(LATEST)
    }

    fn about(&self) -> String {
        format!("a cycle is shown as {:.3} ns", self.tick.map_or(self.ns, |tick| tick.ns(1)))
    }
}

/// Consecutive retired instructions of a function, from cycle `start` to cycle `end`.
pub(crate) struct Run<'a> {
    pub start: u64,
    pub end: u64,
    pub name: &'a str,
}

/// Parses lines `START END name` and returns the runs with the number of skipped lines. A line is
/// skipped unless the run starts at or after the end of the one before and ends at or after its
/// start.
pub(crate) fn read(text: &str) -> (Vec<Run<'_>>, usize) {
    let (mut runs, mut skipped): (Vec<Run<'_>>, usize) = (Vec::new(), 0);
    for line in text.lines() {
        let mut fields = line.splitn(3, ' ');
        let mut number = || fields.next()?.parse::<u64>().ok();
        let ends = number().zip(number());
        let run = ends.zip(fields.next()).map(|((start, end), name)| Run { start, end, name });
        let before = runs.last().map_or(0, |run| run.end);
        match run.filter(|run| before <= run.start && run.start <= run.end) {
            Some(run) => runs.push(run),
            None => skipped += 1,
        }
    }
    (runs, skipped)
}

fn add_runs(timeline: &mut Timeline<'_>, group: TrackId, runs: &[Run<'_>], clock: &Clock) {
    if runs.is_empty() {
        return;
    }
    let about = format!(
        "which function each instruction that retired is of, from the first sample's start; {}",
        clock.about()
    );
    let track = timeline.track(Some(group), "functions", &about, false);
    let mut events = Vec::with_capacity(2 * runs.len());
    for run in runs {
        let name = timeline.names.get(&cut(run.name));
        let event = |cycle, kind| Event { at: clock.at(cycle), track, kind, arrow: None };
        events.extend([event(run.start, EventKind::Begin(name)), event(run.end, EventKind::End)]);
    }
    timeline.streams.push(Box::new(events.into_iter()));
}

fn add_pins(timeline: &mut Timeline<'_>, group: TrackId, capture: &Capture, clock: &Clock) {
    let changing =
        capture.channels.iter().filter(|channel| channel.initial || !channel.edges.is_empty());
    let parent = timeline.track(
        Some(group),
        "pins",
        &format!("of the first repetition; {}", clock.about()),
        false,
    );
    let before = timeline.streams.len();
    for channel in changing.take(PINS) {
        let track = timeline.track(Some(parent), &channel.name, "a slice is a high level", false);
        timeline.tracks[track.index()].is_pin = true;
        let name = timeline.names.get(&cut(&channel.name));
        let rises_at_start = channel.initial.then_some((capture.start, true));
        let is_high = channel.initial != (channel.edges.len() % 2 == 1);
        // A slice that is still open at the end closes with the capture.
        let falls_at_end = is_high.then_some((capture.end, false));
        let edges = rises_at_start.into_iter().chain(channel.edges()).chain(falls_at_end);
        let event = |(cycle, level)| {
            let kind = if level { EventKind::Begin(name) } else { EventKind::End };
            Event { at: clock.at(cycle), track, kind, arrow: None }
        };
        let events: Vec<Event> = edges.map(event).collect();
        timeline.streams.push(Box::new(events.into_iter()));
    }
    if timeline.streams.len() == before {
        timeline.tracks.truncate(parent.index());
    }
}
