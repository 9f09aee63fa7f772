//! `chronoscope hwbinder-latency` and `binder-latency`: the command line and the JSON of Android's
//! `libhwbinder_latency`, on top of the experiment `latency`.
//!
//! Keys and rounding are the original's. Differences: the output is valid JSON by itself (`-v`'s
//! lines go to standard error); the exit status is 2 if inheritance fails or `--limit` is missed,
//! where the original loses it in a sum; `--detail` adds exact percentiles; with `--boost`, which
//! emulates inheritance, the JSON says `"inheritance": "EMULATED"`, lest it pass for the driver's;
//! where the figures are no milliseconds on the wall, the key `clock` and standard error say so.

mod json;

use std::{borrow::Cow, fs, io, io::Write as _, path::Path};

use anyhow::{Context as _, Result, bail};

use self::json::Form;

use crate::cli;
use chronoscope_base::{console, signals, signals::INTERRUPTED};
use chronoscope_engine::{
    case::Settings, case::experiment, journal::Journal, runner, runner::RunOptions, study::Entry,
    study::Overrides, study::Study,
};
use chronoscope_machine::{
    Machines, vm::kernel::OWN_TARGETS, vm::kernel::Settings as KernelSettings,
};
use chronoscope_run::{CaseResult, Domain, names::HOST};
use chronoscope_units::Text;

/// The driver that carries the calls.
#[derive(Clone, Copy)]
pub enum Transport {
    /// The driver of Android's applications.
    Binder,
    /// The driver of Android's hardware services.
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
        if here { HOST } else { "linux-full@vm" }
    }
}

/// Measures calls through `transport`, and prints the original's JSON. Returns 2 if inheritance
/// fails or `--limit` is missed.
///
/// # Errors
/// The target cannot be run, or its evidence does not hold.
pub fn execute(transport: Transport, arguments: &cli::Latency) -> Result<u8> {
    let yes = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let form = Form::new(arguments);
    let settings = [
        ("transport", if form.passthrough { "passthrough" } else { transport.name() }.to_owned()),
        ("pairs", form.pairs.to_string()),
        ("loops", arguments.iterations.to_string()),
        ("deadline_us", arguments.deadline_us.to_string()),
        ("work_us", arguments.work_us.to_string()),
        ("hogs", arguments.hogs.to_string()),
        ("boost", yes(arguments.boost)),
        ("verbose", yes(arguments.verbose)),
        ("trace", yes(arguments.trace)),
    ];
    let target = target(transport, arguments)?;
    let kernel = KernelSettings {
        image: arguments.kernel_image.clone(),
        packages: Vec::new(),
        modules: arguments.kernel_modules.clone(),
        append: arguments.append.clone().unwrap_or_default(),
    };
    kernel.check()?;
    let machines = Machines::with_kernel(kernel);
    let overrides = Overrides {
        targets: vec![target.parse()?],
        settings: settings
            .into_iter()
            .map(|(name, value)| (name.to_owned(), vec![value]))
            .collect::<Settings>(),
        repeat: Some(1),
        ..Overrides::default()
    };
    let (cases, _) = Study::from_entries(vec![Entry::with_defaults(experiment("latency")?)])
        .plan(&machines, &overrides)?;
    let stop = signals::watch()?;
    // All samples are kept: the original's averages include the first calls.
    let options = RunOptions { keep_samples: true, jobs: 1 };
    let mut progress = crate::progress::new(true);
    let outcome =
        runner::run(&machines, &cases, options, progress.as_mut(), stop, &mut Journal::none())?;
    if outcome.interrupted {
        console::remark("interrupted: no figures");
        return Ok(INTERRUPTED);
    }
    let first = outcome.results.first().and_then(Option::as_ref);
    let Some(case) = first.filter(|case| case.repetitions == 1) else {
        let reason = first.map(|case| case.verdict.reasons.join("; "));
        bail!("no figures: {}", reason.unwrap_or_default());
    };
    let unproven: Vec<_> =
        case.evidence.iter().filter(|one| !one.holds).map(|one| one.name.as_str()).collect();
    if !unproven.is_empty() {
        bail!("no figures: {} does not hold", unproven.join(", "));
    }
    if let Some(calls) = case.attachments.get("calls") {
        report_aside(&Text::from(calls));
    }
    if let Some(trace) = case.attachments.get("trace") {
        let path = format!("{}-latency.trace", transport.name());
        fs::write(&path, trace).with_context(|| format!("cannot write {path}"))?;
        report_aside(&format!("deadline triggered: halt & stop trace\nlog:{path}\n"));
    }
    let inherits = figures(case, "fifo served at another priority")
        .chain(figures(case, "other served at another priority"));
    let passes = inherits.sum::<f64>() == 0.0;
    let worst = case
        .series
        .iter()
        .filter(|series| series.name.ends_with("fifo"))
        .filter_map(|series| series.summary.max);
    let missed = arguments
        .limit
        .is_some_and(|limit| worst.fold(0.0, f64::max) * millisecond(case) > limit as f64 / 1e3);
    let clock = clock(case);
    console::print(&format!("{}\n", json::text(case, &form, clock.as_deref(), passes)?))?;
    if let Some(unit) = clock {
        console::remark(&format!("{target}: the figures are {unit}, no time on the wall"));
    }
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

/// Writes text to standard error. A failure cannot be reported, and must not cost the figures.
fn report_aside(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// The target: the given one, the guest of the given kernel, or the transport's default.
///
/// # Errors
/// The target takes no kernel.
fn target(transport: Transport, arguments: &cli::Latency) -> Result<Cow<'_, str>> {
    let given = arguments.target.as_deref();
    if arguments.kernel_image.is_none() {
        // A function of the client's needs no driver.
        let passthrough = arguments.mode == Some(cli::LatencyMode::Passthrough);
        let default = if passthrough { HOST } else { transport.target() };
        return Ok(given.unwrap_or(default).into());
    }
    let target = given.unwrap_or(OWN_TARGETS[0]);
    if !OWN_TARGETS.contains(&target) {
        bail!("`--kernel-image` is the kernel of {}, not of {target}", OWN_TARGETS.join(" or "));
    }
    Ok(target.into())
}

/// The unit of the figures; `None` for milliseconds on the wall.
fn clock(case: &CaseResult) -> Option<String> {
    let clock = case.clock.as_ref().filter(|clock| clock.domain != Domain::Wall)?;
    let tick = 1e9 / clock.hertz as f64;
    Some(match clock.domain {
        Domain::Instructions => {
            format!("ms of the guest's clock, on which an instruction takes {tick} ns")
        }
        _ => format!("ms of a clock whose tick is {tick} ns"),
    })
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
    let ours = move |figure: &&chronoscope_run::FigureResult| {
        figure.name.split_once(' ').is_some_and(|(_, rest)| rest == name)
    };
    case.figures.iter().filter(ours).map(|figure| figure.value)
}
