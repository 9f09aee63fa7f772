//! Names the functions that took more cycles in the worst sample than in one of median length, from
//! the bench board's retirement trace. It reads a case's attachments and makes a sentence; it does
//! not know where that is shown.
//!
//! Pins and trace share a clock, the board's cycles. The samples are matched with the edges of a
//! pin, or of the bench's stimulus line, and only an unambiguous match is used.

use std::{cmp::Ordering, collections::BTreeMap};

use super::window::{RepetitionSamples, Window};
use crate::{timeline::board, timeline::board::Run};
use chronoscope_capture::{Capture, Channel};
use chronoscope_run::{CaseResult, SeriesResult, Unit, names, names::CAPTURE, names::RUNS};
use chronoscope_units::printable;

/// The most functions that are named.
const NAMED: usize = 3;

/// The first cycle of a span, and the cycle at which it ends.
type Span = (u64, u64);

pub fn sentence(
    case: &CaseResult,
    series: &SeriesResult,
    repetition: &RepetitionSamples,
) -> Option<String> {
    // Only the first repetition's trace is kept.
    let text = case
        .attachments
        .get(RUNS)
        .filter(|_| repetition.index == 0 && series.unit == Unit::Cycles)?;
    let (runs, skipped) = board::read(text);
    let capture = Capture::from_vcd(CAPTURE, case.attachments.get(CAPTURE)?.as_bytes()).ok()?;
    let by_pin =
        by_pin(case, series, repetition, &capture).map(|spans| ("By its pin the worst", spans));
    let (who, spans) = by_pin.or_else(|| Some(("The worst", by_line(repetition, &capture)?)))?;
    let first = runs.first().filter(|_| skipped == 0)?.start;
    let last = runs.last()?.end;
    // The cycles before the trace's first instruction, from the trigger on, are attributed to that
    // instruction.
    let trigger =
        capture.channel("D0").ok()?.edges().find_map(|(at, level)| level.then_some(at))?;
    let is_traced = |(from, to): &Span| (*from >= first || *from == trigger) && *to <= last;
    let worst = Some(spans[repetition.place]).filter(is_traced)?;
    let mut traced: Vec<Span> = spans.into_iter().filter(is_traced).collect();
    traced.sort_by_key(|(from, to)| to - from);
    let median = traced[(traced.len() - 1) / 2];
    let (length, usual) = (worst.1 - worst.0, median.1 - median.0);
    let more = length.checked_sub(usual).filter(|more| *more > 0)?;
    let (spent, usually) = (spent(&runs, worst), spent(&runs, median));
    let excess = |(name, cycles): (&&str, &u64)| {
        let more = cycles.saturating_sub(usually.get(name).copied().unwrap_or_default());
        (more > 0).then(|| (printable(name), more))
    };
    let mut excess: Vec<(String, u64)> = spent.iter().filter_map(excess).collect();
    excess.sort_by_key(|(_, more)| std::cmp::Reverse(*more));
    let named: Vec<String> =
        excess.iter().take(NAMED).map(|(name, more)| format!("{name} {more} more")).collect();
    let named_more: u64 = excess.iter().take(NAMED).map(|(_, more)| more).sum();
    let rest = match named_more.cmp(&more) {
        Ordering::Less => format!(", all others {} more", more - named_more),
        Ordering::Equal => String::new(),
        Ordering::Greater => format!(", all others {} less", named_more - more),
    };
    let named = named.join(", ");
    Some(format!(
        "{who} took {length} cycles, {more} more than one of median length: {named}{rest}."
    ))
}

/// The span of each sample of the repetition between edges of the series' pin; `None` if no pin or
/// more than one matches.
fn by_pin(
    case: &CaseResult,
    series: &SeriesResult,
    repetition: &RepetitionSamples,
    capture: &Capture,
) -> Option<Vec<Span>> {
    let name = names::by_pin(&series.name);
    let shown =
        RepetitionSamples::first(case, case.series.iter().find(|other| other.name == name)?)?;
    // Marks and pin show the same samples, in the same order, unless some samples begin elsewhere.
    let least = shown.windows.iter().map(|window| window.length).fold(f64::INFINITY, f64::min);
    let is_near = |(one, other): (&Window, &Window)| (one.start - other.start).abs() < least / 2.0;
    if shown.windows.len() != repetition.windows.len()
        || !repetition.windows.iter().zip(&shown.windows).all(is_near)
    {
        return None;
    }
    let pulses = |channel: &Channel| {
        channel.pulses(true).map(|pulse| (pulse.at, pulse.at + pulse.width)).collect()
    };
    let between =
        |channel: &Channel| channel.edges.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let all = capture.channels.iter().flat_map(|channel| [pulses(channel), between(channel)]);
    only(all.filter(|spans: &Vec<Span>| shown.is_at(spans)))
}

/// The span of each sample that starts at a rising line (the bench's stimulus) instead of a mark;
/// `None` if no line or more than one matches.
fn by_line(repetition: &RepetitionSamples, capture: &Capture) -> Option<Vec<Span>> {
    let rises = |channel: &Channel| -> Vec<u64> {
        channel.edges().filter_map(|(at, level)| level.then_some(at)).collect()
    };
    let spans = |rises: Vec<u64>| {
        let origin = *rises.first()?;
        let span = |(window, rise): (&Window, &u64)| {
            let is_same = window.start == (rise - origin) as f64 + repetition.nominal;
            is_same
                .then(|| (*rise, rise.saturating_add((window.length + repetition.nominal) as u64)))
        };
        repetition
            .windows
            .iter()
            .zip(&rises)
            .map(span)
            .collect::<Option<Vec<_>>>()
            .filter(|_| rises.len() == repetition.windows.len())
    };
    only(capture.channels.iter().filter_map(|channel| spans(rises(channel))))
}

