//! Readers of what peers print: well-known tools that are run beside cases. One file a tool.

mod cyclictest;
mod hackbench;
mod perf_bench_pipe;
mod pi_stress;
mod ptsematest;
mod rt_tests;
mod text;
mod tool;

use anyhow::Result;
use serde::Deserialize;

pub use self::tool::{STDOUT, TOOLS, Tool};

/// What a peer prints, and how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    Cyclictest,
    PerfBenchPipe,
    Hackbench,
    #[serde(rename = "pi_stress")]
    PiStress,
    Ptsematest,
}

/// A number that a peer printed. Times are in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    pub name: &'static str,
    pub unit: &'static str,
    pub value: f64,
}

impl Reading {
    fn ns(name: &'static str, value: f64) -> Self {
        Self { name, unit: "ns", value }
    }

    fn count(name: &'static str, value: f64) -> Self {
        Self { name, unit: "count", value }
    }
}

impl Format {
    /// All statistics that the format may yield.
    pub fn statistics(self) -> &'static [&'static str] {
        match self {
            Format::Cyclictest => cyclictest::STATISTICS,
            Format::PerfBenchPipe => perf_bench_pipe::STATISTICS,
            Format::Hackbench => hackbench::STATISTICS,
            Format::PiStress => pi_stress::STATISTICS,
            Format::Ptsematest => ptsematest::STATISTICS,
        }
    }

    /// # Errors
    /// What was looked for and not found.
    pub fn read(self, text: &str) -> Result<Vec<Reading>> {
        match self {
            Format::Cyclictest => cyclictest::read(text),
            Format::PerfBenchPipe => perf_bench_pipe::read(text),
            Format::Hackbench => hackbench::read(text),
            Format::PiStress => pi_stress::read(text),
            Format::Ptsematest => ptsematest::read(text),
        }
    }
}
