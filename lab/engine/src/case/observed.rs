//! The cases that are no experiment of the suite: an image that is observed from outside, a program
//! under watch, and figures of another tool.

use anyhow::Result;
use chronoscope_suite::Spec;

use super::{Case, Vary};
use chronoscope_machine::{
    Machine, Machines, Properties, observe::Observed, observe::PATIENCE, observe::PROPERTIES,
};
use chronoscope_run::{
    Limit, Target, compared::StatisticChoice, names::IMPORT, names::OBSERVE, names::WATCH,
};

/// The form of an observation's case. No port runs it.
static OBSERVATION: Spec = Spec {
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

/// The form of a watch's case.
static WATCHING: Spec = Spec {
    name: WATCH,
    summary: "a program's own marks, or its functions, from begin to end",
    start: "a mark's begin, an instant, or the first instruction of a function",
    end: "the end of that mark, the next instant, or the other function, or its return",
    statistic: "each sample is one round: ns on this computer, instructions in an emulator",
    control: "in a process: a begin and an end with nothing between",
    evidence: "marks that were set, and none lost",
    ..OBSERVATION
};

/// The form of a case that another tool has measured.
static IMPORTING: Spec = Spec {
    name: IMPORT,
    summary: "a file of another tool",
    start: "by that tool",
    end: "by that tool",
    statistic: "each sample is one that the tool has written",
    evidence: "the counts in the tool's own file: Chronoscope has not measured it",
    ..OBSERVATION
};

impl Case {
    /// Opens the machine that runs the case. Of an observation with a view, the image runs until its
    /// first tasks have been checked; otherwise nothing starts yet.
    ///
    /// # Errors
    /// There is no such machine, or the image cannot be observed so.
    pub fn open<'m>(&self, machines: &'m Machines) -> Result<Box<dyn Machine + 'm>> {
        if self.spec.name != OBSERVE {
            return machines.open(&self.target);
        }
        let observed = Observed::by_settings(machines, &self.target, &self.parameters)?;
        observed.check()?;
        Ok(Box::new(observed))
    }

    /// The properties of the machine that runs the case.
    ///
    /// # Errors
    /// There is no such machine.
    pub fn properties(&self, machines: &Machines) -> Result<Properties> {
        match self.spec.name {
            OBSERVE => Ok(PROPERTIES),
            _ => Ok(machines.describe(&self.target)?.properties),
        }
    }

    /// The case of an observation, which runs once, with the machine's settings.
    pub fn observation(target: Target, settings: Vec<(String, String)>) -> Self {
        Self {
            spec: &OBSERVATION,
            target,
            asked: settings.iter().map(|(name, _)| name.clone()).collect(),
            parameters: settings,
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

    /// The case of a watch with its limits, which runs once.
    pub fn watch(target: Target, settings: Vec<(String, String)>, limits: Vec<Limit>) -> Self {
        let observation = Self::observation(target, settings);
        // An emulator's last instruction tells no case from another.
        let asked = observation.asked.iter().filter(|name| *name != "limit").cloned().collect();
        Self { spec: &WATCHING, asked, limits, ..observation }
    }

    /// The case of figures that another tool has measured. No machine runs it.
    pub fn imported(target: Target, settings: Vec<(String, String)>) -> Self {
        Self { spec: &IMPORTING, ..Self::observation(target, settings) }
    }
}
