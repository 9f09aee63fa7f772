//! The results of a peer, a well-known tool that was run beside a case.

use std::collections::BTreeMap;

use chronoscope_statistics::median;
use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerResult {
    pub name: String,
    /// The command, as it was run.
    pub command: Vec<String>,
    /// The case of ours.
    pub experiment: String,
    pub target: String,
    pub parameters: BTreeMap<String, String>,
    /// What tells the case from its sisters, for people.
    pub label: String,
    pub pairs: usize,
    pub statistics: Vec<Paired>,
    pub note: String,
    pub verdict: Verdict,
}

/// A statistic of ours beside one of theirs: one value of each for each pair, in the order in which they ran.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Paired {
    /// What ours is called; empty where there is none.
    pub ours_is: String,
    pub theirs_is: String,
    pub unit: String,
    pub ours: Vec<f64>,
    /// Scaled to what ours is of.
    pub theirs: Vec<f64>,
    /// Where there are both: each pair's ours divided by its theirs.
    pub ratio: Option<Ratio>,
    /// How far the median ratio may lie from 1.
    pub within: Option<f64>,
}

/// Of all pairs' ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Paired {
    /// Both names, or one where both are the same or there is one.
    pub fn name(&self) -> String {
        match (self.ours_is.as_str(), self.theirs_is.as_str()) {
            ("", name) | (name, "") => name.to_owned(),
            (ours, theirs) if ours == theirs => ours.to_owned(),
            (ours, theirs) => format!("{ours} / {theirs}"),
        }
    }

    /// Completes the pairs' ratios.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(ours: &[f64], theirs: &[f64], within: Option<f64>) -> Paired {
        let (ours, theirs) = (ours.to_vec(), theirs.to_vec());
        let paired = Paired {
            ours_is: "p50".into(),
            theirs_is: "p50".into(),
            unit: "ns".into(),
            ours,
            theirs,
            ratio: None,
            within,
        };
        paired.finish()
    }

    #[test]
    fn pairs_are_compared_one_by_one() {
        // The machine was ten times slower in the second pair, for both.
        let ratio = paired(&[100.0, 1000.0, 120.0], &[100.0, 1100.0, 100.0], None).ratio.unwrap();
        assert_eq!((ratio.median, ratio.max), (1.0, 1.2));
    }
}
