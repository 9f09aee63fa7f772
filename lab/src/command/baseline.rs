//! `chronoscope baseline`: writes a run's figures to a file, and compares later runs with it.

use std::{collections::BTreeSet, ffi::OsStr, slice};

use anyhow::{Result, bail};

use super::in_turn::in_turn;
use super::{compare, earlier, trace};
use crate::{cli, cli::BaselineCommand};
use chronoscope_base::console;
use chronoscope_machine::Machines;
use chronoscope_report::{
    self as report, baseline, baseline::Baseline, baseline::Machine, comparison::Comparison,
    comparison::Finding, comparison::History, comparison::Line, comparison::Side,
    comparison::StatisticChoice, comparison::is_exact,
};
use chronoscope_run::{Context, Run};
use chronoscope_store::{Store, reference::Reference};
use chronoscope_units::{OneLine, words::quoted};

/// Writes a baseline, or checks a run against one; returns the exit status.
///
/// # Errors
/// A run or the baseline cannot be read, or the output cannot be written.
pub fn execute(arguments: &cli::Baseline) -> Result<u8> {
    match &arguments.command {
        BaselineCommand::Write(arguments) => write(arguments),
        BaselineCommand::Check(arguments) => check(arguments),
    }
}

/// Loads a run, with the words that name it.
fn load(run: &OsStr, store: &cli::Store) -> Result<(String, Run)> {
    let (found, run) = Reference::try_from(run)?.load(|| Store::open(&store.place()?))?;
    Ok((found.to_string(), run))
}

fn write(arguments: &cli::BaselineWrite) -> Result<u8> {
    let (found, run) = load(&arguments.run, &arguments.store)?;
    let (baseline, left_out) = Baseline::from_run(&run, &StatisticChoice::read(&arguments.judge)?);
    if baseline.series.is_empty() {
        let why = left_out.first().map_or("it has no case", String::as_str);
        bail!("{found} has nothing that could be checked later, so no baseline is written: {why}");
    }
    report::emit(&baseline::render(&baseline), arguments.output.as_deref())?;
    if !arguments.quiet {
        if let Some(file) = &arguments.output {
            let cases: BTreeSet<&OneLine> = baseline.series.keys().map(|key| &key.case).collect();
            console::remark(&format!(
                "{}: {} series of {} cases of {found}; `chronoscope baseline check {}` compares a \
                 later run",
                file.display(),
                baseline.series.len(),
                cases.len(),
                quoted(&file.display().to_string())
            ));
        }
        let interrupted = run
            .context
            .interrupted
            .then(|| format!("{found} was interrupted: it has only what was complete"));
        let left_out = left_out.iter().map(|what| format!("left out: {what}"));
        interrupted.into_iter().chain(left_out).for_each(|line| console::remark(&line));
    }
    Ok(0)
}

fn check(arguments: &cli::BaselineCheck) -> Result<u8> {
    let threshold = compare::threshold(arguments.threshold)?;
    let baseline = baseline::load(&arguments.file)?;
    let (found, run) = load(&arguments.run, &arguments.store)?;
    // The store is asked only if it is there: a run in a file needs none.
    let store = arguments.store.place().and_then(|path| Store::open(&path));
    let history = match (&baseline.machine, store) {
        (Some(machine), Ok(store)) if machine.host == run.context.host => {
            earlier::scatter(&store, &[&run])?
        }
        _ => History::default(),
    };
    let judge = StatisticChoice::read(&arguments.judge.judge)?;
    let machines = Machines::default();
    let in_turn = |a: &_, b: &_| in_turn(&machines, a, b);
    let options = baseline::options(&judge, threshold, &history, &in_turn);
    let checked = baseline.check(&run, &options);
    let machine = baseline.machine.as_ref();
    let context = machine.map(|Machine { host, processor }| Context {
        host: host.clone(),
        processor: processor.clone(),
        ..Context::default()
    });
    // A baseline without times has no machine: it applies to all.
    let mut notes = compare::notes(context.as_ref().unwrap_or(&run.context), &run.context);
    notes.extend(compare::scatter(&checked.lines));
    notes.extend(shrunk(&checked.lines, arguments));
    let sides = [
        Side {
            name: arguments.file.display().to_string().into(),
            context: context.unwrap_or_default(),
            trace: None,
        },
        Side {
            name: found.into(),
            trace: trace::command(&run, &arguments.run, &arguments.store),
            context: run.context,
        },
    ];
    let comparison = Comparison {
        only_in_a: checked.vanished,
        only_in_b: checked.new,
        notes,
        ..Comparison::new(sides, &options, checked.lines)
    };
    let comparison = comparison.concluded(arguments.judge.strict);
    report::write_comparison(
        &comparison,
        &[],
        arguments.print.format(),
        arguments.print.output.as_deref(),
    )?;
    Ok(comparison.verdict.exit_code())
}

/// The note on exact figures that shrank, if any did: until the baseline is updated, they could
/// grow again unnoticed.
fn shrunk(lines: &[Line], arguments: &cli::BaselineCheck) -> Option<String> {
    let shrunk = lines
        .iter()
        .filter(|line| line.finding == Finding::Improvement && is_exact(slice::from_ref(line)))
        .count();
    let (run, file) = (arguments.run.display(), arguments.file.display());
    (shrunk > 0).then(|| {
        format!("exact figures that shrank: {shrunk}; to hold them: chronoscope baseline write {run} -o {file}")
    })
}
