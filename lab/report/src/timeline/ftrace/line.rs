//! Parses a line of ftrace's text, as the kernel prints it (`Documentation/trace/ftrace.rst`). It
//! knows nothing of tracks.
//!
//! ```text
//! <idle>-0 [001] d..2. 1234.567890: sched_switch: prev_comm=… ==> next_comm=… next_pid=12 …
//! ```
//!
//! A task's name may hold any character, so the fields around it are searched from the end of the
//! line.

pub(crate) use crate::timeline::schedule::Task;

/// The most processors of a machine; a greater number is not a processor.
const PROCESSORS: u32 = 1 << 13;

/// The longest line in bytes; the kernel's buffer of a line holds 8 KiB at most.
const LONGEST: usize = 1 << 13;

/// A parsed line.
#[derive(Debug, PartialEq)]
pub enum Line<'a> {
    Event(Event<'a>),
    /// Events of this processor were overwritten.
    Lost {
        cpu: u32,
        events: u64,
    },
    /// A function of a stack, without its module.
    Caller(&'a str),
    /// The first line of a trace.
    Start,
    /// A comment, or an event that is not shown.
    Nothing,
    Malformed,
}

#[derive(Debug, PartialEq)]
pub struct Event<'a> {
    /// The task that was running.
    pub task: Task<'a>,
    pub cpu: u32,
    /// `true` if the event happened in a handler and not in the task.
    pub in_handler: bool,
    /// The time in ns.
    pub at: u64,
    pub kind: EventKind<'a>,
}

