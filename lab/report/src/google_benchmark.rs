//! JSON in Google Benchmark's format (its `json_schema_version` 1), readable by its
//! `tools/compare.py`.
//!
//! Each measured series of a case, and each pin series, is one benchmark. Each repetition is one
//! entry of type `iteration`; two or more repetitions are followed by Google Benchmark's aggregates
//! mean, median, stddev and cv. The fields have these meanings:
//!
//! - `name`: the experiment and the requested parameters, as `switch/pair:thread-thread/tasks:2`;
//!   then the target if the run has several, and the series if the case has several. `transaction`
//!   is named as by Android's benchmarks: `BM_sendVec_binderize/64`.
//! - `real_time`: the **mean** of the repetition's samples, as in Google Benchmark, without the
//!   nominal part: 0.06 ms for a delay of 50 ms that took 50.06 ms, so that twice the lateness is
//!   twice the time. The counter `nominal` has the nominal part of a series that has one. The
//!   counters `p50`, `p99` and `max` add the distribution, likewise; `p99` is present when every
//!   repetition has enough samples for it.
//! - The counter `answer` is the figure that answers the experiment's question, as the longest wait
//!   of `masked`, in the repetition where it is a statistic of this series. The context's `answer` is
//!   the title of the whole run's answer.
//! - `cpu_time`: the mean of the case's series `processor time` if the experiment has one
//!   (`transaction`); otherwise 0: it was not measured, and compare.py ends with an error where the
//!   field is absent.
//! - `iterations`: the number of samples in the repetition.
//! - `time_unit`: `ns` for a time. Google Benchmark has no unit for instructions, cycles or counts,
//!   and compare.py ends with an error at any other than its own. Such values have the unit `s`,
//!   which nobody takes for a measured time: 1 s stands for one instruction. `label` says so, and a
//!   counter of the unit's name has the same mean.
//! - An inconclusive case without figures has `error_occurred` and the reason; a case that its
//!   kernel does not offer has `skipped`. Their times are 0, as in Google Benchmark.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    answer::{Answer, reading, terminal::plain},
    error::Result,
};
use chronoscope_run::{CaseResult, Repetition, Role, Run, SeriesResult, Statistic, Status, Unit};
use chronoscope_statistics::median;
use chronoscope_suite::spec::Figure;

#[derive(Serialize)]
struct File<'a> {
    context: Context<'a>,
    benchmarks: Vec<Entry>,
}

/// Google Benchmark's context object, in its order of fields. Unknown values are omitted, as there.
#[derive(Serialize)]
struct Context<'a> {
    date: &'a str,
    host_name: &'a str,
    executable: &'a str,
    num_cpus: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    mhz_per_cpu: Option<i64>,
    /// Always empty, which Google Benchmark writes for unknown caches.
    caches: [u8; 0],
    load_avg: &'a [f64],
    library_version: &'a str,
    library_build_type: &'a str,
    json_schema_version: u32,
    /// A custom field, which Google Benchmark's format allows.
    study: &'a str,
    /// A custom field: the title of the run's answer.
    answer: String,
}

/// A repetition of a benchmark or an aggregate over its repetitions, in Google Benchmark's order of
/// fields.
#[derive(Clone, Default, Serialize)]
pub(super) struct Entry {
    pub(super) name: String,
    family_index: usize,
    per_family_instance_index: usize,
    run_name: String,
    run_type: &'static str,
    repetitions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition_index: Option<usize>,
    threads: u32,
    #[serde(flatten)]
    pub(super) aggregate: Option<Aggregate>,
    #[serde(flatten)]
    pub(super) problem: Option<Problem>,
    pub(super) iterations: u64,
    pub(super) real_time: f64,
    pub(super) cpu_time: f64,
    pub(super) time_unit: &'static str,
    #[serde(flatten)]
    counters: BTreeMap<&'static str, f64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) label: String,
}

#[derive(Clone, Serialize)]
pub(super) struct Aggregate {
    aggregate_name: &'static str,
    pub(super) aggregate_unit: &'static str,
}

#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Problem {
    Error { error_occurred: bool, error_message: String },
    Skipped { skipped: bool, skip_message: String },
}

