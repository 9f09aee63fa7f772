//! Stores in SQLite files.
//!
//! The journal is SQLite's rollback journal instead of a write-ahead log, so that a copy is a
//! single file that can be read on a read-only medium. A store of an older version on such a medium
//! is migrated in memory.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Error, Result, bail};
use rusqlite::{
    Connection, MAIN_DB, OpenFlags, TransactionBehavior,
    backup::Backup,
    config::DbConfig,
    params_from_iter,
    types::{ToSql, ToSqlOutput, ValueRef},
};

use chronoscope_base::private;

use super::{
    error::explain,
    patience::patience,
    schema::{Dialect, VERSION, migrations},
    session::{Row, Session, StoreError, Value},
};

/// The application id of a store, `chro`.
const APPLICATION: i64 = 0x6368_726f;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// The pages of a file that are copied at a time.
const PAGES: i32 = 10_000;

/// An open file.
pub struct Sqlite {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    /// `true` if the connection is to a copy in memory.
    pub(super) is_copy: bool,
}

/// Waits before SQLite tries again to lock the file. `tries` counts the tries so far. Returns
/// `false` to give up.
fn wait(tries: i32) -> bool {
    let waited = PAUSE.saturating_mul(u32::try_from(tries).unwrap_or_default());
    let goes_on = waited < patience();
    if goes_on {
        thread::sleep(PAUSE);
    }
    goes_on
}

/// Makes an empty file with the mode of private ones, unless there is one. SQLite, which opens it next,
/// says why it cannot be made, and gives its own journal the same mode.
fn make(path: &Path) {
    let _ = OpenOptions::new().write(true).create_new(true).mode(private::file_mode()).open(path);
}

/// # Errors
/// The file, or the one of SQLite's beside it, is a device or a pipe.
fn check(path: &Path) -> Result<()> {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    for path in [path, Path::new(&journal)] {
        if fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
            bail!("the store {} is no plain file: name another with --store", path.display());
        }
    }
    Ok(())
}

impl Sqlite {
    /// Opens a file; creates it first with `create`.
    ///
    /// # Errors
    /// If the file cannot be opened or is not a store; the message names the file and the remedy.
    pub fn open(path: &Path, create: bool) -> Result<Self> {
        // SQLite opens a file that cannot be written for reading.
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
        check(path)?;
        if create {
            make(path);
        }
        let connection =
            Connection::open_with_flags(path, flags).map_err(|error| explain(path, error))?;
        let mut session = Self { connection, path: path.to_owned(), is_copy: false };
        session.prepare().map_err(|error| session.explained(error))?;
        Ok(session)
    }

    /// Checks that the file is a store, creates the tables in an empty one, and migrates an older
    /// one.
    pub(super) fn prepare(&mut self) -> Result<()> {
        restrict(&self.connection)?;
        let is_readonly = self.connection.is_readonly(MAIN_DB)?;
        if !is_readonly && number(&self.connection, "schema_version")? == 0 {
            // Another program may be creating the tables too; an immediate transaction lets only
            // one proceed.
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if number(&transaction, "schema_version")? == 0 {
                transaction.execute_batch(&migrations(0, Dialect::Sqlite))?;
                transaction.pragma_update(None, "application_id", APPLICATION)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()?;
        }
        match self.version()? {
            VERSION => Ok(()),
            older @ 1..VERSION => self.migrate(older, is_readonly),
            version => bail!(
                "has version {version} and this program knows {VERSION}: use the chronoscope that wrote it, or name another \
                 file with --store"
            ),
        }
    }

    /// The version of the tables.
    fn version(&self) -> Result<i64> {
        if number(&self.connection, "application_id")? != APPLICATION {
            bail!("is not a store of runs: name another file with --store");
        }
        Ok(number(&self.connection, "user_version")?)
    }

    /// Migrates an older store, in memory if the file cannot be written.
    fn migrate(&mut self, version: i64, is_readonly: bool) -> Result<()> {
        if is_readonly {
            let mut copy = Connection::open_in_memory()?;
            Backup::new(&self.connection, &mut copy)?.run_to_completion(PAGES, PAUSE, None)?;
            (self.connection, self.is_copy) = (copy, true);
            restrict(&self.connection)?;
        }
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another program may have migrated the file meanwhile.
        if number(&transaction, "user_version")? == version {
            transaction.execute_batch(&migrations(version, Dialect::Sqlite))?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        Ok(transaction.commit()?)
    }

    /// Adds the store's name to an error.
    fn explained(&self, error: Error) -> StoreError {
        match error.downcast::<rusqlite::Error>() {
            Ok(error) => explain(&self.path, error),
            Err(error) => self.error(error.to_string()),
        }
    }

    fn error(&self, reason: String) -> StoreError {
        StoreError { place: self.path.display().to_string(), reason }
    }

    /// Refuses to write a copy in memory, of which nothing would be kept.
    fn refuse_copy(&self) -> Result<(), StoreError> {
        if self.is_copy {
            let reason = "may not be written: get permission, or name another place with --store";
            return Err(self.error(reason.to_owned()));
        }
        Ok(())
    }

    fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|error| explain(&self.path, error))
    }
}

/// Sets the longest wait of a connection, and forbids code in the file's schema, whose origin is
/// unknown.
fn restrict(connection: &Connection) -> Result<()> {
    connection.busy_handler(Some(wait))?;
    connection.pragma_update(None, "foreign_keys", true)?;
    for feature in [
        DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
        DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
        DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
    ] {
        connection.set_db_config(feature, false)?;
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(())
}

pub(super) fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

/// Reads a value of a file. Text that is not UTF-8 and blobs are damage.
fn read(value: ValueRef<'_>) -> rusqlite::Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(_) | ValueRef::Blob(_) => Value::Text(value.as_str()?.to_owned()),
    })
}

impl Session for Sqlite {
    fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let rows = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let columns = statement.column_count();
            let row = |row: &rusqlite::Row<'_>| {
                (0..columns).map(|column| read(row.get_ref(column)?)).collect::<Result<_, _>>()
            };
            statement.query_map(params_from_iter(values), row)?.map(|row| row.map(Row)).collect()
        };
        let rows: rusqlite::Result<_> = rows();
        rows.map_err(|error| explain(&self.path, error))
    }

    fn change(&mut self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        let change = || self.connection.prepare_cached(sql)?.execute(params_from_iter(values));
        change().map_err(|error| explain(&self.path, error))
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        self.refuse_copy()?;
        self.batch("BEGIN IMMEDIATE")
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.batch("COMMIT")
    }

    fn rollback(&mut self) {
        // SQLite has undone the transaction itself after some errors.
        let _ = self.connection.execute_batch("ROLLBACK");
    }

    fn check_writable(&mut self) -> Result<()> {
        self.refuse_copy()?;
        Ok(self.batch("BEGIN IMMEDIATE; ROLLBACK")?)
    }

    fn shrink(&mut self) -> Result<(), StoreError> {
        self.batch("VACUUM")
    }
}
