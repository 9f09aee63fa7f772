//! What a Linux kernel recorded of a case (ftrace, as text): which task ran on which processor, what each task waited for, who woke it,
//! and where binder's transactions went.
//!
//! A trace begins and ends in the middle of everything: what is not known to have begun is not shown, and what is open at the end ends
//! there. Lines that are no ftrace, as the last one of a trace that was cut, are skipped and counted.

mod line;

use std::collections::BTreeMap;

use line::{Line, Task};

use super::{Arrow, Event, Flow, LATEST, Timeline, TrackId, What, cut};

/// Transactions under way at one time that are shown in the driver.
const LANES: usize = 64;

pub(super) fn add(timeline: &mut Timeline<'_>, group: TrackId, text: &str) {
    let before = timeline.tracks.len();
    let mut picture = Picture::new(timeline, group);
    text.lines().for_each(|line| picture.take(line));
    picture.close();
    let Picture { events, skipped, backwards, lines, .. } = picture;
    if skipped > 0 {
        timeline.remarks.push(format!("{skipped} of {lines} lines of its trace are no ftrace: skipped"));
    }
    if backwards > 0 {
        timeline
            .remarks
            .push(format!("{backwards} of {lines} lines of its trace go back in time: shown as one instant"));
    }
    if events.is_empty() {
        timeline.tracks.truncate(before);
    } else {
        timeline.streams.push(Box::new(events.into_iter()));
    }
}

struct Picture<'t, 'a> {
    timeline: &'t mut Timeline<'a>,
    group: TrackId,
    /// The tracks that all others stand under; the driver's is made when it is needed.
    processors: TrackId,
    tasks: TrackId,
    driver: Option<TrackId>,
    by_cpu: BTreeMap<u32, Processor>,
    by_task: BTreeMap<u32, Known>,
    lanes: Vec<Lane>,
    /// By their numbers.
    transactions: BTreeMap<u32, Transaction>,
    events: Vec<Event>,
    /// What the trace's clock says where the timeline stands at `start`; none before its first event.
    origin: Option<u64>,
    start: u64,
    /// The latest event.
    now: u64,
    lines: usize,
    skipped: usize,
    backwards: usize,
}

struct Processor {
    track: TrackId,
    is_busy: bool,
}

/// A task that the trace names.
struct Known {
    track: TrackId,
    state: State,
    /// The event that woke it, until it runs.
    woken: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It waits, or nothing is known of it yet: no slice is open.
    Away,
    Running,
    /// Ready, or waiting in a way that is shown.
    Shown,
}

struct Lane {
    track: TrackId,
    is_free: bool,
}

/// What a client has given to the driver.
struct Transaction {
    /// The client's mark, and where the driver's slice begins, in `events`.
    sent: usize,
    carried: Option<(usize, usize)>,
}

impl<'t, 'a> Picture<'t, 'a> {
    fn new(timeline: &'t mut Timeline<'a>, group: TrackId) -> Self {
        let clock = "the kernel's record (ftrace), from its first event on; its clock is printed in µs";
        let processors = timeline.track(Some(group), "processors", clock, false);
        let tasks = timeline.track(Some(group), "tasks", clock, false);
        Self {
            timeline,
            group,
            processors,
            tasks,
            driver: None,
            by_cpu: BTreeMap::new(),
            by_task: BTreeMap::new(),
            lanes: Vec::new(),
            transactions: BTreeMap::new(),
            events: Vec::new(),
            origin: None,
            start: 0,
            now: 0,
            lines: 0,
            skipped: 0,
            backwards: 0,
        }
    }

    fn take(&mut self, line: &str) {
        self.lines += 1;
        match line::read(line) {
            Line::Event(event) => self.show(&event),
            Line::Lost { cpu, events } => {
                let track = self.leave(cpu);
                self.mark(track, &format!("{events} events lost"));
            }
            // Another repetition, whose clock may start again.
            Line::Start => {
                self.close();
                (self.origin, self.start) = (None, self.now);
            }
            Line::Nothing => {}
            Line::Malformed => self.skipped += 1,
        }
    }

