//! The events of Linux's scheduler and interrupts as text: the output of `perf script`, of
//! `trace-cmd report`, and the file `trace` of tracefs. A case with a series for each task's wait
//! from its wake-up to running, for each interrupt's handler, and for each task's time in a row on
//! a processor.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use chronoscope_units::printable;

use super::{Interval, MOST, Measured, Recording};

/// The most intervals of all series together.
const MOST_INTERVALS: usize = 8_000_000;

/// The most tasks, and the most handlers.
const MOST_NAMES: usize = 65_536;

/// The most processors, as many as Linux takes.
const MOST_PROCESSORS: usize = 8192;

/// The tool whose recordings have no head.
const PERF: &str = "perf";

/// Returns whether the text begins as one of these outputs does: with a head, or with an event.
pub fn is_its(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    if is_of_ftrace(&text) {
        return true;
    }
    // The remarks of `perf script --header`.
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.next().is_some_and(|line| Event::parse(line).is_some())
}

fn is_of_ftrace(text: &str) -> bool {
    text.starts_with("# tracer: ") || text.starts_with("cpus=")
}

/// Reads such a text.
///
/// # Errors
/// It has no event, times run backward on a processor, or an event has another form.
pub fn read(bytes: &[u8]) -> Result<Recording> {
    let text = String::from_utf8_lossy(bytes);
    let tool = if is_of_ftrace(&text) { "ftrace" } else { PERF };
    ensure!(text.ends_with('\n'), "its last line has no end: it is cut off");
    let mut trace = Trace::default();
    for (place, line) in text.lines().enumerate() {
        trace.line(line).with_context(|| format!("line {}", place + 1))?;
    }
    let mut recording = Recording::new(tool);
    recording.add(trace.measured(tool)?)?;
    Ok(recording)
}

/// A line with an event.
struct Event<'a> {
    processor: u32,
    /// In ns.
    time: u64,
    /// The name without its group.
    name: &'a str,
    content: &'a str,
}

impl<'a> Event<'a> {
    /// The event of a line as `task 7 [001] 12.345678: sched:sched_switch: …`, or `task-7 [001]
    /// d..2. 12.345678: sched_switch: …`; `None` for other lines.
    fn parse(line: &'a str) -> Option<Self> {
        // A task's name may have brackets: the processor is the first number in them.
        let (place, processor, rest) = line.match_indices('[').find_map(|(place, _)| {
            let (number, rest) = line[place + 1..].split_once(']')?;
            Some((place, number.parse().ok()?, rest))
        })?;
        if line[..place].trim().is_empty() {
            return None;
        }
        let mut rest = rest.trim_start();
        // Up to one word between them: ftrace's flags.
        for _ in 0..2 {
            let (word, behind) = rest.split_once(char::is_whitespace)?;
            let behind = behind.trim_start();
            if let Some(time) = word.strip_suffix(':').and_then(nanoseconds) {
                let (name, content) =
                    behind.split_once(": ").or_else(|| Some((behind.strip_suffix(':')?, "")))?;
                let name = name.rsplit(':').next()?.trim();
                let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
                return is_name(name).then_some(Self { processor, time, name, content });
            }
            rest = behind;
        }
        None
    }

    /// The value behind a key, as `pid=7`.
    fn value(&self, key: &str) -> Result<&'a str> {
        let found = self.content.match_indices(key).find_map(|(place, _)| {
            let is_word = place == 0 || self.content[..place].ends_with(char::is_whitespace);
            let value = self.content[place + key.len()..].strip_prefix('=')?;
            is_word.then_some(value)
        });
        found.with_context(|| format!("`{}` has no `{key}=`", printable(self.name)))
    }

    /// The number behind a key.
    fn number(&self, key: &str) -> Result<u32> {
        let word = self.value(key)?.split_whitespace().next().unwrap_or_default();
        word.parse().with_context(|| format!("`{key}={}` is no number", printable(word)))
    }

    /// The task behind a key of its name and a key of its number.
    fn task(&self, comm: &str, pid: &str) -> Result<(u32, &'a str)> {
        let name = self.value(comm)?;
        // A name may have blanks.
        let end = name.find(&format!(" {pid}=")).unwrap_or(name.len());
        Ok((self.number(pid)?, &name[..end]))
    }

    /// The task of a text as `name:7 [120]`, the form of trace-cmd.
    fn short_task(text: &'a str) -> Result<(u32, &'a str)> {
        let whole = text.trim();
        let found = whole.find(" [").and_then(|end| {
            let (name, pid) = whole[..end].rsplit_once(':')?;
            Some((pid.parse().ok()?, name))
        });
        found
            .with_context(|| format!("`{}` is no task: its form is name:7 [120]", printable(whole)))
    }

    /// The task that a wake-up names.
    fn woken(&self) -> Result<(u32, &'a str)> {
        if self.content.contains("pid=") {
            self.task("comm", "pid")
        } else {
            Self::short_task(self.content)
        }
    }

    /// The task that a switch leaves and the next one.
    fn switch(&self) -> Result<[(u32, &'a str); 2]> {
        if self.content.contains("prev_pid=") {
            return Ok([self.task("prev_comm", "prev_pid")?, self.task("next_comm", "next_pid")?]);
        }
        let (before, after) =
            self.content.split_once(" ==> ").context("a switch has no ` ==> `: it is cut off")?;
        Ok([Self::short_task(before)?, Self::short_task(after)?])
    }
}

