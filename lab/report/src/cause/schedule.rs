//! Names the tasks and interrupts that ran on the case's processor during the worst sample, from
//! Linux's own trace (ftrace). It makes a sentence; it does not know where that is shown.
//!
//! Samples are timed from their series' first sample. The port writes that sample's start into the
//! trace, in the clock from which marks are read (`ports/linux/src/trace.rs`).

use std::collections::BTreeMap;

use super::window::{RepetitionSamples, Window};
use crate::{timeline::ftrace::line, timeline::ftrace::line::Line, timeline::tick};
use chronoscope_run::{CaseResult, SeriesResult};
use chronoscope_units::{printable, show};

/// The uncertainty of a duration in ns: the trace prints times in whole µs.
pub(super) const DOUBT: f64 = 1_000.0;

/// The share of a sample that its cause takes at least.
const MOST: f64 = 0.5;

/// The most tasks and interrupts that are named.
const NAMED: usize = 3;

pub fn sentence(
    case: &CaseResult,
    series: &SeriesResult,
    repetition: &RepetitionSamples,
) -> Option<String> {
    let record = Record::new(case, series, repetition)?;
    let (cpu, ns) = (record.cpu, record.ns);
    let ran = Ran::read(record.text, cpu)?;
    let span = |window: &Window| record.span(window);
    let worst = Some(span(&repetition.worst())).filter(|span| ran.covers(*span))?;
    let all = repetition.windows.iter().map(span).filter(|span| ran.covers(*span));
    let usual = mean(&ran, all.filter(|span| *span != worst));
    // Keeps the tasks and interrupts that took longer than usual by more than the uncertainty, the
    // longest first.
    let is_longer = |(occupant, took): &(Occupant, Took)| {
        let usually = usual.get(occupant).copied().unwrap_or_default();
        took.ns - took.doubt > usually.ns + usually.doubt
    };
    let mut longer: Vec<(Occupant, Took)> =
        mean(&ran, [worst]).into_iter().filter(is_longer).collect();
    longer.sort_by(|one, other| other.1.ns.total_cmp(&one.1.ns));
    let name = |(occupant, took): &(Occupant, Took)| {
        format!("{} ({})", occupant.name(), show((took.ns / ns).round(), series.unit.name()))
    };
    let (functions, others): (Vec<_>, Vec<_>) =
        longer.iter().partition(|(occupant, _)| matches!(occupant, Occupant::Function(_)));
    let mut names: Vec<String> = others.iter().copied().take(NAMED).map(name).collect();
    if others.len() > NAMED {
        names.push(format!("{} more", others.len() - NAMED));
    }
    let names = names.join(", ");
    // A function is a part of what called it, and named if it is the greater part.
    let first = others.first().map_or(0.0, |(_, took)| took.ns);
    let greatest = functions.first().filter(|(_, took)| 2.0 * took.ns > first);
    let greatest = greatest.map(|function| format!(", in {}", name(function)));
    let longer = format!("{names}{}", greatest.unwrap_or_default());
    let shown = |ns: f64| show((ns / record.ns).round(), series.unit.name());
    let (length, empty) = (worst.1 - worst.0, ran.empty(worst));
    if empty > MOST * length {
        let (empty, length) = (shown(empty), shown(length));
        let others =
            if names.is_empty() { longer } else { format!(", and longer than usual {longer}") };
        return Some(format!(
            "Not explained: for {empty} of the worst's {length} nothing ran on processor {cpu}{others}."
        ));
    }
    (!names.is_empty()).then(|| {
        format!(
            "While the worst was taken, processor {cpu} ran {longer}: longer than in a mean sample."
        )
    })
}

/// The task that took the processor for the greater part of a series' worst sample.
#[derive(Debug, PartialEq)]
pub(crate) struct Culprit {
    /// The number of the task.
    pub id: u32,
    /// The priority under SCHED_FIFO or SCHED_RR, 1 to 99; `None` for a task of another class.
    pub urgency: Option<u32>,
}

