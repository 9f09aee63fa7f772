//! `chronoscope cyclictest`: the experiment `period` by the command line of rt-tests' cyclictest, with
//! its output; the run is kept like any other.

use anyhow::{Result, bail};

use super::{
    single,
    tool::{self, DMA_LATENCY, Length},
};
use crate::cli;
use chronoscope_base::{console, signals::INTERRUPTED};
use chronoscope_engine::case::{Case, Settings};
use chronoscope_machine::{Machines, host};
use chronoscope_report::{
    self as report,
    cyclictest::{self as output, Format},
};
use chronoscope_run::CaseResult;
use chronoscope_units::printable;

/// The most rows of a histogram, as in cyclictest.
const ROWS: u64 = 1_000_000;

pub fn execute(arguments: &cli::Cyclictest) -> Result<u8> {
    if let Some((option, why)) = arguments.refused.reason() {
        bail!("cyclictest's `{option}` is not offered: {why}");
    }
    if arguments.clock != 0 {
        bail!("`-c {}`: CLOCK_MONOTONIC (0) alone is measured", arguments.clock);
    }
    let asked = Asked::new(arguments)?;
    let machines = Machines::default();
    let case = asked.case(&machines, arguments)?;
    for file in [&arguments.json, &arguments.histfile].into_iter().flatten() {
        report::check(Some(file))?;
    }
    let awake = if arguments.default_system {
        None
    } else {
        tool::keep_awake("--latency", arguments.latency)?
    };
    if awake.is_some() {
        console::print(&format!("# {DMA_LATENCY} set to {}us\n", arguments.latency))?;
    }
    let machine = machines.open(&case.target)?;
    let mut measured = single::run(&case, machine, &arguments.keep, arguments.quiet)?;
    drop(awake);
    let stored = measured.store();
    let run = measured.run()?;
    let Some(result) = run.cases.first() else {
        return tool::without_samples(stored);
    };
    tool::refuse(result)?;
    let format = asked.format(arguments);
    if arguments.resolution {
        console::print(&resolution(result))?;
    }
    if arguments.verbose {
        console::print(&output::verbose(result, &format))?;
    }
    match (&arguments.histfile, format.histogram) {
        (Some(file), Some(_)) => tool::write(file, &output::histogram(result, &format))?,
        (None, Some(_)) => console::print(&output::histogram(result, &format))?,
        (_, None) => {}
    }
    console::print(&output::text(result, &format))?;
    if let Some(file) = &arguments.json {
        let [command, end] = tool::command_and_time();
        tool::write_json(file, &output::json(run, result, &format, &command, &end))?;
    }
    stored?;
    Ok(if run.context.interrupted { INTERRUPTED } else { 0 })
}

/// The threads that a command line asks for.
struct Asked {
    count: u64,
    /// The value of the parameter `cpu`.
    cpu: String,
    /// Each thread has a processor of its own.
    is_level: bool,
    distance: u64,
}

impl Asked {
    /// # Errors
    /// The threads and processors do not fit each other, or a priority is too high.
    fn new(arguments: &cli::Cyclictest) -> Result<Self> {
        tool::check_priority("-p ", arguments.priority)?;
        let usable = host::usable_cpus() as u64;
        let count = match (&arguments.threads, arguments.smp) {
            (Some(Some(count)), _) => *count,
            (Some(None), _) | (None, true) => usable,
            (None, false) => 1,
        };
        let affinity = match (&arguments.affinity, arguments.smp) {
            (Some(Some(set)), _) => Some(set.clone()),
            (Some(None), _) | (None, true) => Some("all".to_owned()),
            (None, false) => None,
        };
        let (cpu, is_level) = match affinity {
            None => ("free".to_owned(), false),
            Some(set) => shared(&set, count)?,
        };
        let has_histogram = arguments.histogram.or(arguments.histofall).is_some();
        let distance = if has_histogram { 0 } else { arguments.distance };
        Ok(Self { count, cpu, is_level, distance })
    }

    /// The class of the threads.
    fn policy(arguments: &cli::Cyclictest) -> Result<&str> {
        match arguments.policy.as_deref() {
            None if arguments.priority == 0 => Ok("other"),
            None => Ok("fifo"),
            Some("normal") => Ok("other"),
            Some(policy @ ("other" | "fifo" | "rr")) => Ok(policy),
            Some(policy) => {
                bail!("`--policy={}`: other, fifo and rr are measured", printable(policy))
            }
        }
    }

    fn case(&self, machines: &Machines, arguments: &cli::Cyclictest) -> Result<Case> {
        let policy = Self::policy(arguments)?;
        let tasks = if self.is_level { 1 } else { self.count };
        // The parameter is the priority of the least urgent of several threads.
        let priority = arguments.priority.saturating_sub(tasks - 1).max(1);
        let (duration, loops) = (arguments.duration.as_deref(), arguments.loops);
        let length = Length::new(("-D", duration), loops, arguments.interval)?;
        let mut settings = Settings::new();
        let mut set = |name: &str, value: String| settings.insert(name.to_owned(), vec![value]);
        set("interval_us", arguments.interval.to_string());
        set("tasks", tasks.to_string());
        set("distance_us", self.distance.to_string());
        set("cpu", self.cpu.clone());
        set("policy", policy.to_owned());
        set("mlock", if arguments.mlockall { "yes" } else { "no" }.to_owned());
        if policy != "other" {
            set("priority", priority.to_string());
        }
        if arguments.tracemark {
            set("trace", "yes".to_owned());
        }
        if let Length::Loops(loops) = length {
            set("loops", loops.to_string());
        }
        let mut case = tool::case(machines, "period", &settings)?;
        if let Length::Time(time) = length {
            case = case.soaked(machines, time, 1)?;
        }
        match arguments.breaktrace {
            Some(late) => case.breaking(machines, late),
            None => Ok(case),
        }
    }

    fn format(&self, arguments: &cli::Cyclictest) -> Format {
        Format {
            in_ns: arguments.nsecs,
            histogram: arguments.histogram.or(arguments.histofall).map(|rows| rows.min(ROWS)),
            with_sum: arguments.histofall.is_some(),
            breaks_above: arguments.breaktrace,
            // Below a priority of 1 there is none, so that several threads begin above the one asked for.
            priority: match arguments.priority {
                0 => 0,
                asked if self.is_level => asked,
                asked => asked.max(self.count),
            },
            is_level: self.is_level,
            interval: [arguments.interval, self.distance],
        }
    }
}

/// The processors of `count` threads on a set: all on the only one, or each on one of its own.
///
/// # Errors
/// It is no set, or has fewer processors than there are threads.
fn shared(set: &str, count: u64) -> Result<(String, bool)> {
    let all = tool::processors("-a", set)?;
    let own: Vec<String> =
        all.iter().take(usize::try_from(count)?).map(ToString::to_string).collect();
    match own.as_slice() {
        [only] => Ok((only.clone(), false)),
        own if own.len() as u64 == count => Ok((own.join("+"), true)),
        own => bail!(
            "{count} threads on {} processors: each of several processors has one thread here",
            own.len()
        ),
    }
}

/// The words of cyclictest on the clock.
fn resolution(case: &CaseResult) -> String {
    let ns = case.clock.as_ref().map_or(1, |clock| clock.resolution.max(1));
    format!(
        "WARN: reported clock resolution: 1 nsec\nWARN: measured clock resolution approximately: {ns} \
         nsec\n"
    )
}
