//! The command line of `chronoscope timerlat`: the options of `rtla timerlat` of Debian 12.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Keep, one_or_more, whole};

pub const HELP: &str = "\
Examples:
  chronoscope timerlat hist -c 0-1 -d 1m
  chronoscope timerlat top -q -d 10s -P f:80
  chronoscope timerlat hist -d 1h -a 100
                          ends at the first latency above 100 us, with its trace

The threads are in user space; the interrupt has no latency of its own here. The
output is rtla's, after the run, which is kept with its page. Exit status: 0; 1
if nothing was measured, 130 if interrupted.";

/// The output of the command.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// A line for each processor.
    Top,
    /// A histogram.
    Hist,
}

#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Timerlat {
    /// A summary or a histogram.
    #[arg(value_enum, default_value = "top")]
    pub mode: Mode,
    /// End at the first latency above this, in us, and keep the kernel's trace of it.
    #[arg(short = 'a', long, value_name = "US", value_parser = one_or_more)]
    pub auto: Option<u64>,
    /// The interval of each thread, in us.
    #[arg(short = 'p', long, value_name = "US", value_parser = one_or_more, default_value_t = 1000)]
    pub period: u64,
    /// End at the first latency above this, in us.
    #[arg(short = 'T', long, value_name = "US", value_parser = one_or_more)]
    pub thread: Option<u64>,
    /// Keep the kernel's trace, with its stacks.
    #[arg(short = 's', long, value_name = "US", value_parser = one_or_more)]
    pub stack: Option<u64>,
    /// The processors, as 0,2-3 [default: all].
    #[arg(short = 'c', long, value_name = "CPUS")]
    pub cpus: Option<String>,
    /// End after this time: a number and s, m, h or d.
    #[arg(short = 'd', long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Accepted: the page has what there is to debug.
    #[arg(short = 'D', long, hide = true)]
    pub debug: bool,
    /// Keep the kernel's trace, and write it to a file if the run ends early.
    #[arg(short = 't', long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "timerlat_trace.txt")]
    pub trace: Option<PathBuf>,
    /// Print ns.
    #[arg(short = 'n', long)]
    pub nano: bool,
    /// No progress.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// The width of a bucket.
    #[arg(short = 'b', long, value_name = "N", value_parser = one_or_more, default_value_t = 1)]
    pub bucket_size: u64,
    /// The number of buckets, from 10.
    #[arg(short = 'E', long, value_name = "N", value_parser = entries, default_value_t = 256)]
    pub entries: u64,
    /// Accepted: there is no column of the interrupt.
    #[arg(long, hide = true)]
    pub no_irq: bool,
    /// Leave out the lines before the histogram.
    #[arg(long)]
    pub no_header: bool,
    /// Leave out the lines after the histogram.
    #[arg(long)]
    pub no_summary: bool,
    /// Leave out the first column of the histogram; takes --with-zeros.
    #[arg(long, requires = "with_zeros")]
    pub no_index: bool,
    /// Print empty buckets too.
    #[arg(long)]
    pub with_zeros: bool,
    /// The value for /dev/cpu_dma_latency, in us.
    #[arg(long, value_name = "US", value_parser = whole)]
    pub dma_latency: Option<u64>,
    /// o:PRIO, r:PRIO or f:PRIO [default: f:80].
    #[arg(short = 'P', long, value_name = "CLASS")]
    pub priority: Option<String>,
    /// Accepted: the threads are in user space.
    #[arg(short = 'u', long, hide = true)]
    pub user_threads: bool,
    /// Refused, with the reason: see [`Timerlat::refused`].
    #[command(flatten)]
    pub refused: Refused,
    #[command(flatten)]
    pub keep: Keep,
}

/// Options of rtla that would measure something else, and are refused.
#[derive(Args)]
pub struct Refused {
    #[arg(short = 'i', long, hide = true)]
    pub irq: Option<String>,
    #[arg(long, hide = true)]
    pub no_thread: bool,
    #[arg(short = 'k', long, hide = true)]
    pub kernel_threads: bool,
    #[arg(short = 'e', long, hide = true)]
    pub event: Vec<String>,
    #[arg(long, hide = true)]
    pub filter: Vec<String>,
    #[arg(long, hide = true)]
    pub trigger: Vec<String>,
}

impl Refused {
    /// The first option that is refused, and the reason.
    pub fn reason(&self) -> Option<(&'static str, &'static str)> {
        const IRQ: &str = "the interrupt has no latency of its own here; the page of a run with -a tells \
                           it apart";
        const EVENTS: &str = "the trace has the events that the page reads";
        let all = [
            (self.irq.is_some(), "-i", IRQ),
            (self.no_thread, "--no-thread", IRQ),
            (self.kernel_threads, "-k", "the threads are in user space"),
            (!self.event.is_empty(), "-e", EVENTS),
            (!self.filter.is_empty(), "--filter", EVENTS),
            (!self.trigger.is_empty(), "--trigger", EVENTS),
        ];
        all.into_iter().find(|(is_given, ..)| *is_given).map(|(_, name, why)| (name, why))
    }
}

fn entries(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok().filter(|number| (10..=9_999_999).contains(number));
    number.ok_or("write a number from 10 to 9999999")
}
