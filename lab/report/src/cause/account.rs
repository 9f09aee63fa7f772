//! Divides the time of a sample among the users of the processor: interrupts, soft interrupts,
//! other tasks, non-maskable interrupts, and the time for which the kernel names no user. The
//! classes are the same as in the kernel's tracer osnoise.
//!
//! The source is osnoise's own events where the record has them, and otherwise the kernel's irq,
//! sched and nmi events, which every kernel has.

use super::schedule::{DOUBT, Occupant, Ran, Record, Span};
use crate::{timeline::ftrace::line, timeline::ftrace::line::Kind, timeline::ftrace::line::Line};

/// The classes of an account, in the order of [`Account`].
pub const CLASSES: [&str; 5] =
    ["no kernel event", "interrupts", "soft interrupts", "other tasks", "non-maskable interrupts"];

/// A user of the processor's time; the number of a class is its index in [`CLASSES`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    NoEvent,
    Interrupts,
    SoftInterrupts,
    Tasks,
    NonMaskable,
}

/// The length of the longest disturbance that the search finds, in ns. An event comes when its
/// disturbance has ended, so the search goes on for this long after a span.
const LONGEST: f64 = 1e9;

/// The time of a span by class, in ns; the sum is the length of the span.
pub type Account = [f64; CLASSES.len()];

/// Says how long each class took that took any time, in the order of [`CLASSES`]. The time without
/// an event of the kernel is left out. `shown` words a time in ns.
pub fn took(account: &Account, shown: &dyn Fn(f64) -> String) -> Vec<String> {
    let classes = CLASSES.iter().zip(account).skip(1).filter(|(_, ns)| **ns > 0.0);
    classes.map(|(class, ns)| format!("{class} took {}", shown(*ns))).collect()
}

/// The disturbances of a processor that a record shows.
pub struct Noises<'a> {
    ran: Ran<'a>,
    /// The disturbances that an event of the record states with their length, in the order of their
    /// ends.
    measured: Vec<Noise>,
    /// The record has osnoise's events, which measure disturbances of all classes.
    is_osnoise: bool,
}

/// A disturbance. `end` is in ns of the trace's clock. `ns` is its net length: the disturbances
/// that interrupted it are not included.
struct Noise {
    class: Class,
    /// The number of the task or of the interrupt.
    task: u32,
    end: f64,
    ns: f64,
}

impl<'a> Noises<'a> {
    /// Reads a record; `None` if the record does not show which tasks belong to the case.
    pub fn read(record: &Record<'a>) -> Option<Self> {
        let ran = Ran::read(record.text, record.cpu)?;
        let mut noises = Self { ran, measured: Vec::new(), is_osnoise: false };
        for line in record.text.lines() {
            let Line::Event(event) = line::read(line) else { continue };
            let line::EventKind::Noise { kind, task, ns } = event.kind else { continue };
            if event.cpu != record.cpu {
                continue;
            }
            let class = match kind {
                Kind::Interrupt => Class::Interrupts,
                Kind::SoftInterrupt => Class::SoftInterrupts,
                Kind::Task => Class::Tasks,
                Kind::NonMaskable => Class::NonMaskable,
            };
            noises.is_osnoise |= kind != Kind::NonMaskable;
            noises.measured.push(Noise { class, task, end: event.at as f64, ns: ns as f64 });
        }
        Some(noises)
    }

