//! `chronoscope merge`: the runs of several labs as one run.

use std::slice;

use anyhow::Result;

use super::keep;
use crate::cli;
use chronoscope_base::{console, signals::INTERRUPTED};
use chronoscope_engine::{fleet, runner::context};
use chronoscope_report::{self as report, answer::decision, format::JSON};
use chronoscope_store::{Store, reference::load_file};

/// Merges the parts; writes nothing if a part cannot be merged. Returns the status that `run` would
/// have returned.
pub fn execute(arguments: &cli::Merge) -> Result<u8> {
    let output = arguments.output.as_deref();
    report::check(output)?;
    let part = |path: &std::path::PathBuf| Ok((path.display().to_string(), load_file(path)?));
    let parts = arguments.parts.iter().map(part).collect::<Result<Vec<_>>>()?;
    let run = fleet::merge(parts, context::command())?;
    if output.is_some() {
        report::write(&run, JSON, output, None)?;
    }
    if arguments.store.store.is_some() || output.is_none() {
        let mut store = Store::create(&arguments.store.place()?)?;
        let runs = slice::from_ref(&run);
        let numbers = keep::add(&mut store, runs, |_| ())?;
        keep::publish(&store, runs, &numbers, arguments.quiet)?;
    }
    if !arguments.quiet {
        let count = |count: usize, what: &str| {
            format!("{count} {what}{}", if count == 1 { "" } else { "s" })
        };
        let (parts, cases) = (arguments.parts.len(), run.cases.len() + run.peers.len());
        console::remark(&format!("merged {}: {}", count(parts, "part"), count(cases, "case")));
    }
    if run.context.interrupted {
        return Ok(INTERRUPTED);
    }
    Ok(decision::status(&run).exit_code())
}
