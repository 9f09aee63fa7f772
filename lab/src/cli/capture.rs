//! The command line of `chronoscope capture`.

use std::path::PathBuf;

use clap::Args;

use chronoscope_capture::{measure::Measure, measure::Trigger};
use chronoscope_report::format::CaptureFormat;
use chronoscope_units::parse_hertz;

pub const HELP: &str = "\
Files are VCD, sigrok's .sr, Saleae's CSV or binary export (a file, or the folder of all its channels); the content of a file decides.
Measures: width (high), low, period, jitter (from one period to the next), duty, edges (from each edge to the next).

  chronoscope capture board.vcd --channel D1                      how wide are D1's pulses?
  chronoscope capture board.vcd --start rise:irq --end rise:D3    how long from the one to the other?
  chronoscope capture board.vcd analyser.sr --channel D1 --rate 2MHz --phase 0.25
                                                                  what would a 2 MS/s analyser have read?
  chronoscope capture analyser.sr -o analyser.vcd                 the same capture in another format";

#[derive(Args)]
pub struct Capture {
    /// Captures; several make one table.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Channels to measure [default: all].
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub channel: Vec<String>,
    /// Measure the time from this edge: rise:, fall: or edge:, and a channel.
    #[arg(long, value_name = "EDGE:NAME", requires = "end")]
    pub start: Option<Trigger>,
    /// Measure the time to the next edge of this kind.
    #[arg(long, value_name = "EDGE:NAME", requires = "start")]
    pub end: Option<Trigger>,
    /// Measurements of each channel [default: width].
    #[arg(long, value_delimiter = ',', value_name = "MEASURE")]
    pub measure: Vec<Measure>,
    /// The sampling rate, for files that do not contain it: Saleae's CSV and version 0, sigrok's
    /// without a rate, and dumps without a timescale.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub sampled: Option<u64>,
    /// Resample exact edges as an analyser with this sampling rate reads them.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: Option<u64>,
    /// Its first sample: 0 to below 1 periods after the start, or random.
    #[arg(long, value_name = "PHASE", requires = "rate", default_value = "0", value_parser = phase)]
    pub phase: Phase,
    /// For random phases.
    #[arg(long, value_name = "N", requires = "rate", default_value_t = 1)]
    pub seed: u64,
    /// How to print the result.
    #[arg(long, value_enum)]
    pub format: Option<CaptureFormat>,
    /// Write the result to a file; to one named .vcd or .sr, the capture itself.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

/// The place of an analyser's first sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// After this part of a period, from 0 to below 1.
    At(f64),
    /// At a random place of the period, another for each file.
    Random,
}

/// Reads a rate, in Hz without a unit.
pub fn rate(text: &str) -> Result<u64, String> {
    parse_hertz(text).map_err(|error| error.to_string())
}

fn phase(text: &str) -> Result<Phase, &'static str> {
    if text == "random" {
        return Ok(Phase::Random);
    }
    let phase = text.parse().ok().filter(|phase| (0.0..1.0).contains(phase));
    phase.map(Phase::At).ok_or("write a number from 0 to below 1, or random")
}
