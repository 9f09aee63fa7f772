//! The case of an image that is observed from outside.

use chronoscope_suite::Spec;

use super::{Case, Vary};
use chronoscope_machine::observe::{Observed, PATIENCE};
use chronoscope_run::{compared::StatisticChoice, names::OBSERVE};

/// The form of an observation's case. It is no experiment of the suite: no port runs it.
static SPEC: Spec = Spec {
    name: OBSERVE,
    summary: "an unmodified image, observed from outside",
    start: "an event in the image: a place is executed, a handler is entered, an interrupt is due, \
            interrupts are masked, a task is left",
    end: "the event that belongs to it: the second place, the handler's return, its entry, \
          interrupts are enabled, the next switch",
    statistic: "each sample is a number of executed instructions",
    control: "",
    evidence: "executed instructions, and executions of each place that was named",
    pin: "",
    source: "",
    parameters: &[],
    duration_us: |_| 0,
};

impl Case {
    /// The case of an observation, which runs once.
    pub fn observation(observed: &Observed) -> Self {
        let parameters = observed.settings();
        Self {
            spec: &SPEC,
            target: observed.target(),
            asked: parameters.iter().map(|(name, _)| name.clone()).collect(),
            parameters,
            repeat: 1,
            vary: Vary::default(),
            duration: None,
            watchdog: Some(PATIENCE),
            deadline: None,
            analyser: None,
            limits: Vec::new(),
            judge: StatisticChoice::default(),
            published: Vec::new(),
        }
    }
}
