//! What tasks did on processors, as a kernel's trace tells it event by event: states of tasks, and arrows from each wake-up to the moment
//! that the task runs.
//!
//! A trace begins and ends in the middle of everything: what is not known to have begun is not shown, and what is open at the end ends
//! there.

use std::collections::BTreeMap;

use super::{Arrow, Event, Flow, LATEST, Timeline, TrackId, What, cut};

/// A task as a trace names it; 0 is no task's number, and stands for an idle processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Task<'a> {
    pub name: &'a str,
    pub id: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It waits, or nothing is known of it yet: no slice is open.
    Away,
    Running,
    /// Ready, or waiting in a way that is shown.
    Shown,
}

/// A task that the trace names.
struct Known {
    track: TrackId,
    state: State,
    /// The event that woke it, until it runs.
    woken: Option<usize>,
}

struct Processor {
    track: TrackId,
    is_busy: bool,
}

pub(super) struct Schedule<'t, 'a> {
    pub timeline: &'t mut Timeline<'a>,
    /// The tracks that all others stand under.
    processors: TrackId,
    tasks: TrackId,
    by_cpu: BTreeMap<u32, Processor>,
    by_task: BTreeMap<u32, Known>,
    events: Vec<Event>,
    /// What the trace's clock says where the timeline stands at `start`; none before its first event.
    origin: Option<u64>,
    start: u64,
    /// The latest event.
    now: u64,
}

impl<'t, 'a> Schedule<'t, 'a> {
    pub fn new(timeline: &'t mut Timeline<'a>, group: TrackId, description: &str) -> Self {
        let processors = timeline.track(Some(group), "processors", description, false);
        let tasks = timeline.track(Some(group), "tasks", description, false);
        Self {
            timeline,
            processors,
            tasks,
            by_cpu: BTreeMap::new(),
            by_task: BTreeMap::new(),
            events: Vec::new(),
            origin: None,
            start: 0,
            now: 0,
        }
    }

    /// Time goes on to what the trace's clock says, in ns; whether it says so: it may not go back.
    pub fn advance(&mut self, clock: u64) -> bool {
        let origin = *self.origin.get_or_insert(clock);
        let at = clock
            .checked_sub(origin)
            .map_or(0, |passed| self.start.saturating_add(passed).min(LATEST));
        let goes_on = at >= self.now;
        self.now = self.now.max(at);
        goes_on
    }

    /// What follows is of another repetition, whose clock may start again.
    pub fn restart(&mut self) {
        self.close();
        (self.origin, self.start) = (None, self.now);
    }

    /// Nothing more is known of anything.
    pub fn close(&mut self) {
        let cpus: Vec<u32> = self.by_cpu.keys().copied().collect();
        for cpu in cpus {
            self.leave(cpu);
        }
        let tasks: Vec<u32> = self.by_task.keys().copied().collect();
        for task in tasks {
            self.enter(task, State::Away, "");
        }
    }

    /// Hands over what was collected.
    pub fn finish(mut self) {
        self.close();
        if !self.events.is_empty() {
            self.timeline.streams.push(Box::new(self.events.into_iter()));
        }
    }

    /// A task begins to run.
    pub fn run(&mut self, cpu: u32, task: Task<'_>) {
        let processor = self.leave(cpu);
        if task.id != 0 {
            self.task(task);
            self.begin(processor, &format!("{}-{}", task.name, task.id));
            if let Some(processor) = self.by_cpu.get_mut(&cpu) {
                processor.is_busy = true;
            }
            self.enter(task.id, State::Running, &format!("runs on {cpu}"));
        }
    }

    /// A task does not run, but is shown as `what`.
    pub fn show(&mut self, task: Task<'_>, what: &str) {
        self.task(task);
        self.enter(task.id, State::Shown, what);
    }

    /// A task waits, or is no more.
    pub fn hide(&mut self, task: Task<'_>) {
        self.task(task);
        self.enter(task.id, State::Away, "");
    }

    /// A task is ready, if nothing better is known of it.
    pub fn ready(&mut self, task: Task<'_>) {
        self.task(task);
        if self.by_task.get(&task.id).is_some_and(|known| known.state == State::Away) {
            self.enter(task.id, State::Shown, "ready");
        }
    }