/// Renders a run in Google Benchmark's JSON format.
///
/// # Errors
/// When serialization fails; a run holds no value for which it does.
pub fn render(run: &Run) -> Result<String> {
    let context = &run.context;
    let file = File {
        context: Context {
            date: &context.date,
            host_name: &context.host,
            executable: context.command.first().map_or("", |word| word),
            num_cpus: context.processors,
            mhz_per_cpu: context.megahertz.map(|megahertz| megahertz.round() as i64),
            caches: [],
            load_avg: &context.load,
            library_version: &context.program,
            library_build_type: &context.build,
            json_schema_version: 1,
            study: &run.study,
            answer: plain(&Answer::from_run(run).title, false),
        },
        benchmarks: benchmarks(run),
    };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

pub(super) fn benchmarks(run: &Run) -> Vec<Entry> {
    let several_targets = run.cases.iter().any(|case| case.target != run.cases[0].target);
    // A family is an experiment on a target; its instances are numbered in run order.
    let mut families: Vec<(&str, &str, usize)> = Vec::new();
    let mut entries = Vec::new();
    for case in &run.cases {
        let known = families
            .iter()
            .position(|family| (family.0, family.1) == (&case.experiment, &case.target));
        let family_index = known.unwrap_or_else(|| {
            families.push((&case.experiment, &case.target, 0));
            families.len() - 1
        });
        let mut words = name(case);
        words.extend(several_targets.then(|| format!("target:{}", case.target)));
        let mut add = |name: String, expand: &dyn Fn(Entry) -> Vec<Entry>| {
            let instance = &mut families[family_index].2;
            let entry = Entry {
                name: name.clone(),
                family_index,
                per_family_instance_index: *instance,
                run_name: name,
                run_type: "iteration",
                repetitions: case.repetitions,
                threads: 1,
                time_unit: "ns",
                ..Entry::default()
            };
            *instance += 1;
            entries.extend(expand(entry));
        };
        let name = words.join("/");
        if let Some(problem) = problem(case) {
            add(name, &|entry| {
                vec![Entry { problem: Some(problem.clone()), repetition_index: Some(0), ..entry }]
            });
            continue;
        }
        let several = case.measured().count() > 1;
        for series in
            case.measured().chain(case.series.iter().filter(|series| series.role == Role::Pin))
        {
            let name = if several || series.role == Role::Pin {
                format!("{name}/{}", series.name)
            } else {
                name.clone()
            };
            add(name, &|entry| series_entries(case, series, entry));
        }
    }
    entries
}

/// The reason why a case has no figures; `None` when it has figures.
fn problem(case: &CaseResult) -> Option<Problem> {
    let message = case.verdict.reasons.join("; ");
    if case.verdict.status == Status::NotOffered {
        return Some(Problem::Skipped { skipped: true, skip_message: message });
    }
    let has_figures =
        case.is_proven() && case.measured().any(|series| !series.by_repetition.is_empty());
    (!has_figures).then_some(Problem::Error { error_occurred: true, error_message: message })
}

/// The parts of a case's benchmark name, which are joined by `/`.
fn name(case: &CaseResult) -> Vec<String> {
    let (in_name, mut words): (&[&str], _) = match case.experiment.as_str() {
        "transaction" => (&["transport", "size", "loops"], send_vec(case)),
        experiment => (&[], vec![experiment.to_owned()]),
    };
    let parts = case.label.parts();
    let given = parts.filter(|part| part.name().is_none_or(|name| !in_name.contains(&name)));
    words.extend(given.map(|part| part.text().replacen('=', ":", 1)));
    words
}

/// The name that Android's benchmarks of binder and hwbinder give a transaction case.
fn send_vec(case: &CaseResult) -> Vec<String> {
    let parameter = |name: &str| case.parameters.get(name).map_or("", |value| value);
    let transport = match parameter("transport") {
        "hwbinder" => "binderize",
        other => other,
    };
    let size = match parameter("size").parse::<u64>() {
        Ok(size) if size > 1024 && size % 1024 == 0 => format!("{}k", size / 1024),
        _ => parameter("size").to_owned(),
    };
    vec![format!("BM_sendVec_{transport}"), size]
}

fn series_entries(case: &CaseResult, series: &SeriesResult, entry: Entry) -> Vec<Entry> {
    let all = &series.by_repetition;
    // Each repetition has a single such sample and counts it as cold: the mean is of all
    // repetitions.
    let processor_time = case.series.iter().find(|series| series.name == "processor time");
    let processor_time = processor_time.and_then(|series| series.summary.mean).unwrap_or(0.0);
    let (time_unit, label) = match series.unit {
        Unit::Nanoseconds => ("ns", String::new()),
        other => ("s", format!("1 s stands for 1 of the unit: {other}")),
    };
    let entry = Entry { repetitions: all.len(), time_unit, label, ..entry };
    let repetitions: Vec<Entry> = all
        .iter()
        .enumerate()
        .map(|(index, repetition)| {
            let mean = repetition.mean;
            Entry {
                repetition_index: Some(index),
                iterations: repetition.count,
                real_time: mean,
                cpu_time: processor_time,
                counters: counters(case, series, repetition).collect(),
                ..entry.clone()
            }
        })
        .collect();
    let aggregates = if all.len() < 2 { Vec::new() } else { aggregates(&entry, &repetitions) };
    [repetitions, aggregates].concat()
}

/// The counters of a repetition: the headline statistics that every repetition of the series has, the
/// figure that answers the experiment's question, the nominal part, which is in none of them, and the
/// mean under the name of a unit that is no time.
fn counters(
    case: &CaseResult,
    series: &SeriesResult,
    repetition: &Repetition,
) -> impl Iterator<Item = (&'static str, f64)> {
    let nominal = (series.nominal != 0.0).then_some(("nominal", series.nominal));
    let headlines = Statistic::headlines().filter_map(|statistic| {
        let of = statistic.headline?;
        let value =
            of(repetition).filter(|_| series.by_repetition.iter().all(|one| of(one).is_some()));
        Some((statistic.name, value?))
    });
    let unit = series.unit;
    let mean = (unit != Unit::Nanoseconds).then_some((unit.name(), repetition.mean));
    headlines.chain(nominal).chain(mean).chain(answer(case, series, repetition))
}

/// The counter with the figure that answers the experiment's question; `None` where another series
/// has it, or a repetition lacks it.
fn answer(
    case: &CaseResult,
    series: &SeriesResult,
    repetition: &Repetition,
) -> Option<(&'static str, f64)> {
    let (figure, _) = reading::figures(reading::find(&case.experiment)?);
    let value = match figure {
        Figure::Named(name) => case.figure(name)?.value,
        Figure::First(statistic) | Figure::Last(statistic) | Figure::Of(_, statistic) => {
            let of = Statistic::find(statistic)?.headline?;
            let is_in_all = series.by_repetition.iter().all(|one| of(one).is_some());
            let is_its =
                reading::series_of(case, figure).is_some_and(|one| one.name == series.name);
            of(repetition).filter(|_| is_its && is_in_all)?
        }
    };
    Some(("answer", value))
}

type OverRepetitions = fn(&[f64]) -> f64;

/// The aggregates over repetitions, in Google Benchmark's order.
const AGGREGATES: [(&str, &str, OverRepetitions); 4] =
    [
        ("mean", "time", mean),
        ("median", "time", |values| median(values).unwrap_or(0.0)),
        ("stddev", "time", deviation),
        // The coefficient of variation; 0 where the mean is.
        ("cv", "percentage", |values| {
            if mean(values) == 0.0 { 0.0 } else { deviation(values) / mean(values) }
        }),
    ];

fn aggregates(entry: &Entry, repetitions: &[Entry]) -> Vec<Entry> {
    let over = |value: &dyn Fn(&Entry) -> f64| repetitions.iter().map(value).collect::<Vec<f64>>();
    let aggregate = |(name, unit, over_all): &(&'static str, &'static str, OverRepetitions)| {
        let names = repetitions[0].counters.keys();
        Entry {
            name: format!("{}_{name}", entry.run_name),
            run_type: "aggregate",
            aggregate: Some(Aggregate { aggregate_name: name, aggregate_unit: unit }),
            iterations: repetitions.len() as u64,
            real_time: over_all(&over(&|one| one.real_time)),
            cpu_time: over_all(&over(&|one| one.cpu_time)),
            counters: names
                .map(|name| (*name, over_all(&over(&|one| one.counters[name]))))
                .collect(),
            ..entry.clone()
        }
    };
    AGGREGATES.iter().map(aggregate).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample standard deviation (n − 1). `values` must hold at least two.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}
