//! The samples of the kernel's own tracer timerlat, for cases beside which it ran: how late its
//! timer's interrupt came, and how late its thread ran. The samples measure timerlat's thread in
//! the kernel, and not the case's task.

use super::{
    account::{Noises, took},
    schedule::Record,
    split,
    window::RepetitionSamples,
};
use crate::{timeline::ftrace::line, timeline::ftrace::line::Line};
use chronoscope_run::{CaseResult, SeriesResult};
use chronoscope_units::{count, show};

/// The source of the samples.
pub const SOURCE: &str = "the kernel's tracer timerlat, of its own thread";

/// The parts of a sample.
pub const PARTS: [&str; 2] = ["interrupt latency", "from the interrupt to the thread"];

/// A sample of timerlat, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The time at which the thread ran, by the trace's clock.
    pub at: f64,
    /// From the due time to the timer's interrupt.
    pub interrupt: f64,
    /// From the due time to the thread.
    pub thread: f64,
}

/// The samples in a record whose interrupt and thread are both in it, in the order of time.
pub fn samples(record: &Record<'_>) -> Vec<Latency> {
    let (mut samples, mut interrupt) = (Vec::new(), None);
    for line in record.text.lines() {
        let Line::Event(event) = line::read(line) else { continue };
        match event.kind {
            _ if event.cpu != record.cpu => {}
            line::EventKind::Latency { is_thread: false, ns } => interrupt = Some(ns as f64),
            line::EventKind::Latency { is_thread: true, ns } => {
                let known = interrupt.take();
                samples.extend(known.map(|interrupt| Latency {
                    at: event.at as f64,
                    interrupt,
                    thread: ns as f64,
                }));
            }
            _ => {}
        }
    }
    samples
}

/// Says what timerlat measured, and what osnoise's events account for within the worst sample.
pub fn sentence(
    case: &CaseResult,
    series: &SeriesResult,
    repetition: &RepetitionSamples,
) -> Option<String> {
    let record = Record::new(case, series, repetition).filter(|_| split::fits(case))?;
    let samples = samples(&record);
    let told = |ns: f64| show((ns / record.ns).round(), series.unit.name());
    let both = |of: fn(&Latency) -> f64| {
        let mut all: Vec<f64> = samples.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        Some(format!("{} (median {})", told(*all.last()?), told(all[(all.len() - 1) / 2])))
    };
    let (interrupt, thread) = (both(|it| it.interrupt)?, both(|it| it.thread)?);
    Some(format!(
        "The kernel's tracer timerlat, with a thread of its own beside the case: interrupt latency at \
         worst {interrupt}, thread latency {thread}, of {} samples.{}",
        count(samples.len() as f64),
        account(&record, repetition, &told).unwrap_or_default()
    ))
}

/// The sentence on the disturbances within the worst sample; `None` if osnoise's events show none.
fn account(
    record: &Record<'_>,
    repetition: &RepetitionSamples,
    told: &dyn Fn(f64) -> String,
) -> Option<String> {
    let (noises, span) = (Noises::read(record)?, record.span(&repetition.worst()));
    let took = took(&noises.of_osnoise(span)?, told);
    (!took.is_empty()).then(|| {
        format!(" While the case's worst was taken, {}: from {}.", took.join(", "), noises.source())
    })
}

#[cfg(test)]
mod tests {
    use super::{super::schedule::tests, *};

    const LATENCIES: &str =
        "     chronoscope-8  [001] d.h1. 5.000302: #1     context    irq timer_latency      1500 ns
     timerlat/1-44  [001] ..... 5.000304: #1     context thread timer_latency      4500 ns
     timerlat/1-44  [001] ..... 5.000305: #2     context thread timer_latency      9500 ns
     chronoscope-8  [001] d..2. 5.000306: thread_noise: kworker/1:2:9 start 9.9 duration 12000 ns
";

    fn case() -> CaseResult {
        let before = "     chronoscope-8  [001] d.h2. 5.000310";
        let mut case =
            tests::case(&tests::RECORD.replace(before, &(LATENCIES.to_owned() + before)));
        case.experiment = "period".into();
        case
    }

    #[test]
    fn interrupt_and_thread_are_told_apart() {
        let case = case();
        let repetition = RepetitionSamples::with_worst(&case, &case.series[0]).unwrap();
        assert_eq!(
            sentence(&case, &case.series[0], &repetition).unwrap(),
            "The kernel's tracer timerlat, with a thread of its own beside the case: interrupt \
             latency at worst 1.50 µs (median 1.50 µs), thread latency 4.50 µs (median 4.50 µs), \
             of 1 samples."
        );
    }

    #[test]
    fn nothing_is_said_without_the_tracer() {
        let mut without = tests::case(tests::RECORD);
        without.experiment = "period".into();
        let repetition = RepetitionSamples::with_worst(&without, &without.series[0]).unwrap();
        assert_eq!(sentence(&without, &without.series[0], &repetition), None);
        let mut other = case();
        other.experiment = "wakeup".into();
        assert_eq!(sentence(&other, &other.series[0], &repetition), None);
    }
}
