//! The tasks of a case's own trace, each with the stretches in which it ran or was ready. It knows no
//! picture.

use std::{cmp::Reverse, collections::BTreeMap, ops::Range};

use chronoscope_run::{CaseResult, answer::Pick};

use super::rule;
use crate::{
    cause::{schedule::Record, window::RepetitionSamples},
    timeline::{EventKind, Timeline, ftrace::line, ftrace::line::Line},
};

/// The name that the port to tandem gives the task that directs a case.
const DIRECTOR: &str = "director";

/// A stretch of a task, in ns of the timeline.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// The start.
    pub from: u64,
    /// The end.
    pub to: u64,
    /// The task runs; otherwise it is ready, or waits in a state that the trace shows.
    pub runs: bool,
}

/// A task of a trace, or its handlers.
pub struct Lane {
    /// The name without the number.
    pub name: String,
    /// The number of the task; 0 for handlers.
    pub number: u32,
    /// In the order of time; they do not overlap.
    pub slices: Vec<Slice>,
}

impl Lane {
    /// The stretches in which the task does not sleep, in the order of time.
    pub fn awake(&self) -> Vec<Range<u64>> {
        let mut all: Vec<Range<u64>> = Vec::new();
        for slice in &self.slices {
            match all.last_mut() {
                Some(last) if last.end == slice.from => last.end = slice.to,
                _ => all.push(slice.from..slice.to),
            }
        }
        all
    }

    /// The slices that overlap a stretch.
    pub fn within(&self, stretch: &Range<u64>) -> &[Slice] {
        let first = self.slices.partition_point(|slice| slice.to <= stretch.start);
        let last = self.slices.partition_point(|slice| slice.from < stretch.end);
        self.slices.get(first..last).unwrap_or_default()
    }

    /// The start of its first run that begins within a stretch.
    pub fn first_run(&self, stretch: &Range<u64>) -> Option<u64> {
        let runs = |slice: &&Slice| slice.runs && slice.from >= stretch.start;
        self.within(stretch).iter().find(runs).map(|slice| slice.from)
    }

    /// How long it runs within a stretch.
    pub fn ran(&self, stretch: &Range<u64>) -> u64 {
        let length =
            |slice: &Slice| slice.to.min(stretch.end).saturating_sub(slice.from.max(stretch.start));
        self.within(stretch).iter().filter(|slice| slice.runs).map(length).sum()
    }
}

/// All tasks of a case's trace.
pub struct Lanes {
    /// In the order in which the tasks were made.
    pub tasks: Vec<Lane>,
    /// The kernel's handlers, where its trace shows them.
    pub handlers: Option<Lane>,
    /// The name of the case's tasks, and the number of the one that directs the case.
    own: (String, u32),
    /// The ends of a series' samples in the first repetition, in ns of the timeline; empty where the
    /// trace does not tell them.
    pub ends: Vec<(f64, u64)>,
}

impl Lanes {
    /// The tasks of a case's trace, and the ends of the series that `pick` selects; `None` without a trace
    /// that shows the case's tasks.
    pub fn read(case: &CaseResult, pick: &Pick) -> Option<Self> {
        let mut timeline = Timeline::new(&[case]);
        let events: Vec<_> = timeline.events().collect();
        let mut lanes: Vec<Lane> = Vec::new();
        let mut places = vec![None; timeline.tracks().len()];
        let mut director = None;
        let mut open: Vec<Option<(u64, bool)>> = Vec::new();
        for event in events {
            let track = &timeline.tracks()[event.track.index()];
            let parent = track.parent.map_or("", |parent| &*timeline.tracks()[parent.index()].name);
            let (name, number) = match (parent, track.name.rsplit_once('-')) {
                ("tasks", Some((name, number))) => (name.to_owned(), number.parse().ok()?),
                _ if track.name == "handlers" => (track.name.clone(), 0),
                _ => continue,
            };
            let place = *places[event.track.index()].get_or_insert_with(|| {
                lanes.push(Lane { name, number, slices: Vec::new() });
                open.push(None);
                lanes.len() - 1
            });
            match event.kind {
                EventKind::Begin(name) => {
                    let name = timeline.name(name);
                    open[place] = Some((event.at, name.starts_with("runs") || number == 0));
                }
                EventKind::End => {
                    if let Some((from, runs)) = open[place].take() {
                        lanes[place].slices.push(Slice { from, to: event.at, runs });
                    }
                }
                EventKind::Mark(name) if timeline.name(name) == "the case begins" => {
                    director = director.or(Some(number));
                }
                EventKind::Mark(_) => {}
            }
        }
        let handlers = lanes.iter().position(|lane| lane.number == 0);
        let handlers = handlers.map(|place| lanes.remove(place));
        let directs = |lane: &&Lane| match director {
            Some(number) => lane.number == number,
            None => lane.name == DIRECTOR,
        };
        let directs = lanes.iter().find(directs)?;
        let own = match case.attachments.get("trace") {
            Some(_) => directs.name.clone(),
            // tandem's tasks have the name of their kind.
            None => case.parameters.get("kind")?.to_string(),
        };
        let own = (own, directs.number);
        lanes.sort_by_key(|lane| lane.number);
        Some(Self { tasks: lanes, handlers, own, ends: ends(case, pick).unwrap_or_default() })
    }

    /// Returns whether a task is the case's.
    pub fn is_own(&self, lane: &Lane) -> bool {
        lane.name == self.own.0 || lane.number == self.own.1
    }

    /// The places of the case's tasks, without the one that directs it, in the order in which they
    /// were made; the waiting task first.
    pub fn cast(&self) -> Option<Vec<usize>> {
        let is_own = |lane: &Lane| lane.name == self.own.0 && lane.number != self.own.1;
        let mut own: Vec<usize> =
            (0..self.tasks.len()).filter(|place| is_own(&self.tasks[*place])).collect();
        // The waiting task runs at the end of each sample.
        let first = match self.ends.is_empty() {
            true => *own.first()?,
            false => self.runs_at_ends(&own)?,
        };
        own.retain(|place| *place >= first);
        Some(own)
    }

    /// The place of the task that runs at the ends of most samples.
    fn runs_at_ends(&self, places: &[usize]) -> Option<usize> {
        let runs = |place: usize| {
            let slices = self.tasks[place].slices.iter().filter(|slice| slice.runs);
            slices.map(move |slice| (slice.from, slice.to, place))
        };
        let mut all: Vec<(u64, u64, usize)> = places.iter().copied().flat_map(runs).collect();
        all.sort_unstable();
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for (_, at) in &self.ends {
            let after = all.partition_point(|(from, _, _)| from <= at);
            if let Some((_, to, place)) = after.checked_sub(1).map(|before| all[before])
                && at < &to
            {
                *counts.entry(place).or_default() += 1;
            }
        }
        let most = counts.into_iter().max_by_key(|(place, count)| (*count, Reverse(*place)));
        most.map(|(place, _)| place)
    }
}

/// The values of a series' samples in ns, each with its end in ns of the timeline: Linux's trace tells
/// when the first began.
fn ends(case: &CaseResult, pick: &Pick) -> Option<Vec<(f64, u64)>> {
    let series = rule::series(pick, case)?;
    let samples = RepetitionSamples::first(case, series)?;
    let record = Record::new(case, series, &samples)?;
    let begin = record.text.lines().find_map(|text| match line::read(text) {
        Line::Event(event) => Some(event.at),
        _ => None,
    })?;
    let end = |window| {
        let (from, to) = record.span(window);
        (to - from, (to - begin as f64 + 1_000.0).max(0.0) as u64)
    };
    Some(samples.windows.iter().map(end).collect())
}
