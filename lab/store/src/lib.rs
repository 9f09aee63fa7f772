#![doc = include_str!("../README.md")]
//!
//! The table `runs` holds each run whole, as JSON. The table `cases` has a row for each measured
//! series with the figures that a history needs; a case that never ran has a row without figures.
//! The table `labels` has a row for each label of a run.
//!
//! A run is written in a short transaction, so two programs at once only wait for each other. A run
//! with a UUID is stored once: storing it again changes nothing.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod insert;
mod patience;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
pub mod reference;
mod rows;
mod schema;
mod session;
mod sqlite;
#[cfg(test)]
mod tests;

use std::{
    cell::{RefCell, RefMut},
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, bail};

use self::{
    insert::insert,
    session::{Session, Value},
    sqlite::Sqlite,
};
pub use self::{place::Place, rows::RunFilter, session::StoreError};
use chronoscope_base::private;
use chronoscope_run::{self as run, Run};

/// An open store.
pub struct Store {
    session: RefCell<Box<dyn Session>>,
    place: Place,
}

/// Returns the place of the store in the user's data folder, used without `--store`.
///
/// # Errors
/// If neither XDG_DATA_HOME nor HOME is an absolute path.
pub fn default_place() -> Result<Place> {
    Ok(Place::File(place::data_folder()?.join("chronoscope/runs.sqlite")))
}

impl Store {
    /// Opens the store; creates its tables, and a file with its folder, if they do not exist.
    ///
    /// # Errors
    /// If the place cannot be opened or is not a store; the message names it and the remedy.
    pub fn create(place: &Place) -> Result<Self> {
        if let Place::File(path) = place {
            let folder = path.parent().unwrap_or(Path::new("/"));
            private::create_folder(folder).with_context(|| {
                format!(
                    "cannot make the folder {} for the store of runs: name another with --store",
                    folder.display()
                )
            })?;
        }
        Self::connect(place, true)
    }

    /// Opens a store that exists.
    ///
    /// # Errors
    /// If there is no store at the place, or it cannot be opened; the message names the place and
    /// the remedy.
    pub fn open(place: &Place) -> Result<Self> {
        // If the path cannot even be examined, SQLite reports the reason.
        if let Place::File(path) = place
            && path.try_exists().is_ok_and(|exists| !exists)
        {
            bail!("there is no store of runs at {place}: `chronoscope run` makes it");
        }
        Self::connect(place, false)
    }

    fn connect(place: &Place, create: bool) -> Result<Self> {
        let session: Box<dyn Session> = match place {
            Place::File(path) => Box::new(Sqlite::open(path, create)?),
            #[cfg(feature = "postgres")]
            Place::Server(server) => {
                Box::new(postgres::Bounded::open(server, &place.to_string(), create)?)
            }
            #[cfg(not(feature = "postgres"))]
            Place::Server(_) => bail!(
                "the store {place} is on a PostgreSQL server, and this program was built without the feature \
                 `postgres`: name a file with --store"
            ),
        };
        Ok(Self { session: RefCell::new(session), place: place.clone() })
    }

