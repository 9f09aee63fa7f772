//! The finding of several cases of one experiment: each case's figure that answers the
//! experiment's question, beside the words that tell the cases apart.

use std::collections::BTreeSet;

use chronoscope_run::{CaseResult, Label, Run};
use chronoscope_suite::spec::{Better, Decides, Reading};

use super::{
    ranking::{self, is_best},
    reading,
    rule::{self, kernel, kinds, label, machine, proper},
    span::{self, Span, multiple},
};

/// The most cases that a sentence names one by one.
const NAMED: usize = 3;

/// A case with its answer.
struct Entry<'a> {
    case: &'a CaseResult,
    label: Label,
    span: Span,
    /// The name of the figure's series; empty for a figure of its own.
    series: &'a str,
    /// The case has no other series.
    is_alone: bool,
}

impl Entry<'_> {
    /// Returns whether both figures are of one series: a label may select another one.
    fn is_like(&self, other: (&str, bool)) -> bool {
        self.series == other.0 || (self.is_alone && other.1)
    }
}

/// The sentence on the cases of an experiment, without its first capital. `None` where one case, or
/// several that agree, leave nothing to compare.
pub fn sentence(run: &Run, experiment: &str) -> Option<String> {
    let reading = reading::find(experiment)?;
    let (figure, _) = reading::figures(reading);
    let proven = rule::usual_builds(run).filter(|case| case.experiment == experiment);
    let entry = |case| {
        // A case with few samples has no median.
        let usual = reading::span(case, figure);
        let span = usual.or_else(|| reading::span(case, reading.worst?))?;
        let span =
            if reading.decides == Decides::Worst { span.worst(&reading.better) } else { span };
        let series = reading::series_of(case, figure).map_or("", |series| &*series.name);
        let is_alone = case.measured().nth(1).is_none();
        Some(Entry { case, label: label(run, case), span, series, is_alone })
    };
    let mut entries: Vec<Entry<'_>> = proven.filter_map(entry).collect();
    let unit = entries.first()?.span.unit.clone();
    let here = machine(entries[0].case).to_owned();
    // Clocks are never compared; machines are only where the kernel is the same.
    let several_kernels = entries.iter().any(|one| kernel(one.case) != kernel(entries[0].case));
    entries.retain(|entry| entry.span.unit == unit);
    let all = entries.len();
    entries.retain(|entry| !several_kernels || machine(entry.case) == here);
    let place = if entries.len() < all { format!(" on {here}") } else { String::new() };
    let Chosen { condition, alike } = choose(&mut entries)?;
    entries.sort_by(|one, other| one.span.number().total_cmp(&other.span.number()));
    if reading.better == Better::More {
        entries.reverse();
    }
    Some(compared(reading, &entries, &condition) + &place + &alike)
}

/// The words about a choice of cases.
struct Chosen {
    /// The words that the chosen cases share and others lack; may be empty.
    condition: String,
    /// The targets that the chosen ones stand for; may be empty.
    alike: String,
}

/// Keeps the cases that show most: the targets with one label, or where those tie with each label,
/// the labels of one target. `None` where all cases agree.
fn choose(entries: &mut Vec<Entry<'_>>) -> Option<Chosen> {
    let labels: BTreeSet<Label> = entries.iter().map(|entry| entry.label.clone()).collect();
    let targets: BTreeSet<&str> = entries.iter().map(|entry| &*entry.case.target).collect();
    let several = targets.len() > 1;
    let of_label = labels.iter().filter_map(|label| {
        let values = values(entries, |entry| entry.label == *label);
        (values.len() > 1).then(|| (spread(&values), label))
    });
    let first = entries.first().map(|entry| (entry.series, entry.is_alone))?;
    let is_of =
        |entry: &Entry<'_>, target: &str| *entry.case.target == *target && entry.is_like(first);
    let of_target = targets.iter().filter_map(|target| {
        let values = values(entries, |entry| is_of(entry, target));
        (values.len() > 1).then(|| (spread(&values), *target))
    });
    let apart = if several { of_label.reduce(greater) } else { None };
    let changing = of_target.reduce(greater);
    match (apart, changing) {
        (Some((spread, _)), Some((changes, target)))
            if spread <= 1.0 + ALIKE && changes > 1.0 + CHANGED =>
        {
            let alike = match targets.len() {
                2 => "; both are alike".to_owned(),
                count => format!("; all {count} are alike"),
            };
            let target = target.to_owned();
            entries.retain(|entry| is_of(entry, &target));
            Some(Chosen { condition: String::new(), alike })
        }
        (Some((_, label)), _) => {
            let condition = if labels.len() > 1 { label.to_string() } else { String::new() };
            let label = label.clone();
            entries.retain(|entry| entry.label == label);
            Some(Chosen { condition, alike: String::new() })
        }
        (None, Some(_)) if !several => {
            entries.retain(|entry| entry.is_like(first));
            let chosen = Chosen { condition: String::new(), alike: String::new() };
            (!agree(entries)).then_some(chosen)
        }
        (None, _) => None,
    }
}

