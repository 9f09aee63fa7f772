//! Measures a single case on a machine that the command has made, and stores and shows it as a run.

use std::{slice, sync::atomic::AtomicBool};

use anyhow::Result;

use super::session::{Measured, Session};
use crate::{cli, revision::REVISION};
use chronoscope_base::{console, signals, signals::INTERRUPTED};
use chronoscope_engine::{case::Case, journal::Header, runner, runner::context};
use chronoscope_machine::Machine;
use chronoscope_report as report;
use chronoscope_units::OneLine;

/// Measures the case, keeps all samples, and writes the run as the command line asks. Returns the exit
/// status.
///
/// # Errors
/// If the store or the output cannot be written.
pub fn measure(
    case: &Case,
    machine: Box<dyn Machine + '_>,
    output: &cli::Output,
    keep: &cli::Keep,
) -> Result<u8> {
    report::check(output.output.as_deref())?;
    let mut measured = run(case, machine, keep, output.quiet)?;
    measured.store_and_write(output)?;
    let run = measured.run()?;
    if run.context.interrupted {
        console::remark("interrupted: the figures are those until then");
        return Ok(INTERRUPTED);
    }
    Ok(run.status().exit_code())
}

/// Measures the case, and keeps all samples.
///
/// # Errors
/// If the store cannot be written.
pub fn run(
    case: &Case,
    machine: Box<dyn Machine + '_>,
    keep: &cli::Keep,
    quiet: bool,
) -> Result<Measured> {
    if quiet {
        console::be_quiet();
    }
    run_until(case, machine, keep, quiet, signals::watch()?)
}

/// Measures the case until `stop` becomes true, and keeps all samples.
///
/// # Errors
/// If the store cannot be written.
pub fn run_until(
    case: &Case,
    machine: Box<dyn Machine + '_>,
    keep: &cli::Keep,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<Measured> {
    let header = Header {
        keep_samples: true,
        ..Header::new(context::now(REVISION), vec![OneLine::new()], slice::from_ref(case))
    };
    let session = Session::open(keep, header, quiet)?;
    session.measure(|_, progress, journal| {
        Ok(runner::run_on_machine(case, machine, progress, stop, journal))
    })
}
