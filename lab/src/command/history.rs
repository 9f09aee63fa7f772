//! `chronoscope history`: lists the runs in the store, or removes some of them.

use anyhow::{Result, bail};

use super::keep;
use crate::{
    case::experiment,
    cli::{self, PrintFormat},
    console,
    fleet::label,
    report::{self, history},
    store::{Store, Which},
};

pub fn execute(arguments: &cli::History) -> Result<u8> {
    let path = arguments.store.path()?;
    if !arguments.print.quiet {
        keep::say_unfinished(&arguments.store, &path);
    }
    let store = Store::open(&path)?;
    if arguments.forget.is_some() || arguments.keep.is_some() {
        return forget(&store, arguments);
    }
    let labels = label::labels(arguments.label.as_slice(), |_| None)?;
    let which = Which {
        study: arguments.study.as_deref(),
        machine: arguments.machine.as_deref(),
        label: labels.iter().next().map(|(name, value)| (name.as_str(), value.as_str())),
    };
    let json = arguments.print.format == PrintFormat::Json;
    let text = match &arguments.experiment {
        Some(name) => {
            let rows = store.cases_of(experiment(name)?.name, &which, arguments.limit)?;
            if rows.is_empty() {
                bail!("no run in the store has a case of `{name}`{}", of(&which));
            }
            if json { history::json(&rows)? } else { history::cases(name, &rows) }
        }
        None => {
            let rows = store.runs_of(&which, arguments.limit)?;
            if rows.is_empty() {
                bail!("there is no run in the store{}: `chronoscope run` stores one", of(&which));
            }
            if json { history::json(&rows)? } else { history::runs(&rows) }
        }
    };
    report::emit(&text, arguments.print.output.as_deref())?;
    Ok(0)
}

/// The words for the runs that were asked for; empty for all.
fn of(which: &Which<'_>) -> String {
    let study = which.study.map(|study| format!(" of the study `{study}`"));
    let machine = which.machine.map(|machine| format!(" of the machine `{machine}`"));
    let label = which.label.map(|(name, value)| format!(" with the label `{name}={value}`"));
    [study, machine, label].into_iter().flatten().collect()
}

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