/// The share by which targets differ at most that count as alike.
const ALIKE: f64 = 0.02;

/// The share from which the values of a parameter are worth a title.
const CHANGED: f64 = 0.1;

fn values(entries: &[Entry<'_>], is_of: impl Fn(&Entry<'_>) -> bool) -> Vec<f64> {
    entries.iter().filter(|entry| is_of(entry)).map(|entry| entry.span.number()).collect()
}

/// The one with the greater spread; the first one of two that are equal.
fn greater<T>(one: (f64, T), other: (f64, T)) -> (f64, T) {
    if other.0 > one.0 { other } else { one }
}

/// The greatest value as a multiple of the least.
fn spread(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most <= least { 1.0 } else { most / least }
}

/// Returns whether the figures of all cases, which have one unit, are within a tenth of their middle.
fn agree(entries: &[Entry<'_>]) -> bool {
    let [first, rest @ ..] = entries else { return true };
    let all = rest.iter().try_fold(first.span.clone(), |all, one| all.and(&one.span));
    rest.is_empty() || all.is_some_and(|all| all.agrees())
}

/// The words of the experiment, then each case, the best first, by the words that tell it apart. Of
/// many cases, only the best and the worst are named.
fn compared(reading: &Reading, entries: &[Entry<'_>], condition: &str) -> String {
    let words = reading.compared;
    let condition = if condition.is_empty() { String::new() } else { format!(" with {condition}") };
    let values: Vec<f64> = entries.iter().map(|entry| entry.span.number()).collect();
    let times = spread(&values);
    // Of instructions and cycles, one more is a difference.
    let is_counted = entries.first().is_some_and(|entry| span::is_long(&entry.span.unit));
    let are_alike = || entries.iter().all(|entry| entry.span.words() == entries[0].span.words());
    if times == 1.0 || is_best(times, 1.0) && (!is_counted || are_alike()) {
        let all =
            if entries.len() == 2 { "both".to_owned() } else { format!("all {}", entries.len()) };
        return format!("{words} {} in {all}{condition}", entries[0].span.words());
    }
    let shown: Vec<&Entry<'_>> = match entries {
        [first, .., last] if entries.len() > NAMED => vec![first, last],
        all => all.iter().collect(),
    };
    let count = shown.len();
    let values: Vec<String> = shown.iter().map(|entry| entry.span.words()).collect();
    // Of equal units, the first one stands for all.
    let has_first = |unit: &&&str| values[0].ends_with(**unit);
    let unit = ["instructions", "cycles", "B"].iter().find(has_first);
    let each = shown.iter().zip(&values).enumerate().map(|(place, (entry, value))| {
        let short = unit.filter(|_| place > 0).and_then(|unit| value.strip_suffix(unit));
        format!("{} {}", short.unwrap_or(value).trim_end(), name(entry, entries, &shown))
    });
    let each: Vec<String> = each.collect();
    let of_all =
        if entries.len() > count { format!(" of {}", entries.len()) } else { String::new() };
    let join = if entries.len() > count { " to " } else { ", " };
    let times = if times >= 2.0 && times.is_finite() && count == 2 {
        format!(" ({})", multiple(times))
    } else {
        String::new()
    };
    format!("{words} {}{of_all}{condition}{times}", each.join(join))
}

/// The words that tell a case from the others, after their preposition: its kernel, its machine, its
/// target, or its part of the label. Of the cases that are `shown`, a difference in the kind of task
/// is said.
fn name(entry: &Entry<'_>, entries: &[Entry<'_>], shown: &[&Entry<'_>]) -> String {
    let differ = |part: fn(&CaseResult) -> &str| {
        entries.iter().any(|other| part(other.case) != part(entry.case))
    };
    let kind = |entry: &Entry<'_>| ranking::kind(entry.case).unwrap_or_default();
    let own = kind(entry);
    match (differ(kernel), differ(machine)) {
        // Kinds of task do not do the same work.
        (true, false) if !own.is_empty() && shown.iter().any(|other| kind(other) != own) => {
            format!("in {} ({})", proper(kernel(entry.case)), kinds(&own))
        }
        (true, false) => format!("in {}", proper(kernel(entry.case))),
        (false, true) => format!("on {}", machine(entry.case)),
        (true, true) => format!("in {}", entry.case.target),
        (false, false) => {
            let own = entry.label.filtered(|part| entries.iter().any(|one| !one.label.has(part)));
            let mut parts = own.parameters();
            match (parts.next(), parts.next()) {
                // A word speaks for itself, unless it says no; a number needs its name.
                (Some((_, word)), None)
                    if word.parse::<f64>().is_err() && !["none", "no", "yes"].contains(&word) =>
                {
                    format!("with {word}")
                }
                _ => format!("with {own}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use chronoscope_run::{Domain, SeriesResult, Unit, sample};
    use chronoscope_suite::{experiments::EXPERIMENTS, spec::Figure};

    /// A run of one experiment in instructions: target, label, median and maximum of each case.
    fn run(experiment: &str, cases: &[(&str, &str, f64, f64)]) -> Run {
        let mut run = sample::run();
        let cases = cases.iter().map(|&(target, label, p50, max)| {
            let mut case = sample::case("switch", label);
            (case.experiment, case.target) = (experiment.into(), target.into());
            case.clock.as_mut().unwrap().domain = Domain::Instructions;
            for series in &mut case.series {
                series.unit = Unit::Instructions;
                (series.summary.p50, series.summary.max) = (Some(p50), Some(max));
            }
            case
        });
        run.cases = cases.collect();
        run
    }

    fn words(experiment: &str, cases: &[(&str, &str, f64, f64)]) -> Option<String> {
        let text = sentence(&run(experiment, cases), experiment);
        text.map(|text| text.replace(['\u{a0}', '\u{202f}'], " "))
    }

    #[test]
    fn the_figure_that_decides_is_compared() {
        let late = [
            ("linux-none@vm", "load=none", 3_000.0, 4_000.0),
            ("linux-rt@vm", "load=none", 3_500.0, 4_100.0),
            ("linux-none@vm", "load=mmap", 4_000.0, 377_371.0),
            ("linux-rt@vm", "load=mmap", 4_100.0, 4_854.0),
        ];
        assert_eq!(
            words("period", &late).unwrap(),
            "a periodic task starts late by at most 4 854 instructions in linux-rt, 377 371 in \
             linux-none with load=mmap (78 ×)"
        );
    }

    #[test]
    fn one_instruction_more_is_a_difference() {
        let of = |other: f64| {
            let cases = [("a@rv32", "", 184.0, 184.0), ("b@rv32", "", other, other)];
            words("switch", &cases).unwrap()
        };
        assert!(of(184.0).contains("184 instructions in both"), "{}", of(184.0));
        assert!(of(185.0).contains("184 instructions in a, 185 in b"), "{}", of(185.0));
    }

    /// Every experiment, with 1, 2 and 5 targets, and with 1 and 3 values of a parameter.
    #[test]
    fn the_answer_of_every_experiment_is_in_the_title() {
        let names = ["a@rv32", "b@rv32", "c@rv32", "d@rv32", "e@rv32"];
        for spec in EXPERIMENTS {
            let reading = reading::find(spec.name).unwrap();
            for (targets, values) in [(1, 1), (1, 3), (2, 1), (2, 3), (5, 1), (5, 3)] {
                let mut run = sample::run();
                run.cases.clear();
                for (place, target) in names[..targets].iter().enumerate() {
                    for value in 0..values {
                        let label = format!("tasks={value}");
                        let mut case = sample::case("switch", if values > 1 { &label } else { "" });
                        case.experiment = spec.name.into();
                        case.target = (*target).into();
                        let own = 1000.0 * (place * 10 + value + 1) as f64;
                        set(&mut case, reading::figures(reading).0, own);
                        run.cases.push(case);
                    }
                }
                let answer = Answer::from_run(&run);
                let title = answer.title.replace(['\u{a0}', '\u{202f}'], " ");
                let context = format!("{} × {targets} × {values}: {title}", spec.name);
                let finds = |value: usize| {
                    let (us, ticks) = (format!("{value} µs"), format!("{value}000"));
                    title.contains(&us) || title.contains(&ticks)
                };
                // The greatest ratio is where the first target's value is the least: 1 to 10 n + 1.
                assert!(
                    finds(1) || values > 1 && targets == 1 && title.contains("1–3"),
                    "{context}"
                );
                assert!(targets < 2 || finds((targets - 1) * 10 + 1), "{context}");
                assert!(targets > 1 || values < 2 || title.contains('3'), "{context}");
            }
        }
    }

    /// Gives a case the figure that decides, in place of the sample's figures.
    fn set(case: &mut CaseResult, figure: Figure, value: f64) {
        let summarize = |series: &mut SeriesResult, value: f64| {
            series.by_repetition.clear();
            let summary = &mut series.summary;
            (summary.p50, summary.p99, summary.max) = (Some(value), Some(value), Some(value));
        };
        match figure {
            Figure::Of(name, _) => case.series[0].name = name.into(),
            Figure::Named(name) => case.figures = vec![sample::figure(name, "ns", value)],
            Figure::First(_) | Figure::Last(_) => {}
        }
        case.series.iter_mut().for_each(|series| summarize(series, value));
    }

    #[test]
    fn a_tie_is_named_as_such() {
        let same = [("tandem@cortex-m4", "", 46.0, 46.0), ("freertos@cortex-m4", "", 46.0, 99.0)];
        assert_eq!(words("switch", &same).unwrap(), "a switch takes 46 instructions in both");
    }

    #[test]
    fn names_are_what_differs() {
        let kernels =
            [("tandem@cortex-m4", "", 46.0, 46.0), ("freertos@cortex-m4", "", 102.0, 102.0)];
        assert_eq!(
            words("switch", &kernels).unwrap(),
            "a switch takes 46 instructions in tandem, 102 in FreeRTOS (2.2 ×)"
        );
        let machines = [("tandem@cortex-m4", "", 46.0, 46.0), ("tandem@cortex-m3", "", 60.0, 60.0)];
        assert_eq!(
            words("switch", &machines).unwrap(),
            "a switch takes 46 instructions on cortex-m4, 60 on cortex-m3"
        );
        let values = [
            ("tandem@cortex-m4", "tasks=2", 46.0, 46.0),
            ("tandem@cortex-m4", "tasks=30", 80.0, 80.0),
        ];
        assert_eq!(
            words("switch", &values).unwrap(),
            "a switch takes 46 instructions with tasks=2, 80 with tasks=30"
        );
    }

    #[test]
    fn of_many_cases_the_ends_are_named() {
        let many: Vec<(&str, &str, f64, f64)> = ["a", "b", "c", "d", "e"]
            .iter()
            .zip(1..)
            .map(|(name, size)| (*name, "", 10.0 * f64::from(size), 50.0))
            .collect();
        let many: Vec<(String, f64)> =
            many.iter().map(|one| (format!("{}@rv32", one.0), one.2)).collect();
        let many: Vec<(&str, &str, f64, f64)> =
            many.iter().map(|(target, p50)| (target.as_str(), "", *p50, 50.0)).collect();
        assert_eq!(
            words("switch", &many).unwrap(),
            "a switch takes 10 instructions in a to 50 in e of 5 (5.0 ×)"
        );
    }

    #[test]
    fn one_case_and_cases_that_agree_have_nothing_to_compare() {
        assert_eq!(words("switch", &[("tandem@rv32", "", 46.0, 46.0)]), None);
        let near = [("tandem@rv32", "tasks=2", 46.0, 46.0), ("tandem@rv32", "tasks=3", 47.0, 47.0)];
        assert_eq!(words("switch", &near), None);
    }
}