    /// Returns the source of the account, in words.
    pub fn source(&self) -> &'static str {
        if self.is_osnoise {
            "the events of the kernel's tracer osnoise"
        } else {
            "the kernel's irq, sched and nmi events"
        }
    }

    /// `true` if the record is complete throughout the span.
    pub fn covers(&self, span: Span) -> bool {
        self.ran.covers(span)
    }

    /// The account of a span; `None` unless osnoise's events measured it.
    pub fn of_osnoise(&self, span: Span) -> Option<Account> {
        (self.is_osnoise && self.covers(span)).then(|| self.account(span))
    }

    /// Returns the account of a span. The case's task that runs at the end of the span is no
    /// disturbance, so its time counts as `no kernel event`.
    ///
    /// Non-maskable interrupts are subtracted first, then interrupts, soft interrupts and other
    /// tasks. Each class gets at most the time that is left.
    pub fn account(&self, span: Span) -> Account {
        let mut account = Account::default();
        let task = self.ran.own_at(span.1);
        let is_other = |noise: &&Noise| noise.class != Class::Tasks || Some(noise.task) != task;
        for noise in self.measured_in(span).filter(is_other) {
            account[noise.class as usize] +=
                noise.ns.min(noise.end - span.0).min(noise.ns_before(span.1));
        }
        if !self.is_osnoise {
            let mut before = 0.0;
            for class in [Class::Interrupts, Class::SoftInterrupts, Class::Tasks] {
                let covered = self.covered(span, class, task);
                account[class as usize] = covered - before;
                before = covered;
            }
        }
        let mut left = span.1 - span.0;
        for class in [Class::NonMaskable, Class::Interrupts, Class::SoftInterrupts, Class::Tasks] {
            let ns = &mut account[class as usize];
            *ns = ns.clamp(0.0, left);
            left -= *ns;
        }
        account[Class::NoEvent as usize] = left;
        account
    }

    /// `true` if the record shows nothing but the case's task within the span. The span is widened
    /// at both ends by the uncertainty of the record's times.
    pub fn is_unexplained(&self, (from, to): Span) -> bool {
        let (wide, task) = ((from - DOUBT, to + DOUBT), self.ran.own_at(to));
        self.measured_in(wide).all(|noise| noise.class == Class::Tasks && Some(noise.task) == task)
            && self.ran.within(wide).next().is_none()
            && self.ran.others_of_own(task, wide).next().is_none()
    }

    /// The measured disturbances that overlap a span.
    fn measured_in(&self, (from, to): Span) -> impl Iterator<Item = &Noise> {
        let next = self.measured.partition_point(|noise| noise.end <= from);
        // The disturbances are in the order of their ends, so their starts are in no order.
        let until = self.measured[next..].iter().take_while(move |noise| noise.end <= to + LONGEST);
        until.filter(move |noise| noise.end - noise.ns < to)
    }

    /// Returns the time within the span, in ns, in which an interrupt, a soft interrupt or another
    /// task ran; of these, only the classes up to `last` count. `task` is the number of the case's
    /// task, which is no other.
    fn covered(&self, (from, to): Span, last: Class, task: Option<u32>) -> f64 {
        let class = |occupant: &Occupant<'_>| match occupant {
            Occupant::Interrupt(_) => Class::Interrupts,
            Occupant::SoftInterrupt(_) => Class::SoftInterrupts,
            // An interrupt or a task that counts covers the function that it has called.
            Occupant::Task(_) | Occupant::Function(_) => Class::Tasks,
        };
        let pieces = self.ran.within((from, to)).filter(|piece| class(&piece.occupant) <= last);
        let own = self.ran.others_of_own(task, (from, to)).filter(|_| last == Class::Tasks);
        let all = pieces.map(|piece| (piece.start as f64, piece.end as f64)).chain(own);
        let mut ends: Vec<Span> = all.map(|(start, end)| (from.max(start), to.min(end))).collect();
        ends.sort_by(|one, other| one.0.total_cmp(&other.0));
        let add = |(sum, known): (f64, f64), (start, end): Span| {
            (sum + (end - start.max(known)).max(0.0), known.max(end))
        };
        ends.into_iter().fold((0.0, from), add).0
    }
}

impl Noise {
    /// Returns the part of the disturbance before `time`, in ns, as if nothing had interrupted it.
    fn ns_before(&self, time: f64) -> f64 {
        (time - (self.end - self.ns)).min(self.ns)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::schedule::tests, *};

    fn noises(text: &str) -> Noises<'_> {
        Noises::read(&Record::for_test(text, 1)).unwrap()
    }

    /// A span between two times, in µs after second 5 of the trace's clock.
    fn span(from: f64, to: f64) -> Span {
        (5e9 + 1e3 * from, 5e9 + 1e3 * to)
    }

    #[test]
    fn time_is_accounted_by_sched_and_irq_events() {
        let noises = noises(tests::RECORD);
        assert_eq!(noises.source(), "the kernel's irq, sched and nmi events");
        // Interrupts from 210 to 213 and from 225 to 231; another task from 220 to 240.
        assert_eq!(noises.account(span(205.0, 245.0)), [17e3, 9e3, 0.0, 14e3, 0.0]);
        assert_eq!(noises.account(span(222.0, 228.0)), [0.0, 3e3, 0.0, 3e3, 0.0]);
        assert_eq!(noises.account(span(320.0, 330.0)), [10e3, 0.0, 0.0, 0.0, 0.0]);
        assert!(noises.is_unexplained(span(320.0, 330.0)));
        assert!(!noises.is_unexplained(span(241.0, 330.0)), "an event is within 1 µs of it");
    }

    #[test]
    fn osnoise_s_own_events_take_precedence() {
        let own = "  chronoscope-8  [001] d.h2. 5.000212: irq_noise: local_timer:236 start 9.9 duration 1500 ns
  chronoscope-8  [001] d..2. 5.000240: thread_noise: kworker/1:2:9 start 9.9 duration 12000 ns
  chronoscope-8  [001] d..2. 5.000241: thread_noise: chronoscope:8 start 9.9 duration 9000 ns
  chronoscope-8  [001] d.Z2. 5.000243: nmi_noise: start 9.9 duration 700 ns
  chronoscope-8  [001] d.s2. 5.000244: softirq_noise:  TIMER:1 start 9.9 duration 400 ns
";
        let text = tests::RECORD.replace(
            "     chronoscope-8  [001] d.h2. 5.000310",
            &(own.to_owned() + "     chronoscope-8  [001] d.h2. 5.000310"),
        );
        let noises = noises(&text);
        assert_eq!(noises.source(), "the events of the kernel's tracer osnoise");
        let account = noises.account(span(205.0, 245.0));
        assert_eq!(account, [25_400.0, 1500.0, 400.0, 12e3, 700.0]);
    }
}
