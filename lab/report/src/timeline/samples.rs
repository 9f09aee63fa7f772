//! Tracks of a case's samples, where the run kept them: a track for each series, a slice for each
//! sample from its start to its end. The module knows samples, and no trace.
//!
//! The starts of a series are counted from its first sample in the repetition, so the tracks of two
//! series are not aligned with each other. An observation (`chronoscope observe`) is the exception:
//! all its starts are counted from the image's first instruction, so its tracks are aligned. So are the
//! tracks of an imported recording.
//!
//! Repetitions are placed one after another, each as long as its longest series. Samples of one
//! series overlap if several tasks took them; they are spread over lanes.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{Event, EventKind, LATEST, NameId, Timeline, TrackId};
use chronoscope_run::{
    CaseResult, Domain, SeriesResult, Unit, names::IMPORT, names::OBSERVE, names::WATCH,
};

/// The most lanes of a series. A sample that finds no free lane is left out, with a remark.
const LANES: usize = 64;

/// The start and the end of a sample, in ns.
type Span = (u64, u64);

/// Adds the tracks of a case's series to `group`. Series of counts have no track. If no samples
/// were kept, adds a remark instead.
pub(super) fn add(timeline: &mut Timeline<'_>, group: TrackId, case: &CaseResult) {
    let timed = || case.series.iter().filter(|series| series.unit != Unit::Count);
    if timed().all(|series| series.samples.is_empty()) {
        if timed().any(|series| series.summary.count > 0) {
            timeline
                .remarks
                .push("its samples were not kept: run it again with --samples".to_owned());
        }
        return;
    }
    let ns = tick(case);
    let series: Vec<(&SeriesResult, Vec<Vec<Span>>)> =
        timed().map(|series| (series, spans(series, ns, is_aligned(case)))).collect();
    let starts = starts(&series);
    for (series, repetitions) in series {
        let placed = repetitions.into_iter().zip(&starts).flat_map(|(spans, start)| {
            let later = |at: u64| start.saturating_add(at).min(LATEST);
            spans.into_iter().map(move |(begin, end)| (later(begin), later(end)))
        });
        let placed: Vec<Span> = placed.collect();
        if !placed.is_empty() {
            add_series(timeline, group, case, series, placed);
        }
    }
}

/// The length in ns of a case's unit of time: the period of its clock, or 1 for wall time and
/// without a clock.
pub(crate) fn tick(case: &CaseResult) -> f64 {
    match &case.clock {
        Some(clock) if clock.domain != Domain::Wall => 1e9 / clock.hertz.max(1) as f64,
        _ => 1.0,
    }
}

/// Returns `true` if the starts of all series are counted from the same moment.
fn is_aligned(case: &CaseResult) -> bool {
    // Samples of a benchmark have no times: their starts are all 0.
    let has_times = || case.series.iter().flat_map(|series| &series.samples).any(|one| one.0 > 0.0);
    [OBSERVE, WATCH].contains(&&*case.experiment) || case.experiment == IMPORT && has_times()
}

/// The samples of each repetition, sorted by start. `ns` is the length of a tick. The first start
/// of a repetition is 0 unless the series are `aligned`.
fn spans(series: &SeriesResult, ns: f64, aligned: bool) -> Vec<Vec<Span>> {
    let mut left = series.samples.as_slice();
    let mut repetitions = Vec::new();
    for repetition in &series.by_repetition {
        let count = usize::try_from(repetition.count).unwrap_or(usize::MAX).min(left.len());
        let (these, later) = left.split_at(count);
        left = later;
        let first = these.iter().map(|(start, _)| *start).fold(f64::INFINITY, f64::min);
        let is_timed = aligned || these.iter().any(|(start, _)| *start != first);
        let first = if aligned { 0.0 } else { first };
        let mut end = 0;
        let span = |&(start, value): &(f64, f64)| {
            let length = value * series.per + series.nominal;
            // Values without a start time are placed one after another.
            let since = if is_timed { (start - first) * ns } else { end as f64 };
            let begin = whole(since);
            // Rounding the length instead of the end could make a sample end after the next begins.
            end = whole(since + length * ns).max(begin);
            (begin, end)
        };
        let mut spans: Vec<Span> = these.iter().map(span).collect();
        spans.sort_by_key(|(begin, _)| *begin);
        repetitions.push(spans);
    }
    repetitions
}

/// Rounds to whole ns, at most [`LATEST`]. NaN and negative values, which a damaged run file may
/// have, become 0.
fn whole(ns: f64) -> u64 {
    (ns.round() as u64).min(LATEST)
}

/// The start of each repetition in ns: the end of the longest series of the repetition before. One
/// more element is the end of the last repetition.
fn starts(series: &[(&SeriesResult, Vec<Vec<Span>>)]) -> Vec<u64> {
    let count = series.iter().map(|(_, repetitions)| repetitions.len()).max().unwrap_or(0);
    let length = |place: usize| {
        let spans = series.iter().filter_map(|(_, repetitions)| repetitions.get(place)).flatten();
        spans.map(|(_, end)| *end).max().unwrap_or(0)
    };
    let mut starts = vec![0_u64];
    for place in 0..count {
        starts.push(starts[place].saturating_add(length(place)));
    }
    starts
}

