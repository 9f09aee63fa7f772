//! The state of a recorded system, and the intervals that its events give: each task runs, waits, or
//! is neither; handlers and spans begin and end. Readers of recordings report each event at a
//! [`Moment`]; this module knows none of their forms.

use std::{collections::BTreeMap, fmt::LowerHex};

use anyhow::{Result, ensure};
use chronoscope_units::printable;

use super::{Interval, Measured};

/// The most intervals of all series together.
const MOST_INTERVALS: usize = 8_000_000;

/// The most tasks, the most handlers, and the most open spans.
pub const MOST_NAMES: usize = 65_536;

/// The most processors, as many as Linux takes.
const MOST_PROCESSORS: usize = 8192;

/// The most handlers of a processor, and marks of a thread, within each other.
pub const MOST_NESTED: usize = 64;

/// The state of the recorded system, and the intervals so far, in ticks since the first event.
#[derive(Default)]
pub struct Scheduling {
    first: Option<u64>,
    last: u64,
    /// The events of all sorts.
    pub events: u64,
    /// The events that are in no series.
    pub others: u64,
    /// The events that the recording lost.
    pub lost: u64,
    names: BTreeMap<u64, String>,
    processors: BTreeMap<u32, Processor>,
    /// The tasks that have become ready and have not run since.
    ready: BTreeMap<u64, u64>,
    /// The spans that have begun: name, key, and the time.
    open: BTreeMap<(String, String), u64>,
    waits: BTreeMap<u64, Vec<Interval>>,
    runs: BTreeMap<u64, Vec<Interval>>,
    handlers: BTreeMap<String, Vec<Interval>>,
    spans: BTreeMap<String, Vec<Interval>>,
    intervals: usize,
}

/// A processor's state.
#[derive(Default)]
struct Processor {
    /// The time of its last event.
    now: u64,
    /// The task that runs, and since when.
    running: Option<(u64, u64)>,
    /// The handlers that have begun, the inner ones last.
    handlers: Vec<(String, u64)>,
}

/// An event's processor and time.
pub struct Moment<'a> {
    all: &'a mut Scheduling,
    processor: u32,
    now: u64,
}

/// The words of a sort of recordings.
pub struct Words {
    /// The wait of a task, behind its name.
    pub wait: &'static str,
    /// The mend for a recording without an interval.
    pub mend: &'static str,
    /// The name of a task with this number, among all names.
    pub task: fn(&BTreeMap<u64, String>, u64) -> String,
}

impl Scheduling {
    /// Takes in an event of a processor at this time, in ticks.
    ///
    /// # Errors
    /// The time runs backward on the processor, or there are too many processors or intervals.
    pub fn at(&mut self, processor: u32, time: u64) -> Result<Moment<'_>> {
        self.events += 1;
        ensure!(self.intervals < MOST_INTERVALS, "more than {MOST_INTERVALS} intervals: cut it");
        let first = *self.first.get_or_insert(time);
        // Processors' events may be out of order among each other.
        let now = time.saturating_sub(first);
        self.last = self.last.max(now);
        let is_known = self.processors.contains_key(&processor);
        ensure!(
            is_known || self.processors.len() < MOST_PROCESSORS,
            "more than {MOST_PROCESSORS} processors"
        );
        let state = self.processors.entry(processor).or_default();
        ensure!(
            now >= state.now,
            "the time runs backward on processor {processor}: sort it, or give each recording alone"
        );
        state.now = now;
        Ok(Moment { all: self, processor, now })
    }

    /// Names a task. A later name counts, as after `execve`.
    ///
    /// # Errors
    /// There are too many tasks.
    pub fn name(&mut self, task: u64, name: &str) -> Result<()> {
        let is_known = self.names.contains_key(&task);
        ensure!(is_known || self.names.len() < MOST_NAMES, "more than {MOST_NAMES} tasks");
        self.names.insert(task, printable(name));
        Ok(())
    }

    /// Counts lost events. What happened meanwhile is unknown, so all intervals end without a length.
    pub fn lose(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count.max(1));
        self.ready.clear();
        self.open.clear();
        for processor in self.processors.values_mut() {
            (processor.running, processor.handlers) = (None, Vec::new());
        }
    }

    /// The case of the recording, with `hertz` ticks a second.
    ///
    /// # Errors
    /// The recording has no interval.
    pub fn measured(self, hertz: u64, words: &Words) -> Result<Measured> {
        ensure!(self.events > 0, "it has no event: {}", words.mend);
        ensure!(
            self.intervals > 0,
            "none of its {} events begins and ends an interval: {}",
            self.events,
            words.mend
        );
        let mut measured = Measured::new("recording", hertz);
        measured.evidence = vec![
            ("events in the file", self.events as f64, 1.0, f64::INFINITY),
            ("events that were lost", self.lost as f64, 0.0, 0.0),
        ];
        measured
            .log
            .push("recording takes time in each interval: the file gives no control".to_owned());
        if self.others > 0 {
            let others = self.others;
            measured.log.push(format!("events of other sorts, in no series: {others}"));
        }
        let named = |task: &u64| (words.task)(&self.names, *task);
        measured.add_loads(&self.runs, self.last, &named);
        measured.add_most(self.spans, "span", "", true, &String::clone);
        measured.add_most(self.waits, "task", words.wait, true, &named);
        measured.add_most(self.handlers, "handler", " (handler)", true, &String::clone);
        measured.add_most(self.runs, "task", ", on the processor", false, &named);
        Ok(measured)
    }
}

