//! Google Benchmark's JSON (`--benchmark_out`): each benchmark is a case, and each of its repetitions
//! is one sample, the mean of its iterations. Aggregates alone have no samples.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use chronoscope_units::printable;
use serde_json::Value;

use super::{Figure, Measured, Recording, Samples, Series, in_utc, number, only, text, ticks};

/// The clock of the samples: ns.
const HERTZ: u64 = 1_000_000_000;

/// The numbers of an entry that are no counters.
const OWN: [&str; 11] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
    "allocs_per_iter",
    "max_bytes_used",
    "total_allocated_bytes",
];

/// The aggregates that are kept: the others are fits over several benchmarks.
const AGGREGATES: [&str; 4] = ["mean", "median", "stddev", "cv"];

/// The ways in which an entry has no time: the flag, the reason's field, the words before the reason, and
/// the evidence.
const FAILURES: [[&str; 4]; 2] = [
    ["error_occurred", "error_message", "it ended with an error", "errors"],
    ["skipped", "skip_message", "it was skipped", "skipped repetitions"],
];

/// Returns whether the value has the two parts of such a file.
pub fn is_its(value: &Value) -> bool {
    value.get("context").is_some_and(Value::is_object)
        && value.get("benchmarks").is_some_and(Value::is_array)
}

/// Reads the benchmarks.
///
/// # Errors
/// An entry lacks a field, or its times make no sense.
pub fn read(_: &Path, values: &[Value]) -> Result<Recording> {
    let file = only(values)?;
    let mut recording = Recording::new("google-benchmark");
    if let Some(context) = file.get("context") {
        conditions(&mut recording, context);
    }
    let entries = file.get("benchmarks").and_then(Value::as_array);
    let entries = entries.filter(|entries| !entries.is_empty()).context("it has no benchmark")?;
    for (name, entries) in by_name(entries)? {
        recording.add(benchmark(name, &entries).with_context(|| printable(name))?)?;
    }
    Ok(recording)
}

fn conditions(recording: &mut Recording, context: &Value) {
    let word = |field: &str| context.get(field).and_then(Value::as_str).unwrap_or_default();
    recording.version = word("library_version").trim_start_matches('v').to_owned();
    recording.date = in_utc(word("date"));
    let conditions = &mut recording.conditions;
    conditions.host = word("host_name").into();
    let count = |field: &str| context.get(field).and_then(Value::as_f64);
    conditions.processors = context.get("num_cpus").and_then(Value::as_u64).unwrap_or(0) as usize;
    conditions.megahertz = count("mhz_per_cpu").filter(|rate| *rate > 0.0);
    let load = context.get("load_avg").and_then(Value::as_array).into_iter().flatten();
    conditions.load = load.take(3).filter_map(Value::as_f64).filter(|load| *load >= 0.0).collect();
}

/// The entries of each benchmark, in the order in which the file names them.
fn by_name(entries: &[Value]) -> Result<Vec<(&str, Vec<&Value>)>> {
    let mut places = std::collections::BTreeMap::new();
    let mut all: Vec<(&str, Vec<&Value>)> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let named = text(entry, "name").with_context(|| format!("entry {}", place + 1))?;
        let name = entry.get("run_name").and_then(Value::as_str).unwrap_or(named);
        let place = *places.entry(name).or_insert(all.len());
        match all.get_mut(place) {
            Some((_, known)) => known.push(entry),
            None => all.push((name, vec![entry])),
        }
    }
    Ok(all)
}

/// The case of a benchmark.
fn benchmark(name: &str, entries: &[&Value]) -> Result<Measured> {
    let mut measured = Measured::new(name, HERTZ);
    let is_aggregate =
        |entry: &&&Value| text(entry, "run_type").is_ok_and(|kind| kind == "aggregate");
    let mut has_failures = false;
    for [flag, reason, words, evidence] in FAILURES {
        let failed: Vec<&&Value> = entries.iter().filter(|entry| is_set(entry, flag)).collect();
        for entry in &failed {
            let why = text(entry, reason).unwrap_or("no reason is given");
            measured.log.push(format!("{words}: {why}"));
        }
        if !failed.is_empty() {
            has_failures = true;
            measured.evidence.push((evidence, failed.len() as f64, 0.0, 0.0));
        }
    }
    let has_failed = |entry: &Value| FAILURES.iter().any(|[flag, ..]| is_set(entry, flag));
    let whole = entries.iter().filter(|entry| !is_aggregate(entry) && !has_failed(entry));
    let whole: Vec<&Value> = whole.copied().collect();
    if whole.is_empty() {
        for entry in entries.iter().filter(is_aggregate) {
            measured.figures.extend(aggregate(entry)?);
        }
        if !has_failures {
            measured.log.push(
                "aggregates alone: no run's time, no largest one and no spread from run to run can be \
                 known: measure again without --benchmark_report_aggregates_only"
                    .to_owned(),
            );
        }
        return Ok(measured);
    }
    let iterations: Result<Vec<f64>> =
        whole.iter().map(|entry| number(entry, "iterations")).collect();
    let iterations = iterations?;
    ensure!(
        iterations.iter().all(|count| *count >= 1.0),
        "it has a repetition without an iteration"
    );
    let per = iterations.iter().sum::<f64>() / iterations.len() as f64;
    let (mut real, mut processor) = (Vec::new(), Vec::new());
    for entry in &whole {
        let scale = unit(entry)?;
        real.push(Samples::one(ticks(number(entry, "real_time")? * scale, per)?));
        processor.push(Samples::one(ticks(number(entry, "cpu_time")? * scale, per)?));
        measured.figures.push(counters(entry));
    }
    let times = Series { per, repetitions: real, ..Series::measured("real time") };
    let of_processor =
        Series { per, repetitions: processor, ..Series::auxiliary("processor time") };
    measured.series = vec![times, of_processor];
    measured.evidence.push(("repetitions in the file", whole.len() as f64, 1.0, f64::INFINITY));
    measured.log.push(
        "its repetitions are of one process: what differs from process to process is not in them"
            .to_owned(),
    );
    Ok(measured)
}

fn is_set(entry: &Value, flag: &str) -> bool {
    entry.get(flag).and_then(Value::as_bool) == Some(true)
}

/// The ns of an entry's unit of time.
fn unit(entry: &Value) -> Result<f64> {
    match text(entry, "time_unit")? {
        "ns" => Ok(1.0),
        "us" => Ok(1e3),
        "ms" => Ok(1e6),
        "s" => Ok(1e9),
        other => bail!("its unit of time is `{}`: it is one of ns, us, ms, s", printable(other)),
    }
}

/// The number of an aggregate's entry, in ns where it is a time; `None` for one that is not kept.
fn aggregate(entry: &Value) -> Result<Option<Vec<Figure>>> {
    let name = text(entry, "aggregate_name")?;
    if !AGGREGATES.contains(&name) {
        return Ok(None);
    }
    let is_time = text(entry, "aggregate_unit").map_or(name != "cv", |unit| unit == "time");
    let (scale, unit) = if is_time { (unit(entry)?, "ns") } else { (1.0, "") };
    Ok(Some(vec![(format!("{name} of an aggregate"), unit, number(entry, "real_time")? * scale)]))
}

/// The counters of an entry.
fn counters(entry: &Value) -> Vec<Figure> {
    let fields = entry.as_object().into_iter().flatten();
    let is_counter = |name: &str| !OWN.contains(&name);
    fields
        .filter(|(name, _)| is_counter(name))
        .filter_map(|(name, value)| Some((name.clone(), "", value.as_f64()?)))
        .collect()
}
