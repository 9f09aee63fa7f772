//! `chronoscope observe`: observes an unmodified image, and stores and shows the figures as a run.

use std::{sync::atomic::Ordering, time::Instant};

use anyhow::{Context as _, Result};

use super::keep::Keeper;
use crate::cli;
use crate::revision::REVISION;
use chronoscope_base::{console, signals, signals::INTERRUPTED};
use chronoscope_engine::{case::Case, journal::CaseForm, journal::Header, runner, runner::context};
use chronoscope_machine::{Machines, observe::Observed, observe::Question};
use chronoscope_report as report;
use chronoscope_run::{Context, SCHEMA};

pub fn execute(arguments: &cli::Observe) -> Result<u8> {
    let machines = Machines::default();
    let question = Question {
        image: &arguments.image,
        machine: &arguments.machine,
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
        schema: SCHEMA,
        context: context::now(REVISION),
        study: String::new().into(),
        titles: vec![String::new().into()],
        notes: Default::default(),
        answering: None,
        keep_samples: true,
        cases: vec![CaseForm::of(&case)],
        peers: Vec::new(),
    };
    let mut keeper = Keeper::open(&arguments.keep, &header, output.quiet)?;
    let mut progress = crate::progress::new(output.quiet);
    let start = Instant::now();
    let machine = Box::new(observed);
    let outcome =
        runner::run_on_machine(&case, machine, progress.as_mut(), stop, &mut keeper.journal);
    let context = Context {
        interrupted: stop.load(Ordering::Relaxed),
        seconds: start.elapsed().as_secs_f64(),
        case_seconds: Some(outcome.spent.as_secs_f64()),
        ..header.context.clone()
    };
    let runs = header.runs(&context, outcome.results, Vec::new());
    let run = runs.first().context("a title makes a run")?;
    let stored = keeper.store(&runs);
    let name = stored.as_ref().ok().copied().flatten().map(|number| number.to_string());
    let written = report::write(run, output.format(), output.output.as_deref(), name.as_deref());
    written.and(stored.map(drop))?;
    if context.interrupted {
        console::remark("interrupted: the figures are those of the observation until then");
        return Ok(INTERRUPTED);
    }
    Ok(run.status().exit_code())
}