    fn show(&mut self, event: &line::Event<'_>) {
        let origin = *self.origin.get_or_insert(event.at);
        let at = event.at.checked_sub(origin).map_or(0, |passed| self.start.saturating_add(passed).min(LATEST));
        self.backwards += usize::from(at < self.now);
        self.now = self.now.max(at);
        // Where a mark of the running task belongs: what a handler does is no work of the task's.
        let here = |picture: &mut Self| match event.task.id {
            id if id == 0 || event.in_handler => picture.processor(event.cpu),
            _ => picture.task(event.task),
        };
        match event.what {
            line::What::Switch { before, state, after } => self.switch(event.cpu, before, state, after),
            line::What::Waking(task) => {
                let track = here(self);
                self.wake(track, task);
            }
            line::What::Wakeup(task) => {
                let track = here(self);
                self.wake(track, task);
                self.ready(task);
            }
            line::What::Transaction { id, process, is_reply } => {
                let track = here(self);
                self.send(track, id, process, is_reply);
            }
            line::What::Received { id } => {
                let track = here(self);
                self.receive(track, id);
            }
            line::What::Priority { thread, old, new } => {
                let track = self.task(Task { name: "", id: thread });
                self.mark(track, &format!("priority {old} becomes {new}"));
            }
            line::What::Mark(text) => {
                let track = here(self);
                self.mark(track, text);
            }
        }
    }

    fn switch(&mut self, cpu: u32, before: Task<'_>, state: &str, after: Task<'_>) {
        let processor = self.leave(cpu);
        if before.id != 0 {
            self.task(before);
            let waits = match state {
                "R" => Some("ready"),
                _ if state.starts_with('R') => Some("pre-empted"),
                _ if state.starts_with('D') => Some("waits uninterruptibly"),
                _ => None,
            };
            self.enter(before.id, waits.map_or(State::Away, |_| State::Shown), waits.unwrap_or_default());
        }
        if after.id != 0 {
            self.task(after);
            self.begin(processor, &format!("{}-{}", after.name, after.id));
            if let Some(processor) = self.by_cpu.get_mut(&cpu) {
                processor.is_busy = true;
            }
            self.enter(after.id, State::Running, &format!("runs on {cpu}"));
        }
    }