#[derive(Debug, PartialEq)]
pub enum EventKind<'a> {
    /// The processor switches tasks. `state` is the new state of `before`: `R` ready, `R+`
    /// pre-empted, `D` waits uninterruptibly; otherwise it waits or has ended. `priority` is the
    /// kernel's number of `after`: 0 to 98 for SCHED_FIFO and SCHED_RR of 99 to 1.
    Switch { before: Task<'a>, state: &'a str, after: Task<'a>, priority: Option<i32> },
    /// A wake-up of this task is requested.
    Waking(Task<'a>),
    /// The task has become ready.
    Wakeup(Task<'a>),
    /// A message to a process is handed to the binder driver.
    Transaction { id: u32, process: u32, is_reply: bool },
    /// The running task receives the message.
    Received { id: u32 },
    /// The driver changed a thread's priority.
    Priority { thread: u32, old: &'a str, new: &'a str },
    /// A text that a program wrote into the trace.
    Mark(&'a str),
    /// A handler begins, of the interrupt or of the soft interrupt (deferred work) called `name`.
    Enter { name: &'a str, is_soft: bool },
    /// The latest handler of this kind on this processor ends.
    Leave { is_soft: bool },
    /// A function that the kernel calls back begins: a timer's, or a piece of work of its threads.
    Call { function: &'a str, is_work: bool },
    /// The latest function of this kind on this processor returns.
    Return { is_work: bool },
    /// A disturbance has ended, whose net length the kernel has measured itself: without the
    /// disturbances that interrupted it. `task` is the number of the task, or of the interrupt.
    Noise { kind: Kind, task: u32, ns: u64 },
    /// A sample of the kernel's tracer timerlat: from the due time of its own timer to the timer's
    /// interrupt, or to the tracer's own thread.
    Latency { is_thread: bool, ns: u64 },
    /// A stack follows, a [`Line::Caller`] for each of its functions, the innermost first.
    Stack,
}

/// The kind of a disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Interrupt,
    SoftInterrupt,
    Task,
    NonMaskable,
}

pub fn read(line: &str) -> Line<'_> {
    let line = line.trim_end();
    if line.starts_with("# tracer:") {
        return Line::Start;
    }
    if line.is_empty() || line.starts_with('#') {
        return Line::Nothing;
    }
    if let Some(function) = line.trim_start().strip_prefix("=> ") {
        return function.split_ascii_whitespace().next().map_or(Line::Malformed, Line::Caller);
    }
    if let Some(lost) = lost(line) {
        return lost;
    }
    // The next search takes the square of a line's length at worst.
    if line.len() > LONGEST {
        return Line::Malformed;
    }
    // A task's name may contain brackets like those around a processor's number.
    for (at, _) in line.match_indices('[') {
        if let Some(found) = event(&line[..at], &line[at + 1..]) {
            return found;
        }
    }
    Line::Malformed
}

/// Returns the number of events that a trace's buffers held, and the number that were written, if they have
/// overwritten any: by the first header that says so, `# entries-in-buffer/entries-written: 140/250   #P:4`.
pub fn overwritten(trace: &str) -> Option<(u64, u64)> {
    trace.lines().find_map(|line| {
        let counts = line.strip_prefix("# entries-in-buffer/entries-written: ")?;
        let (held, written) = counts.split_ascii_whitespace().next()?.split_once('/')?;
        let (held, written) = (held.parse().ok()?, written.parse().ok()?);
        (held < written).then_some((held, written))
    })
}

/// Parses `CPU:1 [LOST 123 EVENTS]`.
fn lost(line: &str) -> Option<Line<'_>> {
    let (cpu, rest) = line.strip_prefix("CPU:")?.split_once(" [LOST ")?;
    Some(Line::Lost { cpu: processor(cpu)?, events: rest.strip_suffix(" EVENTS]")?.parse().ok()? })
}

fn processor(text: &str) -> Option<u32> {
    text.parse().ok().filter(|cpu| *cpu < PROCESSORS)
}

/// Parses the texts before and after a `[`, if it encloses a processor's number.
fn event<'a>(before: &'a str, after: &'a str) -> Option<Line<'a>> {
    let (cpu, rest) = after.split_once(']')?;
    let cpu = processor(cpu)?;
    let (time, rest) = rest.split_once(": ")?;
    let mut words = time.split_ascii_whitespace();
    let (first, second) = (words.next()?, words.next());
    // Flags are absent with the option irq-info off.
    let (flags, time) = second.map_or(("", first), |time| (first, time));
    let at = nanoseconds(time)?;
    let task = running(before)?;
    let in_handler = flags.chars().any(|flag| matches!(flag, 'h' | 'H' | 's' | 'z' | 'Z'));
    let stack = (rest == "<stack trace>").then_some(EventKind::Stack);
    if let Some(kind) = stack.or_else(|| latency(rest)) {
        return Some(Line::Event(Event { task, cpu, in_handler, at, kind }));
    }
    let (name, fields) = rest.split_once(':')?;
    match event_kind(name, fields.trim_start()) {
        Some(kind) => Some(Line::Event(Event { task, cpu, in_handler, at, kind })),
        None if is_shown(name) => Some(Line::Malformed),
        None => Some(Line::Nothing),
    }
}

/// Parses `#12  context    irq timer_latency   1234 ns`.
fn latency(text: &str) -> Option<EventKind<'_>> {
    let mut words = text.strip_prefix('#')?.split_ascii_whitespace().skip(1);
    let context = (words.next()? == "context").then(|| words.next())??;
    let ns = (words.next()? == "timer_latency").then(|| words.next())??;
    Some(EventKind::Latency { is_thread: context == "thread", ns: ns.parse().ok()? })
}

/// Parses seconds such as `1234.567890`; returns ns.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits = fraction.len();
    if !(1..=9).contains(&digits) || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = 10_u64.pow(9 - u32::try_from(digits).ok()?);
    let fraction = fraction.parse::<u64>().ok()? * scale;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Parses `   name-12   `, or the form with the process: `   name-12   (   10) `.
fn running(text: &str) -> Option<Task<'_>> {
    let text = text.trim();
    let text = text
        .strip_suffix(')')
        .and_then(|text| Some(text.rsplit_once('(')?.0.trim_end()))
        .unwrap_or(text);
    let (name, id) = text.rsplit_once('-')?;
    Some(Task { name: name.trim_start(), id: id.parse().ok()? })
}

