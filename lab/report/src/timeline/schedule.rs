//! Builds tracks of processors and tasks from the scheduling events of any kernel's trace: the
//! states of each task, and an arrow from each wake-up to the start of the woken task. It knows no
//! trace format.
//!
//! A trace starts and ends amid running activity. A slice whose start is unknown is not shown, and
//! a slice that is open at the end is closed there.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use super::{Arrow, Event, EventKind, Flow, LATEST, Timeline, TrackId, cut};

/// A task as a trace names it. The number 0 is no task and stands for an idle processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Task<'a> {
    pub name: &'a str,
    pub id: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The task waits, or its state is not known yet: no slice is open.
    Away,
    Running,
    /// The task is ready, or waits in a state that is shown.
    Shown,
}

/// A task that occurs in the trace.
struct Known {
    track: TrackId,
    state: State,
    /// The index of the event that woke the task, until it runs.
    woken: Option<usize>,
}

struct Processor {
    track: TrackId,
    is_busy: bool,
}

pub(super) struct Schedule<'t, 'a> {
    pub timeline: &'t mut Timeline<'a>,
    /// The parent tracks of all processors and of all tasks.
    processors: TrackId,
    tasks: TrackId,
    by_cpu: BTreeMap<u32, Processor>,
    by_task: BTreeMap<u32, Known>,
    /// The processors and the tasks that occurred since [`close`](Self::close). A trace may have
    /// many tasks and many restarts, so a restart must not go through all tasks.
    open_cpus: BTreeSet<u32>,
    open_tasks: BTreeSet<u32>,
    events: Vec<Event>,
    /// The trace clock in ns at the timeline's time `start`; `None` before the first event.
    origin: Option<u64>,
    start: u64,
    /// The time of the latest event, in ns of the timeline.
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
            open_cpus: BTreeSet::new(),
            open_tasks: BTreeSet::new(),
            events: Vec::new(),
            origin: None,
            start: 0,
            now: 0,
        }
    }

    /// Moves time to the trace clock's value `clock`, in ns. Returns `false` if that lies before
    /// the latest event; the time then stays.
    pub fn advance(&mut self, clock: u64) -> bool {
        let origin = *self.origin.get_or_insert(clock);
        let at = clock
            .checked_sub(origin)
            .map_or(0, |passed| self.start.saturating_add(passed).min(LATEST));
        let goes_on = at >= self.now;
        self.now = self.now.max(at);
        goes_on
    }

    /// Starts another repetition, whose trace clock may start anew.
    pub fn restart(&mut self) {
        self.close();
        (self.origin, self.start) = (None, self.now);
    }

    /// Closes all open slices at the current time.
    pub fn close(&mut self) {
        for cpu in mem::take(&mut self.open_cpus) {
            self.leave(cpu);
        }
        // No processor is busy now.
        self.open_cpus.clear();
        for task in mem::take(&mut self.open_tasks) {
            self.enter(task, State::Away, "");
        }
    }

    /// Closes all slices and adds the collected events to the timeline.
    pub fn finish(mut self) {
        self.close();
        if !self.events.is_empty() {
            self.timeline.streams.push(Box::new(self.events.into_iter()));
        }
    }

    /// Ends the processor's current slice and starts a slice of `task`; number 0 leaves the
    /// processor idle.
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

    /// Shows a task that does not run in the state named `what`.
    pub fn show(&mut self, task: Task<'_>, what: &str) {
        self.task(task);
        self.enter(task.id, State::Shown, what);
    }

    /// Ends the task's slice: it waits, or has ended.
    pub fn hide(&mut self, task: Task<'_>) {
        self.task(task);
        self.enter(task.id, State::Away, "");
    }

    /// Shows a task as ready, unless it has an open slice.
    pub fn ready(&mut self, task: Task<'_>) {
        self.task(task);
        if self.by_task.get(&task.id).is_some_and(|known| known.state == State::Away) {
            self.enter(task.id, State::Shown, "ready");
        }
    }

    /// Marks a wake-up of `task` on the waker's track. A trace may report a wake-up twice, at the
    /// request and at its completion; only the first is marked.
    pub fn wake(&mut self, waker: TrackId, task: Task<'_>) {
        self.task(task);
        let next = self.events.len();
        let Some(known) = self.by_task.get_mut(&task.id) else { return };
        if known.woken.is_none() && known.state == State::Away {
            known.woken = Some(next);
            self.mark(waker, &format!("wakes {}-{}", task.name, task.id));
        }
    }

    /// Ends the processor's current slice, if one is open, and returns the processor's track.
    pub fn leave(&mut self, cpu: u32) -> TrackId {
        let track = self.processor(cpu);
        if self.by_cpu.get_mut(&cpu).is_some_and(|processor| mem::take(&mut processor.is_busy)) {
            self.end(track);
        }
        track
    }

    /// Ends a task's slice and opens a slice of its new state.
    fn enter(&mut self, id: u32, state: State, name: &str) {
        let Some(known) = self.by_task.get_mut(&id) else { return };
        let (track, was) = (known.track, mem::replace(&mut known.state, state));
        // A ready task keeps its wake-up until it runs. A task that waits again without having run
        // drops it.
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
        self.open_cpus.insert(cpu);
        let (timeline, parent) = (&mut *self.timeline, self.processors);
        let new = || Processor {
            track: ranked(timeline, parent, &format!("processor {cpu}"), cpu),
            is_busy: false,
        };
        self.by_cpu.entry(cpu).or_insert_with(new).track
    }

    /// The track of a task, named by the latest name in the trace.
    pub fn task(&mut self, task: Task<'_>) -> TrackId {
        let (timeline, parent) = (&mut *self.timeline, self.tasks);
        let new = || {
            let name = if task.name.is_empty() { "thread" } else { task.name };
            let track = ranked(timeline, parent, &format!("{name}-{}", task.id), task.id);
            Known { track, state: State::Away, woken: None }
        };
        self.open_tasks.insert(task.id);
        let track = self.by_task.entry(task.id).or_insert_with(new).track;
        // A new or an ending task has no name of its own yet.
        if !task.name.is_empty() && task.name != "<...>" {
            let known = &mut self.timeline.tracks[track.index()].name;
            if known.rsplit_once('-').is_none_or(|(name, _)| name != task.name) {
                *known = cut(&format!("{}-{}", task.name, task.id));
            }
        }
        track
    }

    /// Adds a track of the trace's source, outside processors and tasks.
    pub fn track(&mut self, parent: TrackId, name: &str, description: &str) -> TrackId {
        self.timeline.track(Some(parent), name, description, false)
    }

    pub fn flow(&mut self) -> Flow {
        self.timeline.flow()
    }

    /// Opens a slice. Returns the event's index, for [`point`](Self::point), as `end` and `mark`
    /// do.
    pub fn begin(&mut self, track: TrackId, name: &str) -> usize {
        let name = self.timeline.names.get(&cut(name));
        self.push(track, EventKind::Begin(name))
    }

    pub fn end(&mut self, track: TrackId) -> usize {
        self.push(track, EventKind::End)
    }

    pub fn mark(&mut self, track: TrackId, name: &str) -> usize {
        let name = self.timeline.names.get(&cut(name));
        self.push(track, EventKind::Mark(name))
    }

    fn push(&mut self, track: TrackId, kind: EventKind) -> usize {
        self.events.push(Event { at: self.now, track, kind, arrow: None });
        self.events.len() - 1
    }

    /// Attaches the start or the end of an arrow to an event.
    pub fn point(&mut self, event: usize, arrow: Arrow) {
        self.events[event].arrow = Some(arrow);
    }
}

/// Adds a track. The tracks of one parent are sorted by `rank`.
fn ranked(timeline: &mut Timeline<'_>, parent: TrackId, name: &str, rank: u32) -> TrackId {
    let track = timeline.track(Some(parent), name, "", true);
    timeline.tracks[track.index()].rank = i32::try_from(rank).unwrap_or(i32::MAX);
    track
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_restart_takes_no_time_for_the_tasks_before_it() {
        let mut timeline = Timeline::default();
        let group = timeline.track(None, "case", "", false);
        let mut schedule = Schedule::new(&mut timeline, group, "");
        for id in 1..=20_000 {
            schedule.ready(Task { name: "a", id });
            schedule.processor(id);
        }
        let begin = Instant::now();
        (0..20_000).for_each(|_| schedule.restart());
        // Going through all tasks at each restart takes a minute.
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        assert_eq!(schedule.events.len(), 40_000, "each slice began and ended once");
        schedule.restart();
        schedule.run(3, Task { name: "b", id: 7 });
        schedule.restart();
        assert_eq!(schedule.events.len(), 40_004, "the processor's slice and the task's");
    }
}
