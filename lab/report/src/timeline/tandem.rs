//! Tracks from tandem's own trace of a case on a microcontroller, which the port attaches as text.
//! It knows the trace's text form; the picture of tasks and processors is the schedule's.
//!
//! ```text
//! # tandem 1
//! CLOCK EVENT TASK NAME
//! ```
//!
//! The clock is the low 32 bits of the target's clock. The event is a number of
//! `tandem/src/trace.rs`. The task is the address of its record, in hex. A line `# lost N` marks
//! older events that were overwritten.

use super::{
    Timeline, TrackId,
    schedule::{Schedule, Task},
};
use chronoscope_run::CaseResult;

/// The number of the only processor.
const CPU: u32 = 0;

/// The most tasks that are distinguished; no microcontroller has room for more.
const TASKS: usize = 1000;

/// The name that the kernel gives its idle task.
const IDLE: &str = "idle";

pub(super) fn add(timeline: &mut Timeline<'_>, group: TrackId, case: &CaseResult, text: &str) {
    let hertz = case.clock.as_ref().map_or(1_000_000_000, |clock| clock.hertz.max(1));
    let about = format!(
        "the kernel's record (its latest events); clock: {hertz} Hz, instructions where it is emulated"
    );
    let mut schedule = Schedule::new(timeline, group, &about);
    let handlers = schedule.track(group, "handlers", "from a handler's begin to its end");
    let mut picture = Picture {
        schedule,
        handlers,
        records: Vec::new(),
        depth: 0,
        running: None,
        ticks: 0,
        last: None,
        hertz,
    };
    let skipped = text.lines().filter(|line| picture.take(line).is_none()).count();
    picture.restart();
    picture.schedule.finish();
    if skipped > 0 {
        let lines = text.lines().count();
        timeline.remarks.push(format!(
            "{skipped} of {lines} lines of its trace are no events of tandem: skipped"
        ));
    }
}

struct Picture<'t, 'a, 'x> {
    schedule: Schedule<'t, 'a>,
    handlers: TrackId,
    /// The addresses of the tasks' records; a task's number is its index here plus 1.
    records: Vec<u32>,
    /// The number of handlers that have begun and not ended.
    depth: usize,
    running: Option<Task<'x>>,
    /// The clock ticks since the first event, and the clock's value at the latest.
    ticks: u64,
    last: Option<u32>,
    hertz: u64,
}

impl<'x> Picture<'_, '_, 'x> {
    /// Takes in a line; `None` if it is malformed.
    fn take(&mut self, line: &'x str) -> Option<()> {
        if let Some(comment) = line.strip_prefix("# ") {
            match comment.strip_prefix("lost ") {
                Some(lost) => {
                    let track = self.schedule.processor(CPU);
                    self.schedule.mark(
                        track,
                        &format!("{} events before are lost", lost.parse::<u64>().ok()?),
                    );
                }
                None => self.restart(),
            }
            return Some(());
        }
        let mut words = line.splitn(4, ' ');
        let clock: u32 = words.next()?.parse().ok()?;
        let event: u8 = words.next()?.parse().ok()?;
        let record = u32::from_str_radix(words.next()?, 16).ok()?;
        let name = words.next()?;
        let id = if name == IDLE { 0 } else { self.number(record)? };
        // The recorded low half of the clock wraps.
        self.ticks += u64::from(clock.wrapping_sub(self.last.replace(clock).unwrap_or(clock)));
        let ns = u128::from(self.ticks) * 1_000_000_000 / u128::from(self.hertz);
        self.schedule.advance(u64::try_from(ns).unwrap_or(u64::MAX));
        self.show(event, Task { name, id })
    }

    fn number(&mut self, record: u32) -> Option<u32> {
        let place = self.records.iter().position(|known| *known == record);
        if place.is_none() {
            if self.records.len() == TASKS {
                return None;
            }
            self.records.push(record);
        }
        u32::try_from(place.unwrap_or(self.records.len() - 1) + 1).ok()
    }

    fn show(&mut self, event: u8, task: Task<'x>) -> Option<()> {
        let is_idle = task.id == 0;
        let what = match event {
            1 => "is made",
            2 => {
                let waker = self.here();
                self.schedule.wake(waker, task);
                self.schedule.ready(task);
                return Some(());
            }
            3 => {
                // A task that neither waits nor has ended has yielded, or was pre-empted.
                if let Some(before) = self
                    .running
                    .replace(task)
                    .filter(|before| before.id != task.id && before.id != 0)
                {
                    self.schedule.leave(CPU);
                    self.schedule.show(before, "ready");
                }
                self.schedule.run(CPU, task);
                return Some(());
            }
            4 | 5 => {
                self.running = self.running.filter(|running| running.id != task.id);
                self.schedule.leave(CPU);
                if !is_idle {
                    self.schedule.hide(task);
                }
                return Some(());
            }
            6 => {
                self.depth += 1;
                self.schedule.begin(self.handlers, "handler");
                return Some(());
            }
            7 => {
                // A handler that began before the trace has no begin to close.
                if self.depth > 0 {
                    self.depth -= 1;
                    self.schedule.end(self.handlers);
                }
                return Some(());
            }
            8 => "has the lock",
            9 => "gives the lock back",
            10 => "its priority changes",
            11 => "sets a timer",
            12 => "its timer expires",
            _ => return None,
        };
        if !is_idle {
            let track = self.schedule.task(task);
            self.schedule.mark(track, what);
        }
        Some(())
    }

    /// The track on which a wake-up originates: the processor for a handler, otherwise the running
    /// task.
    fn here(&mut self) -> TrackId {
        match self.running {
            Some(running) if self.depth == 0 && running.id != 0 => self.schedule.task(running),
            _ => self.schedule.processor(CPU),
        }
    }

    fn restart(&mut self) {
        for _ in 0..self.depth {
            self.schedule.end(self.handlers);
        }
        (self.depth, self.running, self.ticks, self.last) = (0, None, 0, None);
        self.schedule.restart();
    }
}
