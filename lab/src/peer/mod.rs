//! Readers of the output of peers: well-known tools that run next to cases. Each tool is a file and
//! a row of `READERS`. This module knows texts, not how a tool is started.

mod cyclictest;
mod hackbench;
mod perf_bench_pipe;
mod pi_stress;
mod ptsematest;
mod rt_tests;
mod text;
mod tool;

use std::fmt;

use anyhow::Result;
use serde::{Deserialize, Deserializer, de::Error};

pub use self::tool::{STDOUT, TOOLS, Tool};
use crate::run::Unit;

/// The readers, one row a tool. A study's `reads` names a row.
const READERS: &[Reader] = &[
    cyclictest::READER,
    perf_bench_pipe::READER,
    hackbench::READER,
    pi_stress::READER,
    ptsematest::READER,
];

/// Reads the output of one tool.
struct Reader {
    /// The reader's name in a study: the tool's.
    name: &'static str,
    /// The names of all readings that [`read`](Self::read) may return.
    statistics: &'static [&'static str],
    /// Parses the tool's output. Fails if a reading that every output has is missing.
    read: fn(text: &str) -> Result<Vec<Reading>>,
}

/// The format of a tool's output: a row of the readers' table.
#[derive(Clone, Copy)]
pub struct Format(&'static Reader);

/// A number that a peer printed. Times are in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    pub name: &'static str,
    pub unit: Unit,
    pub value: f64,
}

impl Reading {
    fn ns(name: &'static str, value: f64) -> Self {
        Self { name, unit: Unit::Nanoseconds, value }
    }

    fn count(name: &'static str, value: f64) -> Self {
        Self { name, unit: Unit::Count, value }
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
        let found = READERS.iter().find(|reader| reader.name == name);
        found.map(Self).ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

/// The names of [`READERS`], for messages.
static NAMES: [&str; READERS.len()] = {
    let mut names = [""; READERS.len()];
    let mut row = 0;
    while row < names.len() {
        names[row] = READERS[row].name;
        row += 1;
    }
    names
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_is_found_by_its_own_name() {
        for reader in READERS {
            let format = Format::deserialize(toml::Value::String(reader.name.to_owned())).unwrap();
            assert_eq!(format!("{format:?}"), reader.name);
            assert!(!format.statistics().is_empty());
        }
        let error = Format::deserialize(toml::Value::String("lmbench".to_owned())).unwrap_err();
        for name in NAMES {
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
