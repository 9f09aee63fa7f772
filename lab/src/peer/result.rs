//! What remains of a peer in a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Peer;
use crate::{
    statistics::median,
    verdict::{Status, Verdict},
};

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

impl PeerResult {
    pub(super) fn new(
        peer: &Peer,
        statistics: Vec<Paired>,
        pairs: usize,
        failures: &[String],
        trouble: Option<Verdict>,
    ) -> Self {
        let given_up = trouble.is_some();
        let again = failures.iter().filter(|_| !given_up);
        let again: String =
            again.map(|why| format!("A pair failed and was run again: {why}\n")).collect();
        Self {
            name: peer.name.clone(),
            command: peer.command.clone(),
            experiment: peer.case.spec.name.to_owned(),
            target: peer.case.target.to_string(),
            parameters: peer.case.parameters.iter().cloned().collect(),
            label: peer.case.label(),
            pairs,
            verdict: trouble.unwrap_or_else(|| judge(&statistics)),
            statistics,
            note: again + &peer.note,
        }
    }
}

/// Each median ratio must lie within its tolerance.
fn judge(statistics: &[Paired]) -> Verdict {
    let missed: Vec<String> = statistics.iter().filter_map(Paired::missed).collect();
    let status = if missed.is_empty() { Status::Pass } else { Status::LimitMissed };
    Verdict { status, reasons: missed }
}

impl Paired {
    fn missed(&self) -> Option<String> {
        let (ratio, within) = self.ratio.zip(self.within)?;
        ((ratio.median - 1.0).abs() > within).then(|| {
            format!(
                "{} is {:.3} of theirs ({:.3} to {:.3}), not within {} %",
                self.ours_is,
                ratio.median,
                ratio.min,
                ratio.max,
                100.0 * within
            )
        })
    }

    /// Both names, or one where both are the same or there is one.
    pub fn name(&self) -> String {
        match (self.ours_is.as_str(), self.theirs_is.as_str()) {
            ("", name) | (name, "") => name.to_owned(),
            (ours, theirs) if ours == theirs => ours.to_owned(),
            (ours, theirs) => format!("{ours} / {theirs}"),
        }
    }

    /// Completes the pairs' ratios.
    pub(crate) fn finish(mut self) -> Self {
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

    #[test]
    fn the_median_ratio_is_judged() {
        let theirs = [100.0; 5];
        let ours = [100.0, 104.0, 109.0, 150.0, 160.0];
        assert_eq!(judge(&[paired(&ours, &theirs, Some(0.1))]).status, Status::Pass);
        let missed = judge(&[paired(&ours, &theirs, Some(0.05))]);
        assert_eq!(missed.status, Status::LimitMissed);
        assert_eq!(missed.reasons, ["p50 is 1.090 of theirs (1.000 to 1.600), not within 5 %"]);
        assert_eq!(
            judge(&[paired(&ours, &theirs, None), paired(&ours, &[], Some(0.01))]).status,
            Status::Pass
        );
    }
}
