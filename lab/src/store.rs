//! The store: one SQLite file in which every run remains.
//!
//! `runs` holds each run whole, as JSON. `cases` has one row for each measured series, with the figures that a history asks
//! for; a case that never ran has one row without figures.
//!
//! A run is one short transaction, so two programs at once only wait for each other. The journal is SQLite's plain one, not a
//! write-ahead log: what is copied is one file, and it can be read where nothing may be written.

use std::{
    env, fs,
    path::{self, Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};

use crate::{
    run::{CaseResult, Run, SCHEMA},
    verdict::Status,
};

/// The version of the tables.
const VERSION: i64 = 1;

/// Marks the file as ours: `chro`.
const APPLICATION: i64 = 0x6368_726f;

/// How long another program may hold the store: the largest run is written in a fraction of it.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// A run, as a list shows it.
#[derive(Debug, serde::Serialize)]
pub struct RunRow {
    pub run: i64,
    pub started: String,
    pub study: String,
    pub cases: i64,
    pub status: String,
    pub interrupted: bool,
    pub host: String,
    pub system: String,
}

/// A measured series of a case in one run.
#[derive(Debug, serde::Serialize)]
pub struct CaseRow {
    pub run: i64,
    pub started: String,
    pub host: String,
    pub key: String,
    pub label: String,
    pub series: String,
    pub unit: String,
    pub nominal: f64,
    pub p50: Option<f64>,
    pub status: String,
}

/// Where runs are stored unless `--store` says otherwise.
///
/// # Errors
/// When the user has no data folder.
pub fn default_path() -> Result<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let data = data.context("there is no folder for the store of runs: set HOME, or name a file with --store")?;
    Ok(data.join("chronoscope/runs.sqlite"))
}

impl Store {
    /// Opens the store, and makes it if there is none.
    ///
    /// # Errors
    /// With the file's name and the mend.
    pub fn create(path: &Path) -> Result<Self> {
        let path = path::absolute(path).with_context(|| format!("`{}` is no place for a store", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).with_context(|| {
            format!("cannot make the folder {} for the store of runs: name another with --store", folder.display())
        })?;
        Self::connect(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a store that exists.
    ///
    /// # Errors
    /// With the file's name and the mend.
    pub fn open(path: &Path) -> Result<Self> {
        let path = path::absolute(path).with_context(|| format!("`{}` is no place for a store", path.display()))?;
        if !path.exists() {
            bail!("there is no store of runs at {}: `chronoscope run` makes it", path.display());
        }
        Self::connect(path, OpenFlags::empty())
    }

    fn connect(path: PathBuf, create: OpenFlags) -> Result<Self> {
        // Where the file may not be written, SQLite opens it for reading.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let connection = Connection::open_with_flags(&path, flags).map_err(|error| explain(&path, error))?;
        let mut store = Self { connection, path };
        store.prepare().map_err(|error| store.told(error))?;
        Ok(store)
    }

    /// Checks that the file is a store of this version; makes the tables in an empty one.
    fn prepare(&mut self) -> Result<()> {
        self.connection.busy_timeout(PATIENCE)?;
        self.connection.pragma_update(None, "foreign_keys", true)?;
        if self.is_empty()? && !self.connection.is_readonly(rusqlite::MAIN_DB)? {
            // Another program may be making it too: only one gets past this line at a time.
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if number(&transaction, "schema_version")? == 0 {
                transaction.execute_batch(TABLES)?;
                transaction.pragma_update(None, "application_id", APPLICATION)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()?;
        }
        let (application, version) =
            (number(&self.connection, "application_id")?, number(&self.connection, "user_version")?);
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

    /// Stores runs, all or none, and tells their numbers.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn add(&mut self, runs: &[&Run]) -> Result<Vec<i64>> {
        let documents = runs.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        let mut add = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut numbers = Vec::new();
            for (run, document) in runs.iter().zip(&documents) {
                numbers.push(insert(&transaction, run, document)?);
            }
            transaction.commit()?;
            Ok(numbers)
        };
        let outcome = add();
        outcome.map_err(|error| explain(&self.path, error))
    }

    /// The run of that number.
    ///
    /// # Errors
    /// When there is none, or it is of another version.
    pub fn run(&self, number: i64) -> Result<Run> {
        let found = self
            .connection
            .query_row("SELECT schema, document FROM runs WHERE id = ?", [number], |row| {
                Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?))
            })
            .optional()
            .map_err(|error| explain(&self.path, error))?;
        let Some((schema, document)) = found else {
            bail!("there is no run {number} in {}: `chronoscope history` lists all", self.path.display());
        };
        if schema != SCHEMA {
            bail!("run {number} in {} has schema {schema}; this program reads {SCHEMA}", self.path.display());
        }
        serde_json::from_str(&document)
            .map_err(|error| anyhow!("run {number} in {} is damaged: {error}", self.path.display()))
    }

    /// The number of the newest run, or of the one so many before it.
    ///
    /// # Errors
    /// When there are not so many.
    pub fn newest(&self, back: u32) -> Result<i64> {
        let found = self
            .connection
            .query_row("SELECT id FROM runs ORDER BY id DESC LIMIT 1 OFFSET ?", [back], |row| row.get(0))
            .optional()
            .map_err(|error| explain(&self.path, error))?;
        found.with_context(|| {
            let count = if back == 0 { "no run".to_owned() } else { format!("not {} runs", u64::from(back) + 1) };
            format!("there is {count} in {}: `chronoscope run` stores one", self.path.display())
        })
    }

    /// The newest runs, newest first; only those of a study, if one is named.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self, study: Option<&str>, limit: u32) -> Result<Vec<RunRow>> {
        let query =
            "SELECT id, started, study, (SELECT count(DISTINCT key) FROM cases WHERE run = id), status, interrupted,
                            host, system
                     FROM runs WHERE ?1 IS NULL OR study = ?1 ORDER BY id DESC LIMIT ?2";
        self.rows(query, params![study, limit], |row| {
            Ok(RunRow {
                run: row.get(0)?,
                started: row.get(1)?,
                study: row.get(2)?,
                cases: row.get(3)?,
                status: row.get(4)?,
                interrupted: row.get(5)?,
                host: row.get(6)?,
                system: row.get(7)?,
            })
        })
    }

