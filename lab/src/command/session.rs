//! The session of a command that measures: its journal and its store, from the first repetition to
//! the stored run. The module does not know how a case is measured.

use std::{mem, time::Instant};

use anyhow::{Context as _, Result};

use super::{earlier, keep};
use crate::{cli, progress};
use chronoscope_base::console;
use chronoscope_engine::{
    journal::Header, journal::Journal, journal::Kept, runner, runner::Outcome, runner::Progress,
};
use chronoscope_report as report;
use chronoscope_run::Run;
use chronoscope_store::{Place, Store, default_place};
use chronoscope_units::words::quoted;

/// A session before its first repetition. A session makes one run, or two runs whose cases take
/// turns.
pub struct Session {
    header: Header,
    journal: Journal,
    /// `None` if the runs are not stored.
    store: Option<Store>,
    quiet: bool,
}

/// A session after its last repetition, with its runs.
pub struct Measured {
    /// A run for each title of the header.
    pub runs: Vec<Run>,
    /// The number of cases and peers that have all their repetitions.
    pub complete: usize,
    /// Nothing was measured, since every case was refused at its set-up.
    refused: bool,
    journal: Journal,
    store: Option<Store>,
    quiet: bool,
}

impl Session {
    /// Opens the store and the journal. The caller opens a session before the first case runs, so a
    /// store that cannot be written costs no measurement. Unless `quiet`, prints the store's
    /// remark and a line about unfinished runs, if any.
    ///
    /// # Errors
    /// If the store or the journal cannot be written.
    pub fn open(keep: &cli::Keep, header: Header, quiet: bool) -> Result<Self> {
        if keep.no_store {
            return Ok(Self { quiet, ..Self::unkept(header) });
        }
        let place = keep.store.place()?;
        let store = Store::create(&place)?;
        store.check_writable()?;
        if !quiet {
            store.remark().iter().for_each(|text| console::remark(text));
            keep::say_unfinished(&keep.store, &place);
        }
        store.rest();
        let journal = Journal::create(place.local(), &header)?;
        Ok(Self { header, journal, store: Some(store), quiet })
    }

    /// A session without a store and a journal, which prints no progress.
    pub fn unkept(header: Header) -> Self {
        Self { header, journal: Journal::none(), store: None, quiet: true }
    }

    /// Measures with `work`, and shows its progress. `work` writes its repetitions to the journal.
    ///
    /// # Errors
    /// If `work` fails; the journal keeps the complete repetitions.
    pub fn measure(
        mut self,
        work: impl FnOnce(&Header, &mut dyn Progress, &mut Journal) -> Result<Outcome>,
    ) -> Result<Measured> {
        let mut progress = progress::new(self.quiet);
        let start = Instant::now();
        let outcome = work(&self.header, progress.as_mut(), &mut self.journal)?;
        let Self { header, journal, store, quiet } = self;
        let (complete, refused) = (outcome.complete, outcome.refused);
        let runs = runner::runs(&header, start.elapsed().as_secs_f64(), outcome);
        Ok(Measured { runs, complete, refused, journal, store, quiet })
    }
}

impl Measured {
    /// The first run.
    ///
    /// # Errors
    /// If the session has no run, because its header has no title: a bug of the program.
    pub fn run(&self) -> Result<&Run> {
        self.runs.first().context("a title makes a run")
    }

    /// Stores the runs that have results, and removes the journal. Then prints the numbers of the
    /// stored runs, and writes a page for each. Returns the first number, if a run is stored. Runs that
    /// were refused as a whole are not stored: `last` stays what was measured last.
    ///
    /// # Errors
    /// If the store or a page cannot be written. If the store cannot be written, the journal stays.
    pub fn store(&mut self) -> Result<Option<i64>> {
        let Some(store) = &mut self.store else { return Ok(None) };
        let journal = &mut self.journal;
        if self.refused {
            mem::replace(journal, Journal::none()).remove();
            if !self.quiet {
                console::remark("not stored: nothing was measured");
            }
            return Ok(None);
        }
        let stored = keep::add(store, &self.runs, |stored| journal.storing(stored));
        let numbers = match stored {
            Ok(numbers) => numbers,
            Err(error) => return Err(error.context(promise(journal.kept(), store.place()))),
        };
        mem::replace(journal, Journal::none()).remove();
        keep::publish(store, &self.runs, &numbers, self.quiet)?;
        Ok(numbers.first().copied())
    }

    /// Stores the runs, and writes the first as the command line asks. Writes even if storing
    /// fails, so that measurements are not lost.
    ///
    /// # Errors
    /// If a run cannot be stored or written.
    pub fn store_and_write(&mut self, output: &cli::Output) -> Result<()> {
        let stored = self.store();
        let name = stored.as_ref().ok().copied().flatten().map(|number| number.to_string());
        let (format, file) = (output.format(), output.output.as_deref());
        if let (Some(store), Some(run), true) =
            (&self.store, self.runs.first_mut(), format.shows_evidence() && stored.is_ok())
        {
            // The measurement is shown, whatever the store does.
            if let Err(error) = earlier::predict(store, run) {
                console::remark(&format!("no earlier runs, so no prediction: {error:#}"));
            }
        }
        report::write(self.run()?, format, file, name.as_deref())?;
        stored.map(drop)
    }
}

/// The sentence on a run that could not be stored: the number of repetitions that can be recovered.
fn promise(kept: Kept, place: &Place) -> String {
    let flag = flag(place);
    match (kept.entries, kept.lost) {
        (0, _) => {
            "the run is lost but for what is shown: with -o FILE it is written to a file".to_owned()
        }
        (_, 0) => {
            format!("`chronoscope recover{flag}` stores what was measured once that is mended")
        }
        (entries, lost) => format!(
            "`chronoscope recover{flag}` stores {entries} of {} repetitions once that is mended",
            entries + lost
        ),
    }
}

/// The flag that `chronoscope recover` needs for a store; empty for the default one.
fn flag(place: &Place) -> String {
    match place {
        place if default_place().is_ok_and(|default| default == *place) => String::new(),
        Place::File(path) => format!(" --store {}", quoted(&path.display().to_string())),
        Place::Server(_) => format!(" --store {place}"),
    }
}
