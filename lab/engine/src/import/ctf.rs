//! Traces in the Common Trace Format, as the text that babeltrace2 prints of them: of Zephyr's tracing,
//! LTTng's, ros2_tracing's and barectf's. A case with a series for each task's wait until it runs, for
//! each handler, for each task's time in a row on a processor, and for each pair of events that
//! begins and ends something (`callback_start`, `callback_end`).

use std::{
    path::{self, Path},
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
};

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use chronoscope_child::{self as child, Limit};
use chronoscope_units::printable;

use super::{
    Recording,
    events::{IDLE, LINUX},
    scheduling::{Moment, Scheduling, Words, called},
};

/// The program that reads the format.
const READER: &str = "babeltrace2";

/// The beginning of its remark on events that the recording lost.
const LOST: &str = "WARNING: Tracer discarded ";

/// The words for a small system, such as Zephyr.
const SMALL: Words = Words {
    wait: ", ready to running",
    mend: "record thread_ready with thread_switched_in, or isr_enter with isr_exit, or on Linux \
           sched_waking with sched_switch, or events in pairs: X_begin and X_end",
    task: |names, task| called(names, "task", task),
};

/// The endings of events in pairs.
const PAIRS: [(&str, &str); 5] = [
    ("_begin", "_end"),
    ("_start", "_end"),
    ("_start", "_stop"),
    ("_entry", "_exit"),
    ("_enter", "_exit"),
];

/// Returns whether a folder has a trace of this format, in it or below it.
pub fn is_trace(folder: &Path) -> bool {
    let has_metadata = |folder: &Path| folder.join("metadata").is_file();
    // LTTng's are three levels down: the session's kind, and the user's number and word size.
    let subfolders = |folder: &Path| -> Vec<_> {
        let entries = folder.read_dir().into_iter().flatten().take(1000).flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let mut level = vec![folder.to_owned()];
    for _ in 0..5 {
        if level.iter().any(|folder| has_metadata(folder)) {
            return true;
        }
        level = level.iter().flat_map(|folder| subfolders(folder)).take(1000).collect();
    }
    false
}

/// The text of a folder's traces, with the remarks on lost events. Blocks until babeltrace2 has
/// read them.
///
/// # Errors
/// The program is missing or refuses the trace, or its text is longer than `most` bytes.
pub fn text_of(folder: &Path, most: u64, stop: &AtomicBool) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut reader = Command::new(READER);
    // Absolute, because it takes no `--`, and a relative name may begin as an option does.
    reader.args(["--clock-seconds", "--no-delta"]).arg(path::absolute(folder)?);
    reader.stdin(Stdio::null());
    let read = child::run_with_input(&mut reader, READER, Limit::ENDLESS, stop, &mut |bytes| {
        text.extend_from_slice(bytes);
        ensure!(text.len() as u64 <= most, "its text is larger than {} MiB", most >> 20);
        Ok::<(), Error>(())
    });
    let remarks = read.map_err(|error| match error.downcast_ref::<child::Error>() {
        Some(one) if one.is_missing() => {
            anyhow!("a trace in the Common Trace Format is read by {READER}: install babeltrace2")
        }
        Some(child::Error::Failed(_)) => anyhow!(
            "{READER} cannot read it: it is cut off or damaged: see the reasons by `{READER} {}`",
            printable(&folder.display().to_string())
        ),
        _ => error,
    })?;
    ensure!(!text.is_empty(), "there is no event in it");
    // A last remark on no events tells [`read`] that the text has all remarks on lost ones.
    let none = format!("{LOST}0 events");
    for line in remarks.lines().filter(|line| line.starts_with(LOST)).chain([&*none]) {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    Ok(text)
}

/// Returns whether a text begins as babeltrace2's does.
pub fn is_its(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().filter(|line| !line.is_empty());
    lines.next().is_some_and(|line| line.starts_with(LOST) || Event::parse(line).is_some())
}

/// Reads the text that babeltrace2 prints.
///
/// # Errors
/// A line is no event, times run backward on a processor, or a field is missing.
pub fn read(bytes: &[u8]) -> Result<Recording> {
    let text = String::from_utf8_lossy(bytes);
    ensure!(text.ends_with('\n'), "its last line has no end: it is cut off");
    let mut trace = Trace::default();
    for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        trace.take(line).with_context(|| format!("line {}", place + 1))?;
    }
    let words = if trace.is_linux { &LINUX } else { &SMALL };
    let mut measured = trace.scheduling.measured(1_000_000_000, words)?;
    if !trace.tells_losses {
        let known =
            "babeltrace2's text lacks its remarks on lost events: import the folder to count them";
        measured.log.push(known.to_owned());
    }
    let mut recording = Recording::new("ctf");
    recording.add(measured)?;
    Ok(recording)
}

