//! Writes the JSON of Android's `libhwbinder_latency`, in the form of its older or its newer
//! versions. The keys, their order and the rounding are the original's. The text is put together by
//! hand, because maps do not keep the order of keys.
//!
//! The newer form adds all pairs together (`ALL`), percentiles (`otherdis`, `fifodis`) and the mode
//! (`passthrough`). A percentile of the original is the middle of a bucket of 0.39 ms; a percentile
//! here is exact.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use super::millisecond;
use crate::{cli, cli::LatencyMode};
use chronoscope_run::CaseResult;
use chronoscope_statistics::rank;

/// The part of the command line that the output depends on.
pub struct Form {
    /// The number of pairs; a pair is a client and a service.
    pub pairs: u64,
    /// The client calls the service as a function, without a driver.
    pub passthrough: bool,
    iterations: u64,
    deadline_us: u64,
    detail: bool,
    boost: bool,
    newer: bool,
    raw_data: bool,
}

impl Form {
    /// Reads the flags.
    pub fn new(arguments: &cli::Latency) -> Self {
        let &cli::Latency { iterations, deadline_us, detail, boost, raw_data, .. } = arguments;
        let newer =
            arguments.newer || raw_data || arguments.workers.is_some() || arguments.mode.is_some();
        Self {
            pairs: arguments.workers.unwrap_or(arguments.pair),
            passthrough: arguments.mode == Some(LatencyMode::Passthrough),
            iterations,
            deadline_us,
            detail,
            boost,
            newer,
            raw_data,
        }
    }
}

/// Returns the output. `clock` is the unit of the figures, or `None` for milliseconds of a wall
/// clock. `passes` is true if inheritance held in all calls.
///
/// # Errors
/// The target has not sent a pair's series.
pub fn text(case: &CaseResult, form: &Form, clock: Option<&str>, passes: bool) -> Result<String> {
    let Form { pairs, iterations, deadline_us, .. } = form;
    let mut text = format!(
        "{{\n\"cfg\":{{\"pair\":{pairs},\"iterations\":{iterations},\"deadline_us\":{deadline_us}"
    );
    if form.newer {
        let _ = write!(text, ",\"passthrough\":{}", u8::from(form.passthrough));
    }
    text += "},\n";
    if let (Some(unit), Some(clock)) = (clock, &case.clock) {
        let object = serde_json::json!({
            "target": case.target.to_string(), "domain": clock.domain, "unit": unit,
        });
        let _ = writeln!(text, "\"clock\":{object},");
    }
    let found = (0..*pairs).map(|place| Pair::new(case, place)).collect::<Result<Vec<_>>>()?;
    if form.raw_data {
        for (place, pair) in found.iter().enumerate() {
            let calls: Vec<String> =
                pair.fifo.values.iter().map(|ms| format!("{:.0}", ms * 1e6)).collect();
            let _ = writeln!(text, "\"fifo_{place}_data\": [{}],", calls.join(","));
        }
    }
    if form.newer {
        text += &Pair::all(&found).json("ALL", form);
    }
    for (place, pair) in found.iter().enumerate() {
        text += &pair.json(&format!("P{place}"), form);
    }
    let inheritance = match (passes, form.boost) {
        (false, _) => "FAIL",
        (true, false) => "PASS",
        (true, true) => "EMULATED",
    };
    let _ = write!(text, "\"inheritance\": \"{inheritance}\"\n}}");
    Ok(text)
}

/// The calls of a pair.
#[derive(Default)]
struct Pair {
    calls: f64,
    on_one_processor: f64,
    other: Caller,
    fifo: Caller,
}

/// The calls of a pair's client from a thread at `SCHED_OTHER` (`other`) or `SCHED_FIFO` (`fifo`).
#[derive(Default)]
struct Caller {
    /// The times in ms, in the order of the calls.
    values: Vec<f64>,
    /// The number of calls that missed the deadline.
    misses: f64,
}

impl Pair {
    /// Reads the calls of the pair with the number `place`, from 0.
    ///
    /// # Errors
    /// The target has not sent the pair's series.
    fn new(case: &CaseResult, place: u64) -> Result<Self> {
        let figure = |name: &str| {
            let name = format!("P{place} {name}");
            let found = case.figures.iter().find(|figure| figure.name == name);
            found.map_or(0.0, |figure| figure.value)
        };
        let caller = |name: &str| {
            let wanted = format!("P{place} {name}");
            let series = case.series.iter().find(|series| series.name == wanted);
            let series = series.with_context(|| format!("the target sent nothing of {wanted}"))?;
            let millisecond = millisecond(case);
            let values = series.samples.iter().map(|(_, value)| value * millisecond).collect();
            Ok::<_, anyhow::Error>(Caller { values, misses: figure(&format!("{name} misses")) })
        };
        Ok(Self {
            calls: figure("calls"),
            on_one_processor: figure("calls on one processor"),
            other: caller("other")?,
            fifo: caller("fifo")?,
        })
    }