/// The number of events that a line reports as lost, as `CPU:1 [12 EVENTS DROPPED]`, `CPU:1 [LOST 12
/// EVENTS]` or `task 7 [001] 12.345678: PERF_RECORD_LOST lost 12`; 1 if it has no number. `None` for
/// other lines.
fn lost(line: &str) -> Option<u64> {
    let of_perf = line.split_once("PERF_RECORD_LOST").map(|(_, count)| count);
    let is_of_ftrace =
        line.contains("EVENTS") && (line.contains("DROPPED") || line.contains("LOST"));
    let of_ftrace = || line.split_once('[').map_or(line, |(_, count)| count);
    let count = of_perf.or_else(|| is_of_ftrace.then(of_ftrace))?;
    let mut words = count.split(['[', ']', ' ']);
    Some(words.find_map(|word| word.parse().ok()).unwrap_or(1))
}

/// The ns of a time in seconds, as `12.345678`.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, part) = text.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(seconds) || !is_number(part) || part.len() > 9 {
        return None;
    }
    let part = part.parse::<u64>().ok()? * 10_u64.pow(9 - part.len() as u32);
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

/// The state of the recorded system, and the intervals so far, in ns since the first event.
#[derive(Default)]
struct Trace {
    first: Option<u64>,
    last: u64,
    events: u64,
    others: u64,
    lost: u64,
    names: BTreeMap<u32, String>,
    processors: BTreeMap<u32, Processor>,
    /// The tasks that were woken and have not run since.
    woken: BTreeMap<u32, u64>,
    waits: BTreeMap<u32, Vec<Interval>>,
    runs: BTreeMap<u32, Vec<Interval>>,
    handlers: BTreeMap<String, Vec<Interval>>,
    intervals: usize,
}

/// A processor's state.
#[derive(Default)]
struct Processor {
    /// The time of its last event.
    now: u64,
    /// The task that runs, and since when.
    running: Option<(u32, u64)>,
    /// The handlers that have begun, the inner ones last.
    handlers: Vec<(String, u64)>,
}