fn is_shown(name: &str) -> bool {
    const SHOWN: [&str; 8] = [
        "sched_switch",
        "sched_waking",
        "sched_wakeup",
        "sched_wakeup_new",
        "binder_transaction",
        "binder_transaction_received",
        "binder_set_priority",
        "tracing_mark_write",
    ];
    SHOWN.contains(&name)
}

fn event_kind<'a>(name: &'a str, fields: &'a str) -> Option<EventKind<'a>> {
    Some(match name {
        "sched_switch" => {
            let (before, after) = fields.rsplit_once(" ==> ")?;
            let (head, state) = before.rsplit_once(" prev_state=")?;
            EventKind::Switch {
                before: task(head, "prev_")?,
                state,
                after: task(after, "next_")?,
                priority: field(after, "next_prio=").and_then(|text| text.parse().ok()),
            }
        }
        "sched_waking" => EventKind::Waking(task(fields, "")?),
        "sched_wakeup" | "sched_wakeup_new" => EventKind::Wakeup(task(fields, "")?),
        "binder_transaction" => EventKind::Transaction {
            id: field(fields, "transaction=")?.parse().ok()?,
            process: field(fields, "dest_proc=")?.parse().ok()?,
            is_reply: field(fields, "reply=")? == "1",
        },
        "binder_transaction_received" => {
            EventKind::Received { id: field(fields, "transaction=")?.parse().ok()? }
        }
        "binder_set_priority" => EventKind::Priority {
            thread: field(fields, "thread=")?.parse().ok()?,
            old: field(fields, "old=")?,
            new: field(fields, "=> new=").or_else(|| field(fields, "new="))?,
        },
        "tracing_mark_write" | "print" => EventKind::Mark(fields),
        "irq_handler_entry" => {
            EventKind::Enter { name: fields.split_once(" name=")?.1, is_soft: false }
        }
        "local_timer_entry" => EventKind::Enter { name: "timer", is_soft: false },
        "softirq_entry" => {
            EventKind::Enter { name: field(fields, "[action=")?.strip_suffix(']')?, is_soft: true }
        }
        "reschedule_entry" | "irq_work_entry" => {
            EventKind::Enter { name: name.strip_suffix("_entry")?, is_soft: false }
        }
        "call_function_entry" | "call_function_single_entry" => {
            EventKind::Enter { name: "call_function", is_soft: false }
        }
        "irq_handler_exit"
        | "local_timer_exit"
        | "reschedule_exit"
        | "irq_work_exit"
        | "call_function_exit"
        | "call_function_single_exit" => EventKind::Leave { is_soft: false },
        "softirq_exit" => EventKind::Leave { is_soft: true },
        "hrtimer_expire_entry" => {
            EventKind::Call { function: field(fields, "function=")?, is_work: false }
        }
        "workqueue_execute_start" => {
            EventKind::Call { function: after(fields, ": function ")?, is_work: true }
        }
        "hrtimer_expire_exit" => EventKind::Return { is_work: false },
        "workqueue_execute_end" => EventKind::Return { is_work: true },
        "irq_noise" => noise(Kind::Interrupt, fields)?,
        "softirq_noise" => noise(Kind::SoftInterrupt, fields)?,
        "thread_noise" => noise(Kind::Task, fields)?,
        "nmi_noise" => noise(Kind::NonMaskable, fields)?,
        "nmi_handler" => {
            let ns = after(fields, "delta_ns:")?.parse().ok()?;
            EventKind::Noise { kind: Kind::NonMaskable, task: 0, ns }
        }
        _ => return None,
    })
}

/// Parses osnoise's `NAME:12 start 1.234567890 duration 1234 ns`; NMIs have no name and number.
fn noise(kind: Kind, fields: &str) -> Option<EventKind<'_>> {
    let (before, duration) = fields.rsplit_once(" duration ")?;
    let number = before.rsplit_once(" start ").and_then(|(named, _)| named.rsplit_once(':'));
    let task = number.map_or(Some(0), |(_, number)| number.parse().ok())?;
    Some(EventKind::Noise { kind, task, ns: duration.strip_suffix(" ns")?.parse().ok()? })
}

