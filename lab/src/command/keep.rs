//! Keeps runs in the store, each with a page, and finds the journals that killed labs left
//! unfinished.

use std::time::Duration;

use anyhow::Result;

use crate::cli;
use chronoscope_base::{console, private};
use chronoscope_engine::{journal, journal::Stored, journal::Unfinished};
use chronoscope_report as report;
use chronoscope_run::Run;
use chronoscope_store::{Place, Store};

/// A remark if the previous run under the same machine's name was on another machine, since their
/// histories would be mixed. Another machine has another host's name and another processor; the
/// host's name alone is no proof, since containers change it.
fn namesake(store: &Store, run: &Run, number: i64) -> Option<String> {
    let ours = &run.context;
    // A previous run that cannot be read is ignored.
    let theirs = store.before(number, &ours.machine).ok()??.context;
    let is_other = ours.host != theirs.host
        && (&ours.processor, ours.processors) != (&theirs.processor, theirs.processors);
    let is_named = !ours.machine.is_empty();
    (is_other && is_named).then(|| {
        format!(
            "the machine `{}` was {} ({}) in the run before, and is {} ({}) now: if these are two \
             machines, their histories are mixed: give each a name with --as",
            ours.machine, theirs.host, theirs.processor, ours.host, ours.processor
        )
    })
}

/// Returns whether a run has a result.
fn holds_anything(run: &&Run) -> bool {
    !run.cases.is_empty() || !run.peers.is_empty()
}

/// Adds the runs that have results to the store, and returns their numbers. Calls `storing` with
/// the numbers inside the transaction.
pub(super) fn add(
    store: &mut Store,
    runs: &[Run],
    storing: impl FnOnce(&Stored),
) -> Result<Vec<i64>> {
    let runs: Vec<&Run> = runs.iter().filter(holds_anything).collect();
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    let seconds = first.context.seconds;
    store.add_after(&runs, |numbers| storing(&Stored { numbers: numbers.to_vec(), seconds }))
}

/// Prints the numbers of stored runs, and writes the page and the captures of each.
///
/// # Errors
/// If a page or a capture cannot be written.
pub(super) fn publish(store: &Store, runs: &[Run], numbers: &[i64], quiet: bool) -> Result<()> {
    let remark = |text: &str| {
        if !quiet {
            console::remark(text);
        }
    };
    if !numbers.is_empty() {
        let numbers: Vec<String> = numbers.iter().map(|number| format!("run {number}")).collect();
        remark(&format!("stored as {}", numbers.join(" and ")));
    }
    for (run, &number) in runs.iter().filter(holds_anything).zip(numbers) {
        if !quiet {
            namesake(store, run, number).iter().for_each(|text| console::remark(text));
        }
        let page = store.page(number);
        if let Some(folder) = page.parent() {
            // A page shows the stored figures, so its folder is as private. If this fails, so does
            // the page, whose error names the folder.
            let _ = private::create_folder(folder);
        }
        report::page(run, &page)?;
        remark(&format!("page: {}", page.display()));
        let captures = report::capture_files::write(run, &page)?;
        if let [first, rest @ ..] = captures.as_slice() {
            let more = if rest.is_empty() {
                String::new()
            } else {
                format!(" and {} more beside it", rest.len())
            };
            remark(&format!("capture: {}{more}", first.display()));
        }
    }
    Ok(())
}

/// Prints one line about the unfinished runs in the store's folder, if any, and how to store them.
/// Removes journals of labs that died before their first repetition was complete.
pub(super) fn say_unfinished(store: &cli::Store, place: &Place) {
    let mut found = Vec::new();
    for journal in journal::all(place.local()).unwrap_or_default() {
        match Unfinished::open(&journal, Duration::ZERO) {
            Ok(Some(unfinished)) if unfinished.entries() == 0 => drop(unfinished.remove()),
            Ok(unfinished) => found.extend(unfinished.map(|unfinished| summary(&unfinished))),
            Err(_) => found.push("a journal that cannot be read".to_owned()),
        }
    }
    let runs = match found.as_slice() {
        [] => return,
        [one] => format!("an unfinished run was found ({one})"),
        [first, ..] => format!("{} unfinished runs were found (the first: {first})", found.len()),
    };
    let named = store.store.as_ref().map(|store| format!(" --store {}", store.display()));
    console::remark(&format!(
        "{runs}: `chronoscope recover{}` stores it",
        named.unwrap_or_default()
    ));
}

/// A journal in words: its date, and the numbers of its repetitions and cases.
pub(super) fn summary(journal: &Unfinished) -> String {
    let count =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!(
        "of {}: {} of {}",
        journal.header.context.date,
        count(journal.entries(), "repetition"),
        count(journal.cases(), "case")
    )
}
