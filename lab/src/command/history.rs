//! `chronoscope history`: lists the runs in the store, or removes some of them.

use anyhow::{Result, bail};

use super::keep;
use crate::{
    case::experiment,
    cli::{self, PrintFormat},
    console,
    report::{self, history},
    store::Store,
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
    let study = arguments.study.as_deref();
    let json = arguments.print.format == PrintFormat::Json;
    let text = match &arguments.experiment {
        Some(name) => {
            let rows = store.cases(experiment(name)?.name, study, arguments.limit)?;
            if rows.is_empty() {
                bail!("no run in the store has a case of `{name}`{}", of(study));
            }
            if json { history::json(&rows)? } else { history::cases(name, &rows) }
        }
        None => {
            let rows = store.runs(study, arguments.limit)?;
            if rows.is_empty() {
                bail!("there is no run in the store{}: `chronoscope run` stores one", of(study));
            }
            if json { history::json(&rows)? } else { history::runs(&rows) }
        }
    };
    report::emit(&text, arguments.print.output.as_deref())?;
    Ok(0)
}

fn of(study: Option<&str>) -> String {
    study.map_or(String::new(), |study| format!(" of the study `{study}`"))
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
