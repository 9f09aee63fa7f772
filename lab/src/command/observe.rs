//! `chronoscope observe`: observes an unmodified image, and stores and shows the figures as a run.

use std::slice;

use anyhow::Result;

use super::{run, session::Session};
use crate::cli;
use crate::revision::REVISION;
use chronoscope_base::{console, signals, signals::INTERRUPTED};
use chronoscope_engine::{case::Case, journal::Header, runner, runner::context};
use chronoscope_machine::{Machines, observe::Observed, observe::Question};
use chronoscope_report as report;
use chronoscope_units::OneLine;

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
    };
    let observed = Observed::new(&machines, &question)?;
    let case = Case::observation(&observed);
    let output = &arguments.output;
    report::check(output.output.as_deref())?;
    if output.quiet {
        console::be_quiet();
    }
    let stop = signals::watch()?;
    // Nothing is kept of an image that cannot be observed.
    observed.check()?;
    let header = Header {
        keep_samples: true,
        ..Header::new(context::now(REVISION), vec![OneLine::new()], slice::from_ref(&case))
    };
    let session = Session::open(&arguments.keep, header, output.quiet)?;
    let mut measured = session.measure(|_, progress, journal| {
        Ok(runner::run_on_machine(&case, Box::new(observed), progress, stop, journal))
    })?;
    measured.store_and_write(output)?;
    let run = measured.run()?;
    if run.context.interrupted {
        console::remark("interrupted: the figures are those of the observation until then");
        return Ok(INTERRUPTED);
    }
    Ok(run.status().exit_code())
}
