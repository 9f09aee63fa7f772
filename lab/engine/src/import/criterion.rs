//! criterion's `sample.json`, and the messages of cargo-criterion (`--message-format=json`): each
//! benchmark is a case with one repetition, since criterion takes all samples in one process.

use std::{ffi::OsStr, path::Path};

use anyhow::{Context as _, Result, bail, ensure};
use chronoscope_units::printable;
use serde_json::Value;

use super::{Interval, Measured, Recording, Samples, Series, numbers, only, text, ticks};

/// The clock of the samples: ns.
const HERTZ: u64 = 1_000_000_000;

/// Returns whether the value is the whole of a `sample.json`.
pub fn is_sample(value: &Value) -> bool {
    ["iters", "times"].iter().all(|field| value.get(field).is_some_and(Value::is_array))
}

/// Returns whether the value is a message of cargo-criterion.
pub fn is_message(value: &Value) -> bool {
    value
        .get("reason")
        .is_some_and(|reason| reason == "benchmark-complete" || reason == "group-complete")
}

/// Reads a `sample.json`. The benchmark's name is in its path alone.
///
/// # Errors
/// The numbers of iterations and of times differ, or make no sense.
pub fn read_sample(path: &Path, values: &[Value]) -> Result<Recording> {
    let sample = only(values)?;
    let mut measured = benchmark(&name(path), sample, ["iters", "times"])?;
    measured.log.push("it has no unit: read as ns, which criterion's own clock gives".to_owned());
    let mut recording = Recording::new("criterion");
    recording.add(measured)?;
    Ok(recording)
}

/// Reads the messages of a run of cargo-criterion.
///
/// # Errors
/// A message lacks a field, or its unit is not ns.
pub fn read_messages(_: &Path, values: &[Value]) -> Result<Recording> {
    let mut recording = Recording::new("cargo-criterion");
    for (place, message) in values.iter().enumerate() {
        let place = || format!("message {}", place + 1);
        if text(message, "reason").with_context(place)? != "benchmark-complete" {
            continue;
        }
        let measured = complete(message).with_context(place)?;
        recording.add(measured).with_context(place)?;
    }
    ensure!(!recording.cases.is_empty(), "no message has a benchmark's measurement");
    Ok(recording)
}

/// The case of a message.
fn complete(message: &Value) -> Result<Measured> {
    let unit = text(message, "unit")?;
    if unit != "ns" {
        bail!("its unit is `{}`: only times in ns are read", printable(unit));
    }
    benchmark(text(message, "id")?, message, ["iteration_count", "measured_values"])
}

/// The case of a benchmark. The two fields have the iterations of each sample, and their time.
fn benchmark(name: &str, value: &Value, [iterations, times]: [&str; 2]) -> Result<Measured> {
    let (iterations, times) = (numbers(value, iterations)?, numbers(value, times)?);
    ensure!(
        iterations.len() == times.len(),
        "{} numbers of iterations for {} samples",
        iterations.len(),
        times.len()
    );
    ensure!(iterations.iter().all(|count| *count >= 1.0), "a sample has no iteration");
    let per = iterations.iter().sum::<f64>() / iterations.len() as f64;
    let sample = |(iterations, time): (&f64, &f64)| {
        // When a sample was taken is unknown.
        Ok(Interval { start: 0, length: ticks(time / iterations, per)? })
    };
    let samples: Result<Vec<Interval>> = iterations.iter().zip(&times).map(sample).collect();
    let mut measured = Measured::new(name, HERTZ);
    let repetitions = vec![Samples::Timed(samples?)];
    measured.series.push(Series { per, repetitions, ..Series::measured("time") });
    measured.evidence.push(("samples in the file", times.len() as f64, 1.0, f64::INFINITY));
    measured.log.push(
        "each sample is a mean of many iterations, and all are of one process: no single iteration's \
         time is known"
            .to_owned(),
    );
    Ok(measured)
}

/// The name of a benchmark by the path of its `sample.json`: the folders between `criterion` and `new`
/// or `base`.
fn name(path: &Path) -> String {
    let folders: Vec<&OsStr> =
        path.parent().into_iter().flat_map(Path::components).map(|part| part.as_os_str()).collect();
    let end = match folders.last() {
        Some(last) if *last == "new" || *last == "base" => folders.len() - 1,
        _ => folders.len(),
    };
    let begin = folders[..end].iter().rposition(|part| *part == "criterion").map(|at| at + 1);
    let own = begin.map_or(&[][..], |begin| &folders[begin..end]);
    let words: Vec<_> = own.iter().map(|part| part.to_string_lossy()).collect();
    match words.is_empty() {
        true => {
            path.file_stem().map_or("sample".into(), |stem| stem.to_string_lossy().into_owned())
        }
        false => words.join("/"),
    }
}