/// An event in a line as `[12.001003000] host group:name: { cpu_id = 0 }, { thread_id = 7 }`.
struct Event<'a> {
    /// In ns.
    time: u64,
    /// The name without its group.
    name: &'a str,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> Event<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (time, rest) = line.strip_prefix('[')?.split_once("] ")?;
        let time = nanoseconds(time)?;
        let rest = match rest.strip_prefix("(+") {
            Some(rest) => rest.split_once(") ")?.1,
            None => rest,
        };
        let (head, fields) = rest.split_once(": {").unwrap_or((rest.trim_end(), ""));
        let head = head.strip_suffix(':').unwrap_or(head);
        let name = head.rsplit([' ', ':']).next()?;
        let is_name = !name.is_empty() && !name.contains(['{', '}', '"', '=']);
        is_name.then(|| Self { time, name, fields: fields_of(fields) })
    }

    /// The last field of this name. Contexts, which may have one of the same name, come first.
    fn field(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }

    /// The number of a field.
    fn number(&self, name: &str) -> Result<u64> {
        let value = self.field(name);
        let value = value.with_context(|| format!("`{}` has no `{name}`", printable(self.name)))?;
        number(value).with_context(|| format!("`{name} = {}` is no number", printable(value)))
    }

    /// The text of a field; empty where it has none.
    fn text(&self, name: &str) -> &'a str {
        self.field(name).unwrap_or_default()
    }

    /// The thread in the event's context, which a recorder may add.
    fn context_thread(&self) -> Option<u64> {
        let (_, value) = self.fields.iter().find(|(name, _)| ["vtid", "tid"].contains(name))?;
        number(value)
    }

    /// The part of the name before its ending, and whether the ending begins something. `None` for
    /// an event without a pair.
    fn pair(&self) -> Option<(&'a str, bool)> {
        PAIRS.iter().find_map(|(begin, end)| {
            let begun = self.name.strip_suffix(begin).map(|name| (name, true));
            begun.or_else(|| self.name.strip_suffix(end).map(|name| (name, false)))
        })
    }
}

/// The names and values of fields in braces. A value with parts is its opening bracket; parts with names are
/// fields of their own.
fn fields_of(text: &str) -> Vec<(&str, &str)> {
    let mut fields = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(" = ") {
        let name = before.rsplit(['{', ',', '[', '(', ' ']).next().unwrap_or_default();
        let (value, behind) = value_of(behind);
        if !name.is_empty() {
            fields.push((name, value));
        }
        rest = behind;
    }
    fields
}

/// Splits a text into the value at its beginning, without quotation marks, and the rest.
fn value_of(text: &str) -> (&str, &str) {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut is_escaped = false;
        let end = quoted.find(|letter| {
            let is_end = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            is_end
        });
        let end = end.unwrap_or(quoted.len());
        return (&quoted[..end], quoted.get(end + 1..).unwrap_or_default());
    }
    let end = text.find([',', ' ']).unwrap_or(text.len());
    text.split_at(end)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The ns of a time in seconds, as `12.001003000`, or of the day, as `08:15:02.001003000`.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    let is_part = part.len() == 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = whole.split(':').try_fold(0_u64, |all, part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let part = is_number.then(|| part.parse::<u64>().ok()).flatten()?;
        all.checked_mul(60)?.checked_add(part)
    })?;
    let part = is_part.then(|| part.parse::<u64>().ok()).flatten()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(part)
}

/// The lines so far.
#[derive(Default)]
struct Trace {
    scheduling: Scheduling,
    /// The tasks are Linux's.
    is_linux: bool,
    /// The text says how many events were lost.
    tells_losses: bool,
}

