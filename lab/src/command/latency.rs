//! `chronoscope hwbinder-latency` and `binder-latency`: the command line and the JSON of Android's
//! `libhwbinder_latency`, on top of the experiment `latency`.
//!
//! Keys and rounding are the original's. Differences: the output is valid JSON by itself (`-v`'s
//! lines go to standard error); the exit status is 2 if inheritance fails or `--limit` is missed,
//! where the original loses it in a sum; `--detail` adds exact percentiles; with `--boost`, which
//! emulates inheritance, the JSON says `"inheritance": "EMULATED"`, lest it pass for the driver's.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, bail};

use crate::{
    case::{Settings, experiment},
    cli, console,
    journal::Journal,
    report,
    run::{CaseResult, Domain, SeriesResult},
    runner::{self, How},
    signals,
    statistics::rank,
    study::{Entry, Overrides, Study},
    units::Text,
};

/// The driver that carries the calls.
#[derive(Clone, Copy)]
pub enum Transport {
    Binder,
    Hwbinder,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Binder => "binder",
            Self::Hwbinder => "hwbinder",
        }
    }

    /// The default target: this host if it has the device, else a guest, which has it.
    fn target(self) -> &'static str {
        let here = ["/dev", "/dev/binderfs"]
            .iter()
            .any(|place| Path::new(place).join(self.name()).exists());
        if here { "linux@host" } else { "linux-full@vm" }
    }
}

pub fn execute(transport: Transport, arguments: &cli::Latency) -> Result<u8> {
    let yes = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let settings = [
        ("transport", transport.name().to_owned()),
        ("pairs", arguments.pair.to_string()),
        ("loops", arguments.iterations.to_string()),
        ("deadline_us", arguments.deadline_us.to_string()),
        ("work_us", arguments.work_us.to_string()),
        ("hogs", arguments.hogs.to_string()),
        ("boost", yes(arguments.boost)),
        ("verbose", yes(arguments.verbose)),
        ("trace", yes(arguments.trace)),
    ];
    let target = arguments.target.as_deref().unwrap_or(transport.target());
    let overrides = Overrides {
        targets: vec![target.parse()?],
        settings: settings
            .into_iter()
            .map(|(name, value)| (name.to_owned(), vec![value]))
            .collect::<Settings>(),
        repeat: Some(1),
        ..Overrides::default()
    };
    let (cases, _) = Study::of(vec![Entry::of(experiment("latency")?)]).plan(&overrides)?;
    let stop = signals::watch()?;
    // All samples are kept: the original's averages include the first calls.
    let how = How { keep_samples: true, jobs: 1 };
    let mut progress = report::progress::new(true);
    let outcome = runner::run(&cases, how, progress.as_mut(), stop, &mut Journal::none())?;
    let first = outcome.results.first().and_then(Option::as_ref);
    let Some(case) = first.filter(|case| case.repetitions == 1) else {
        let reason = first.map(|case| case.verdict.reasons.join("; "));
        bail!("no figures: {}", reason.unwrap_or_else(|| "interrupted".to_owned()));
    };
    let unproven: Vec<_> =
        case.evidence.iter().filter(|one| !one.holds).map(|one| one.name.as_str()).collect();
    if !unproven.is_empty() {
        bail!("no figures: {} does not hold", unproven.join(", "));
    }
    if let Some(calls) = case.attachments.get("calls") {
        eprint!("{}", Text::from(calls));
    }
    if let Some(trace) = case.attachments.get("trace") {
        let path = format!("{}-latency.trace", transport.name());
        fs::write(&path, trace).with_context(|| format!("cannot write {path}"))?;
        eprintln!("deadline triggered: halt & stop trace\nlog:{path}");
    }
    let inherits = figures(case, "fifo served at another class")
        .chain(figures(case, "other served at another class"));
    let passes = inherits.sum::<f64>() == 0.0;
    let worst = case
        .series
        .iter()
        .filter(|series| series.name.ends_with("fifo"))
        .filter_map(|series| series.summary.max);
    let missed = arguments
        .limit
        .is_some_and(|limit| worst.fold(0.0, f64::max) * millisecond(case) > limit as f64 / 1e3);
    println!("{}", json(case, arguments, passes)?);
    if arguments.boost {
        console::remark(
            "--boost: the client gave the service its class before each call; that is no inheritance of the driver's",
        );
    }
    if missed {
        console::remark(&format!(
            "a real-time caller waited for more than {} µs",
            arguments.limit.unwrap_or(0)
        ));
    }
    Ok(if passes && !missed { 0 } else { 2 })
}