    fn session(&self) -> RefMut<'_, Box<dyn Session>> {
        self.session.borrow_mut()
    }

    /// The place of the store.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns a remark for the user on a usable store whose clock disagrees with this machine's.
    pub fn remark(&self) -> Option<String> {
        self.session().remark()
    }

    /// Holds no connection to a server until the next call: a measurement takes long, and a server has
    /// connections for few programs.
    pub fn rest(&self) {
        self.session().rest();
    }

    /// Stores the runs, all or none, and returns their numbers in the same order.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add(&mut self, runs: &[&Run]) -> Result<Vec<i64>> {
        self.add_after(runs, |_| ())
    }

    /// Stores the runs as [`add`](Self::add) does; passes their numbers to `before` just before the
    /// transaction is completed.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_after(&mut self, runs: &[&Run], before: impl FnOnce(&[i64])) -> Result<Vec<i64>> {
        let documents = runs.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        let runs: Vec<_> = runs.iter().copied().zip(documents.iter().map(String::as_str)).collect();
        let session = &mut **self.session.get_mut();
        let mut before = Some(before);
        let mut numbers = Vec::new();
        let mut add = |session: &mut dyn Session| -> Result<()> {
            session.begin()?;
            numbers = runs
                .iter()
                .map(|(run, document)| insert(session, run, document))
                .collect::<Result<_>>()?;
            if let Some(before) = before.take() {
                before(&numbers);
            }
            Ok(session.commit()?)
        };
        let mut outcome = add(session);
        // A server may have been restarted since the run began. A run that it has stored already is
        // found by its UUID.
        if outcome.is_err() && session.reconnect()? {
            outcome = add(session);
        }
        if outcome.is_err() {
            session.rollback();
        }
        outcome.map_err(|error| self.explained(error))?;
        Ok(numbers)
    }

    /// Adds the store's name to an error that lacks it.
    fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        if error.is::<StoreError>() {
            return error;
        }
        StoreError { place: self.place.to_string(), reason: error.to_string() }.into()
    }

    /// Checks before a long run that the store will take its results.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn check_writable(&self) -> Result<()> {
        self.session().check_writable()
    }

    /// Returns whether the run of that number began at `date` and took `seconds`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn holds(&self, number: i64, date: &str, seconds: f64) -> Result<bool> {
        let query = "SELECT id FROM runs WHERE id = ?1 AND started = ?2 AND seconds = ?3";
        let values = [number.into(), date.into(), seconds.into()];
        Ok(!self.session().rows(query, &values)?.is_empty())
    }

    /// Returns the number of the run with this UUID, if the store has it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find(&self, uuid: &str) -> Result<Option<i64>> {
        let found = self.session().rows("SELECT id FROM runs WHERE uuid = ?1", &[uuid.into()])?;
        Ok(found.first().map(|row| row.int(0)))
    }

    /// Returns the UUIDs among `uuids` that runs of the store have.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn known<'a>(&self, uuids: &[&'a str]) -> Result<BTreeSet<&'a str>> {
        let places: Vec<String> = (1..=uuids.len()).map(|place| format!("?{place}")).collect();
        let query = format!("SELECT uuid FROM runs WHERE uuid IN ({})", places.join(", "));
        let values: Vec<Value> = uuids.iter().map(|uuid| Value::from(*uuid)).collect();
        if values.is_empty() {
            return Ok(BTreeSet::new());
        }
        let rows = self.session().rows(&query, &values)?;
        let known: BTreeSet<&str> = rows.iter().map(|row| row.text(0)).collect();
        Ok(uuids.iter().copied().filter(|uuid| known.contains(uuid)).collect())
    }

    /// Returns the newest run of that machine before the run `number`, if the store has one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn before(&self, number: i64, machine: &str) -> Result<Option<Run>> {
        let query = "SELECT id FROM runs WHERE machine = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1";
        let found = self.session().rows(query, &[machine.into(), number.into()])?;
        found.first().map(|row| self.run(row.int(0))).transpose()
    }

    /// Returns the number of an older program's run, without a UUID, that has the date and the
    /// results of `run`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find_unnamed(&self, run: &Run) -> Result<Option<i64>> {
        insert::unnamed(&mut **self.session(), run)
    }

    /// Returns whether the store has a run of that number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn has(&self, number: i64) -> Result<bool> {
        let query = "SELECT id FROM runs WHERE id = ?1";
        Ok(!self.session().rows(query, &[number.into()])?.is_empty())
    }

    /// Reads the run of that number, and upgrades a run of an older schema.
    ///
    /// # Errors
    /// If there is no such run, it has another schema, or it is damaged.
    pub fn run(&self, number: i64) -> Result<Run> {
        let query = "SELECT schema, document FROM runs WHERE id = ?1";
        let found = self.session().rows(query, &[number.into()])?;
        let place = &self.place;
        let Some(row) = found.first() else {
            bail!("there is no run {number} in {place}: `chronoscope history` lists all");
        };
        let schema = u32::try_from(row.int(0)).unwrap_or_default();
        if !run::is_readable(schema) {
            bail!(
                "run {number} in {place} has schema {schema}; this program reads {}",
                run::READABLE
            );
        }
        let mut run: Run = serde_json::from_str(row.text(1))
            .map_err(|error| anyhow!("run {number} in {place} is damaged: {error}"))?;
        run.upgrade();
        Ok(run)
    }

    /// Returns the number of the run that is `back` before the newest.
    ///
    /// # Errors
    /// If the store holds no more than `back` runs.
    pub fn newest(&self, back: u32) -> Result<i64> {
        let query = "SELECT id FROM runs ORDER BY id DESC LIMIT 1 OFFSET ?1";
        let found = self.session().rows(query, &[i64::from(back).into()])?;
        found.first().map(|row| row.int(0)).with_context(|| {
            let count = if back == 0 {
                "a run".to_owned()
            } else {
                format!("{} runs", u64::from(back) + 1)
            };
            format!(
                "{} does not hold {count}: `chronoscope history` lists what it holds",
                self.place
            )
        })
    }

    /// Returns the path of a run's page, in a folder next to the store with the store's name, so
    /// that two stores in a folder stay apart (but for `runs` and `runs.sqlite`). Pages of a server's runs are in the user's data
    /// folder.
    pub fn page(&self, number: i64) -> PathBuf {
        self.pages().join(format!("{number}.html"))
    }

    /// The folder of pages and captures: `runs.pages` of `runs.sqlite`, and `bench.a.pages` of `bench.a`.
    fn pages(&self) -> PathBuf {
        let local = self.place.local();
        if local.extension().is_some_and(|extension| extension == "sqlite") {
            return local.with_extension("pages");
        }
        let mut name = local.as_os_str().to_owned();
        name.push(".pages");
        name.into()
    }

    /// Deletes the pages and captures of runs that are no longer in the store. Older versions wrote the pages
    /// of `bench.a` and of `bench.b` to one folder, `bench.pages`, where they stay.
    fn sweep(&self) -> Result<()> {
        let Ok(pages) = fs::read_dir(self.pages()) else {
            return Ok(());
        };
        for page in pages.filter_map(|page| Some(page.ok()?.path())) {
            // File names are `7.html` and `7-switch-tandem-ibex.vcd`.
            let ending = page.extension().and_then(|extension| extension.to_str());
            let number = page.file_stem().and_then(|stem| match ending? {
                "html" => stem.to_str()?.parse::<i64>().ok(),
                "vcd" => stem.to_str()?.split_once('-')?.0.parse().ok(),
                _ => None,
            });
            let Some(number) = number else { continue };
            if !self.has(number)? {
                fs::remove_file(&page)
                    .with_context(|| format!("cannot remove {}", page.display()))?;
            }
        }
        Ok(())
    }

    /// Deletes a run with its page and captures. Returns `false` if there was no such run.
    ///
    /// # Errors
    /// If the store or a page cannot be written.
    pub fn forget(&self, number: i64) -> Result<bool> {
        self.check_writable()?;
        let gone = self.session().change("DELETE FROM runs WHERE id = ?1", &[number.into()])?;
        self.sweep()?;
        Ok(gone > 0)
    }

    /// Deletes all but the `newest` runs, with their pages and captures, and gives their room in
    /// the file back to the disk. Returns the number of deleted runs.
    ///
    /// SQLite writes the rest of the file anew (VACUUM), which takes as long as copying the file,
    /// and meanwhile as much room again. PostgreSQL frees the room by itself.
    ///
    /// # Errors
    /// If the store or a page cannot be written. After a failed VACUUM, the runs are gone and the
    /// file is as large as before.
    pub fn keep(&self, newest: u32) -> Result<usize> {
        self.check_writable()?;
        let old =
            "DELETE FROM runs WHERE id NOT IN (SELECT id FROM runs ORDER BY id DESC LIMIT ?1)";
        let gone = self.session().change(old, &[i64::from(newest).into()])?;
        self.sweep()?;
        if gone > 0 {
            let shrunk = self.session().shrink();
            shrunk.context("the runs are forgotten, but their room is not given back")?;
        }
        Ok(gone)
    }
}
