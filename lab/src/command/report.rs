//! `chronoscope report`: a stored run, shown again.

use anyhow::{Result, bail};

use super::{demo, earlier, published, team};
use chronoscope_engine::study;

use crate::cli;
use chronoscope_report as report;
use chronoscope_store::{Store, reference::Reference};

/// Shows runs, a history or the demonstration; returns the exit status.
///
/// # Errors
/// A run cannot be read, or the output cannot be written.
pub fn execute(arguments: &cli::Report) -> Result<u8> {
    if let Some(folder) = &arguments.demo {
        return demo::execute(folder);
    }
    let filter = &arguments.filter;
    if arguments.history {
        return team::write(arguments);
    }
    if arguments.published {
        return published::write(arguments);
    }
    if [&filter.study, &filter.machine, &filter.label].iter().any(|flag| flag.is_some()) {
        bail!("--study, --machine and --label choose runs for --history: add it, or name a run");
    }
    let mut runs = Vec::new();
    for word in &arguments.runs {
        let reference = Reference::try_from(word.as_os_str())?;
        let (found, mut run) = reference.load(|| Store::open(&arguments.store.place()?))?;
        study::complete(&mut run);
        if reference.is_in_store() && arguments.output.format().shows_evidence() {
            earlier::predict(&Store::open(&arguments.store.place()?)?, &mut run)?;
        }
        runs.push((found, run));
    }
    let (format, file) = (arguments.output.format(), arguments.output.output.as_deref());
    if let [(found, run)] = runs.as_slice() {
        report::write(run, format, file, Some(&found.word()))?;
    } else {
        let runs: Vec<_> = runs.iter().map(|(found, run)| (found.to_string(), run)).collect();
        report::write_several(&runs, format, file)?;
    }
    Ok(0)
}