    /// The calls of all pairs.
    fn all(pairs: &[Self]) -> Self {
        pairs.iter().fold(Self::default(), |mut all, pair| {
            all.calls += pair.calls;
            all.on_one_processor += pair.on_one_processor;
            for (all, of_pair) in [(&mut all.other, &pair.other), (&mut all.fifo, &pair.fifo)] {
                all.values.extend(&of_pair.values);
                all.misses += of_pair.misses;
            }
            all
        })
    }

    /// Returns the pair as the member `name` of the output.
    fn json(&self, name: &str, form: &Form) -> String {
        let (calls, same) = (self.calls, self.on_one_processor);
        let ratio = if calls > 0.0 { same / calls } else { 0.0 };
        let sync = if ratio > 0.6 { "GOOD" } else { "POOR" };
        let ratio = general(ratio, 6);
        let mut text = format!(
            "\"{name}\":{{\"SYNC\":\"{sync}\",\"S\":{same},\"I\":{calls},\"R\":{ratio},\n{},\n{}",
            self.other.json("other", form.detail),
            self.fifo.json("fifo", form.detail)
        );
        if form.newer {
            for (caller, name) in [(&self.other, "other"), (&self.fifo, "fifo")] {
                let percentiles = percentiles(&caller.sorted(), &PERCENTILES[..4], 5);
                let _ = write!(text, ",\n  \"{name}dis\":{{ {percentiles}}}");
            }
        }
        text + "\n},\n"
    }
}

/// The percentiles of `--detail`. The newer form's `otherdis` and `fifodis` have the first four.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

impl Caller {
    /// The times in ms, in ascending order.
    fn sorted(&self) -> Vec<f64> {
        let mut values = self.values.clone();
        values.sort_unstable_by(f64::total_cmp);
        values
    }

    /// Returns the caller as a member of the output:
    /// `"other_ms":{ "avg":0.2, "wst":2.8, "bst":0.053, "miss":2, "meetR":0.9996}`
    fn json(&self, name: &str, detail: bool) -> String {
        let (values, misses) = (self.sorted(), self.misses);
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let (best, worst) =
            (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
        let mut text = format!(
            "  \"{name}_ms\":{{ \"avg\":{:<5}, \"wst\":{:<5}, \"bst\":{:<5}, \"miss\":{misses}, \"meetR\":{}",
            general(mean, 2),
            general(worst, 2),
            general(best, 2),
            general(1.0 - misses / count, 5)
        );
        if detail {
            let _ = write!(text, ", {}", percentiles(&values, &PERCENTILES, 4));
        }
        text + "}"
    }
}

/// Percentiles of sorted values, to `digits` significant digits.
fn percentiles(values: &[f64], wanted: &[(&str, f64)], digits: usize) -> String {
    let one = |(key, quantile): &(&str, f64)| {
        let rank = rank(*quantile, values.len() as u64);
        let value = rank.map_or(0.0, |rank| values[rank as usize - 1]);
        format!("\"{key}\":{}", general(value, digits))
    };
    wanted.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Formats a number to `digits` significant digits as C's `%g` does: without trailing zeros, and
/// with an exponent if the number is below 1e-4 or has more than `digits` digits before the point.
fn general(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), exponent.abs());
    }
    trim(&format!("{value:.*}", (digits as i32 - 1 - exponent).max(0) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected texts are the output of `printf` with `%.2g` and `%.5g`.
    #[test]
    fn numbers_are_printed_as_c_does() {
        let cases = [
            (0.2, 2, "0.2"),
            (2.84, 2, "2.8"),
            (0.0534, 2, "0.053"),
            (123.4, 2, "1.2e+02"),
            (12.3, 2, "12"),
        ];
        let more = [
            (0.99964, 5, "0.99964"),
            (1.0, 5, "1"),
            (0.00001234, 2, "1.2e-05"),
            (9.96, 2, "10"),
            (0.9352, 6, "0.9352"),
        ];
        for (value, digits, text) in cases.into_iter().chain(more) {
            assert_eq!(general(value, digits), text, "{value}");
        }
    }
}
