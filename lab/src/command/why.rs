//! `chronoscope why`: what one kernel does in a round of an experiment that another one does not.

use std::{path::Path, sync::atomic::AtomicBool, time::Duration};

use anyhow::{Context, Result, bail};

use super::run;
use crate::cli;
use chronoscope_base::signals;
use chronoscope_child::Limit;
use chronoscope_engine::{case, case::Plan};
use chronoscope_machine::{Machines, Round, Start};
use chronoscope_report::{self as report, Screen, html, why};
use chronoscope_run::Target;

/// The longest time that the image of one side may run for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Prints the sentence and the table; returns the exit status.
///
/// # Errors
/// A target or a parameter is unknown, or a round cannot be found.
pub fn execute(arguments: &cli::Why) -> Result<u8> {
    let file = arguments.output.as_deref();
    report::check(file)?;
    let sides = sides(arguments, signals::watch()?)?;
    let text = match file.and_then(Path::extension) {
        Some(end) if end == "html" => html::why::render(&arguments.experiment, &sides),
        _ => {
            let functions_by = (!arguments.full).then_some("--full");
            let screen = Screen::for_output(file, None);
            why::render(&arguments.experiment, &sides, functions_by, &screen)
        }
    };
    report::emit(&text, file)?;
    Ok(0)
}

/// The sentence and the table, for a terminal; the functions too, unless `functions_by` says what shows
/// them.
///
/// # Errors
/// A target or a parameter is unknown, or a round cannot be found.
pub(super) fn text(
    arguments: &cli::Why,
    functions_by: Option<&str>,
    stop: &AtomicBool,
) -> Result<String> {
    let sides = sides(arguments, stop)?;
    let screen = Screen::for_output(None, None);
    Ok(why::render(&arguments.experiment, &sides, functions_by, &screen))
}

/// The rounds of both sides.
fn sides(arguments: &cli::Why, stop: &AtomicBool) -> Result<[why::Side; 2]> {
    let machines = Machines::default();
    let [a, b] = [&arguments.a, &arguments.b].map(|text| text.parse::<Target>());
    let (a, b) = (a?, b?);
    if a == b {
        bail!("`{a}` twice: name two targets, or two images as old=IMAGE@MACHINE");
    }
    let side = |target: &Target| -> Result<_> {
        let Round { architecture, runs } = round(&machines, target, arguments, stop)?;
        Ok((architecture, why::Side { kernel: target.kernel.clone(), runs }))
    };
    let ((one, first), (other, second)) = (side(&a)?, side(&b)?);
    if one != other {
        bail!("{a} and {b} have different instruction sets, whose counts do not compare");
    }
    Ok([first, second])
}

/// The round of one side.
fn round(
    machines: &Machines,
    target: &Target,
    arguments: &cli::Why,
    stop: &AtomicBool,
) -> Result<Round> {
    let of = ("of", vec![arguments.experiment.clone()]);
    let settings = run::set(vec![of], &arguments.set)?;
    let spec = case::experiment("worst")?;
    let cases = case::expand(machines, spec, target, &settings, &Plan::default())?;
    let [case] = cases.as_slice() else {
        bail!("give each parameter one value: a round is of one case")
    };
    let request = &case.request();
    let machine = machines.open(target)?;
    machine.prepare(request, stop)?;
    let start = Start { request, limit: Limit::for_work(PATIENCE), stop };
    machine.round(&start).with_context(|| target.to_string())
}