    /// The processor does what it did no longer.
    fn leave(&mut self, cpu: u32) -> TrackId {
        let track = self.processor(cpu);
        if self.by_cpu.get_mut(&cpu).is_some_and(|processor| std::mem::take(&mut processor.is_busy)) {
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
        if state != State::Away {
            self.begin(track, name);
        }
        if let (State::Running, Some(waker)) = (state, woken) {
            let flow = self.timeline.flow();
            self.point(waker, Arrow::Leaves(flow));
            self.point(self.events.len() - 1, Arrow::Ends(flow));
        }
    }

    /// A mark where it is woken; the kernel tells the same wake-up twice: where it is asked for, and where it is done.
    fn wake(&mut self, waker: TrackId, task: Task<'_>) {
        self.task(task);
        let Some(known) = self.by_task.get_mut(&task.id) else { return };
        if known.woken.is_none() && known.state != State::Running {
            known.woken = Some(self.events.len());
            self.mark(waker, &format!("wakes {}-{}", task.name, task.id));
        }
    }

    fn ready(&mut self, task: Task<'_>) {
        if self.by_task.get(&task.id).is_some_and(|known| known.state == State::Away) {
            self.enter_ready(task.id);
        }
    }

    fn enter_ready(&mut self, id: u32) {
        self.enter(id, State::Shown, "ready");
    }

    fn send(&mut self, client: TrackId, id: u32, process: u32, is_reply: bool) {
        let what = if is_reply { "reply" } else { "call" };
        self.lose(id);
        let sent = self.events.len();
        self.mark(client, &format!("{what} {id} to {process}"));
        let lane = self.lane().map(|lane| {
            let begin = self.events.len();
            self.begin(self.lanes[lane].track, &format!("{what} {id}"));
            (lane, begin)
        });
        self.transactions.insert(id, Transaction { sent, carried: lane });
    }

    fn receive(&mut self, server: TrackId, id: u32) {
        let carried = self.transactions.get(&id).map(|transaction| (transaction.sent, transaction.carried));
        self.lose(id);
        let received = self.events.len();
        self.mark(server, &format!("receives {id}"));
        // What was sent before the trace began has no other end.
        let Some((sent, carried)) = carried else { return };
        let flow: Flow = self.timeline.flow();
        self.point(sent, Arrow::Leaves(flow));
        if let Some((_, begin)) = carried {
            self.point(begin, Arrow::Leaves(flow));
        }
        self.point(received, Arrow::Ends(flow));
    }

    /// The driver has it no longer.
    fn lose(&mut self, id: u32) {
        if let Some(Transaction { carried: Some((lane, _)), .. }) = self.transactions.remove(&id) {
            self.lanes[lane].is_free = true;
            self.end(self.lanes[lane].track);
        }
    }

    /// A free lane of the driver's, which is then taken.
    fn lane(&mut self) -> Option<usize> {
        let free = self.lanes.iter().position(|lane| lane.is_free);
        if free.is_none() && self.lanes.len() < LANES {
            let (timeline, group) = (&mut *self.timeline, self.group);
            let binder = || timeline.track(Some(group), "binder", "transactions that the driver carries", false);
            let binder = *self.driver.get_or_insert_with(binder);
            let name = format!("driver {}", self.lanes.len() + 1);
            let track = self.timeline.track(Some(binder), &name, "from the sender's call to the receiver's", false);
            self.lanes.push(Lane { track, is_free: true });
        }
        let lane = free.or(Some(self.lanes.len() - 1)).filter(|lane| self.lanes[*lane].is_free)?;
        self.lanes[lane].is_free = false;
        Some(lane)
    }

    fn processor(&mut self, cpu: u32) -> TrackId {
        let processors = self.processors;
        let new =
            || Processor { track: ranked(self.timeline, processors, &format!("processor {cpu}"), cpu), is_busy: false };
        self.by_cpu.entry(cpu).or_insert_with(new).track
    }

    /// The track of a task, under the latest name that the trace has for it.
    fn task(&mut self, task: Task<'_>) -> TrackId {
        let tasks = self.tasks;
        let new = || {
            let name = if task.name.is_empty() { "thread" } else { task.name };
            let track = ranked(self.timeline, tasks, &format!("{name}-{}", task.id), task.id);
            Known { track, state: State::Away, woken: None }
        };
        let track = self.by_task.entry(task.id).or_insert_with(new).track;
        // A task that has just been made, or is ending, has no name of its own.
        if !task.name.is_empty() && task.name != "<...>" {
            let known = &mut self.timeline.tracks[track.index()].name;
            if known.strip_suffix(&format!("-{}", task.id)).is_none_or(|name| name != task.name) {
                *known = cut(&format!("{}-{}", task.name, task.id));
            }
        }
        track
    }

    fn begin(&mut self, track: TrackId, name: &str) {
        let name = self.timeline.names.get(&cut(name));
        self.push(track, What::Begin(name));
    }

    fn end(&mut self, track: TrackId) {
        self.push(track, What::End);
    }

    fn mark(&mut self, track: TrackId, name: &str) {
        let name = self.timeline.names.get(&cut(name));
        self.push(track, What::Mark(name));
    }

    fn push(&mut self, track: TrackId, what: What) {
        self.events.push(Event { at: self.now, track, what, arrow: None });
    }

    fn point(&mut self, event: usize, arrow: Arrow) {
        self.events[event].arrow = Some(arrow);
    }

    /// Nothing more is known of anything.
    fn close(&mut self) {
        let cpus: Vec<u32> = self.by_cpu.keys().copied().collect();
        for cpu in cpus {
            self.leave(cpu);
        }
        let tasks: Vec<u32> = self.by_task.keys().copied().collect();
        for task in tasks {
            self.enter(task, State::Away, "");
        }
        let transactions: Vec<u32> = self.transactions.keys().copied().collect();
        for transaction in transactions {
            self.lose(transaction);
        }
    }
}

/// A track that stands among its sisters by its number.
fn ranked(timeline: &mut Timeline<'_>, parent: TrackId, name: &str, rank: u32) -> TrackId {
    let track = timeline.track(Some(parent), name, "", true);
    timeline.tracks[track.index()].rank = i32::try_from(rank).unwrap_or(i32::MAX);
    track
}
