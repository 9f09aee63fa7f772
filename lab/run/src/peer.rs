//! The results of a peer, a well-known tool that ran in turn with a case.

use std::collections::BTreeMap;

use chronoscope_statistics::median;
use chronoscope_units::{OneLine, Text};
use serde::{Deserialize, Serialize};

use crate::{label::Label, verdict::Verdict};

/// The results of a peer.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PeerResult {
    /// The peer's name.
    pub name: OneLine,
    /// The command with its arguments.
    pub command: Vec<OneLine>,
    /// The experiment of the case with which the peer was paired.
    pub experiment: OneLine,
    /// The target of the case.
    pub target: OneLine,
    /// The parameters of the case.
    pub parameters: BTreeMap<OneLine, OneLine>,
    /// The parameters that distinguish the case from others of its experiment, for display.
    #[schemars(with = "OneLine")]
    pub label: Label,
    /// The number of completed pairs.
    pub pairs: usize,
    /// The compared statistics.
    pub statistics: Vec<Paired>,
    /// A note for the reader; may be empty.
    pub note: Text,
    /// The verdict, from the tolerances of the ratios.
    pub verdict: Verdict,
}

/// A statistic of Chronoscope's and one of the peer's: a value of each for each pair, in the order
/// in which the pairs ran.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Paired {
    /// The name of Chronoscope's statistic; empty if there is none.
    pub ours_is: OneLine,
    /// The name of the peer's statistic; empty if there is none.
    pub theirs_is: OneLine,
    /// The unit of all values.
    pub unit: OneLine,
    /// Chronoscope's values.
    pub ours: Vec<f64>,
    /// The peer's values, scaled to the operation that Chronoscope measures.
    pub theirs: Vec<f64>,
    /// The ratio of Chronoscope's value to the peer's, over all pairs; `None` if one side is
    /// missing.
    pub ratio: Option<Ratio>,
    /// The tolerance: the largest distance of the median ratio from 1. `None`: shown, not judged.
    pub within: Option<f64>,
}

/// The median and range of the pairs' ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// The smallest ratio.
    pub min: f64,
    /// The largest ratio.
    pub max: f64,
}

impl Paired {
    /// Returns both names, Chronoscope's first, as `p50 / Avg`; one name if they are equal or there
    /// is only one.
    pub fn name(&self) -> String {
        match (self.ours_is.as_str(), self.theirs_is.as_str()) {
            ("", name) | (name, "") => name.to_owned(),
            (ours, theirs) if ours == theirs => ours.to_owned(),
            (ours, theirs) => format!("{ours} / {theirs}"),
        }
    }

    /// Computes the ratio from the values of all pairs.
    pub fn finish(mut self) -> Self {
        let ratios = self
            .ours
            .iter()
            .zip(&self.theirs)
            .map(|(ours, theirs)| ours / theirs)
            .collect::<Vec<_>>();
        self.ratio = median(&ratios).map(|median| Ratio {
            median,
            min: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            max: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        });
        self
    }
}