impl Moment<'_> {
    fn processor(&mut self) -> &mut Processor {
        self.all.processors.entry(self.processor).or_default()
    }

    fn interval(&self, since: u64) -> Interval {
        Interval { start: since, length: self.now.saturating_sub(since) }
    }

    /// Returns whether a handler runs here.
    pub fn is_in_handler(&mut self) -> bool {
        !self.processor().handlers.is_empty()
    }

    /// Gives up the handlers that have begun here: their ends were not recorded.
    pub fn forget_handlers(&mut self) {
        self.processor().handlers.clear();
    }

    /// Runs this task from here on, or none, in the place of the one that runs.
    pub fn switch(&mut self, next: Option<u64>) {
        let running = self.processor().running.map(|(task, _)| task);
        if running == next {
            return;
        }
        if let Some(task) = running {
            self.leave(task, false);
        }
        if let Some(task) = next {
            self.run(task);
        }
    }

    /// Makes a task ready, unless it runs or is ready already.
    ///
    /// # Errors
    /// There are too many tasks.
    pub fn ready(&mut self, task: u64) -> Result<()> {
        ensure!(self.all.ready.len() < MOST_NAMES, "more than {MOST_NAMES} tasks are ready");
        let is_running = |one: &Processor| one.running.is_some_and(|(own, _)| own == task);
        if !self.all.processors.values().any(is_running) {
            self.all.ready.entry(task).or_insert(self.now);
        }
        Ok(())
    }

    /// Ends the run of this task, if it runs here; `is_idle` for one whose time is no work.
    pub fn leave(&mut self, task: u64, is_idle: bool) {
        let left = self.processor().running.take().filter(|(own, _)| *own == task);
        if let Some((_, since)) = left.filter(|_| !is_idle) {
            let run = self.interval(since);
            self.all.runs.entry(task).or_default().push(run);
            self.all.intervals += 1;
        }
    }

    /// Runs a task from here on, in which its wait ends.
    pub fn run(&mut self, task: u64) {
        let now = self.now;
        self.processor().running = Some((task, now));
        if let Some(since) = self.all.ready.remove(&task) {
            let wait = self.interval(since);
            self.all.waits.entry(task).or_default().push(wait);
            self.all.intervals += 1;
        }
    }

    /// Begins a handler.
    ///
    /// # Errors
    /// Too many are within each other.
    pub fn enter(&mut self, handler: &str) -> Result<()> {
        let now = self.now;
        let handlers = &mut self.processor().handlers;
        ensure!(
            handlers.len() < MOST_NESTED,
            "{MOST_NESTED} handlers within each other: it is damaged"
        );
        handlers.push((printable(handler), now));
        Ok(())
    }

    /// Ends the innermost handler. One that began before the recording is in no series.
    ///
    /// # Errors
    /// There are too many handlers.
    pub fn exit(&mut self) -> Result<()> {
        if let Some((name, since)) = self.processor().handlers.pop() {
            let interval = self.interval(since);
            let known = self.all.handlers.contains_key(&name);
            ensure!(
                known || self.all.handlers.len() < MOST_NAMES,
                "more than {MOST_NAMES} handlers"
            );
            self.all.handlers.entry(name).or_default().push(interval);
            self.all.intervals += 1;
        }
        Ok(())
    }

    /// Begins a span. One of the same name and key that has not ended is given up.
    ///
    /// # Errors
    /// Too many are open.
    pub fn begin(&mut self, name: &str, key: &str) -> Result<()> {
        ensure!(self.all.open.len() < MOST_NAMES, "more than {MOST_NAMES} spans at once");
        self.all.open.insert((printable(name), key.to_owned()), self.now);
        Ok(())
    }

    /// Ends a span, if it has begun in the recording.
    ///
    /// # Errors
    /// There are too many names.
    pub fn end(&mut self, name: &str, key: &str) -> Result<()> {
        let name = printable(name);
        if let Some(since) = self.all.open.remove(&(name.clone(), key.to_owned())) {
            let interval = self.interval(since);
            let known = self.all.spans.contains_key(&name);
            ensure!(known || self.all.spans.len() < MOST_NAMES, "more than {MOST_NAMES} spans");
            self.all.spans.entry(name).or_default().push(interval);
            self.all.intervals += 1;
        }
        Ok(())
    }

    /// An event of a sort that is in no series.
    pub fn other(self) {
        self.all.others += 1;
    }

    /// Names a task.
    ///
    /// # Errors
    /// There are too many tasks.
    pub fn name(&mut self, task: u64, name: &str) -> Result<()> {
        self.all.name(task, name)
    }
}

/// The name of a task or a handler of a small system. Its number follows where several have the name.
pub fn called<Id: Ord + LowerHex>(names: &BTreeMap<Id, String>, what: &str, id: Id) -> String {
    match names.get(&id).filter(|name| !name.trim().is_empty()) {
        Some(name) if names.values().filter(|other| *other == name).count() == 1 => name.clone(),
        Some(name) => format!("{name} {id:#x}"),
        None => format!("{what} {id:#x}"),
    }
}
