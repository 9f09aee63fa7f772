#![doc = include_str!("../README.md")]
//!
//! Repeating a deterministic run changes its [`Context`] only.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod answer;
mod case;
pub mod compared;
mod context;
mod cycles;
pub mod history;
mod interval;
pub mod judge;
pub mod label;
pub mod limit;
mod lookup;
pub mod names;
mod next;
mod peer;
mod precision;
mod published;
pub mod sample;
mod schema;
mod series;
mod statistic;
mod target;
#[cfg(test)]
mod tests;
mod upgrade;
mod verdict;
mod words;

use chronoscope_units::{OneLine, Text};
use serde::{Deserialize, Serialize};

pub use answer::Answering;
pub use case::{CaseResult, Clock};
pub use context::{Context, Imported, Shard};
pub use cycles::{Cycles, Spent};
pub use label::Label;
pub use limit::{Limit, Quantity};
pub use lookup::statistics;
pub use peer::{Paired, PeerResult, Ratio};
pub use precision::{Alternation, Precision};
pub use published::{Instrument, Published};
pub use schema::json_schema;
pub use series::{EvidenceResult, FigureResult, Late, NextRun, Repetition, SeriesResult, Soak};
pub use statistic::{STATISTICS, Statistic};
pub use target::{Target, TargetError};
pub use verdict::{Status, Verdict};
pub use words::{Domain, Role, Unit};

/// The version of the form that this crate writes.
pub const SCHEMA: u32 = 2;

/// The versions of the form that this crate reads, as messages list them.
pub const READABLE: &str = "1 and 2";

/// Returns whether a run of this version of the form can be read; [`Run::upgrade`] brings it to
/// [`SCHEMA`].
pub const fn is_readable(schema: u32) -> bool {
    1 <= schema && schema <= SCHEMA
}

/// A run: the results of a study, or of cases given on the command line. A run from a file may have
/// an older version of the form; see [`Run::upgrade`].
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Run {
    /// The version of the form.
    pub schema: u32,
    /// The time, the machine and the program.
    pub context: Context,
    /// The study's name; empty for cases given on the command line.
    pub study: OneLine,
    /// The study's question, in one line.
    pub title: OneLine,
    /// Notes on reading the study, and on its differences from its source; may be empty.
    pub notes: Text,
    /// The rules by which the study's question is answered, if the study has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answering: Option<Answering>,
    /// The results of the cases, in the order of the study.
    pub cases: Vec<CaseResult>,
    /// The results of other tools, measured in pairs with cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerResult>,
}

impl Run {
    /// Returns the worst verdict of all cases and peers; pass if there are none.
    pub fn status(&self) -> Status {
        let cases = self.cases.iter().map(|case| case.verdict.status);
        let peers = self.peers.iter().map(|peer| peer.verdict.status);
        cases.chain(peers).max().unwrap_or(Status::Pass)
    }
}
