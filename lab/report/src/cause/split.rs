//! Splits the lateness of the worst sample of a task that waits for a timer, as the kernel's tracer
//! timerlat does: until the timer's interrupt, until the wake-up, until the switch to the task, and
//! until the task's mark. The moments come from the kernel's sched and irq events, which every
//! kernel has; the sentence names that source.

use super::{
    schedule::{self, DOUBT, Record},
    window::{RepetitionSamples, Window},
};
use crate::{
    timeline::ftrace::line, timeline::ftrace::line::EventKind, timeline::ftrace::line::Line,
};
use chronoscope_run::{CaseResult, SeriesResult};
use chronoscope_units::show;

/// The experiments whose samples are the lateness of a wait for a timer.
const EXPERIMENTS: [&str; 2] = ["period", "delay"];

/// The parts of a sample, in the order in which they happen.
pub const PARTS: [&str; 4] = [
    "until the timer's interrupt",
    "until the wake-up",
    "until the switch to the task",
    "until its mark",
];

/// The source of the moments.
pub const SOURCE: &str = "the kernel's sched and irq events";

/// `true` if the case's samples are the lateness of a wait for a timer.
pub fn fits(case: &CaseResult) -> bool {
    EXPERIMENTS.contains(&case.experiment.as_str())
}

pub fn sentence(
    case: &CaseResult,
    series: &SeriesResult,
    repetition: &RepetitionSamples,
) -> Option<String> {
    if !fits(case) {
        return None;
    }
    let record = Record::new(case, series, repetition)?;
    let moments = Moments::read(record.text, record.cpu)?;
    let split = |window: Window| moments.split(record.span(&window));
    let worst = split(repetition.worst())?;
    let all: Vec<[f64; 4]> =
        repetition.windows.iter().filter_map(|window| split(*window)).collect();
    let told = |part: usize| {
        let shown = |ns: f64| show((ns / record.ns).round(), series.unit.name());
        let mut values: Vec<f64> = all.iter().map(|parts| parts[part]).collect();
        values.sort_by(f64::total_cmp);
        let usual = values.get(values.len() / 2).copied().unwrap_or_default();
        format!("{} {} (median {})", shown(worst[part]), PARTS[part], shown(usual))
    };
    let parts = [0, 1, 2, 3].map(told).join(", ");
    Some(format!(
        "The worst took {parts}: from {SOURCE}, each moment to within {}.",
        show(DOUBT, "ns")
    ))
}

/// A moment of interest: the number of the task that it concerns, and its time in ns.
type Moment = (u32, f64);

/// The moments on one processor in the order of time.
#[derive(Default)]
pub struct Moments {
    /// The starts of interrupts' handlers, with the task that they interrupt.
    interrupts: Vec<Moment>,
    wakings: Vec<Moment>,
    /// The switches to tasks of the case.
    switches: Vec<Moment>,
}

impl Moments {
    /// Reads a record; `None` if it does not show which tasks are the case's, or lacks events.
    pub fn read(record: &str, cpu: u32) -> Option<Self> {
        let own = schedule::own(record)?;
        let mut moments = Self::default();
        for line in record.lines() {
            let event = match line::read(line) {
                Line::Event(event) if event.cpu == cpu => event,
                Line::Lost { cpu: lost, .. } if lost == cpu => return None,
                _ => continue,
            };
            let at = event.at as f64;
            match event.kind {
                EventKind::Enter { is_soft: false, .. } => {
                    moments.interrupts.push((event.task.id, at));
                }
                EventKind::Waking(task) if task.name == own => moments.wakings.push((task.id, at)),
                EventKind::Switch { after, .. } if after.name == own => {
                    moments.switches.push((after.id, at));
                }
                _ => {}
            }
        }
        Some(moments)
    }

    /// The lengths of the parts of a sample, whose sum is its length; `None` if a moment is not in
    /// the record: the task was not woken by an interrupt after the sample's start.
    pub fn split(&self, (from, to): (f64, f64)) -> Option<[f64; 4]> {
        let since = from - DOUBT;
        let (task, switched) = last(&self.switches, since, to + DOUBT, |_| true)?;
        let (_, woken) = last(&self.wakings, since, switched, |id| id == task)?;
        let (_, interrupt) = last(&self.interrupts, since, woken, |_| true)?;
        // The trace's times are rounded, so a moment may be outside the sample by less than that.
        let inside = |at: f64| at.clamp(from, to);
        let moments = [from, inside(interrupt), inside(woken), inside(switched), to];
        Some([0, 1, 2, 3].map(|part| moments[part + 1] - moments[part]))
    }
}

/// The last moment from `since` to `until` whose task is `wanted`.
fn last(
    moments: &[Moment],
    since: f64,
    until: f64,
    wanted: impl Fn(u32) -> bool,
) -> Option<Moment> {
    let end = moments.partition_point(|moment| moment.1 <= until);
    let back = moments[..end].iter().rev().take_while(|moment| moment.1 >= since);
    back.copied().find(|moment| wanted(moment.0))
}

#[cfg(test)]
mod tests {
    use super::{super::window::tests::case_of, *};

    const RECORD: &str = "# tracer: nop
#
# wakeup starts at 5000100000 ns
 chronoscope-7 [000] ..... 5.000000: tracing_mark_write: the case begins
 <idle>-0 [001] d.h2. 5.000103: local_timer_entry: vector=236
 <idle>-0 [001] d.h4. 5.000105: sched_waking: comm=chronoscope pid=8 prio=19 target_cpu=001
 <idle>-0 [001] d..2. 5.000110: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=chronoscope next_pid=8 next_prio=19
 chronoscope-8 [001] d..2. 5.000150: sched_switch: prev_comm=chronoscope prev_pid=8 prev_prio=19 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
 <idle>-0 [001] d.h2. 5.001112: local_timer_entry: vector=236
 <idle>-0 [001] d.h4. 5.001120: sched_waking: comm=chronoscope pid=8 prio=19 target_cpu=001
 <idle>-0 [001] d..2. 5.001135: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=chronoscope next_pid=8 next_prio=19
 chronoscope-8 [001] ..... 5.001500: tracing_mark_write: the case ends
";

    fn case(record: &str) -> CaseResult {
        // Two samples of 15 and 40 µs.
        let mut case = case_of(&[&[(0.0, 15e3), (1e6, 40e3)]]);
        case.experiment = "period".into();
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
    fn the_parts_of_the_worst_make_its_length() {
        assert_eq!(
            sentence_on(&case(RECORD)).unwrap(),
            "The worst took 12 µs until the timer's interrupt (median 12 µs), 8 µs until the wake-up \
             (median 8 µs), 15 µs until the switch to the task (median 15 µs), 5 µs until its mark \
             (median 5 µs): from the kernel's sched and irq events, each moment to within 1 µs."
        );
        let moments = Moments::read(RECORD, 1).unwrap();
        let first = moments.split((5_000_100_000.0, 5_000_115_000.0)).unwrap();
        assert_eq!(first, [3e3, 2e3, 5e3, 5e3]);
    }

    #[test]
    fn a_sample_without_its_moments_is_not_split() {
        let mut other = case(RECORD);
        other.experiment = "switch".into();
        let without = |words: &str| case(&RECORD.replace(words, "other"));
        let lost = case(&RECORD.replace(
            " <idle>-0 [001] d.h2. 5.001112",
            "CPU:1 [LOST 12 EVENTS]\n <idle>-0 [001] d.h2. 5.001112",
        ));
        for case in [&other, &lost, &without("local_timer_entry"), &without("sched_waking")] {
            assert_eq!(sentence_on(case), None);
        }
    }
}