/// The factor that converts a value of the case to milliseconds. Where the clock counts
/// instructions, it is derived from the guest's clock, which counts them too.
fn millisecond(case: &CaseResult) -> f64 {
    case.clock
        .as_ref()
        .filter(|clock| clock.domain != Domain::Wall)
        .map_or(1e-6, |clock| 1e3 / clock.hertz as f64)
}

/// The values of the figure `name` of all pairs.
fn figures<'a>(case: &'a CaseResult, name: &'a str) -> impl Iterator<Item = f64> + 'a {
    let ours = move |figure: &&crate::run::FigureResult| {
        figure.name.split_once(' ').is_some_and(|(_, rest)| rest == name)
    };
    case.figures.iter().filter(ours).map(|figure| figure.value)
}

/// The JSON, with its keys in the original's order, which maps do not keep.
fn json(case: &CaseResult, arguments: &cli::Latency, passes: bool) -> Result<String> {
    let (pair, iterations, deadline) =
        (arguments.pair, arguments.iterations, arguments.deadline_us);
    let mut text = format!(
        "{{\n\"cfg\":{{\"pair\":{pair},\"iterations\":{iterations},\"deadline_us\":{deadline}}},\n"
    );
    for place in 0..pair {
        let figure = |name: &str| {
            let name = format!("P{place} {name}");
            case.figures
                .iter()
                .find(|figure| figure.name == name)
                .map_or(0.0, |figure| figure.value)
        };
        let (calls, same) = (figure("calls"), figure("calls on one processor"));
        let ratio = if calls > 0.0 { same / calls } else { 0.0 };
        let sync = if ratio > 0.6 { "GOOD" } else { "POOR" };
        let caller = |name: &str, ending: &str| {
            let wanted = format!("P{place} {name}");
            let series = case.series.iter().find(|series| series.name == wanted);
            let series = series.with_context(|| format!("the target told nothing of {wanted}"))?;
            Ok::<_, anyhow::Error>(
                of_caller(
                    name,
                    series,
                    millisecond(case),
                    figure(&format!("{name} misses")),
                    arguments.detail,
                ) + ending,
            )
        };
        text += &format!(
            "\"P{place}\":{{\"SYNC\":\"{sync}\",\"S\":{same},\"I\":{calls},\"R\":{},\n{}{}}},\n",
            general(ratio, 6),
            caller("other", ",\n")?,
            caller("fifo", "\n")?
        );
    }
    let inheritance = match (passes, arguments.boost) {
        (false, _) => "FAIL",
        (true, false) => "PASS",
        (true, true) => "EMULATED",
    };
    text += &format!("\"inheritance\": \"{inheritance}\"\n}}");
    Ok(text)
}

/// `"other_ms":{ "avg":0.2, "wst":2.8, "bst":0.053, "miss":2, "meetR":0.9996}`
fn of_caller(
    name: &str,
    series: &SeriesResult,
    millisecond: f64,
    misses: f64,
    detail: bool,
) -> String {
    let mut values: Vec<f64> =
        series.samples.iter().map(|(_, value)| value * millisecond).collect();
    values.sort_unstable_by(f64::total_cmp);
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
        for (key, quantile) in
            [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)]
        {
            let value =
                rank(quantile, values.len() as u64).map_or(0.0, |rank| values[rank as usize - 1]);
            text += &format!(", \"{key}\":{}", general(value, 4));
        }
    }
    text + "}"
}

/// Formats a number to `digits` significant digits as C's `%g` does: no trailing zeros; with an
/// exponent if the number is very small or has more digits.
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

    /// The expected texts are those of `printf("%.2g")` and `"%.5g"`.
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
