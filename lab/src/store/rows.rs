//! The queries of a history: lists of runs and of cases.

use anyhow::Result;
use rusqlite::{Row, params};

use super::{Store, error::explain};
use crate::run::Status;

/// A run as a row of a list.
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

/// A measured series of a case in a run.
#[derive(Clone, Debug, serde::Serialize)]
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

impl CaseRow {
    /// The median, unless the case is inconclusive.
    pub fn figure(&self) -> Option<f64> {
        self.p50.filter(|_| self.status != Status::Inconclusive.words())
    }
}

impl Store {
    /// Returns the newest runs, newest first, optionally those of one study.
    ///
    /// # Errors
    /// If the store cannot be read.
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

    /// Returns all cases of an experiment in the `limit` newest runs that have any, oldest first,
    /// optionally of one study.
    ///
    /// # Errors
    /// If the store cannot be read.
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

    fn rows<T>(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let read = || {
            self.connection
                .prepare(query)?
                .query_map(parameters, row)?
                .collect::<rusqlite::Result<_>>()
        };
        read().map_err(|error| explain(&self.path, error))
    }
}
