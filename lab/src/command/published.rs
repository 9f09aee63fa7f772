//! `chronoscope report --published`: what five reports claimed, and what the newest run of each
//! study that repeats one found.

use anyhow::Result;

use crate::cli;
use chronoscope_engine::study;
use chronoscope_report::{self as report, Screen, answer::claims, html};
use chronoscope_run::{Run, answer::Layout};
use chronoscope_store::{RunFilter, Store};

/// The columns of the text where the output is no terminal.
const COLUMNS: usize = 100;

/// Writes the claims of all reports; returns the exit status.
///
/// # Errors
/// The store cannot be read, or the output cannot be written.
pub(super) fn write(arguments: &cli::Report) -> Result<u8> {
    let store = Store::open(&arguments.store.place()?)?;
    let mut reports = Vec::new();
    for name in study::names() {
        let Some(rules) = study::find(name.as_ref())?.answering else { continue };
        if rules.layout != Layout::Published {
            continue;
        }
        let of_study = RunFilter { study: Some(name), machine: None, label: None };
        let newest = store.runs_of(&of_study, 1)?;
        let found = match newest.last() {
            Some(row) => Some((row.run, store.run(row.run)?)),
            None => None,
        };
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
