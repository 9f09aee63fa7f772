//! Tracks from a Linux kernel's trace of a case (ftrace text): running tasks, waits, wake-ups and
//! the path of binder transactions. Lines are parsed by [`line`]; tasks and processors are drawn by
//! the schedule.
//!
//! Malformed lines, such as the last one of a truncated trace, are skipped and counted.

pub(crate) mod line;

use std::collections::BTreeMap;

use line::{Event, EventKind, Line};

use chronoscope_run::CaseResult;

use super::{
    Arrow, Timeline, TrackId,
    schedule::{Schedule, Task},
};

/// The most concurrent transactions that are shown in the driver.
const LANES: usize = 64;

/// Returns the words for a trace without its beginning: the port sends only the end of a long text, and the
/// kernel's buffers overwrite their oldest events. `None` for a whole trace.
pub(crate) fn lacks(case: &CaseResult) -> Option<String> {
    let cut = case.log.iter().find(|line| line.starts_with("of the trace's "));
    let overwritten = || {
        let (held, written) = line::overwritten(case.attachments.get("trace")?)?;
        Some(format!("of the trace's {written} events the kernel's buffers held the last {held}"))
    };
    cut.map(|cut| cut.to_string()).or_else(overwritten)
}

pub(super) fn add(timeline: &mut Timeline<'_>, group: TrackId, case: &CaseResult, text: &str) {
    timeline.remarks.extend(lacks(case));
    let clock = "the kernel's record (ftrace), from its first event on; its clock is printed in µs";
    let mut picture = Picture {
        schedule: Schedule::new(timeline, group, clock),
        group,
        driver: None,
        lanes: Vec::new(),
        transactions: BTreeMap::new(),
        skipped: 0,
        backwards: 0,
    };
    text.lines().for_each(|line| picture.take(line));
    picture.lose_all();
    let Picture { schedule, skipped, backwards, .. } = picture;
    schedule.finish();
    let lines = text.lines().count();
    if skipped > 0 {
        timeline
            .remarks
            .push(format!("{skipped} of {lines} lines of its trace are no ftrace: skipped"));
    }
    if backwards > 0 {
        timeline.remarks.push(format!(
            "{backwards} of {lines} lines of its trace go back in time: shown as one instant"
        ));
    }
}

struct Picture<'t, 'a> {
    schedule: Schedule<'t, 'a>,
    group: TrackId,
    /// The track of the binder driver, made when needed, and the lanes under it.
    driver: Option<TrackId>,
    lanes: Vec<Lane>,
    /// The transactions in the driver, by number.
    transactions: BTreeMap<u32, Transaction>,
    skipped: usize,
    backwards: usize,
}

struct Lane {
    track: TrackId,
    is_free: bool,
}

/// A message that a client has handed to the driver.
struct Transaction {
    /// The index of the client's mark.
    sent: usize,
    /// The lane, and the index of the event that begins its slice.
    carried: Option<(usize, usize)>,
}

impl Picture<'_, '_> {
    fn take(&mut self, line: &str) {
        match line::read(line) {
            Line::Event(event) => self.show(&event),
            Line::Lost { cpu, events } => {
                let track = self.schedule.leave(cpu);
                self.schedule.mark(track, &format!("{events} events lost"));
            }
            Line::Start => {
                self.lose_all();
                self.schedule.restart();
            }
            Line::Nothing | Line::Caller(_) => {}
            Line::Malformed => self.skipped += 1,
        }
    }

