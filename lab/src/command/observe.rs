//! `chronoscope observe`: observes an unmodified image, and stores and shows the figures as a run.

use anyhow::Result;

use super::{run, single};
use crate::cli;
use chronoscope_engine::case::Case;
use chronoscope_machine::{Machines, observe::Observed, observe::Question};

pub fn execute(arguments: &cli::Observe) -> Result<u8> {
    let machines = Machines::default();
    let chip = arguments.chip.as_ref().map(|chip| run::chip(chip, arguments.clock.as_deref()));
    let question = Question {
        image: &arguments.image,
        machine: arguments.machine.as_deref(),
        chip: chip.as_deref(),
        answer: &arguments.answer,
        firmware: arguments.firmware.as_deref(),
        load: &arguments.load,
        disk: arguments.disk.as_deref(),
        stimuli: arguments.stimuli.is_some(),
        from: arguments.from.as_deref(),
        to: arguments.to.as_deref(),
        switch: arguments.switch.as_deref(),
        task: arguments.task.as_deref(),
        limit: arguments.limit,
        append: &arguments.append,
        arrivals: arguments.arrivals.as_deref(),
        is_watched: false,
        view: arguments.view.as_deref(),
    };
    let observed = Observed::new(&machines, &question)?;
    let case = Case::observation(observed.target(), observed.settings());
    // Nothing is kept of an image that cannot be observed.
    observed.check()?;
    single::measure(&case, Box::new(observed), &arguments.output, &arguments.keep)
}