/// Returns the task that took most of the worst sample; `None` if the trace shows none.
pub(crate) fn culprit(case: &CaseResult, series: &SeriesResult) -> Option<Culprit> {
    let repetition = RepetitionSamples::with_worst(case, series)?;
    let record = Record::new(case, series, &repetition)?;
    let ran = Ran::read(record.text, record.cpu)?;
    let worst = Some(record.span(&repetition.worst())).filter(|span| ran.covers(*span))?;
    let mut took = BTreeMap::<u32, f64>::new();
    for (id, piece) in ran.ids.iter().zip(&ran.pieces[0]) {
        let inside = worst.1.min(piece.end as f64) - worst.0.max(piece.start as f64);
        *took.entry(*id).or_default() += inside.max(0.0);
    }
    let (id, took) = took.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let urgency = ran.priorities.get(&id).filter(|priority| (0..99).contains(*priority));
    (took > MOST * (worst.1 - worst.0))
        .then(|| Culprit { id, urgency: urgency.map(|priority| 99 - priority.unsigned_abs()) })
}

/// The kernel's trace of the repetition with a series' worst sample.
pub(crate) struct Record<'a> {
    pub text: &'a str,
    pub cpu: u32,
    /// The start of the series' first sample, in ns of the trace's clock.
    origin: f64,
    /// The length of a tick in ns.
    pub ns: f64,
}

impl<'a> Record<'a> {
    /// The record; `None` unless it was kept, and the case or the series is of one processor.
    pub fn new(
        case: &'a CaseResult,
        series: &SeriesResult,
        repetition: &RepetitionSamples,
    ) -> Option<Self> {
        let text = case.attachments.get("trace")?;
        let of_series = series.name.strip_prefix("cpu ");
        let cpu = of_series.or(case.parameters.get("cpu").map(|cpu| &**cpu))?.parse().ok()?;
        let records: Vec<&str> = text.split("# tracer:").skip(1).collect();
        // Each repetition has a record, unless the records were too long to be kept.
        let text = *records.get(repetition.index).filter(|_| records.len() == case.repetitions)?;
        Some(Self { text, cpu, origin: origin(text, &series.name)?, ns: tick(case) })
    }

    /// A record of a wall clock, whose first sample starts at 0.
    #[cfg(test)]
    pub fn for_test(text: &'a str, cpu: u32) -> Self {
        Self { text, cpu, origin: 0.0, ns: 1.0 }
    }

    /// A time of the trace's clock as the time since the series' first sample, in ticks.
    pub fn since_first(&self, at: f64) -> f64 {
        (at - self.origin) / self.ns
    }

    /// The start and the end of a window, in ns of the trace's clock.
    pub fn span(&self, window: &Window) -> Span {
        let start = self.origin + window.start * self.ns;
        (start, start + window.length * self.ns)
    }
}

/// The name of the case's tasks, which is the name of the task that begins and ends the case.
pub(super) fn own(record: &str) -> Option<&str> {
    let mut marked = record.lines().filter_map(|line| match line::read(line) {
        Line::Event(event)
            if matches!(event.kind, line::EventKind::Mark("the case begins" | "the case ends")) =>
        {
            Some(event.task.name)
        }
        _ => None,
    });
    marked.next_back().filter(|name| *name != "<...>")
}

/// The start of a series' first sample, in ns of the trace's clock.
fn origin(record: &str, series: &str) -> Option<f64> {
    record.lines().skip(1).take_while(|line| line.starts_with('#')).find_map(|line| {
        let (name, at) = line.strip_prefix("# ")?.rsplit_once(" starts at ")?;
        at.strip_suffix(" ns").filter(|_| name == series)?.parse().ok()
    })
}

/// A start and an end, in ns.
pub(crate) type Span = (f64, f64);

