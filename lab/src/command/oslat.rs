//! `chronoscope oslat`: the experiment `noise` by the command line of rt-tests' oslat, with its output;
//! the run is kept like any other.

use std::{path::Path, time::Duration};

use anyhow::{Result, bail};

use super::{run, single, tool};
use crate::cli;
use chronoscope_base::{console, signals::INTERRUPTED};
use chronoscope_engine::case::{Case, Settings};
use chronoscope_machine::Machines;
use chronoscope_report::{
    self as report,
    oslat::{self as output, Format},
};
use chronoscope_units::printable;

const VERSION: &str = "oslat V 2.40\n";

/// The files by which the kernel's trace is had.
const TRACE: [&str; 2] =
    ["/sys/kernel/tracing/trace_marker", "/sys/kernel/debug/tracing/trace_marker"];

pub fn execute(arguments: &cli::Oslat) -> Result<u8> {
    if arguments.version {
        console::print(VERSION)?;
        return Ok(0);
    }
    let asked = Asked::new(arguments)?;
    let machines = Machines::default();
    let case = asked.case(&machines, arguments)?;
    if let Some(file) = &arguments.json {
        report::check(Some(file))?;
    }
    console::print(VERSION)?;
    if !arguments.quiet {
        console::print(&asked.head(arguments))?;
    }
    let machine = machines.open(&case.target)?;
    let mut measured = single::run(&case, machine, &arguments.keep, arguments.quiet)?;
    let stored = measured.store();
    let run = measured.run()?;
    let Some(result) = run.cases.first() else {
        return tool::without_samples(stored);
    };
    tool::refuse(result)?;
    let format = Format {
        buckets: arguments.bucket_size,
        is_biased: arguments.bias,
        omits_zeros: arguments.zero_omit,
    };
    console::print(&output::bias_line(result, &format))?;
    if let Some(us) = arguments.trace_threshold
        && let Some((cpu, longest)) = output::triggered(result, us)
    {
        stored?;
        bail!(
            "oslat: Trace threshold ({us} us) triggered on cpu {cpu} with {longest} us! Stopping the \
             test."
        );
    }
    if !arguments.quiet {
        console::print("Test starts...\nTest completed.\n\n")?;
    }
    console::print(&output::text(result, &format))?;
    if let Some(file) = &arguments.json {
        let [command, end] = tool::command_and_time();
        tool::write_json(file, &output::json(run, result, &format, &command, &end))?;
    }
    stored?;
    Ok(if run.context.interrupted { INTERRUPTED } else { 0 })
}

/// The loops that a command line asks for.
struct Asked {
    cpus: Vec<usize>,
    length: Duration,
    /// The bytes that each turn copies.
    workload: Option<u64>,
}

impl Asked {
    /// # Errors
    /// The processors, the length, the workload or the priority have a wrong value.
    fn new(arguments: &cli::Oslat) -> Result<Self> {
        tool::check_priority("-f ", arguments.rtprio.unwrap_or_default())?;
        let list = arguments.cpu_list.as_deref().unwrap_or("all");
        let cpus = tool::processors("-c", list)?;
        let workload = match arguments.workload.as_str() {
            "no" => None,
            "memmove" => Some(arguments.workload_mem),
            other => bail!(
                "Unknown workload '{}'. Please choose from: 'no', 'memmove'",
                printable(other)
            ),
        };
        let length = run::duration("-D", &arguments.duration.to_ascii_lowercase())?;
        Ok(Self { cpus, length, workload })
    }

    fn case(&self, machines: &Machines, arguments: &cli::Oslat) -> Result<Case> {
        // With a real-time class the loop rests for a tenth of the time, as the kernel's limit asks.
        let (policy, window, rest) = match arguments.rtprio {
            Some(_) => ("fifo", 90_000, 10_000),
            None => ("other", 900_000, 0),
        };
        let cpus: Vec<String> = self.cpus.iter().map(ToString::to_string).collect();
        let mut settings = Settings::new();
        let mut set = |name: &str, value: String| settings.insert(name.to_owned(), vec![value]);
        set("cpu", cpus.join("+"));
        set("policy", policy.to_owned());
        set("window_us", window.to_string());
        set("rest_us", rest.to_string());
        if let Some(priority) = arguments.rtprio {
            set("priority", priority.to_string());
        }
        let has_trace = TRACE.iter().any(|file| Path::new(file).exists());
        if arguments.trace_threshold.is_some() && has_trace {
            set("trace", "yes".to_owned());
        }
        let case = tool::case(machines, "noise", &settings)?.watched(self.length, self.workload);
        match arguments.trace_threshold {
            Some(us) => case.breaking(machines, us),
            None => Ok(case),
        }
    }

    /// The lines before the run.
    fn head(&self, arguments: &cli::Oslat) -> String {
        let priority = match arguments.rtprio {
            Some(priority) => format!("SCHED_FIFO:{priority}"),
            None => "default".to_owned(),
        };
        let warning = if arguments.rtprio.is_some() && self.cpus.contains(&0) {
            "WARNING: Running SCHED_FIFO workload on CPU 0 may hang the thread\n"
        } else {
            ""
        };
        format!(
            "{warning}Total runtime: \t\t{} seconds\nThread priority: \t{priority}\nCPU list: \t\t{}\n\
             CPU for main thread: \t{}\nWorkload: \t\t{}\nWorkload mem: \t\t{} (KiB)\n\
             Preheat cores: \t\t{}\n\nPre-heat for 1 seconds...\n",
            self.length.as_secs(),
            printable(arguments.cpu_list.as_deref().unwrap_or("all")),
            arguments.cpu_main_thread,
            arguments.workload,
            self.workload.unwrap_or_default() / 1024,
            if arguments.single_preheat { 1 } else { self.cpus.len() },
        )
    }
}
