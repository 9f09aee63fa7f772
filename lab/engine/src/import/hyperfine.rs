//! hyperfine's JSON (`--export-json`): each command is a case, and each run is a repetition of one
//! sample, since hyperfine starts a fresh process for it.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{Measured, Recording, Samples, Series, number, numbers, only, text, ticks};

/// The clock of the samples: ns.
const HERTZ: u64 = 1_000_000_000;

/// Returns whether the value is the whole of a file: a list of results, each with a command.
pub fn is_its(value: &Value) -> bool {
    let results = value.get("results").and_then(Value::as_array);
    results.is_some_and(|results| results.iter().all(|one| one.get("command").is_some()))
}

/// Reads the results.
///
/// # Errors
/// A result lacks its times, or they make no sense.
pub fn read(_: &Path, values: &[Value]) -> Result<Recording> {
    let results = only(values)?.get("results").and_then(Value::as_array);
    let results = results.filter(|results| !results.is_empty()).context("it has no result")?;
    let mut recording = Recording::new("hyperfine");
    for (place, result) in results.iter().enumerate() {
        let measured = command(result).with_context(|| format!("result {}", place + 1))?;
        recording.add(measured)?;
    }
    Ok(recording)
}

/// The case of a command.
fn command(result: &Value) -> Result<Measured> {
    let times = numbers(result, "times")
        .context("only a summary without each run's time: export it with a newer hyperfine")?;
    let mut measured = Measured::new(text(result, "command")?, HERTZ);
    let runs: Result<Vec<Samples>> =
        times.iter().map(|seconds| Ok(Samples::one(ticks(seconds * 1e9, 1.0)?))).collect();
    measured.series.push(Series { repetitions: runs?, ..Series::measured("run") });
    measured.evidence.push(("runs in the file", times.len() as f64, 1.0, f64::INFINITY));
    if let Some(codes) = result.get("exit_codes").and_then(Value::as_array) {
        ensure!(
            codes.len() == times.len(),
            "{} exit codes of {} runs: export it again",
            codes.len(),
            times.len()
        );
        // A run that a signal ended has null.
        let failed = codes.iter().filter(|code| code.as_i64() != Some(0)).count();
        measured.evidence.push(("failed runs", failed as f64, 0.0, 0.0));
    }
    let figure = |(field, name): (&str, &str)| Ok((name.to_owned(), "s", number(result, field)?));
    let figures: Result<Vec<_>> =
        [("user", "user time"), ("system", "system time")].into_iter().map(figure).collect();
    measured.figures.push(figures?);
    for (name, value) in result.get("parameters").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        measured.parameters.push((name.clone(), value));
    }
    Ok(measured)
}