/// Returns the first word after a text.
fn after<'a>(fields: &'a str, text: &str) -> Option<&'a str> {
    fields.split_once(text)?.1.split_ascii_whitespace().next()
}

/// Parses `comm=… pid=12 prio=…`, with a prefix before each key.
fn task<'a>(text: &'a str, prefix: &str) -> Option<Task<'a>> {
    let text = text.strip_prefix(prefix)?.strip_prefix("comm=")?;
    let (name, rest) = text.rsplit_once(&format!(" {prefix}pid="))?;
    let id = rest.split(' ').next()?;
    Some(Task { name, id: id.parse().ok()? })
}

/// Returns the value of a key that starts a word.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let starts_word = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b' ';
    let at = text.match_indices(key).map(|(at, _)| at).find(starts_word)?;
    text[at + key.len()..].split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kernels_print_is_read() {
        let text = "          <idle>-0       [001] d..2.  1234.567890: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 \
                    prev_state=R ==> next_comm=a b-c [000] next_pid=12 next_prio=19";
        let (idle, task) =
            (Task { name: "swapper/1", id: 0 }, Task { name: "a b-c [000]", id: 12 });
        let expected = Event {
            task: Task { name: "<idle>", id: 0 },
            cpu: 1,
            in_handler: false,
            at: 1_234_567_890_000,
            kind: EventKind::Switch { before: idle, state: "R", after: task, priority: Some(19) },
        };
        assert_eq!(read(text), Line::Event(expected));
        // A name that looks like a processor's number, with the process's number and without flags.
        let text = " a b-c [000]-12      (     10) [003]   7.5: sched_waking: comm=x pid=3 prio=120 target_cpu=001";
        let expected = Event {
            task,
            cpu: 3,
            in_handler: false,
            at: 7_500_000_000,
            kind: EventKind::Waking(Task { name: "x", id: 3 }),
        };
        assert_eq!(read(text), Line::Event(expected));
    }

    #[test]
    fn disturbances_that_the_kernel_measures_are_read() {
        let kind = |event: &str| match read(format!(" a-7  [000] d.h1  1.000001: {event}").leak()) {
            Line::Event(event) => event.kind,
            other => panic!("{other:?}"),
        };
        let call = |function, is_work| EventKind::Call { function, is_work };
        assert_eq!(
            kind("hrtimer_expire_entry: hrtimer=00000000d2 function=tick_sched_timer now=12"),
            call("tick_sched_timer", false)
        );
        assert_eq!(
            kind("workqueue_execute_start: work struct 00000000a9: function vmstat_update"),
            call("vmstat_update", true)
        );
        let returned =
            kind("workqueue_execute_end: work struct 00000000a9: function vmstat_update");
        assert_eq!(returned, EventKind::Return { is_work: true });
        let noise = |kind, task, ns| EventKind::Noise { kind, task, ns };
        assert_eq!(
            kind("irq_noise: local_timer:236 start 54.123444000 duration 1111 ns"),
            noise(Kind::Interrupt, 236, 1111)
        );
        assert_eq!(
            kind("softirq_noise:      RCU:9 start 54.1 duration 12 ns"),
            noise(Kind::SoftInterrupt, 9, 12)
        );
        assert_eq!(
            kind("thread_noise: kworker/0:1:45 start 54.1 duration 9 ns"),
            noise(Kind::Task, 45, 9)
        );
        assert_eq!(kind("nmi_noise: start 54.1 duration 70 ns"), noise(Kind::NonMaskable, 0, 70));
        assert_eq!(
            kind("nmi_handler: perf_event_nmi_handler() delta_ns: 4000 handled: 1"),
            noise(Kind::NonMaskable, 0, 4000)
        );
        assert_eq!(
            kind("#12    context    irq timer_latency      3012 ns"),
            EventKind::Latency { is_thread: false, ns: 3012 }
        );
        assert_eq!(
            kind("#12    context thread timer_latency     10012 ns"),
            EventKind::Latency { is_thread: true, ns: 10_012 }
        );
        assert_eq!(
            kind("reschedule_entry: vector=253"),
            EventKind::Enter { name: "reschedule", is_soft: false }
        );
        for other in ["#12 of them", "irq_noise: nonsense", "#12 context irq timer_latency x ns"] {
            let line = format!(" a-7  [000] d.h1  1.000001: {other}");
            assert!(!matches!(read(&line), Line::Event(_)), "{other}");
        }
    }

    #[test]
    fn binder_s_events_are_read() {
        let line = |event: &str| {
            let text = format!("  client-7  [000] .N.h1  1.000001: {event}");
            match read(text.leak()) {
                Line::Event(event) => event,
                other => panic!("{other:?}"),
            }
        };
        let event = line(
            "binder_transaction: transaction=41 dest_node=3 dest_proc=9 dest_thread=0 reply=0 flags=0x10 code=0x1",
        );
        assert!(event.in_handler);
        assert_eq!(event.kind, EventKind::Transaction { id: 41, process: 9, is_reply: false });
        assert_eq!(
            line("binder_transaction_received: transaction=41").kind,
            EventKind::Received { id: 41 }
        );
        let priority =
            line("binder_set_priority: proc=9 thread=10 old=120 => new=98 desired=98").kind;
        assert_eq!(priority, EventKind::Priority { thread: 10, old: "120", new: "98" });
        assert_eq!(line("tracing_mark_write: begin: now").kind, EventKind::Mark("begin: now"));
        let enter = |name| EventKind::Enter { name, is_soft: false };
        assert_eq!(line("irq_handler_entry: irq=25 name=a disk").kind, enter("a disk"));
        assert_eq!(line("local_timer_entry: vector=236").kind, enter("timer"));
        assert_eq!(
            line("irq_handler_exit: irq=25 ret=handled").kind,
            EventKind::Leave { is_soft: false }
        );
        assert_eq!(
            line("softirq_entry: vec=4 [action=BLOCK]").kind,
            EventKind::Enter { name: "BLOCK", is_soft: true }
        );
    }

    #[test]
    fn the_rest_is_told_apart() {
        assert_eq!(read("# tracer: nop"), Line::Start);
        assert_eq!(read("#      TASK-PID     CPU#"), Line::Nothing);
        assert_eq!(read("CPU:1 [LOST 123 EVENTS]"), Line::Lost { cpu: 1, events: 123 });
        assert_eq!(read(" a-1 [000] d... 1.0: softirq_raise: vec=1 [action=TIMER]"), Line::Nothing);
        for text in [
            " a-1 [000] d... 1.0: sched_switch: prev_comm=a prev_pid=1 prev_prio=1 prev_sta",
            " a-1 [000] d... 1.0: sched_waking: comm=x pid=minus",
            " a-1 [999999] d... 1.0: sched_waking: comm=x pid=1 prio=1",
            " a-1 [000] d... 99999999999999999999.0: sched_waking: comm=x pid=1 prio=1",
            " a-1 [000] d... 1.0",
            " a-1 [00",
            "[",
            "nonsense",
        ] {
            assert_eq!(read(text), Line::Malformed, "{text}");
        }
    }

    #[test]
    fn a_line_longer_than_the_kernel_s_buffer_is_malformed() {
        let begin = std::time::Instant::now();
        assert_eq!(read(&"[001] ".repeat(200_000)), Line::Malformed);
        // The search for a processor takes minutes.
        assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
        let mark = |length: usize| {
            let line = " a-1 [000] d... 1.0: tracing_mark_write: ".to_owned();
            let rest = "x".repeat(length - line.len());
            line + &rest
        };
        assert!(matches!(read(&mark(LONGEST)), Line::Event(_)));
        assert_eq!(read(&mark(LONGEST + 1)), Line::Malformed);
    }
}