    fn show(&mut self, event: &Event<'_>) {
        if !self.schedule.advance(event.at) {
            self.backwards += 1;
        }
        match event.kind {
            EventKind::Switch { before, state, after, .. } => {
                self.switch(event.cpu, before, state, after)
            }
            EventKind::Waking(task) => {
                let here = self.here(event);
                self.schedule.wake(here, task);
            }
            EventKind::Wakeup(task) => {
                let here = self.here(event);
                self.schedule.wake(here, task);
                self.schedule.ready(task);
            }
            EventKind::Transaction { id, process, is_reply } => {
                let here = self.here(event);
                self.send(here, id, process, is_reply);
            }
            EventKind::Received { id } => {
                let here = self.here(event);
                self.receive(here, id);
            }
            EventKind::Priority { thread, old, new } => {
                let track = self.schedule.task(Task { name: "", id: thread });
                self.schedule.mark(track, &format!("priority {old} becomes {new}"));
            }
            // The timeline shows no handlers.
            EventKind::Enter { .. }
            | EventKind::Leave { .. }
            | EventKind::Call { .. }
            | EventKind::Return { .. }
            | EventKind::Noise { .. }
            | EventKind::Latency { .. }
            | EventKind::Stack => {}
            EventKind::Mark(text) => {
                let here = self.here(event);
                self.schedule.mark(here, text);
            }
        }
    }

    /// The track of a mark: the processor for a handler or an idle processor, otherwise the running
    /// task.
    fn here(&mut self, event: &Event<'_>) -> TrackId {
        if event.task.id == 0 || event.in_handler {
            self.schedule.processor(event.cpu)
        } else {
            self.schedule.task(event.task)
        }
    }

    fn switch(&mut self, cpu: u32, before: Task<'_>, state: &str, after: Task<'_>) {
        self.schedule.leave(cpu);
        match state {
            _ if before.id == 0 => {}
            "R" => self.schedule.show(before, "ready"),
            _ if state.starts_with('R') => self.schedule.show(before, "pre-empted"),
            _ if state.starts_with('D') => self.schedule.show(before, "waits uninterruptibly"),
            _ => self.schedule.hide(before),
        }
        self.schedule.run(cpu, after);
    }

    fn send(&mut self, client: TrackId, id: u32, process: u32, is_reply: bool) {
        let what = if is_reply { "reply" } else { "call" };
        self.lose(id);
        let sent = self.schedule.mark(client, &format!("{what} {id} to {process}"));
        let carried = self.lane().map(|lane| {
            let begin = self.schedule.begin(self.lanes[lane].track, &format!("{what} {id}"));
            (lane, begin)
        });
        self.transactions.insert(id, Transaction { sent, carried });
    }

    fn receive(&mut self, server: TrackId, id: u32) {
        let transaction = self.lose(id);
        let received = self.schedule.mark(server, &format!("receives {id}"));
        // A transaction sent before the trace began has no start to point from.
        let Some(Transaction { sent, carried }) = transaction else { return };
        let flow = self.schedule.flow();
        self.schedule.point(sent, Arrow::Leaves(flow));
        if let Some((_, begin)) = carried {
            self.schedule.point(begin, Arrow::Leaves(flow));
        }
        self.schedule.point(received, Arrow::Ends(flow));
    }

    /// Removes a transaction from the driver and ends its slice.
    fn lose(&mut self, id: u32) -> Option<Transaction> {
        let transaction = self.transactions.remove(&id)?;
        if let Some((lane, _)) = transaction.carried {
            self.lanes[lane].is_free = true;
            self.schedule.end(self.lanes[lane].track);
        }
        Some(transaction)
    }

    fn lose_all(&mut self) {
        while let Some((&id, _)) = self.transactions.first_key_value() {
            self.lose(id);
        }
    }

    /// Takes a free lane of the driver; `None` if all 64 are taken.
    fn lane(&mut self) -> Option<usize> {
        let free = self.lanes.iter().position(|lane| lane.is_free);
        let lane = match free {
            Some(lane) => lane,
            None if self.lanes.len() == LANES => return None,
            None => {
                let (schedule, group) = (&mut self.schedule, self.group);
                let about = "from the sender's call to the receiver's";
                let driver =
                    *self.driver.get_or_insert_with(|| schedule.track(group, "binder", about));
                let track =
                    schedule.track(driver, &format!("driver {}", self.lanes.len() + 1), about);
                self.lanes.push(Lane { track, is_free: true });
                self.lanes.len() - 1
            }
        };
        self.lanes[lane].is_free = false;
        Some(lane)
    }
}
