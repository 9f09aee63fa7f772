//! Dropping a repetition that was stopped: nothing of it stays in the case.

use std::collections::BTreeMap;

use super::Observation;
use chronoscope_run::{Clock, EvidenceResult};

/// The state of an observation before a repetition, except samples.
pub struct Checkpoint {
    release: String,
    clock: Option<Clock>,
    series: usize,
    /// The number of values of each figure.
    figures: Vec<usize>,
    evidence: Vec<EvidenceResult>,
    log: usize,
    /// The length of each attachment.
    attachments: BTreeMap<String, usize>,
    attached: usize,
    identity: BTreeMap<String, String>,
}

impl Observation {
    /// Notes the state between two repetitions.
    pub fn checkpoint(&self) -> Checkpoint {
        let length = |(name, bytes): (&String, &Vec<u8>)| (name.clone(), bytes.len());
        Checkpoint {
            release: self.release.clone(),
            clock: self.clock.clone(),
            series: self.series.len(),
            figures: self.figures.iter().map(|(.., values)| values.len()).collect(),
            evidence: self.evidence.clone(),
            log: self.log.len(),
            attachments: self.attachments.iter().map(length).collect(),
            attached: self.attached,
            identity: self.identity.clone(),
        }
    }

    /// Drops everything of the repetition under way, which began at the checkpoint and whose end
    /// has not been taken in.
    pub fn restore(&mut self, before: Checkpoint) {
        self.series.truncate(before.series);
        self.series.iter_mut().for_each(super::Series::discard);
        self.ids.clear();
        self.shown.clear();
        self.figures.truncate(before.figures.len());
        for ((.., values), length) in self.figures.iter_mut().zip(before.figures) {
            values.truncate(length);
        }
        self.log.truncate(before.log);
        self.attachments.retain(|name, bytes| {
            let length = before.attachments.get(name);
            length.is_some_and(|&length| {
                bytes.truncate(length);
                true
            })
        });
        (self.refusal, self.was_denied) = (None, false);
        (self.release, self.clock) = (before.release, before.clock);
        (self.evidence, self.attached) = (before.evidence, before.attached);
        self.identity = before.identity;
    }
}
