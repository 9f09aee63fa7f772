//! `chronoscope report --published`: what five reports claimed, and what the newest run of each
//! study that repeats one found.

use anyhow::Result;

use crate::cli;
use chronoscope_engine::study;
use chronoscope_report::{self as report, Screen, answer::claims, html};
use chronoscope_run::{Run, answer::Layout};
use chronoscope_store::{Place, RunFilter, Store};

/// The columns of the text where the output is no terminal.
const COLUMNS: usize = 100;

/// The newest run of a study with its number; `None` if the store has none.
fn newest(store: &Store, study: &str) -> Result<Option<(i64, Run)>> {
    let of_study = RunFilter { study: Some(study), machine: None, label: None };
    let rows = store.runs_of(&of_study, 1)?;
    rows.last().map(|row| Ok((row.run, store.run(row.run)?))).transpose()
}

/// Writes the claims of all reports; returns the exit status.
///
/// # Errors
/// The store cannot be read, or the output cannot be written.
pub(super) fn write(arguments: &cli::Report) -> Result<u8> {
    let place = arguments.store.place()?;
    // Nothing was run yet by a user who names no store and has none.
    let is_none = arguments.store.store.is_none()
        && matches!(&place, Place::File(path) if path.try_exists().is_ok_and(|exists| !exists));
    let store = if is_none { None } else { Some(Store::open(&place)?) };
    let mut reports = Vec::new();
    for name in study::names() {
        let Some(rules) = study::find(name.as_ref())?.answering else { continue };
        if rules.layout != Layout::Published {
            continue;
        }
        let newest = store.as_ref().map(|store| newest(store, name)).transpose()?;
        let found = newest.flatten();
        let words = |number: i64, run: &Run| {
            format!("run {number}, {}, on {}", run.context.date, run.context.host)
        };
        let found = found.as_ref().map(|(number, run)| (words(*number, run), run));
        let run = found.as_ref().map(|(words, run)| (words.as_str(), *run));
        reports.push(claims::Report::new(name, &rules, run));
    }
    let file = arguments.output.output.as_deref();
    if file.is_some_and(|file| file.extension().is_some_and(|end| end == "html")) {
        report::emit(&html::claims::render(&reports), file)?;
    } else {
        let columns = Screen::for_output(file, None).columns.unwrap_or(COLUMNS);
        report::emit(&claims::text(&reports, columns.max(40)), file)?;
    }
    Ok(0)
}
