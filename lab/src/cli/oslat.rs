//! The command line of `chronoscope oslat`: the options of rt-tests' oslat 2.40.

use std::path::PathBuf;

use clap::Args;

use super::{Keep, one_or_more};

pub const HELP: &str = "\
Examples:
  chronoscope oslat -c 1 -D 10
  chronoscope oslat -c 1-3 -f 80 -D 1h --zero-omit --json result.json
  chronoscope oslat -c 1 -D 1m -T 50
                          ends at the first gap that is longer than 50 us

The output is oslat's, after the run, which is kept with its page. Exit status:
0; 1 if nothing was measured or -T ended the run, 130 if interrupted.";

#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Oslat {
    /// The number of buckets, each of 1 us.
    #[arg(short = 'b', long, value_name = "N", value_parser = buckets, default_value_t = 32)]
    pub bucket_size: u64,
    /// Begin the buckets at the shortest turn.
    #[arg(short = 'B', long)]
    pub bias: bool,
    /// The processors, as 1,3,5-7 [default: all].
    #[arg(short = 'c', long, value_name = "CPUS")]
    pub cpu_list: Option<String>,
    /// Accepted: the main thread is never on a measured processor, if there is another.
    #[arg(short = 'C', long, value_name = "CPU", value_parser = super::whole, default_value_t = 0, hide = true)]
    pub cpu_main_thread: u64,
    /// The length of the run, as 60, 20m or 2H [default: 1 s].
    #[arg(short = 'D', long, value_name = "TIME", default_value = "1", hide_default_value = true)]
    pub duration: String,
    /// Write the result to this file, in JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The priority, of SCHED_FIFO [default: the ordinary class].
    #[arg(short = 'f', long, value_name = "PRIO", value_parser = priority)]
    pub rtprio: Option<u64>,
    /// The bytes that each turn copies, as 4K or 1M.
    #[arg(short = 'm', long, value_name = "SIZE", value_parser = size, default_value = "16K", hide_default_value = true)]
    pub workload_mem: u64,
    /// Print the table alone.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Accepted: the clock needs no pre-heating.
    #[arg(short = 's', long, hide = true)]
    pub single_preheat: bool,
    /// End at the first gap that is longer than this, in us, with the kernel's trace where it can be had.
    #[arg(short = 'T', long, value_name = "USEC", value_parser = one_or_more)]
    pub trace_threshold: Option<u64>,
    /// Print the version of oslat whose command line this is.
    #[arg(short = 'v', long)]
    pub version: bool,
    /// no, or memmove: each turn copies memory.
    #[arg(short = 'w', long, value_name = "KIND", default_value = "no", hide_default_value = true)]
    pub workload: String,
    /// Leave out buckets that are empty on all processors.
    #[arg(short = 'z', long)]
    pub zero_omit: bool,
    #[command(flatten)]
    pub keep: Keep,
}

fn buckets(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok().filter(|number| (4..=1024).contains(number));
    number.ok_or("illegal bucket size (should be: 4-1024)")
}

fn priority(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok().filter(|number| (1..=99).contains(number));
    number.ok_or("illegal RT priority (should be: 1-99)")
}

/// Reads a size in bytes: a number, and K, M or G.
fn size(text: &str) -> Result<u64, &'static str> {
    let wrong = "write a size up to 1G, as 4K or 1M";
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let scale = match unit.to_ascii_uppercase().as_str() {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(wrong),
    };
    let number: u64 = text[..text.len() - unit.len()].parse().map_err(|_| wrong)?;
    number.checked_mul(scale).filter(|bytes| (1..=1 << 30).contains(bytes)).ok_or(wrong)
}
