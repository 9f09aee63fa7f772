//! `chronoscope report --history`: the page of a store and a page for each of its runs, as files.

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::{Result, bail};

use super::history::Filter;
use crate::cli;
use chronoscope_base::console;
use chronoscope_report::{self as report, html::team};
use chronoscope_run::history::CaseRow;
use chronoscope_store::Store;

/// The folder of the files, unless another is given.
const FOLDER: &str = "chronoscope-history";

/// The rows of the page.
///
/// # Errors
/// The store cannot be read, or has no such run.
fn rows(store: &Store, filter: &Filter<'_>, limit: u32) -> Result<Vec<CaseRow>> {
    let rows = store.all_cases_of(&filter.which(), limit)?;
    if rows.is_empty() {
        bail!("there is no run in the store{}: `chronoscope run` stores one", filter.words());
    }
    Ok(rows)
}

/// Writes the page of the store and, in the folder `runs` beside it, a page for each run. Returns
/// the exit status.
pub(super) fn write(arguments: &cli::Report) -> Result<u8> {
    let folder = arguments.output.output.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
    if folder.is_file() || folder.extension().is_some_and(|extension| extension == "html") {
        bail!(
            "--history: {}: is a file, and the page has several: name a folder with -o",
            folder.display()
        );
    }
    let filter = Filter::read(&arguments.filter)?;
    let store = Store::open(&arguments.store.place()?)?;
    let rows = rows(&store, &filter, arguments.limit)?;
    let mut linked = BTreeSet::new();
    for number in rows.iter().map(|row| row.run).collect::<BTreeSet<_>>() {
        // A damaged run has no page, and the figures of the others are no worse.
        let Ok(run) = store.run(number) else { continue };
        report::page(&run, &folder.join(format!("runs/{number}.html")))?;
        linked.insert(number);
    }
    let page = team::render(&rows, &filter.words(), &|run| linked.contains(&run));
    let index = folder.join("index.html");
    report::text(&page, &index)?;
    if !arguments.output.quiet {
        console::remark(&format!("page: {}", index.display()));
    }
    Ok(0)
}