/// Adds the tracks and the events of one series: a track for each lane.
fn add_series(
    timeline: &mut Timeline<'_>,
    group: TrackId,
    case: &CaseResult,
    series: &SeriesResult,
    spans: Vec<Span>,
) {
    let clock = case.clock.as_ref().map_or("clock: not known".to_owned(), |clock| {
        let (domain, hertz) = (&clock.domain, clock.hertz);
        let tick = 1e9 / hertz.max(1) as f64;
        format!("clock: {domain}, {hertz} Hz; a tick is shown as {tick} ns")
    });
    let origin = if is_aligned(case) {
        match &*case.experiment {
            IMPORT => "the recording's first packet",
            _ => "the image's first instruction",
        }
    } else {
        "the series' own first sample"
    };
    let mut description = format!("{}; {clock}; time is counted from {origin}", series.role);
    if series.per != 1.0 {
        description += &format!("; a slice holds {} operations", series.per);
    }
    let (lanes, left_out) = lanes(&spans);
    if left_out > 0 {
        timeline.remarks.push(format!(
            "{}: {left_out} samples overlap more than {LANES} others: left out",
            series.name
        ));
    }
    let lanes = (0..lanes).map(|lane| match lane {
        0 => timeline.track(Some(group), &series.name, &description, false),
        _ => timeline.track(
            Some(group),
            &format!("{} ({})", series.name, lane + 1),
            &description,
            false,
        ),
    });
    let lanes: Vec<TrackId> = lanes.collect();
    let name = timeline.names.get(&super::cut(&series.name));
    let open = Open::new(lanes.len());
    timeline.streams.push(Box::new(Slices {
        spans: spans.into_iter().peekable(),
        open,
        lanes,
        name,
    }));
}

/// Returns the number of lanes that the samples need, at most [`LANES`], and the number of samples
/// that are left out. Samples are sorted by start.
fn lanes(spans: &[Span]) -> (usize, usize) {
    let mut open = BinaryHeap::new();
    let (mut lanes, mut left_out) = (0, 0);
    for (begin, end) in spans {
        while open.peek().is_some_and(|Reverse(end)| end <= begin) {
            open.pop();
        }
        if open.len() == LANES {
            left_out += 1;
            continue;
        }
        open.push(Reverse(*end));
        lanes = lanes.max(open.len());
    }
    (lanes, left_out)
}

/// The open slices and the free lanes of a series.
struct Open {
    /// The end in ns and the lane of each open slice, the earliest end first.
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    free: BinaryHeap<Reverse<usize>>,
}

impl Open {
    fn new(lanes: usize) -> Self {
        Self { ends: BinaryHeap::new(), free: (0..lanes).map(Reverse).collect() }
    }

    /// Closes the slice that ends next if it ends by `at`, or at any time if `at` is `None`.
    /// Returns its end and its lane, which is then free.
    fn end(&mut self, at: Option<u64>) -> Option<(u64, usize)> {
        let Reverse((end, lane)) = *self.ends.peek()?;
        if at.is_some_and(|at| at < end) {
            return None;
        }
        self.ends.pop();
        self.free.push(Reverse(lane));
        Some((end, lane))
    }
}

/// The iterator over the events of a series, in order of time.
struct Slices<I: Iterator<Item = Span>> {
    spans: std::iter::Peekable<I>,
    open: Open,
    lanes: Vec<TrackId>,
    name: NameId,
}

impl<I: Iterator<Item = Span>> Iterator for Slices<I> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let next = self.spans.peek().map(|(begin, _)| *begin);
            if let Some((at, lane)) = self.open.end(next) {
                return Some(Event {
                    at,
                    track: self.lanes[lane],
                    kind: EventKind::End,
                    arrow: None,
                });
            }
            let (begin, end) = self.spans.next()?;
            // A sample without a free lane is left out; `lanes` has counted it.
            if let Some(Reverse(lane)) = self.open.free.pop() {
                self.open.ends.push(Reverse((end, lane)));
                return Some(Event {
                    at: begin,
                    track: self.lanes[lane],
                    kind: EventKind::Begin(self.name),
                    arrow: None,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    fn starts_of(starts: &[f64], aligned: bool) -> Vec<u64> {
        let mut series = sample::run().cases[0].series[0].clone();
        series.samples = starts.iter().map(|start| (*start, 10.0)).collect();
        series.by_repetition.truncate(1);
        series.by_repetition[0].count = starts.len() as u64;
        (series.per, series.nominal) = (1.0, 0.0);
        let spans = spans(&series, 1.0, aligned);
        spans[0].iter().map(|(begin, _)| *begin).collect()
    }

    #[test]
    fn samples_stand_at_their_times_or_one_after_another() {
        assert_eq!(starts_of(&[100.0, 150.0], false), [0, 50]);
        assert_eq!(starts_of(&[100.0, 150.0], true), [100, 150]);
        // A benchmark's samples have no times.
        assert_eq!(starts_of(&[0.0, 0.0], false), [0, 10]);
    }

    #[test]
    fn series_of_observations_and_of_imports_with_times_share_a_clock() {
        let mut case = sample::run().cases[0].clone();
        case.series[0].samples = vec![(5.0, 1.0)];
        for (experiment, is_so) in
            [(OBSERVE, true), (WATCH, true), (IMPORT, true), ("switch", false)]
        {
            case.experiment = experiment.into();
            assert_eq!(is_aligned(&case), is_so, "{experiment}");
        }
        case.experiment = IMPORT.into();
        case.series.iter_mut().for_each(|series| series.samples = vec![(0.0, 1.0)]);
        assert!(!is_aligned(&case));
    }
}
