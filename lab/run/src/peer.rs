//! The results of a peer, a well-known tool that was run beside a case.

use std::collections::BTreeMap;

use chronoscope_statistics::median;
use chronoscope_units::{OneLine, Text};
use serde::{Deserialize, Serialize};

use crate::{label::Label, verdict::Verdict};

/// The results of a peer.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PeerResult {
    pub name: OneLine,
    /// The command with its arguments.
    pub command: Vec<OneLine>,
    /// The experiment of the case with which the peer was paired.
    pub experiment: OneLine,
    pub target: OneLine,
    pub parameters: BTreeMap<OneLine, OneLine>,
    /// The parameters that distinguish the case from others of its experiment, for display.
    pub label: Label,
    pub pairs: usize,
    pub statistics: Vec<Paired>,
    pub note: Text,
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
    pub unit: OneLine,
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
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Paired {
    /// Both names as `ours / theirs`, or one name if they are equal or there is only one.
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
