//! `chronoscope timerlat`: the experiment `period` by the command line of `rtla timerlat`, with its
//! output; the run is kept like any other.

use anyhow::{Context as _, Result, bail};

use super::{
    single,
    tool::{self, Length},
};
use crate::{cli, cli::Mode};
use chronoscope_base::{console, signals::INTERRUPTED};
use chronoscope_engine::case::{Case, Settings};
use chronoscope_machine::Machines;
use chronoscope_report::{
    self as report,
    timerlat::{self as output, Format},
};
use chronoscope_units::printable;

pub fn execute(arguments: &cli::Timerlat) -> Result<u8> {
    if let Some((option, why)) = arguments.refused.reason() {
        bail!("rtla's `{option}` is not offered: {why}");
    }
    let machines = Machines::default();
    let case = case(&machines, arguments)?;
    let format = Format {
        in_ns: arguments.nano,
        entries: arguments.entries,
        width: arguments.bucket_size,
        has_header: !arguments.no_header,
        has_index: !arguments.no_index,
        has_summary: !arguments.no_summary,
        with_zeros: arguments.with_zeros,
        interval: arguments.period,
    };
    report::check(arguments.trace.as_deref())?;
    let awake = match arguments.dma_latency {
        Some(us) => tool::keep_awake("--dma-latency", us)?,
        None => None,
    };
    let machine = machines.open(&case.target)?;
    let mut measured = single::run(&case, machine, &arguments.keep, arguments.quiet)?;
    drop(awake);
    let stored = measured.store();
    let run = measured.run()?;
    let Some(result) = run.cases.first() else {
        return tool::without_samples(stored);
    };
    tool::refuse(result)?;
    console::print(&match arguments.mode {
        Mode::Top => output::summary(result, &format),
        Mode::Hist => output::histogram(result, &format),
    })?;
    if limit(arguments).is_some_and(|us| output::is_stopped(result, us)) {
        console::print("rtla timerlat hit stop tracing\n")?;
        if let (Some(file), Some(trace)) = (&arguments.trace, result.attachments.get("trace")) {
            console::print(&format!("  Saving trace to {}\n", file.display()))?;
            tool::write(file, trace)?;
        }
    }
    stored?;
    Ok(if run.context.interrupted { INTERRUPTED } else { 0 })
}

/// The latency in µs above which the run ends.
fn limit(arguments: &cli::Timerlat) -> Option<u64> {
    arguments.thread.into_iter().chain(arguments.auto).min()
}

/// # Errors
/// The processors, the length or the class have a wrong value.
fn case(machines: &Machines, arguments: &cli::Timerlat) -> Result<Case> {
    let list = arguments.cpus.as_deref().unwrap_or("all");
    let cpus = tool::processors("-c", list)?;
    let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    let mut settings = Settings::new();
    let mut set = |name: &str, value: String| settings.insert(name.to_owned(), vec![value]);
    set("interval_us", arguments.period.to_string());
    set("cpu", cpus.join("+"));
    if let Some(text) = &arguments.priority {
        let (policy, priority) = class(text)?;
        set("policy", policy.to_owned());
        if policy != "other" {
            set("priority", priority.to_string());
        }
    }
    if arguments.auto.is_some() || arguments.trace.is_some() || arguments.stack.is_some() {
        set("trace", "yes".to_owned());
    }
    let duration = ("-d", arguments.duration.as_deref());
    let length = Length::new(duration, 0, arguments.period)?;
    if let Length::Loops(loops) = length {
        set("loops", loops.to_string());
    }
    let mut case = tool::case(machines, "period", &settings)?;
    if let Length::Time(time) = length {
        case = case.soaked(machines, time, 1)?;
    }
    match limit(arguments) {
        Some(us) => case.breaking(machines, us),
        None => Ok(case),
    }
}

/// The class and the priority of `-P`.
///
/// # Errors
/// The text has another form, or names a class that is not measured here.
fn class(text: &str) -> Result<(&'static str, u64)> {
    let wrong = || format!("`-P {}`: write o:PRIO, r:PRIO or f:PRIO, as f:80", printable(text));
    let (class, priority) = text.split_once(':').with_context(wrong)?;
    let policy = match class {
        "o" => "other",
        "r" => "rr",
        "f" => "fifo",
        "d" => {
            bail!("`-P d:`: SCHED_DEADLINE cannot be bound to a processor: chronoscope list period")
        }
        _ => bail!("{}", wrong()),
    };
    let priority = priority.parse().ok().filter(|one| policy == "other" || *one > 0);
    let priority = priority.with_context(wrong)?;
    if policy != "other" {
        tool::check_priority("-P ", priority)?;
    }
    Ok((policy, priority))
}
