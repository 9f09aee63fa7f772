//! The store: an SQLite file that keeps every run. It knows the form of a run, but neither how runs
//! are made nor how they are shown.
//!
//! The table `runs` holds each run whole, as JSON. The table `cases` has a row for each measured
//! series with the figures that a history needs; a case that never ran has a row without figures.
//!
//! A run is written in a short transaction, so two programs at once only wait for each other. The
//! journal is SQLite's rollback journal instead of a write-ahead log, so that a copy is a single
//! file that can be read on a read-only medium.

mod error;
mod insert;
mod rows;
#[cfg(test)]
mod test;

use std::{
    env, fs,
    path::{self, Path, PathBuf},
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, TransactionBehavior, config::DbConfig, params,
};

pub use self::rows::{CaseRow, RunRow, Which};
use self::{error::explain, insert::insert};
use crate::{
    run::{self, Run},
    signals,
};

/// The version of the tables.
const VERSION: i64 = 1;

/// The application id of a store, `chro`.
const APPLICATION: i64 = 0x6368_726f;

/// The longest wait for another program's transaction; the largest run is written in a fraction of
/// it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same after a signal, when the program is to end within two seconds.
const PATIENCE_WHEN_STOPPED: Duration = Duration::from_secs(1);

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

const TABLES: &str = "
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, -- a number once told is never given again
        schema INTEGER NOT NULL,
        started TEXT NOT NULL,
        study TEXT NOT NULL,
        host TEXT NOT NULL,
        system TEXT NOT NULL,
        seconds REAL NOT NULL,
        interrupted INTEGER NOT NULL,
        status TEXT NOT NULL,
        document TEXT NOT NULL
    );
    CREATE TABLE cases (
        run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        experiment TEXT NOT NULL,
        target TEXT NOT NULL,
        label TEXT NOT NULL,
        series TEXT NOT NULL,
        unit TEXT NOT NULL,
        nominal REAL NOT NULL, -- to be added to the figures
        p50 REAL,
        low REAL,
        high REAL,
        p99 REAL,
        max REAL,
        status TEXT NOT NULL
    );
    CREATE INDEX cases_by_run ON cases (run);
    CREATE INDEX cases_by_experiment ON cases (experiment, run);
";

/// An open store.
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// The path of the store in the user's data folder, used without `--store`.
///
/// # Errors
/// If neither XDG_DATA_HOME nor HOME is an absolute path.
pub fn default_path() -> Result<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let data = data.context(
        "there is no folder for the store of runs: set HOME, or name a file with --store",
    )?;
    Ok(data.join("chronoscope/runs.sqlite"))
}

/// The longest wait for another program's transaction now.
fn patience() -> Duration {
    if signals::stop().load(Ordering::Relaxed) { PATIENCE_WHEN_STOPPED } else { PATIENCE }
}

/// Waits before SQLite tries again to lock the file, after so many tries. Returns `false` to give
/// up.
fn wait(tries: i32) -> bool {
    let waited = PAUSE.saturating_mul(u32::try_from(tries).unwrap_or_default());
    let goes_on = waited < patience();
    if goes_on {
        thread::sleep(PAUSE);
    }
    goes_on
}

impl Store {
    /// Opens the store; creates it, and its folder, if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be opened or is not a store; the message names the file and the remedy.
    pub fn create(path: &Path) -> Result<Self> {
        let path = path::absolute(path)
            .with_context(|| format!("`{}` is no place for a store", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).with_context(|| {
            format!(
                "cannot make the folder {} for the store of runs: name another with --store",
                folder.display()
            )
        })?;
        Self::connect(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a store that exists.
    ///
    /// # Errors
    /// If there is no such file, it cannot be opened or it is not a store; the message names the
    /// file and the remedy.
    pub fn open(path: &Path) -> Result<Self> {
        let path = path::absolute(path)
            .with_context(|| format!("`{}` is no place for a store", path.display()))?;
        // If the path cannot even be examined, SQLite reports the reason.
        if path.try_exists().is_ok_and(|exists| !exists) {
            bail!("there is no store of runs at {}: `chronoscope run` makes it", path.display());
        }
        Self::connect(path, OpenFlags::empty())
    }

    fn connect(path: PathBuf, create: OpenFlags) -> Result<Self> {
        // SQLite opens a file that cannot be written for reading.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let connection =
            Connection::open_with_flags(&path, flags).map_err(|error| explain(&path, error))?;
        let mut store = Self { connection, path };
        store.prepare().map_err(|error| store.explained(error))?;
        Ok(store)
    }

    /// Checks that the file is a store of this version, and creates the tables in an empty one.
    fn prepare(&mut self) -> Result<()> {
        self.connection.busy_handler(Some(wait))?;
        self.connection.pragma_update(None, "foreign_keys", true)?;
        // The file may be from elsewhere: code in its schema does not run.
        for feature in [
            DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
            DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
            DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
        ] {
            self.connection.set_db_config(feature, false)?;
        }
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        if self.is_empty()? && !self.connection.is_readonly(rusqlite::MAIN_DB)? {
            // Another program may be creating them too; an immediate transaction lets only one
            // proceed.
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if number(&transaction, "schema_version")? == 0 {
                transaction.execute_batch(TABLES)?;
                transaction.pragma_update(None, "application_id", APPLICATION)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()?;
        }
        let (application, version) = (
            number(&self.connection, "application_id")?,
            number(&self.connection, "user_version")?,
        );
        match version {
            _ if application != APPLICATION => {
                bail!("is not a store of runs: name another file with --store")
            }
            VERSION => Ok(()),
            _ => bail!(
                "has version {version} and this program knows {VERSION}: use the chronoscope that wrote it, or name another \
                 file with --store"
            ),
        }
    }

    fn is_empty(&self) -> Result<bool> {
        Ok(number(&self.connection, "schema_version")? == 0)
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
        let add = || {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut numbers = Vec::new();
            for (run, document) in runs.iter().zip(&documents) {
                numbers.push(insert(&transaction, run, document)?);
            }
            before(&numbers);
            transaction.commit()?;
            Ok(numbers)
        };
        let outcome = add();
        outcome.map_err(|error| explain(&self.path, error))
    }

    /// Checks before a long run that the store will take its results.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn check_writable(&self) -> Result<()> {
        let check = self.connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
        check.map_err(|error| explain(&self.path, error))
    }

    /// Returns whether the run of that number began at `date` and took `seconds`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn holds(&self, number: i64, date: &str, seconds: f64) -> Result<bool> {
        let query =
            "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ? AND started = ? AND seconds = ?)";
        let found =
            self.connection.query_row(query, params![number, date, seconds], |row| row.get(0));
        found.map_err(|error| explain(&self.path, error))
    }

    /// Reads the run of that number, and upgrades a run of an older schema.
    ///
    /// # Errors
    /// If there is no such run, it has another schema, or it is damaged.
    pub fn run(&self, number: i64) -> Result<Run> {
        let found = self
            .connection
            .query_row("SELECT schema, document FROM runs WHERE id = ?", [number], |row| {
                Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?))
            })
            .optional()
            .map_err(|error| explain(&self.path, error))?;
        let Some((schema, document)) = found else {
            bail!(
                "there is no run {number} in {}: `chronoscope history` lists all",
                self.path.display()
            );
        };
        if !run::is_readable(schema) {
            bail!(
                "run {number} in {} has schema {schema}; this program reads {}",
                self.path.display(),
                run::READABLE
            );
        }
        let mut run: Run = serde_json::from_str(&document).map_err(|error| {
            anyhow!("run {number} in {} is damaged: {error}", self.path.display())
        })?;
        run.upgrade();
        Ok(run)
    }