    /// A mark where a task is woken. A kernel may tell the same wake-up twice: where it is asked for, and where it is done.
    pub fn wake(&mut self, waker: TrackId, task: Task<'_>) {
        self.task(task);
        let next = self.events.len();
        let Some(known) = self.by_task.get_mut(&task.id) else { return };
        if known.woken.is_none() && known.state == State::Away {
            known.woken = Some(next);
            self.mark(waker, &format!("wakes {}-{}", task.name, task.id));
        }
    }

    /// The processor does what it did no longer.
    pub fn leave(&mut self, cpu: u32) -> TrackId {
        let track = self.processor(cpu);
        if self.by_cpu.get_mut(&cpu).is_some_and(|processor| std::mem::take(&mut processor.is_busy))
        {
            self.end(track);
        }
        track
    }

    /// A task's state ends, and another begins.
    fn enter(&mut self, id: u32, state: State, name: &str) {
        let Some(known) = self.by_task.get_mut(&id) else { return };
        let (track, was) = (known.track, std::mem::replace(&mut known.state, state));
        // Who is ready keeps its wake-up until it runs; who goes back to sleep without having run has been woken for nothing.
        let woken = if state == State::Shown { None } else { known.woken.take() };
        if was != State::Away {
            self.end(track);
        }
        if state == State::Away {
            return;
        }
        let begin = self.begin(track, name);
        if let (State::Running, Some(waker)) = (state, woken) {
            let flow = self.timeline.flow();
            self.point(waker, Arrow::Leaves(flow));
            self.point(begin, Arrow::Ends(flow));
        }
    }

    pub fn processor(&mut self, cpu: u32) -> TrackId {
        let (timeline, parent) = (&mut *self.timeline, self.processors);
        let new = || Processor {
            track: ranked(timeline, parent, &format!("processor {cpu}"), cpu),
            is_busy: false,
        };
        self.by_cpu.entry(cpu).or_insert_with(new).track
    }

    /// The track of a task, under the latest name that the trace has for it.
    pub fn task(&mut self, task: Task<'_>) -> TrackId {
        let (timeline, parent) = (&mut *self.timeline, self.tasks);
        let new = || {
            let name = if task.name.is_empty() { "thread" } else { task.name };
            let track = ranked(timeline, parent, &format!("{name}-{}", task.id), task.id);
            Known { track, state: State::Away, woken: None }
        };
        let track = self.by_task.entry(task.id).or_insert_with(new).track;
        // A task that has just been made, or is ending, has no name of its own.
        if !task.name.is_empty() && task.name != "<...>" {
            let known = &mut self.timeline.tracks[track.index()].name;
            if known.rsplit_once('-').is_none_or(|(name, _)| name != task.name) {
                *known = cut(&format!("{}-{}", task.name, task.id));
            }
        }
        track
    }

    /// A track of the trace's own, beside processors and tasks.
    pub fn track(&mut self, parent: TrackId, name: &str, description: &str) -> TrackId {
        self.timeline.track(Some(parent), name, description, false)
    }

    pub fn flow(&mut self) -> Flow {
        self.timeline.flow()
    }

    /// These three return where the event stands, for [`point`](Self::point).
    pub fn begin(&mut self, track: TrackId, name: &str) -> usize {
        let name = self.timeline.names.get(&cut(name));
        self.push(track, What::Begin(name))
    }

    pub fn end(&mut self, track: TrackId) -> usize {
        self.push(track, What::End)
    }

    pub fn mark(&mut self, track: TrackId, name: &str) -> usize {
        let name = self.timeline.names.get(&cut(name));
        self.push(track, What::Mark(name))
    }

    fn push(&mut self, track: TrackId, what: What) -> usize {
        self.events.push(Event { at: self.now, track, what, arrow: None });
        self.events.len() - 1
    }

    /// An arrow leaves an event, or ends there.
    pub fn point(&mut self, event: usize, arrow: Arrow) {
        self.events[event].arrow = Some(arrow);
    }
}

/// A track that stands among its sisters by its number.
fn ranked(timeline: &mut Timeline<'_>, parent: TrackId, name: &str, rank: u32) -> TrackId {
    let track = timeline.track(Some(parent), name, "", true);
    timeline.tracks[track.index()].rank = i32::try_from(rank).unwrap_or(i32::MAX);
    track
}
