//! Peers: well-known tools that run next to cases. A tool is one row of [`TOOLS`] and one row of
//! the formats. This module knows commands and texts, not how a tool is started.

mod format;
#[cfg(test)]
mod tests;
mod tool;

use std::fmt;

use anyhow::Result;
use serde::{Deserialize, Deserializer, de::Error};

pub use self::tool::{STDOUT, TOOLS, Tool};
use chronoscope_run::Unit;

/// The format of a tool's output.
#[derive(Clone, Copy)]
pub struct Format(&'static format::Layout);

/// A number that a peer printed. Times are in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The name in a study: `p50`, `irq max`.
    pub name: &'static str,
    /// Nanoseconds, or a count.
    pub unit: Unit,
    /// The number, in `unit`.
    pub value: f64,
    /// The processor of the reading's thread, if the tool has a thread on each.
    pub cpu: Option<usize>,
}

impl Format {
    /// The names of all readings that the format may yield.
    pub fn statistics(self) -> Vec<&'static str> {
        self.0.statistics().collect()
    }

    /// The readings in a tool's output.
    ///
    /// # Errors
    /// If a reading that every output of the tool has is missing; the message names it.
    pub fn read(self, text: &str) -> Result<Vec<Reading>> {
        self.0.read(text)
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
