//! The timeline of a run's cases: tracks of slices and marks, with flows between them. It knows no
//! output format; each source of events is a file of its own.
//!
//! A source makes tracks and streams of events. [`Timeline::events`] merges the streams in the
//! order of time, so a writer holds one event per stream in memory.

pub(crate) mod board;
pub(crate) mod ftrace;
mod samples;
mod schedule;
mod tandem;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    num::NonZeroU32,
};

pub(crate) use samples::tick;

use chronoscope_run::CaseResult;
use chronoscope_units::printable;

/// The latest time of an event, in ns: the greatest that trace viewers can represent.
pub const LATEST: u64 = i64::MAX as u64;

/// The longest name in characters; a longer one is cut. No kernel, experiment or port has such a
/// name.
const LONGEST: usize = 200;

/// The index of a track in [`Timeline::tracks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(u32);

impl TrackId {
    /// The index as a number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The index of a name that is stored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameId(u32);

impl NameId {
    /// The index as a number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A row of the timeline.
#[derive(Debug, Clone)]
pub struct Track {
    /// The track under which this one is shown; its index is lower.
    pub parent: Option<TrackId>,
    /// The name at the head of the row.
    pub name: String,
    /// A sentence about the row; may be empty.
    pub description: String,
    /// The sort key among the tracks with the same parent.
    pub rank: i32,
    /// `true` if the track may hold marks besides slices.
    pub has_marks: bool,
    /// `true` if the track shows a pin: a slice is its high level.
    pub is_pin: bool,
}

/// The identity of an arrow between two or more events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow(NonZeroU32);

impl Flow {
    /// The number of the arrow, from 1.
    pub fn number(self) -> u32 {
        self.0.get()
    }
}

/// The role of an event in an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrow {
    /// The arrow starts at this event or passes through it.
    Leaves(Flow),
    /// The arrow ends at this event.
    Ends(Flow),
}

/// The effect of an event on its track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A slice begins, nested in the track's open slices.
    Begin(NameId),
    /// The innermost open slice of the track ends.
    End,
    /// An instant of this name.
    Mark(NameId),
}

/// An event of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time in ns from the start of the timeline.
    pub at: u64,
    /// The track.
    pub track: TrackId,
    /// The effect on the track.
    pub kind: EventKind,
    /// The event's role in an arrow, if it has any.
    pub arrow: Option<Arrow>,
}

/// Events in the order of time. All events of a track are in the same stream.
type Stream<'a> = Box<dyn Iterator<Item = Event> + 'a>;

/// The events of a run by time, on tracks; the events are read once.
#[derive(Default)]
pub struct Timeline<'a> {
    tracks: Vec<Track>,
    names: Names,
    streams: Vec<Stream<'a>>,
    flows: u32,
    /// Remarks for the user, such as input that was skipped.
    pub remarks: Vec<String>,
}

impl<'a> Timeline<'a> {
    /// Builds the timeline of all events recorded for these cases; each case starts at 0.
    pub fn new(cases: &[&'a CaseResult]) -> Self {
        let mut timeline = Self::default();
        for case in cases {
            timeline.add(case);
        }
        timeline
    }

    fn add(&mut self, case: &'a CaseResult) {
        let name = [&*case.experiment, &*case.target, &*case.label].join(" ");
        let description = format!(
            "a sample is from: {}; to: {}; verdict: {}",
            case.start,
            case.end,
            case.verdict.status.words()
        );
        let (streams, remarks) = (self.streams.len(), self.remarks.len());
        let group = self.track(None, name.trim_end(), &description, false);
        samples::add(self, group, case);
        if let Some(text) = case.attachments.get("trace") {
            ftrace::add(self, group, case, text);
        }
        if let Some(text) = case.attachments.get("tandem") {
            tandem::add(self, group, case, text);
        }
        board::add(self, group, case);
        for remark in &mut self.remarks[remarks..] {
            *remark = format!("{}: {remark}", name.trim_end());
        }
        if self.streams.len() == streams {
            self.tracks.truncate(group.index());
        }
    }

    /// Adds a track after those that exist. Its name is cut to 200 characters and made printable.
    fn track(
        &mut self,
        parent: Option<TrackId>,
        name: &str,
        description: &str,
        has_marks: bool,
    ) -> TrackId {
        let id = TrackId(
            u32::try_from(self.tracks.len())
                .expect("fewer than 2^32 tracks: each takes bytes of a file"),
        );
        let (name, description) = (cut(name), description.to_owned());
        self.tracks.push(Track {
            parent,
            name,
            description,
            rank: id.0.cast_signed(),
            has_marks,
            is_pin: false,
        });
        id
    }

    fn flow(&mut self) -> Flow {
        self.flows += 1;
        Flow(
            NonZeroU32::new(self.flows)
                .expect("above 0 and below 2^32: each flow takes a line of a file"),
        )
    }

    /// All tracks; the index of a track is its identity.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// The text of a name.
    pub fn name(&self, id: NameId) -> &str {
        &self.names.list[id.index()]
    }

    /// `true` if no case gave any events.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Merges all events in the order of time; the events of a track keep the order of their
    /// source. The events can be taken once: a second call yields none.
    pub fn events(&mut self) -> Merged<'a> {
        let mut streams = std::mem::take(&mut self.streams);
        let fronts: Vec<_> = streams.iter_mut().map(Iterator::next).collect();
        let order = fronts
            .iter()
            .enumerate()
            .filter_map(|(place, event)| Some(Reverse((event.as_ref()?.at, place))));
        Merged { order: order.collect(), fronts, streams }
    }
}

/// The iterator of [`Timeline::events`].
pub struct Merged<'a> {
    streams: Vec<Stream<'a>>,
    /// The next event of each stream.
    fronts: Vec<Option<Event>>,
    /// The streams by the time of their next event.
    order: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Iterator for Merged<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut top = self.order.peek_mut()?;
        let place = top.0.1;
        let next = self.streams[place].next();
        let event = std::mem::replace(&mut self.fronts[place], next);
        match next {
            Some(next) => *top = Reverse((next.at, place)),
            None => drop(std::collections::binary_heap::PeekMut::pop(top)),
        }
        event
    }
}

#[derive(Default)]
struct Names {
    list: Vec<String>,
    known: BTreeMap<String, NameId>,
}

impl Names {
    fn get(&mut self, name: &str) -> NameId {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let id = NameId(
            u32::try_from(self.list.len())
                .expect("fewer than 2^32 names: each takes bytes of a file"),
        );
        self.list.push(printable(name));
        self.known.insert(name.to_owned(), id);
        id
    }
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => printable(&name[..end]) + "…",
        None => printable(name),
    }
}
