//! Peers: well-known tools that run next to cases. A tool is one file, which reads the tool's output,
//! and one row of [`TOOLS`]. This module knows commands and texts, not how a tool is started.

mod cyclicdeadline;
mod cyclictest;
mod hackbench;
mod oslat;
mod perf_bench_pipe;
mod pi_stress;
mod ptsematest;
mod rt_tests;
mod rtla_timerlat;
mod text;
mod tool;

use std::fmt;

use anyhow::Result;
use serde::{Deserialize, Deserializer, de::Error};

pub use self::tool::{STDOUT, TOOLS, Tool};
use chronoscope_run::Unit;

/// Reads the output of one tool.
struct Reader {
    /// The reader's name in a study: the tool's.
    name: &'static str,
    /// The names of all readings that [`read`](Self::read) may return.
    statistics: &'static [&'static str],
    /// Parses the tool's output. Fails if a reading that every output has is missing.
    read: fn(text: &str) -> Result<Vec<Reading>>,
}

/// The format of a tool's output.
#[derive(Clone, Copy)]
pub struct Format(&'static Reader);

/// A number that a peer printed. Times are in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The statistic.
    pub name: &'static str,
    /// The unit of the value.
    pub unit: Unit,
    /// The value.
    pub value: f64,
    /// The processor of the thread that the reading belongs to, if the tool has a thread on each.
    pub cpu: Option<usize>,
}

impl Reading {
    fn ns(name: &'static str, value: f64) -> Self {
        Self { name, unit: Unit::Nanoseconds, value, cpu: None }
    }

    fn count(name: &'static str, value: f64) -> Self {
        Self { name, unit: Unit::Count, value, cpu: None }
    }
}

impl Format {
    /// The names of all readings that the format may yield.
    pub fn statistics(self) -> &'static [&'static str] {
        self.0.statistics
    }

    /// The readings in a tool's output.
    ///
    /// # Errors
    /// If a reading that every output of the tool has is missing; the message names it.
    pub fn read(self, text: &str) -> Result<Vec<Reading>> {
        (self.0.read)(text)
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = TOOLS.iter().map(|tool| tool.format).find(|format| format.0.name == name);
        found.ok_or_else(|| {
            let mut names: Vec<String> =
                TOOLS.iter().map(|tool| format!("`{}`", tool.format.0.name)).collect();
            names.dedup();
            D::Error::custom(format!(
                "unknown variant `{name}`, expected one of {}",
                names.join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_is_found_by_its_own_name() {
        let error = Format::deserialize(toml::Value::String("lmbench".to_owned())).unwrap_err();
        for Tool { format, .. } in TOOLS {
            let name = format.0.name;
            let found = Format::deserialize(toml::Value::String(name.to_owned())).unwrap();
            assert_eq!(found.statistics(), format.statistics(), "{name}");
            assert!(!found.statistics().is_empty());
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
