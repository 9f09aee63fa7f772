//! `chronoscope history`: lists the runs in the store, or removes some of them.

use anyhow::{Result, bail};

use super::keep;
use crate::{cli, cli::PrintFormat};
use chronoscope_base::console;
use chronoscope_engine::{case::experiment, fleet::label};
use chronoscope_report::{self as report, Screen, history, text_table::fold};
use chronoscope_run::names::{IMPORT, OBSERVE, WATCH};
use chronoscope_store::{RunFilter, Store};
use chronoscope_units::OneLine;

/// Lists or removes runs of the store; returns the exit status.
///
/// # Errors
/// The store cannot be read or written, or no run fits the flags.
pub fn execute(arguments: &cli::History) -> Result<u8> {
    let place = arguments.store.place()?;
    if !arguments.print.quiet {
        keep::say_unfinished(&arguments.store, &place);
    }
    let store = Store::open(&place)?;
    if arguments.forget.is_some() || arguments.keep.is_some() {
        return forget(&store, arguments);
    }
    let filter = Filter::read(&arguments.filter)?;
    let which = filter.which();
    let json = arguments.print.format == PrintFormat::Json;
    let columns = Screen::for_output(arguments.print.output.as_deref(), None).columns;
    let text = match &arguments.experiment {
        Some(name) => {
            // An observation, a watch and an import are no experiments of the suite.
            let own = [OBSERVE, WATCH, IMPORT].into_iter().find(|own| name == own);
            let known = own.map_or_else(|| experiment(name).map(|spec| spec.name), Ok)?;
            let rows = store.cases_of(known, &which, arguments.limit)?;
            if rows.is_empty() {
                bail!("no run in the store has a case of `{name}`{}", filter.words());
            }
            if json { history::json(&rows)? } else { history::cases(name, &rows, columns) }
        }
        None => {
            let rows = store.runs_of(&which, arguments.limit)?;
            if rows.is_empty() {
                bail!(
                    "there is no run in the store{}: `chronoscope run` stores one",
                    filter.words()
                );
            }
            if json { history::json(&rows)? } else { history::runs(&rows, columns) }
        }
    };
    let text = if json { text } else { fold(&text, columns) };
    report::emit(&text, arguments.print.output.as_deref())?;
    Ok(0)
}

/// The runs of the store that the command line selects.
pub(super) struct Filter<'a> {
    flags: &'a cli::Filter,
    label: Option<(OneLine, OneLine)>,
}

impl<'a> Filter<'a> {
    /// Reads the flags.
    ///
    /// # Errors
    /// The label is not `NAME=VALUE`.
    pub(super) fn read(flags: &'a cli::Filter) -> Result<Self> {
        let label = label::labels(flags.label.as_slice(), |_| None)?.into_iter().next();
        Ok(Self { flags, label })
    }

    /// The condition on runs, as the store takes it.
    pub(super) fn which(&self) -> RunFilter<'_> {
        RunFilter {
            study: self.flags.study.as_deref(),
            machine: self.flags.machine.as_deref(),
            label: self.label.as_ref().map(|(name, value)| (name.as_str(), value.as_str())),
        }
    }

    /// The words for the selected runs, after the noun: ` of the study `quick``; empty for all
    /// runs.
    pub(super) fn words(&self) -> String {
        let which = self.which();
        let study = which.study.map(|study| format!(" of the study `{study}`"));
        let machine = which.machine.map(|machine| format!(" of the machine `{machine}`"));
        let label = which.label.map(|(name, value)| format!(" with the label `{name}={value}`"));
        [study, machine, label].into_iter().flatten().collect()
    }
}

/// Removes the runs that `--forget` and `--keep` name.
fn forget(store: &Store, arguments: &cli::History) -> Result<u8> {
    if let Some(run) = arguments.forget
        && !store.forget(run)?
    {
        bail!("there is no run {run} in the store: `chronoscope history` lists all");
    }
    if let Some(newest) = arguments.keep {
        let gone = store.keep(newest)?;
        if !arguments.print.quiet {
            console::remark(&format!("{gone} runs forgotten"));
        }
    }
    Ok(0)
}
