//! The events of Linux's scheduler and interrupts as text: the output of `perf script`, of
//! `trace-cmd report`, and the file `trace` of tracefs. A case with a series for each task's wait
//! from its wake-up to running, for each interrupt's handler, for each task's time in a row on a
//! processor, and for what programs themselves mark in the kernel's trace.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use chronoscope_units::printable;

use super::{
    Recording,
    scheduling::{MOST_NESTED, Moment, Scheduling, Words},
};

/// The tool whose recordings have no head.
const PERF: &str = "perf";

/// The words of Linux's tasks, which many have one name.
pub const LINUX: Words = Words {
    wait: ", wake-up to running",
    mend: "record sched_switch, sched_waking, irq_handler_entry and irq_handler_exit",
    task: |names, task| format!("{} {task}", names.get(&task).map_or("task", String::as_str)),
};

/// The number of Linux's idle task.
pub const IDLE: u64 = 0;

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
    let (mut scheduling, mut markers) = (Scheduling::default(), Markers::default());
    for (place, line) in text.lines().enumerate() {
        take(line, &mut scheduling, &mut markers).with_context(|| format!("line {}", place + 1))?;
    }
    let is_silent = tool == PERF && scheduling.lost == 0;
    let mut measured = scheduling.measured(1_000_000_000, &LINUX)?;
    if is_silent {
        let known = "lost events are in the file only if perf script wrote it with \
                     --show-lost-events";
        measured.log.push(known.to_owned());
    }
    let mut recording = Recording::new(tool);
    recording.add(measured)?;
    Ok(recording)
}

/// A line with an event.
struct Event<'a> {
    /// The thread, as `task-7`.
    thread: &'a str,
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
        let thread = line[..place].trim();
        if thread.is_empty() {
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
                return is_name(name).then_some(Self { thread, processor, time, name, content });
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

/// The intervals that threads mark by lines in the file trace_marker of tracefs, in the form of Android's
/// atrace: `B|7|control` and `E|7`, within each other in a thread, `S|7|request|12` and `F|7|request|12`, by
/// their process and their last number.
#[derive(Default)]
struct Markers {
    /// The names that each thread has begun, the inner ones last.
    open: BTreeMap<String, Vec<String>>,
}

/// The most threads that mark any.
const MOST_THREADS: usize = 10_000;

impl Markers {
    /// Takes in a text, and returns whether it has one of these forms.
    ///
    /// # Errors
    /// Too many intervals are open.
    fn take(&mut self, event: &Event<'_>, moment: &mut Moment<'_>) -> Result<bool> {
        let text = event.content.trim();
        // The function or the address that wrote it stands before it.
        let behind = text.split_once(": ").filter(|(before, _)| !before.contains('|'));
        let text = behind.map_or(text, |(_, text)| text.trim());
        let mut parts = text.splitn(3, '|');
        let (sort, process, name) = (parts.next(), parts.next(), parts.next());
        let key = |depth: usize| format!("{} {depth}", event.thread);
        match (sort, process, name) {
            (Some("B"), Some(_), Some(name)) => {
                let is_known = self.open.contains_key(event.thread);
                ensure!(
                    is_known || self.open.len() < MOST_THREADS,
                    "more than {MOST_THREADS} threads mark"
                );
                let open = self.open.entry(event.thread.to_owned()).or_default();
                ensure!(
                    open.len() < MOST_NESTED,
                    "more than {MOST_NESTED} marks within each other"
                );
                moment.begin(name, &key(open.len()))?;
                open.push(name.to_owned());
            }
            (Some("E"), ..) => {
                if let Some(open) = self.open.get_mut(event.thread)
                    && let Some(name) = open.pop()
                {
                    moment.end(&name, &key(open.len()))?;
                }
            }
            (Some(sort @ ("S" | "F")), Some(process), Some(rest)) => {
                let Some((name, id)) = rest.rsplit_once('|') else { return Ok(false) };
                let key = format!("{process}|{id}");
                if sort == "S" { moment.begin(name, &key)? } else { moment.end(name, &key)? }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Takes in a line. A report of lost events counts, and other lines without an event mean nothing here.
fn take(line: &str, scheduling: &mut Scheduling, markers: &mut Markers) -> Result<()> {
    let Some(event) = Event::parse(line) else {
        if let Some(count) = lost(line) {
            scheduling.lose(count);
            markers.open.clear();
        }
        if scheduling.events == 0 && line.contains("function_graph") {
            bail!("a graph of functions has no events: record sched_switch and sched_waking");
        }
        return Ok(());
    };
    let mut moment = scheduling.at(event.processor, event.time)?;
    match event.name {
        "sched_switch" => {
            let [(before, before_name), (after, after_name)] = event.switch()?;
            moment.name(before.into(), before_name)?;
            moment.name(after.into(), after_name)?;
            moment.leave(before.into(), u64::from(before) == IDLE);
            moment.run(after.into());
        }
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            let (task, name) = event.woken()?;
            moment.name(task.into(), name)?;
            moment.ready(task.into())?;
        }
        "irq_handler_entry" => moment.enter(event.value("name")?)?,
        "irq_handler_exit" => moment.exit()?,
        "print" | "tracing_mark_write" if markers.take(&event, &mut moment)? => {}
        _ => moment.other(),
    }
    Ok(())
}