    /// All cases of an experiment in the newest runs that have any; the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn cases(&self, experiment: &str, study: Option<&str>, limit: u32) -> Result<Vec<CaseRow>> {
        let query = "SELECT run, started, host, key, label, series, unit, nominal, p50, cases.status
                     FROM cases JOIN runs ON runs.id = run
                     WHERE experiment = ?1 AND run IN (
                         SELECT DISTINCT run FROM cases JOIN runs ON runs.id = run
                         WHERE experiment = ?1 AND (?2 IS NULL OR study = ?2) ORDER BY run DESC LIMIT ?3)
                     ORDER BY run, cases.rowid";
        self.rows(query, params![experiment, study, limit], |row| {
            Ok(CaseRow {
                run: row.get(0)?,
                started: row.get(1)?,
                host: row.get(2)?,
                key: row.get(3)?,
                label: row.get(4)?,
                series: row.get(5)?,
                unit: row.get(6)?,
                nominal: row.get(7)?,
                p50: row.get(8)?,
                status: row.get(9)?,
            })
        })
    }

    /// Forgets one run. Says whether there was one.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn forget(&self, number: i64) -> Result<bool> {
        let gone = self.connection.execute("DELETE FROM runs WHERE id = ?", [number]);
        Ok(gone.map_err(|error| explain(&self.path, error))? > 0)
    }

    /// Forgets all but the newest runs. Says how many went.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn keep(&self, newest: u32) -> Result<usize> {
        let old = "DELETE FROM runs WHERE id NOT IN (SELECT id FROM runs ORDER BY id DESC LIMIT ?)";
        self.connection.execute(old, [newest]).map_err(|error| explain(&self.path, error))
    }

    fn rows<T>(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let read = || self.connection.prepare(query)?.query_map(parameters, row)?.collect::<rusqlite::Result<_>>();
        read().map_err(|error| explain(&self.path, error))
    }

    /// An error of this store, with its name.
    fn told(&self, error: Error) -> Error {
        match error.downcast::<rusqlite::Error>() {
            Ok(error) => explain(&self.path, error),
            Err(error) => anyhow!("the store {} {error}", self.path.display()),
        }
    }
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn insert(connection: &Connection, run: &Run, document: &str) -> rusqlite::Result<i64> {
    let context = &run.context;
    connection.execute(
        "INSERT INTO runs (schema, started, study, host, system, seconds, interrupted, status, document)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            run.schema,
            context.date,
            run.study,
            context.host,
            context.system,
            context.seconds,
            context.interrupted,
            run.status().words(),
            document
        ],
    )?;
    let number = connection.last_insert_rowid();
    for case in &run.cases {
        insert_case(connection, number, case)?;
    }
    Ok(number)
}

fn insert_case(connection: &Connection, run: i64, case: &CaseResult) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO cases (run, key, experiment, target, label, series, unit, nominal, p50, low, high, p99, max, status)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let (key, status) = (case.key(), case.verdict.status.words());
    for series in case.measured() {
        let (summary, interval) = (&series.summary, series.p50_interval.as_ref());
        insert.execute(params![
            run,
            key,
            case.experiment,
            case.target,
            case.label,
            series.name,
            series.unit,
            series.nominal,
            summary.p50,
            interval.map(|interval| interval.low),
            interval.map(|interval| interval.high),
            summary.p99,
            summary.max,
            status
        ])?;
    }
    if case.measured().next().is_none() {
        let none = None::<f64>;
        insert.execute(params![
            run,
            key,
            case.experiment,
            case.target,
            case.label,
            "",
            "",
            0.0,
            none,
            none,
            none,
            none,
            none,
            status
        ])?;
    }
    Ok(())
}

impl CaseRow {
    /// The figure, where the case proves one.
    pub fn figure(&self) -> Option<f64> {
        self.p50.filter(|_| self.status != Status::Inconclusive.words())
    }
}

/// SQLite's error, with the file that it is about and what to do.
fn explain(path: &Path, error: rusqlite::Error) -> Error {
    let what = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("is held by another program for more than {} s: try again", PATIENCE.as_secs())
        }
        Some(ErrorCode::NotADatabase) => "is not a store of runs: name another file with --store".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "is damaged: move it away, and the next run makes a new one".to_owned(),
        Some(ErrorCode::DiskFull) => {
            "does not fit on its disk: free some space, or name another place with --store".to_owned()
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "may not be written: get permission, or name another place with --store".to_owned()
        }
        Some(ErrorCode::CannotOpen) => {
            "cannot be opened: get permission for the file and its folder, or name another with --store".to_owned()
        }
        Some(ErrorCode::SystemIoFailure) => {
            format!("cannot be read or written ({error}): look at its disk, or name another place with --store")
        }
        Some(ErrorCode::TooBig) => "cannot hold a run above 1 GB: leave out --samples".to_owned(),
        Some(_) => format!("cannot be used ({error}): name another place with --store"),
        None => format!("is damaged ({error}): move it away, and the next run makes a new one"),
    };
    anyhow!("the store {} {what}", path.display())
}