impl Trace {
    fn take(&mut self, line: &str) -> Result<()> {
        if let Some(lost) = line.strip_prefix(LOST) {
            let count = lost.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(1);
            self.tells_losses = true;
            if count > 0 {
                self.scheduling.lose(count);
            }
            return Ok(());
        }
        let Some(event) = Event::parse(line) else {
            bail!("it is no event: its form is [seconds] name: {{ field = value }}")
        };
        let processor = match event.field("cpu_id") {
            Some(_) => {
                u32::try_from(event.number("cpu_id")?).context("`cpu_id` is no processor")?
            }
            None => 0,
        };
        let mut moment = self.scheduling.at(processor, event.time)?;
        self.is_linux |= event.name == "sched_switch";
        match event.name {
            "sched_switch" => {
                let [before, after] = [event.number("prev_tid")?, event.number("next_tid")?];
                moment.name(before, event.text("prev_comm"))?;
                moment.name(after, event.text("next_comm"))?;
                moment.leave(before, before == IDLE);
                moment.run(after);
            }
            "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
                let task = event.number("tid")?;
                moment.name(task, event.text("comm"))?;
                moment.ready(task)?;
            }
            "thread_switched_in" => {
                let task = thread(&event, &mut moment)?;
                moment.run(task);
            }
            "thread_switched_out" => {
                let task = thread(&event, &mut moment)?;
                moment.leave(task, false);
            }
            "thread_ready" => {
                let task = thread(&event, &mut moment)?;
                moment.ready(task)?;
            }
            "irq_handler_entry" => moment.enter(event.text("name"))?,
            "isr_enter" => moment.enter("interrupt")?,
            "irq_handler_exit" | "isr_exit" | "isr_exit_to_scheduler" => moment.exit()?,
            _ => span(&event, moment)?,
        }
        Ok(())
    }
}

/// The thread of an event of Zephyr's, whose name it carries.
fn thread(event: &Event<'_>, moment: &mut Moment<'_>) -> Result<u64> {
    let task = event.number("thread_id")?;
    if let Some(name) = event.field("name") {
        moment.name(task, name)?;
    }
    Ok(task)
}

/// An event of a pair. Pairs of one name may overlap: the event's first own field says to which it belongs,
/// and among pairs of one object its task and its processor.
fn span(event: &Event<'_>, mut moment: Moment<'_>) -> Result<()> {
    let Some((name, begins)) = event.pair() else {
        moment.other();
        return Ok(());
    };
    let own = event.fields.iter().find(|(name, _)| !CONTEXT.contains(name));
    // ros2_tracing's end of a call has the call's address alone; its start has more behind it.
    let key = own.map_or("", |(_, value)| value);
    let task = event.context_thread();
    if begins { moment.begin_beside(name, key, task) } else { moment.end_beside(name, key, task) }
}

/// The fields of contexts: the place of an event, and nothing of its own.
const CONTEXT: [&str; 6] = ["cpu_id", "vpid", "vtid", "pid", "tid", "procname"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_times_names_and_fields() {
        let line = r#"[00:01:02.001003000] (+0.000003000) vm ros2:callback_start: { cpu_id = 1 }, { vtid = 7, procname = "a, b = \"c\"" }, { callback = 0x5581, parts = [ [0] = 2, [1] = 3 ], kind = ( "X" : container = 4 ) }"#;
        let event = Event::parse(line).unwrap();
        assert_eq!((event.time, event.name), (62_001_003_000, "callback_start"));
        assert_eq!(event.number("cpu_id").unwrap(), 1);
        assert_eq!(event.number("callback").unwrap(), 0x5581);
        assert_eq!(event.text("procname"), r#"a, b = \"c\""#);
        assert_eq!(event.pair(), Some(("callback", true)));
        let event = Event::parse("[12.000000001] isr_enter: { cpu_id = 0 }").unwrap();
        assert_eq!((event.time, event.name, event.fields.len()), (12_000_000_001, "isr_enter", 1));
        assert_eq!(Event::parse("[12.000000001] idle:").unwrap().name, "idle");
        assert_eq!(Event::parse("[12.000000001] idle: ").unwrap().name, "idle");
        for bad in ["[00012] a: { }", "[1.5] a: { }", "12.000000001 a: { }", "[1.000000000] ", ""] {
            assert!(Event::parse(bad).is_none(), "{bad}");
        }
    }
}
