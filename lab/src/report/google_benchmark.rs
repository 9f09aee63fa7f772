//! JSON as Google Benchmark writes it (its `json_schema_version` 1), so that its `tools/compare.py` reads it.
//!
//! Each measured series of a case, and each that a pin shows of those, is one benchmark, each repetition one entry of type `iteration`, followed by the
//! aggregates that Google Benchmark makes of two repetitions or more: mean, median, stddev, cv. What its words
//! mean here:
//!
//! - `name`: `switch/pair:thread-thread/tasks:2`, from the parameters that were asked for; after them the target
//!   where a run has several, and the series where a case has several. `transaction` is named as Android's benchmarks name it:
//!   `BM_sendVec_binderize/64`.
//! - `real_time`: the **mean** of the repetition's samples, as in Google Benchmark; with the nominal part (a delay of 50 ms is
//!   told as 50.06 ms). The counters `p50`, `p99` and `max` tell what a mean hides; `p99` is there when every repetition
//!   had the samples for it.
//! - `cpu_time`: the mean of the case's series `processor time`, where the experiment has one (`transaction`); else the same as
//!   `real_time`, because compare.py needs one.
//! - `iterations`: the samples of the repetition.
//! - `time_unit`: always `ns`. Where the values are instructions, cycles or counts, for which Google Benchmark has no unit,
//!   `label` says so.
//! - A case that is inconclusive without figures has `error_occurred` and why; one that its kernel does not offer has
//!   `skipped`. As in Google Benchmark, its times are then 0.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use crate::{
    run::{CaseResult, Repetition, Run, SeriesResult, Status},
    statistics::median,
};

#[derive(Serialize)]
struct File<'a> {
    context: Context<'a>,
    benchmarks: Vec<Entry>,
}

/// Google Benchmark's context, in its order. What is not known is left out, as there.
#[derive(Serialize)]
struct Context<'a> {
    date: &'a str,
    host_name: &'a str,
    executable: &'a str,
    num_cpus: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    mhz_per_cpu: Option<i64>,
    /// Not asked for; Google Benchmark writes an empty list where it does not know.
    caches: [u8; 0],
    load_avg: &'a [f64],
    library_version: &'a str,
    library_build_type: &'a str,
    json_schema_version: u32,
    /// Its users may add words of their own.
    study: &'a str,
}

/// One benchmark's repetition, or an aggregate of all; the fields in Google Benchmark's order.
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

/// # Errors
/// Never in practice: all numbers are finite.
pub fn render(run: &Run) -> Result<String> {
    let context = &run.context;
    let file = File {
        context: Context {
            date: &context.date,
            host_name: &context.host,
            executable: context.command.first().map_or("", String::as_str),
            num_cpus: context.processors,
            mhz_per_cpu: context.megahertz.map(|megahertz| megahertz.round() as i64),
            caches: [],
            load_avg: &context.load,
            library_version: &context.program,
            library_build_type: &context.build,
            json_schema_version: 1,
            study: &run.study,
        },
        benchmarks: benchmarks(run),
    };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

pub(super) fn benchmarks(run: &Run) -> Vec<Entry> {
    let several_targets = run.cases.iter().any(|case| case.target != run.cases[0].target);
    // A family is an experiment on a target; its instances are numbered in the order of the run.
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
            case.measured().chain(case.series.iter().filter(|series| series.role == "pin"))
        {
            let name = if several || series.role == "pin" {
                format!("{name}/{}", series.name)
            } else {
                name.clone()
            };
            add(name, &|entry| series_entries(case, series, entry));
        }
    }
    entries
}

/// Why a case has no figures, if it has none.
fn problem(case: &CaseResult) -> Option<Problem> {
    let message = case.verdict.reasons.join("; ");
    if case.verdict.status == Status::NotOffered {
        return Some(Problem::Skipped { skipped: true, skip_message: message });
    }
    let has_figures =
        case.is_proven() && case.measured().any(|series| !series.by_repetition.is_empty());
    (!has_figures).then_some(Problem::Error { error_occurred: true, error_message: message })
}

/// The words of a case's name.
fn name(case: &CaseResult) -> Vec<String> {
    let (given, mut words): (&dyn Fn(&str) -> bool, _) = match case.experiment.as_str() {
        "transaction" => {
            let is_in_name = |word: &str| {
                ["transport=", "size=", "loops="].iter().any(|name| word.starts_with(name))
            };
            (&move |word| !is_in_name(word), send_vec(case))
        }
        experiment => (&|_| true, vec![experiment.to_owned()]),
    };
    let given = case.label.split_whitespace().filter(|word| given(word));
    words.extend(given.map(|word| word.replacen('=', ":", 1)));
    words
}

/// As Android's benchmarks of binder and hwbinder have it.
fn send_vec(case: &CaseResult) -> Vec<String> {
    let parameter = |name: &str| case.parameters.get(name).map_or("", String::as_str);
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
    // One sample a repetition, which repetitions keep apart as their cold one: so of all together.
    let processor_time = case.series.iter().find(|series| series.name == "processor time");
    let processor_time = processor_time.and_then(|series| series.summary.mean);
    let label =
        if series.unit == "ns" { String::new() } else { format!("in {}, not ns", series.unit) };
    let entry = Entry { repetitions: all.len(), label, ..entry };
    let repetitions: Vec<Entry> = all
        .iter()
        .enumerate()
        .map(|(index, repetition)| {
            let mean = repetition.mean + series.nominal;
            Entry {
                repetition_index: Some(index),
                iterations: repetition.count,
                real_time: mean,
                cpu_time: processor_time.unwrap_or(mean),
                counters: counters(repetition, all)
                    .map(|(name, value)| (name, value + series.nominal))
                    .collect(),
                ..entry.clone()
            }
        })
        .collect();
    let aggregates = if all.len() < 2 { Vec::new() } else { aggregates(&entry, &repetitions) };
    [repetitions, aggregates].concat()
}

/// A counter that one repetition has, all must have.
fn counters(
    repetition: &Repetition,
    all: &[Repetition],
) -> impl Iterator<Item = (&'static str, f64)> {
    let p99 = repetition.p99.filter(|_| all.iter().all(|one| one.p99.is_some()));
    [("max", Some(repetition.max)), ("p50", Some(repetition.p50)), ("p99", p99)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
}

type Statistic = fn(&[f64]) -> f64;

/// In Google Benchmark's order.
const AGGREGATES: [(&str, &str, Statistic); 4] =
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
    let aggregate = |(name, unit, statistic): &(&'static str, &'static str, Statistic)| {
        let names = repetitions[0].counters.keys();
        Entry {
            name: format!("{}_{name}", entry.run_name),
            run_type: "aggregate",
            aggregate: Some(Aggregate { aggregate_name: name, aggregate_unit: unit }),
            iterations: repetitions.len() as u64,
            real_time: statistic(&over(&|one| one.real_time)),
            cpu_time: statistic(&over(&|one| one.cpu_time)),
            counters: names
                .map(|name| (*name, statistic(&over(&|one| one.counters[name]))))
                .collect(),
            ..entry.clone()
        }
    };
    AGGREGATES.iter().map(aggregate).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample standard deviation.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}