impl Trace {
    fn line(&mut self, line: &str) -> Result<()> {
        let Some(event) = Event::parse(line) else {
            return self.other(line);
        };
        self.events += 1;
        ensure!(self.intervals < MOST_INTERVALS, "more than {MOST_INTERVALS} intervals: cut it");
        let first = *self.first.get_or_insert(event.time);
        // Processors' events may be out of order among each other.
        let now = event.time.saturating_sub(first);
        self.last = self.last.max(now);
        let is_known = self.processors.contains_key(&event.processor);
        ensure!(
            is_known || self.processors.len() < MOST_PROCESSORS,
            "more than {MOST_PROCESSORS} processors"
        );
        let processor = self.processors.entry(event.processor).or_default();
        ensure!(
            now >= processor.now,
            "the time runs backward on processor {}: sort it, or give each recording alone",
            event.processor
        );
        processor.now = now;
        match event.name {
            "sched_switch" => {
                let [(before, before_name), (after, after_name)] = event.switch()?;
                let left =
                    processor.running.replace((after, now)).filter(|(task, _)| *task == before);
                self.name(before, before_name)?;
                self.name(after, after_name)?;
                if let Some((task, since)) = left.filter(|(task, _)| *task != 0) {
                    self.add(Kind::Run, task, since, now);
                }
                if let Some(since) = self.woken.remove(&after) {
                    self.add(Kind::Wait, after, since, now);
                }
            }
            "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
                let (task, name) = event.woken()?;
                self.name(task, name)?;
                let is_running = |one: &Processor| one.running.is_some_and(|(own, _)| own == task);
                if !self.processors.values().any(is_running) {
                    self.woken.entry(task).or_insert(now);
                }
            }
            "irq_handler_entry" => {
                ensure!(
                    processor.handlers.len() < 64,
                    "64 handlers within each other: it is damaged"
                );
                let name = event.value("name")?;
                processor.handlers.push((printable(name), now));
            }
            "irq_handler_exit" => {
                if let Some((name, since)) = processor.handlers.pop() {
                    let known = self.handlers.contains_key(&name);
                    ensure!(
                        known || self.handlers.len() < MOST_NAMES,
                        "more than {MOST_NAMES} handlers"
                    );
                    let length = now - since;
                    self.handlers.entry(name).or_default().push(Interval { start: since, length });
                    self.intervals += 1;
                }
            }
            _ => self.others += 1,
        }
        Ok(())
    }

    /// A line without an event: a report of lost events counts, and others mean nothing here.
    fn other(&mut self, line: &str) -> Result<()> {
        if let Some(count) = lost(line) {
            self.lost = self.lost.saturating_add(count.max(1));
            self.woken.clear();
            for processor in self.processors.values_mut() {
                (processor.running, processor.handlers) = (None, Vec::new());
            }
        }
        if self.events == 0 && line.contains("function_graph") {
            bail!("a graph of functions has no events: record sched_switch and sched_waking");
        }
        Ok(())
    }

    /// Names a task. A later name counts, as after `execve`.
    fn name(&mut self, task: u32, name: &str) -> Result<()> {
        let is_known = self.names.contains_key(&task);
        ensure!(is_known || self.names.len() < MOST_NAMES, "more than {MOST_NAMES} tasks");
        self.names.insert(task, printable(name));
        Ok(())
    }

    fn add(&mut self, kind: Kind, task: u32, since: u64, now: u64) {
        let all = match kind {
            Kind::Wait => &mut self.waits,
            Kind::Run => &mut self.runs,
        };
        let length = now.saturating_sub(since);
        all.entry(task).or_default().push(Interval { start: since, length });
        self.intervals += 1;
    }

    /// The case of the recording.
    fn measured(self, tool: &str) -> Result<Measured> {
        ensure!(self.events > 0, "it has no event: record sched_switch, sched_waking and irq");
        ensure!(
            self.intervals > 0,
            "none of its {} events is of the scheduler or an interrupt: record sched_switch, \
             sched_waking, irq_handler_entry and irq_handler_exit",
            self.events
        );
        let mut measured = Measured::new("recording", 1_000_000_000);
        measured.evidence = vec![
            ("events in the file", self.events as f64, 1.0, f64::INFINITY),
            ("events that were lost", self.lost as f64, 0.0, 0.0),
        ];
        measured
            .log
            .push("recording takes time in each interval: the file gives no control".to_owned());
        if tool == PERF && self.lost == 0 {
            let known = "lost events are in the file only if perf script wrote it with \
                         --show-lost-events";
            measured.log.push(known.to_owned());
        }
        if self.others > 0 {
            let others = self.others;
            measured.log.push(format!("events of other sorts, in no series: {others}"));
        }
        let whole = self.last.max(1) as f64;
        let named = |task: &u32| {
            let name = self.names.get(task).map_or("task", String::as_str);
            format!("{name} {task}")
        };
        let load = |(task, runs): (&u32, &Vec<Interval>)| {
            let time: u64 = runs.iter().map(|run| run.length).sum();
            (format!("load of {}", named(task)), "%", 100.0 * time as f64 / whole)
        };
        let mut figures: Vec<_> = self.runs.iter().map(load).collect();
        figures.sort_by(|a, b| b.2.total_cmp(&a.2));
        figures.truncate(MOST);
        measured.figures.push(figures);
        measured.add_most(self.waits, "task", ", wake-up to running", true, &named);
        measured.add_most(self.handlers, "handler", " (handler)", true, &String::clone);
        measured.add_most(self.runs, "task", ", on the processor", false, &named);
        Ok(measured)
    }
}

/// The sort of a task's interval.
#[derive(Clone, Copy)]
enum Kind {
    Wait,
    Run,
}
