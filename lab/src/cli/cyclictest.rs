//! The command line of `chronoscope cyclictest`: the options of rt-tests' cyclictest 2.40.

use std::path::PathBuf;

use clap::Args;

use super::{Keep, one_or_more, whole};

pub const HELP: &str = "\
Examples:
  chronoscope cyclictest -S -p 90 -m -i 200 -D 1h -q
  chronoscope cyclictest -p 80 -l 100000 -h 400 -q --histfile rows.txt
  chronoscope cyclictest -p 80 -a 1 -b 200 -D 1m --tracemark
                          ends at the first start that is later than 200 us

The output is cyclictest's, after the run, which is kept with its page. Exit
status: 0; 1 if nothing was measured, 130 if interrupted.";

#[derive(Args)]
#[command(disable_help_flag = true, allow_negative_numbers = true, args_override_self = true)]
pub struct Cyclictest {
    /// Thread N on processor N, or all threads on the processors of a list, as 2 or 1-3.
    #[arg(short = 'a', long, value_name = "CPUSET", num_args = 0..=1)]
    pub affinity: Option<Option<String>>,
    /// End at the first start that is later than this, in us.
    #[arg(short = 'b', long, value_name = "USEC", value_parser = one_or_more)]
    pub breaktrace: Option<u64>,
    /// The clock: 0, CLOCK_MONOTONIC.
    #[arg(short = 'c', long, value_name = "CLOCK", value_parser = whole, default_value_t = 0)]
    pub clock: u64,
    /// Leave power management as it is.
    #[arg(long)]
    pub default_system: bool,
    /// Added to the interval of each next thread, in us.
    #[arg(short = 'd', long, value_name = "DIST", value_parser = whole, default_value_t = 500)]
    pub distance: u64,
    /// End after this time: a number and s, m, h or d.
    #[arg(short = 'D', long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Print the number of starts of each lateness below this, in us.
    #[arg(short = 'h', long, value_name = "US", value_parser = one_or_more)]
    pub histogram: Option<u64>,
    /// The same, with the sum of all threads.
    #[arg(short = 'H', long, value_name = "US", value_parser = one_or_more, conflicts_with = "histogram")]
    pub histofall: Option<u64>,
    /// Write the histogram to this file.
    #[arg(long, value_name = "FILE")]
    pub histfile: Option<PathBuf>,
    /// The interval of the first thread, in us.
    #[arg(short = 'i', long, value_name = "INTV", value_parser = one_or_more, default_value_t = 1000)]
    pub interval: u64,
    /// Write the result to this file, in JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The value for /dev/cpu_dma_latency, in us.
    #[arg(long, value_name = "PM_QOS", value_parser = whole, default_value_t = 0)]
    pub latency: u64,
    /// The number of starts of each thread; 0: without an end.
    #[arg(short = 'l', long, value_name = "LOOPS", value_parser = whole, default_value_t = 0)]
    pub loops: u64,
    /// The processor of the main thread, which is never one of the measurement's here.
    #[arg(long, value_name = "CPUSET", hide = true)]
    pub mainaffinity: Option<String>,
    /// Lock memory.
    #[arg(short = 'm', long)]
    pub mlockall: bool,
    /// Accepted: the output comes after the run.
    #[arg(short = 'M', long = "refresh_on_max", hide = true)]
    pub refresh_on_max: bool,
    /// Accepted: each thread sleeps by clock_nanosleep.
    #[arg(short = 'n', long, hide = true)]
    pub nanosleep: bool,
    /// Print ns.
    #[arg(short = 'N', long)]
    pub nsecs: bool,
    /// The priority of the most urgent thread.
    #[arg(short = 'p', long, value_name = "PRIO", value_parser = whole, default_value_t = 0)]
    pub priority: u64,
    /// other, fifo or rr.
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// Accepted: each next thread is less urgent.
    #[arg(long, hide = true)]
    pub priospread: bool,
    /// No progress.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Print the resolution of the clock.
    #[arg(short = 'R', long)]
    pub resolution: bool,
    /// One thread on each processor, all of one priority.
    #[arg(short = 'S', long)]
    pub smp: bool,
    /// The number of threads [default: 1; without a number: the processors].
    #[arg(short = 't', long, value_name = "NUM", num_args = 0..=1, value_parser = one_or_more)]
    pub threads: Option<Option<u64>>,
    /// With -b: keep the kernel's trace of the late start.
    #[arg(long, requires = "breaktrace")]
    pub tracemark: bool,
    /// Accepted: the output comes after the run.
    #[arg(short = 'u', long, hide = true)]
    pub unbuffered: bool,
    /// Print each start: thread, number, lateness.
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// Refused, with the reason: see [`Cyclictest::refused`].
    #[command(flatten)]
    pub refused: Refused,
    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    pub help: Option<bool>,
    #[command(flatten)]
    pub keep: Keep,
}

/// Options of cyclictest that would measure something else, and are refused.
#[derive(Args)]
pub struct Refused {
    #[arg(short = 'A', long, hide = true, num_args = 0..=1)]
    pub aligned: Option<Option<String>>,
    #[arg(short = 'F', long, hide = true)]
    pub fifo: Option<String>,
    #[arg(long, hide = true)]
    pub laptop: bool,
    #[arg(short = 'o', long, hide = true)]
    pub oscope: Option<String>,
    #[arg(short = 'r', long, hide = true)]
    pub relative: bool,
    #[arg(long, hide = true, num_args = 0..=1)]
    pub secaligned: Option<Option<String>>,
    #[arg(long, hide = true)]
    pub smi: bool,
    #[arg(long, hide = true)]
    pub spike: Option<String>,
    #[arg(long = "spike-nodes", hide = true)]
    pub spike_nodes: Option<String>,
    #[arg(short = 's', long, hide = true)]
    pub system: bool,
    #[arg(short = 'x', long = "posix_timers", hide = true)]
    pub posix_timers: bool,
    #[arg(long = "dbg_cyclictest", hide = true)]
    pub dbg_cyclictest: bool,
}

impl Refused {
    /// The first option that is refused, and the reason.
    pub fn reason(&self) -> Option<(&'static str, &'static str)> {
        const SLEEP: &str = "each thread sleeps to absolute times by clock_nanosleep";
        const START: &str = "threads start together, 20 ms after all are ready";
        const OUTPUT: &str = "the output comes after the run";
        let all = [
            (self.aligned.is_some(), "-A", START),
            (self.secaligned.is_some(), "--secaligned", START),
            (self.relative, "-r", SLEEP),
            (self.system, "-s", SLEEP),
            (self.posix_timers, "-x", SLEEP),
            (self.fifo.is_some(), "-F", OUTPUT),
            (self.oscope.is_some(), "-o", OUTPUT),
            (
                self.spike.is_some() || self.spike_nodes.is_some(),
                "--spike",
                "the page has the worst",
            ),
            (self.smi, "--smi", "the experiment noise shows what no event explains"),
            (self.laptop, "--laptop", "--default-system leaves power management as it is"),
            (self.dbg_cyclictest, "--dbg_cyclictest", "it is cyclictest's own"),
        ];
        all.into_iter().find(|(is_given, ..)| *is_given).map(|(_, name, why)| (name, why))
    }
}