/// A duration and its uncertainty, in ns.
#[derive(Clone, Copy, Default)]
struct Took {
    ns: f64,
    doubt: f64,
}

/// The mean duration of each task and interrupt within the spans.
fn mean<'a>(ran: &Ran<'a>, spans: impl IntoIterator<Item = Span>) -> BTreeMap<Occupant<'a>, Took> {
    let (mut all, mut count) = (BTreeMap::<Occupant<'_>, Took>::new(), 0.0);
    for (from, to) in spans {
        count += 1.0;
        for piece in ran.within((from, to)) {
            let took = all.entry(piece.occupant).or_default();
            took.ns += to.min(piece.end as f64) - from.max(piece.start as f64);
            took.doubt += DOUBT;
        }
    }
    all.values_mut()
        .for_each(|took| *took = Took { ns: took.ns / count, doubt: took.doubt / count });
    all
}

/// An occupant of the processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Occupant<'a> {
    Task(&'a str),
    Interrupt(&'a str),
    SoftInterrupt(&'a str),
    /// A function that an interrupt or a task has called.
    Function(&'a str),
}

impl Occupant<'_> {
    fn name(&self) -> String {
        match self {
            Self::Task(name) => printable(name),
            Self::Interrupt(name) => format!("the interrupt {}", printable(name)),
            Self::SoftInterrupt(name) => format!("the soft interrupt {}", printable(name)),
            Self::Function(name) => format!("the function {}", printable(name)),
        }
    }
}

/// The places of functions among the kinds of pieces.
const TIMER: usize = 3;
const WORK: usize = 4;

/// A stretch in which something ran, in ns.
pub(super) struct Piece<'a> {
    pub occupant: Occupant<'a>,
    pub start: u64,
    pub end: u64,
}

/// The tasks and interrupts that ran on a processor, except the case's own tasks and idling.
#[derive(Default)]
pub(super) struct Ran<'a> {
    /// The pieces of tasks, interrupts, soft interrupts, functions of timers, and functions of work;
    /// pieces of one kind do not overlap.
    pieces: [Vec<Piece<'a>>; 5],
    /// The stretches of the case's own tasks, each with the task's number.
    own: Vec<(u32, Span)>,
    /// For each kind, the open piece and its start.
    open: [Option<(Occupant<'a>, u64)>; 5],
    /// The number of the running task.
    id: Option<u32>,
    /// The numbers of the tasks of `pieces`.
    ids: Vec<u32>,
    /// The latest priority of each task, in the kernel's numbers.
    priorities: BTreeMap<u32, i32>,
    /// The times of the first and of the latest event.
    known: Option<(u64, u64)>,
    /// The stretches in which events are missing.
    gaps: Vec<(u64, u64)>,
    is_lost: bool,
}

impl<'a> Ran<'a> {
    /// Reads a record; `None` if the record does not show which tasks belong to the case.
    pub fn read(record: &'a str, cpu: u32) -> Option<Self> {
        let own = own(record)?;
        let mut ran = Self::default();
        for line in record.lines() {
            match line::read(line) {
                Line::Event(event) if event.cpu == cpu => ran.take(&event),
                Line::Lost { cpu: lost, .. } => ran.is_lost |= lost == cpu,
                _ => {}
            }
        }
        (0..ran.open.len()).for_each(|sort| ran.end(sort));
        let is_own = |piece: &Piece<'_>| piece.occupant == Occupant::Task(own);
        let tasks =
            std::mem::take(&mut ran.ids).into_iter().zip(std::mem::take(&mut ran.pieces[0]));
        let (own, others): (Vec<_>, Vec<_>) = tasks.partition(|(_, piece)| is_own(piece));
        let span = |(id, piece): (u32, Piece<'_>)| (id, (piece.start as f64, piece.end as f64));
        ran.own = own.into_iter().map(span).collect();
        (ran.ids, ran.pieces[0]) = others.into_iter().unzip();
        Some(ran)
    }

    fn take(&mut self, event: &line::Event<'a>) {
        let (_, before) = *self.known.get_or_insert((event.at, event.at));
        // A task's noise is printed at the switch from it, behind that event and in the task's name.
        let is_of_the_running = !matches!(event.kind, line::EventKind::Noise { .. });
        // The record sometimes lacks the event of a switch to another task.
        let is_another = is_of_the_running && self.id.is_some_and(|id| id != event.task.id);
        if self.is_lost || is_another {
            self.gaps.push((before, event.at));
            (self.is_lost, self.id, self.open) = (false, None, [None; 5]);
        }
        self.known = self.known.map(|(first, last)| (first, last.max(event.at)));
        if self.id.is_none() && is_of_the_running {
            self.run(event.task);
        }
        match event.kind {
            line::EventKind::Switch { after, priority, .. } => {
                self.end(0);
                self.end(WORK);
                self.priorities.extend(priority.map(|priority| (after.id, priority)));
                self.run(after);
            }
            line::EventKind::Enter { name, is_soft: false } => {
                self.begin(1, Occupant::Interrupt(name))
            }
            line::EventKind::Enter { name, is_soft: true } => {
                self.begin(2, Occupant::SoftInterrupt(name))
            }
            line::EventKind::Leave { is_soft } => self.end(1 + usize::from(is_soft)),
            line::EventKind::Call { function, is_work } => {
                self.begin(if is_work { WORK } else { TIMER }, Occupant::Function(function));
            }
            line::EventKind::Return { is_work } => self.end(if is_work { WORK } else { TIMER }),
            _ => {}
        }
    }

    fn run(&mut self, task: line::Task<'a>) {
        self.id = Some(task.id);
        if task.id != 0 {
            self.begin(0, Occupant::Task(task.name));
        }
    }

    fn begin(&mut self, sort: usize, occupant: Occupant<'a>) {
        self.open[sort] = self.known.map(|(_, now)| (occupant, now));
    }

    fn end(&mut self, sort: usize) {
        if let Some(((occupant, start), (_, end))) = self.open[sort].take().zip(self.known) {
            self.pieces[sort].push(Piece { occupant, start, end });
            if sort == 0 {
                self.ids.push(self.id.unwrap_or_default());
            }
        }
    }

    /// `true` if the record is complete throughout the span.
    pub fn covers(&self, (from, to): Span) -> bool {
        let is_within =
            |(first, last): (u64, u64)| first as f64 + DOUBT <= from && to <= last as f64 - DOUBT;
        let next = self.gaps.partition_point(|(_, end)| *end as f64 + DOUBT <= from);
        self.known.is_some_and(is_within)
            && self.gaps.get(next).is_none_or(|(start, _)| to <= *start as f64 - DOUBT)
    }

    /// The number of the case's task that runs at a time, to within the precision of the record.
    pub fn own_at(&self, at: f64) -> Option<u32> {
        let next = self.own.partition_point(|(_, (_, end))| *end + DOUBT < at);
        self.own.get(next).filter(|(_, (start, _))| *start <= at + DOUBT).map(|(id, _)| *id)
    }

    /// The stretches within a span of the case's tasks, without the task with the number `id`.
    pub fn others_of_own(&self, id: Option<u32>, (from, to): Span) -> impl Iterator<Item = Span> {
        let next = self.own.partition_point(|(_, (_, end))| *end <= from);
        let within = self.own[next..].iter().take_while(move |(_, (start, _))| *start < to);
        within.filter(move |(other, _)| Some(*other) != id).map(|(_, span)| *span)
    }

    /// The time in a span in which neither a task nor an interrupt ran.
    fn empty(&self, (from, to): Span) -> f64 {
        let others = self.within((from, to)).map(|piece| (piece.start as f64, piece.end as f64));
        let mut ran: Vec<Span> = others.chain(self.others_of_own(None, (from, to))).collect();
        ran.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (mut empty, mut until) = (0.0, from);
        for (start, end) in ran {
            empty += (start - until).max(0.0);
            until = until.max(end);
        }
        empty + (to - until).max(0.0)
    }

    pub fn within(&self, (from, to): Span) -> impl Iterator<Item = &Piece<'a>> {
        self.pieces.iter().flat_map(move |pieces| {
            let next = pieces.partition_point(|piece| piece.end as f64 <= from);
            pieces[next..].iter().take_while(move |piece| (piece.start as f64) < to)
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::{super::window::tests::case_of, *};

    /// A record of processor 1: the case's tasks take turns, and another task runs in between
    /// during the second sample.
    pub const RECORD: &str = "# tracer: nop
#
# wakeup starts at 5000100000 ns
     chronoscope-7  [000] ..... 5.000000: tracing_mark_write: the case begins
     chronoscope-7  [001] d..2. 5.000050: sched_switch: prev_comm=chronoscope prev_pid=7 prev_prio=1 prev_state=S ==> next_comm=chronoscope next_pid=8 next_prio=1
     chronoscope-8  [001] d.h2. 5.000105: local_timer_entry: vector=236
     chronoscope-8  [001] d.h2. 5.000108: local_timer_exit: vector=236
     chronoscope-8  [001] d.h2. 5.000210: local_timer_entry: vector=236
     chronoscope-8  [001] d.h2. 5.000213: local_timer_exit: vector=236
     chronoscope-8  [001] d..2. 5.000220: sched_switch: prev_comm=chronoscope prev_pid=8 prev_prio=1 prev_state=R ==> next_comm=kworker/1:2 next_pid=9 next_prio=1
     kworker/1:2-9  [001] d.h2. 5.000225: irq_handler_entry: irq=25 name=a disk
     kworker/1:2-9  [001] d.h2. 5.000231: irq_handler_exit: irq=25 ret=handled
     kworker/1:2-9  [001] d..2. 5.000240: sched_switch: prev_comm=kworker/1:2 prev_pid=9 prev_prio=1 prev_state=S ==> next_comm=chronoscope next_pid=8 next_prio=1
     chronoscope-8  [001] d.h2. 5.000310: local_timer_entry: vector=236
     chronoscope-8  [001] d.h2. 5.000313: local_timer_exit: vector=236
     chronoscope-8  [001] d.h2. 5.000410: local_timer_entry: vector=236
     chronoscope-8  [001] d.h2. 5.000413: local_timer_exit: vector=236
     chronoscope-8  [001] ..... 5.000500: tracing_mark_write: the case ends
";

    pub fn case(record: &str) -> CaseResult {
        // The second sample is from 200 µs to 250 µs, the others take 20 µs.
        let mut case = case_of(&[&[(0.0, 20e3), (100e3, 50e3), (200e3, 20e3), (300e3, 20e3)]]);
        case.attachments.insert("trace".into(), record.to_owned());
        case.parameters.insert("cpu".into(), "1".into());
        case
    }

    fn sentence_on(case: &CaseResult) -> Option<String> {
        sentence(
            case,
            &case.series[0],
            &RepetitionSamples::with_worst(case, &case.series[0]).unwrap(),
        )
    }

    #[test]
    fn what_ran_only_then_is_named() {
        assert_eq!(
            sentence_on(&case(RECORD)).unwrap(),
            "While the worst was taken, processor 1 ran kworker/1:2 (20 µs), the interrupt a disk (6 µs): longer than in a mean \
             sample."
        );
    }

    /// An idle processor is no cause: why the task came late is not in the trace.
    #[test]
    fn a_sample_in_which_nothing_ran_is_not_explained() {
        let idle = RECORD
            .replace("next_comm=kworker/1:2 next_pid=9", "next_comm=swapper/1 next_pid=0")
            .replace("kworker/1:2-9", "<idle>-0")
            .replace("5.000220: sched_switch", "5.000216: sched_switch")
            .replace("5.000240: sched_switch", "5.000260: sched_switch");
        assert_eq!(
            sentence_on(&case(&idle)).unwrap(),
            "Not explained: for 28 µs of the worst's 50 µs nothing ran on processor 1, and longer than \
             usual the interrupt a disk (6 µs)."
        );
        let quiet = idle.replace("irq_handler", "other");
        assert_eq!(
            sentence_on(&case(&quiet)).unwrap(),
            "Not explained: for 34 µs of the worst's 50 µs nothing ran on processor 1."
        );
    }

    /// The task has the greater part of the sample, and its number and priority are the record's.
    #[test]
    fn the_culprit_is_the_task_that_took_most_of_the_sample() {
        let of = |record: &str| {
            let case = case(record);
            culprit(&case, &case.series[0])
        };
        assert_eq!(of(RECORD), None, "20 of 50 µs");
        let longer = RECORD.replace("5.000240: sched_switch", "5.000248: sched_switch");
        let expected = Culprit { id: 9, urgency: Some(98) };
        assert_eq!(of(&longer), Some(expected));
        let ordinary = longer.replace("next_pid=9 next_prio=1", "next_pid=9 next_prio=120");
        assert_eq!(of(&ordinary).unwrap().urgency, None);
    }

    /// On PREEMPT_RT osnoise prints the noise of the task that was left.
    #[test]
    fn a_task_s_noise_behind_its_switch_hides_nothing() {
        let switch = RECORD.find("5.000240: sched_switch").unwrap();
        let (before, after) = RECORD.split_at(switch + RECORD[switch..].find('\n').unwrap());
        let noise = "\n     kworker/1:2-9  [001] d..2. 5.000241: thread_noise: kworker/1:2:9 start \
                     5.000220000 duration 14000 ns";
        let record = format!("{before}{noise}{after}");
        assert_eq!(sentence_on(&case(&record)), sentence_on(&case(RECORD)));
    }

    /// The series of one of several processors names it.
    #[test]
    fn a_series_of_a_processor_has_its_record() {
        let mut several = case(&RECORD.replace("# wakeup starts", "# cpu 1 starts"));
        several.parameters.insert("cpu".into(), "0+1".into());
        assert_eq!(sentence_on(&several), None);
        several.series[0].name = "cpu 1".into();
        assert_eq!(sentence_on(&several), sentence_on(&case(RECORD)));
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let mut elsewhere = case(RECORD);
        elsewhere.parameters.insert("cpu".into(), "0".into());
        let mut anywhere = case(RECORD);
        anywhere.parameters.insert("cpu".into(), "any".into());
        // Of two repetitions, each with a worst sample of its own, one has no record.
        let both = [&[(0.0, 1.0)][..], &[(0.0, 2.0)][..]];
        let mut one_is_missing =
            CaseResult { attachments: case(RECORD).attachments, ..case_of(&both) };
        one_is_missing.parameters.insert("cpu".into(), "1".into());
        let without = |words: &str| case(&RECORD.replace(words, "#"));
        let lost = case(&RECORD.replace(
            "     kworker/1:2-9  [001] d..2.",
            "CPU:1 [LOST 12 EVENTS]\n kworker/1:2-9 [001] d..2.",
        ));
        let cut = case(&RECORD[..RECORD.find("5.000220").unwrap()]);
        let no_switch = case(
            &RECORD.replace("next_comm=kworker/1:2 next_pid=9", "next_comm=chronoscope next_pid=8"),
        );
        let quiet =
            case(&RECORD.replace("kworker/1:2", "chronoscope").replace("irq_handler", "other"));
        for case in [
            &one_is_missing,
            &elsewhere,
            &anywhere,
            &without("# wakeup starts at"),
            &lost,
            &cut,
            &no_switch,
            &quiet,
        ] {
            assert_eq!(sentence_on(case), None);
        }
    }
}
