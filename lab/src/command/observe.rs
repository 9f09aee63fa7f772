//! `chronoscope observe`: observes an unmodified image, and stores and shows the figures as a run.

use anyhow::{Result, bail};

use super::{run, single};
use crate::cli;
use chronoscope_engine::case::Case;
use chronoscope_machine::{Machines, observe::Observed, observe::Question};
use chronoscope_run::Limit;
use chronoscope_units::printable;

pub fn execute(arguments: &cli::Observe) -> Result<u8> {
    let machines = Machines::default();
    let chip = arguments.chip.as_ref().map(|chip| run::chip(chip, arguments.clock.as_deref()));
    let question = Question {
        image: &arguments.image,
        at: arguments.at.as_deref(),
        symbols: &arguments.symbols,
        machine: arguments.machine.as_deref(),
        chip: chip.as_deref(),
        crystal: arguments.crystal.as_deref(),
        console: arguments.console.as_deref(),
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
        nested: arguments.nested,
        phase: arguments.phase.as_deref(),
        is_watched: false,
        view: arguments.view.as_deref(),
    };
    let observed = Observed::new(&machines, &question)?;
    let limits = arguments.bound.iter().map(|text| bound(text, chip.is_some()));
    let limits = limits.collect::<Result<_>>()?;
    let case = Case { limits, ..Case::observation(observed.target(), observed.settings()) };
    // Nothing is kept of an image that cannot be observed.
    observed.check()?;
    single::measure(&case, Box::new(observed), &arguments.output, &arguments.keep)
}

/// A limit of the command line.
///
/// # Errors
/// The text is none, or its bound has another unit than the series.
fn bound(text: &str, has_clock: bool) -> Result<Limit> {
    let shown = printable(text);
    let limit: Limit = text.parse()?;
    match (text.ends_with(char::is_alphabetic), has_clock) {
        (true, false) => bail!(
            "`--bound {shown}`: an emulator counts instructions: give a number of them, or a chip, as \
             --chip stm32f405"
        ),
        (false, true) => bail!("`--bound {shown}`: give a time, as 200us"),
        _ => {}
    }
    limit.check("observe", None)?;
    Ok(limit)
}