/// The only item; `None` if there are none or several.
fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    all.next().filter(|_| all.next().is_none())
}

impl RepetitionSamples {
    /// `true` if the samples begin and end exactly at these spans, to the cycle.
    fn is_at(&self, spans: &[Span]) -> bool {
        let Some(&(origin, _)) = spans.first() else { return false };
        let is_same = |(window, (from, to)): (&Window, &Span)| {
            window.start == (from - origin) as f64 + self.nominal
                && window.length + self.nominal == (to - from) as f64
        };
        self.windows.len() == spans.len() && self.windows.iter().zip(spans).all(is_same)
    }
}

/// The cycles of each function within a span.
fn spent<'a>(runs: &[Run<'a>], (from, to): Span) -> BTreeMap<&'a str, u64> {
    let mut spent = BTreeMap::new();
    let next = runs.partition_point(|run| run.end <= from);
    for (index, run) in runs[next..].iter().enumerate().take_while(|(_, run)| run.start < to) {
        let start = if next + index == 0 { from } else { run.start.max(from) };
        *spent.entry(run.name).or_default() += run.end.min(to) - start;
    }
    spent
}

#[cfg(test)]
mod tests {
    use super::{super::window::tests::case_of, *};
    use chronoscope_capture::{Sampling, Tick};
    use chronoscope_run::sample;

    /// Two pulses of D0 before the worst and one after it; the line rises slightly earlier.
    const PULSES: [Span; 4] = [(1000, 1020), (1100, 1121), (1200, 1290), (1400, 1420)];

    fn capture(pulses: &[Span]) -> String {
        let channel =
            |name: &str, edges: Vec<u64>| Channel { name: name.to_owned(), initial: false, edges };
        let capture = Capture {
            source: String::new(),
            tick: Tick::NANOSECOND,
            sampling: Sampling::Exact,
            start: 0,
            end: 2000,
            channels: vec![
                channel("D0", pulses.iter().flat_map(|(from, to)| [*from, *to]).collect()),
                channel("irq", vec![990, 995, 1095, 1097, 1189, 1195, 1393, 1395]),
            ],
        };
        let mut dump = Vec::new();
        capture.to_vcd(&mut dump).unwrap();
        String::from_utf8(dump).unwrap()
    }

    /// A case with samples by marks, and by the pin too unless the samples start at the line.
    fn case(samples: &[(f64, f64)], has_pin: bool) -> CaseResult {
        let mut case = case_of(&[samples]);
        case.series[0].unit = Unit::Cycles;
        if has_pin {
            let by_pin: Vec<(f64, f64)> = PULSES
                .iter()
                .map(|(from, to)| ((from - 1000) as f64, (to - from) as f64))
                .collect();
            let name = names::by_pin(&case.series[0].name);
            let beside = case_of(&[&by_pin]).series.swap_remove(0);
            case.series.push(SeriesResult { name: name.into(), ..beside });
        }
        case.attachments.insert(CAPTURE.into(), capture(&PULSES));
        let runs = "1003 1015 give\n1015 1100 idle\n1100 1121 give\n1121 1200 idle\n1200 1220 give\n1220 1288 masked\n\
                    1288 1400 give\n1400 1420 give\n";
        case.attachments.insert(RUNS.into(), runs.to_owned());
        case
    }

    fn marked() -> CaseResult {
        case(&[(0.0, 18.0), (101.0, 19.0), (200.0, 88.0), (399.0, 18.0)], true)
    }

    fn sentence_on(case: &CaseResult) -> Option<String> {
        sentence(case, &case.series[0], &RepetitionSamples::with_worst(case, &case.series[0])?)
    }

    #[test]
    fn the_functions_that_took_longer_are_named() {
        let told = sentence_on(&marked()).unwrap();
        let expected = "By its pin the worst took 90 cycles, 70 more than one of median length: masked 68 more, give 2 more.";
        assert_eq!(told, expected);
    }

    #[test]
    fn a_sample_may_start_at_the_line() {
        let told =
            sentence_on(&case(&[(0.0, 30.0), (105.0, 26.0), (199.0, 101.0), (403.0, 27.0)], false))
                .unwrap();
        assert!(
            told.starts_with(
                "The worst took 101 cycles, 74 more than one of median length: masked 68 more"
            ),
            "{told}"
        );
    }

    #[test]
    fn what_is_not_matched_is_not_told() {
        let mut elsewhere = marked();
        elsewhere.series.last_mut().unwrap().samples[2].1 += 1.0;
        let mut early = marked();
        early.attachments.insert(RUNS.into(), "1003 1210 give\n".to_owned());
        let mut two_pins = marked();
        two_pins.attachments.insert(CAPTURE.into(), capture(&PULSES).replace("irq", "D1"));
        let mut no_trace = marked();
        no_trace.attachments.remove(RUNS);
        assert!(sentence_on(&two_pins).is_some(), "the other pin shows something else");
        for case in [&elsewhere, &early, &no_trace, &sample::case("switch", "")] {
            assert_eq!(sentence_on(case), None);
        }
    }
}
