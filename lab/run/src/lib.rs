#![doc = include_str!("../README.md")]
//!
//! What may differ between two identical runs stands in [`Context`] alone.

#![forbid(unsafe_code)]

mod case;
mod context;
mod cycles;
pub mod limit;
pub mod names;
mod peer;
mod published;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
mod series;
mod statistic;
mod target;
mod verdict;
mod words;

use serde::{Deserialize, Serialize};

pub use case::{CaseResult, Clock};
pub use context::Context;
pub use cycles::{Cycles, Spent};
pub use limit::{Limit, Quantity};
pub use peer::{Paired, PeerResult, Ratio};
pub use published::{Instrument, Published};
pub use series::{EvidenceResult, FigureResult, Repetition, SeriesResult};
pub use statistic::statistics;
pub use target::Target;
pub use verdict::{Status, Verdict};
pub use words::{Domain, Role, Unit};

/// The version of this form.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub schema: u32,
    pub context: Context,
    /// The study's name, or empty for cases given on the command line.
    pub study: String,
    /// What the study asks, in one line.
    pub title: String,
    /// How to read it, and how it differs from its source; may be empty.
    pub notes: String,
    pub cases: Vec<CaseResult>,
    /// Tools that stand beside cases of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerResult>,
}

impl Run {
    /// The worst verdict of all cases and peers.
    pub fn status(&self) -> Status {
        let cases = self.cases.iter().map(|case| case.verdict.status);
        let peers = self.peers.iter().map(|peer| peer.verdict.status);
        cases.chain(peers).max().unwrap_or(Status::Pass)
    }
}
