//! `chronoscope recover`: stores the complete repetitions of labs that were killed before they
//! stored their run.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Error, Result};

use super::keep::{self, summary};
use crate::cli;
use chronoscope_base::console;
use chronoscope_engine::{journal, journal::Unfinished, runner};
use chronoscope_store::{Place, Store};

/// The longest time that another lab, which looks for unfinished runs, may hold a journal.
const PATIENCE: Duration = Duration::from_secs(1);

/// Stores the runs of all journals of dead labs, or discards them; returns the exit status.
///
/// # Errors
/// A journal cannot be read, or its run cannot be stored. The other journals are handled
/// nevertheless.
pub fn execute(arguments: &cli::Recover) -> Result<u8> {
    let place = arguments.store.place()?;
    let unreadable = || format!("the journals of {place} cannot be read");
    let journals = journal::all(place.local()).with_context(unreadable)?;
    if arguments.discard {
        return discard(&place, arguments.quiet);
    }
    let mut found = 0;
    let mut failures = Vec::new();
    for journal in &journals {
        match recover(journal, &place, arguments.quiet) {
            Ok(is_dead) => found += usize::from(is_dead),
            Err(error) => failures.push(error),
        }
    }
    report_all(failures)?;
    if found == 0 && !arguments.quiet {
        console::remark(&format!("there is no unfinished run beside {place}"));
    }
    Ok(0)
}

/// Stores the runs of one journal. Returns `false` for the journal of a living lab.
fn recover(journal: &Path, place: &Place, quiet: bool) -> Result<bool> {
    let Some(journal) = Unfinished::open(journal, PATIENCE)? else { return Ok(false) };
    let mut store = Store::create(place)?;
    if journal.stored.as_ref().is_some_and(|stored| is_stored(&store, &journal, stored)) {
        // The lab was killed between storing its run and removing the journal.
        journal.remove()?;
        return Ok(true);
    }
    let runs =
        runner::recovered(&journal).with_context(|| journal::cannot_be_read(journal.path()))?;
    let damage = journal.damage.map(|at| {
        format!(
            "the journal {} is damaged at byte {at}: what it holds before is stored ({})",
            journal.path().display(),
            summary(&journal)
        )
    });
    let numbers = keep::add(&mut store, &runs, |stored| journal.storing(stored))?;
    journal.remove()?;
    if let Some(damage) = damage {
        console::remark(&damage);
    }
    keep::publish(&store, &runs, &numbers, quiet)?;
    Ok(true)
}

/// Returns whether the store holds the journal's runs under the numbers that the journal notes.
fn is_stored(store: &Store, journal: &Unfinished, stored: &journal::Stored) -> bool {
    let date = &journal.header.context.date;
    let holds = |&number: &i64| store.holds(number, date, stored.seconds).unwrap_or(false);
    !stored.numbers.is_empty() && stored.numbers.iter().all(holds)
}

/// Removes the journals of dead labs, and the remains of damaged journals. Tries all of them.
fn discard(place: &Place, quiet: bool) -> Result<u8> {
    let unreadable = || format!("the journals of {place} cannot be read");
    let path = place.local();
    let mut gone = 0;
    let mut failures = Vec::new();
    for list in [journal::all(path), journal::damaged(path)] {
        for journal in list.with_context(unreadable)? {
            match journal::discard(&journal, PATIENCE) {
                Ok(is_gone) => gone += usize::from(is_gone),
                Err(error) => failures.push(error),
            }
        }
    }
    if !quiet {
        let runs = if gone == 1 { "run" } else { "runs" };
        console::remark(&format!("{gone} unfinished {runs} discarded"));
    }
    report_all(failures).map(|()| 0)
}

/// Prints all failures but the last, one a line, and returns the last as the command's error.
fn report_all(mut failures: Vec<Error>) -> Result<()> {
    let last = failures.pop();
    failures.iter().for_each(|error| console::remark(&format!("{error:#}")));
    last.map_or(Ok(()), Err)
}
