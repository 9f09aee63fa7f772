//! The state of a recorded system, and the intervals that its events give: each task runs, waits, or
//! does neither; handlers and spans begin and end. Readers of recordings report each event at a
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
    /// The spans that have begun, with the times.
    open: BTreeMap<Span, u64>,
    /// The spans of which it is unknown when they ended.
    ambiguous: u64,
    waits: BTreeMap<u64, Vec<Interval>>,
    runs: BTreeMap<u64, Vec<Interval>>,
    handlers: BTreeMap<String, Vec<Interval>>,
    spans: BTreeMap<String, Vec<Interval>>,
    intervals: usize,
}

/// A span that has begun. One with a key of its own needs no task and no processor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    name: String,
    key: String,
    /// The task that began it, if it is known.
    task: Option<u64>,
    /// 0 where the task tells the span from others.
    processor: u32,
}

impl Span {
    fn new(name: &str, key: &str) -> Self {
        Self { name: printable(name), key: key.to_owned(), task: None, processor: 0 }
    }
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

/// The words for a sort of recordings.
pub struct Words {
    /// The end of the name of the series of a task's waits, behind the task's name.
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
        ensure!(
            self.intervals < MOST_INTERVALS,
            "more than {MOST_INTERVALS} intervals: cut the recording"
        );
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
            "the time runs backward on processor {processor}: sort the events, or give each recording alone"
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

    /// Counts lost events. What happened meanwhile is unknown, so all open intervals are dropped.
    pub fn lose(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count.max(1));
        self.ready.clear();
        self.open.clear();
        for processor in self.processors.values_mut() {
            (processor.running, processor.handlers) = (None, Vec::new());
        }
    }

    /// Takes out the span that an end belongs to: the one that the same task has begun on the same
    /// processor, else the only one of that task, which may have moved, else the only one. If there are
    /// several, all of them are dropped and counted.
    fn take_begun(&mut self, end: &Span) -> Option<u64> {
        if let Some(since) = self.open.remove(end) {
            return Some(since);
        }
        let between = |first: Option<u64>, last: Option<u64>| {
            let place = |task, processor| Span { task, processor, ..end.clone() };
            place(first, 0)..=place(last, u32::MAX)
        };
        let of_task = end.task.map(|task| between(Some(task), Some(task)));
        for spans in of_task.into_iter().chain([between(None, Some(u64::MAX))]) {
            let found: Vec<Span> = self.open.range(spans).map(|(span, _)| span.clone()).collect();
            match &*found {
                [] => {}
                [only] => return self.open.remove(only),
                several => {
                    self.ambiguous += several.len() as u64;
                    for span in several {
                        self.open.remove(span);
                    }
                    return None;
                }
            }
        }
        None
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
        measured.log.push(
            "each interval includes the cost of recording, which the file does not have".to_owned(),
        );
        if self.others > 0 {
            let others = self.others;
            measured.log.push(format!("events of other sorts, in no series: {others}"));
        }
        if self.ambiguous > 0 {
            let ambiguous = self.ambiguous;
            measured.log.push(format!(
                "spans left out, because an event ends one of several of its name, and does not say \
                 which: {ambiguous}"
            ));
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

    /// Ends the run of this task, if it runs here; `is_idle` for one whose time is no work. Another task that
    /// runs here is forgotten without an interval: the recording lacks its end.
    pub fn leave(&mut self, task: u64, is_idle: bool) {
        let left = self.processor().running.take().filter(|(own, _)| *own == task);
        if let Some((_, since)) = left.filter(|_| !is_idle) {
            let run = self.interval(since);
            self.all.runs.entry(task).or_default().push(run);
            self.all.intervals += 1;
        }
    }

    /// Runs a task from here on, and ends its wait.
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
            "{MOST_NESTED} handlers within each other: the recording is damaged"
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
        self.open(Span::new(name, key))
    }

    /// Ends a span, if it has begun in the recording.
    ///
    /// # Errors
    /// There are too many names.
    pub fn end(&mut self, name: &str, key: &str) -> Result<()> {
        let span = Span::new(name, key);
        match self.all.open.remove(&span) {
            Some(since) => self.close(span.name, since),
            None => Ok(()),
        }
    }

    /// Begins a span of `task`, or else of the one that runs here, beside others of the same name and key.
    /// A span that the same task has begun, and that has not ended, is given up.
    ///
    /// # Errors
    /// Too many are open.
    pub fn begin_beside(&mut self, name: &str, key: &str, task: Option<u64>) -> Result<()> {
        let span = self.span(name, key, task);
        self.open(span)
    }

    /// Ends a span that [`begin_beside`](Self::begin_beside) has begun: of `task`, or else of the one that
    /// runs here. A task may have moved to another processor, and another task may end the only open
    /// span.
    ///
    /// # Errors
    /// There are too many names.
    pub fn end_beside(&mut self, name: &str, key: &str, task: Option<u64>) -> Result<()> {
        let end = self.span(name, key, task);
        match self.all.take_begun(&end) {
            Some(since) => self.close(end.name, since),
            None => Ok(()),
        }
    }

    fn span(&mut self, name: &str, key: &str, task: Option<u64>) -> Span {
        let task = task.or_else(|| self.processor().running.map(|(task, _)| task));
        // A task is on one processor at a time, but for Linux's idle task.
        let is_one = task.is_some_and(|task| task != 0);
        let processor = if is_one { 0 } else { self.processor };
        Span { task, processor, ..Span::new(name, key) }
    }

    fn open(&mut self, span: Span) -> Result<()> {
        ensure!(self.all.open.len() < MOST_NAMES, "more than {MOST_NAMES} spans at once");
        self.all.open.insert(span, self.now);
        Ok(())
    }

    fn close(&mut self, name: String, since: u64) -> Result<()> {
        let interval = self.interval(since);
        let known = self.all.spans.contains_key(&name);
        ensure!(known || self.all.spans.len() < MOST_NAMES, "more than {MOST_NAMES} spans");
        self.all.spans.entry(name).or_default().push(interval);
        self.all.intervals += 1;
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