    /// The number of the run that is `back` before the newest.
    ///
    /// # Errors
    /// If the store holds no more than `back` runs.
    pub fn newest(&self, back: u32) -> Result<i64> {
        let found = self
            .connection
            .query_row("SELECT id FROM runs ORDER BY id DESC LIMIT 1 OFFSET ?", [back], |row| {
                row.get(0)
            })
            .optional()
            .map_err(|error| explain(&self.path, error))?;
        found.with_context(|| {
            let count = if back == 0 {
                "a run".to_owned()
            } else {
                format!("{} runs", u64::from(back) + 1)
            };
            format!(
                "{} does not hold {count}: `chronoscope history` lists what it holds",
                self.path.display()
            )
        })
    }

    /// The path of a run's page, in a folder next to the store and named after it, so that two
    /// stores in a folder stay apart.
    pub fn page(&self, number: i64) -> PathBuf {
        self.path.with_extension("pages").join(format!("{number}.html"))
    }

    /// Deletes the pages and captures of runs that the store no longer holds.
    fn sweep(&self) -> Result<()> {
        let Ok(pages) = fs::read_dir(self.path.with_extension("pages")) else { return Ok(()) };
        for page in pages.filter_map(|page| Some(page.ok()?.path())) {
            // File names are `7.html` and `7-switch-tandem-ibex.vcd`.
            let ending = page.extension().and_then(|extension| extension.to_str());
            let number = page.file_stem().and_then(|stem| match ending? {
                "html" => stem.to_str()?.parse::<i64>().ok(),
                "vcd" => stem.to_str()?.split_once('-')?.0.parse().ok(),
                _ => None,
            });
            let Some(number) = number else { continue };
            let known = "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?)";
            let known = self.connection.query_row(known, [number], |row| row.get(0));
            if !known.map_err(|error| explain(&self.path, error))? {
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
        let gone = self.connection.execute("DELETE FROM runs WHERE id = ?", [number]);
        let gone = gone.map_err(|error| explain(&self.path, error))?;
        self.sweep()?;
        Ok(gone > 0)
    }

    /// Deletes all but the `newest` runs, with their pages and captures, and gives their room in the
    /// file back to the disk. Returns the number of deleted runs.
    ///
    /// SQLite writes the rest of the file anew for that (VACUUM): it takes as long as copying the
    /// file, and as much room once more while it runs.
    ///
    /// # Errors
    /// If the store or a page cannot be written. After a failed VACUUM, the runs are gone and the
    /// file is as large as before.
    pub fn keep(&self, newest: u32) -> Result<usize> {
        let old = "DELETE FROM runs WHERE id NOT IN (SELECT id FROM runs ORDER BY id DESC LIMIT ?)";
        let gone =
            self.connection.execute(old, [newest]).map_err(|error| explain(&self.path, error))?;
        self.sweep()?;
        if gone > 0 {
            let vacuum = self.connection.execute_batch("VACUUM");
            vacuum
                .map_err(|error| explain(&self.path, error))
                .context("the runs are forgotten, but their room is not given back")?;
        }
        Ok(gone)
    }

    /// Adds the store's name to an error.
    fn explained(&self, error: Error) -> Error {
        match error.downcast::<rusqlite::Error>() {
            Ok(error) => explain(&self.path, error),
            Err(error) => anyhow!("the store {} {error}", self.path.display()),
        }
    }
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}
