//! The queries of a history: lists of runs and of cases.

use anyhow::Result;
use rusqlite::{Row, params};

use super::{Store, error::explain};
use crate::{run::Status, units::OneLine};

/// A run as a row of a list.
#[derive(Debug, serde::Serialize)]
pub struct RunRow {
    pub run: i64,
    pub started: OneLine,
    pub study: OneLine,
    pub cases: i64,
    pub status: OneLine,
    pub interrupted: bool,
    pub host: OneLine,
    pub system: OneLine,
}

/// A measured series of a case in a run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CaseRow {
    pub run: i64,
    pub started: OneLine,
    pub host: OneLine,
    pub key: OneLine,
    pub label: OneLine,
    pub series: OneLine,
    pub unit: OneLine,
    pub nominal: f64,
    pub p50: Option<f64>,
    pub status: OneLine,
}

impl CaseRow {
    /// The median, unless the case is inconclusive.
    pub fn figure(&self) -> Option<f64> {
        let none = [Status::Inconclusive, Status::Error].map(Status::words);
        self.p50.filter(|_| !none.contains(&self.status.as_str()))
    }
}

/// The runs that a history shows; by default all. A run that lacks a property has no value of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Which<'a> {
    pub study: Option<&'a str>,
    /// The machine of the run's context.
    pub machine: Option<&'a str>,
    /// The name and the value of a label; the name has no quotes.
    pub label: Option<(&'a str, &'a str)>,
}

/// The condition of [`Which`] on a row of `runs`, with its parameters 1 to 4. Machine and labels are
/// read from the runs' documents, which takes time in proportion to the store's size.
const FITS: &str = "(?1 IS NULL OR study = ?1)
    AND (?2 IS NULL OR
         CASE WHEN json_valid(document) THEN json_extract(document, '$.context.machine') END = ?2)
    AND (?3 IS NULL OR CASE WHEN json_valid(document) THEN json_extract(document, ?3) END = ?4)";

impl Which<'_> {
    /// The path of the label in a document, and its value.
    fn label(&self) -> (Option<String>, Option<&str>) {
        let path = self.label.map(|(name, _)| format!("$.context.labels.\"{name}\""));
        (path, self.label.map(|(_, value)| value))
    }
}

impl Store {
    /// Returns the newest runs, newest first, optionally those of one study.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn runs(&self, study: Option<&str>, limit: u32) -> Result<Vec<RunRow>> {
        self.runs_of(&Which { study, ..Which::default() }, limit)
    }

    /// Returns the newest of these runs, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn runs_of(&self, which: &Which<'_>, limit: u32) -> Result<Vec<RunRow>> {
        let query = format!(
            "SELECT id, started, study, (SELECT count(DISTINCT key) FROM cases WHERE run = id), status, interrupted,
                            host, system
                     FROM runs WHERE {FITS} ORDER BY id DESC LIMIT ?5"
        );
        let (path, value) = which.label();
        self.rows(&query, params![which.study, which.machine, path, value, limit], |row| {
            Ok(RunRow {
                run: row.get(0)?,
                started: line(row, 1)?,
                study: line(row, 2)?,
                cases: row.get(3)?,
                status: line(row, 4)?,
                interrupted: row.get(5)?,
                host: line(row, 6)?,
                system: line(row, 7)?,
            })
        })
    }

    /// Returns all cases of an experiment in the `limit` newest runs that have any, oldest first,
    /// optionally of one study.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn cases(&self, experiment: &str, study: Option<&str>, limit: u32) -> Result<Vec<CaseRow>> {
        self.cases_of(experiment, &Which { study, ..Which::default() }, limit)
    }

    /// Returns all cases of an experiment in the `limit` newest of these runs that have any, oldest
    /// first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn cases_of(
        &self,
        experiment: &str,
        which: &Which<'_>,
        limit: u32,
    ) -> Result<Vec<CaseRow>> {
        let query = format!(
            "SELECT run, started, host, key, label, series, unit, nominal, p50, cases.status
                     FROM cases JOIN runs ON runs.id = run
                     WHERE experiment = ?6 AND run IN (
                         SELECT DISTINCT run FROM cases JOIN runs ON runs.id = run
                         WHERE experiment = ?6 AND {FITS} ORDER BY run DESC LIMIT ?5)
                     ORDER BY run, cases.rowid"
        );
        let (path, value) = which.label();
        let values = params![which.study, which.machine, path, value, limit, experiment];
        self.rows(&query, values, |row| {
            Ok(CaseRow {
                run: row.get(0)?,
                started: line(row, 1)?,
                host: line(row, 2)?,
                key: line(row, 3)?,
                label: line(row, 4)?,
                series: line(row, 5)?,
                unit: line(row, 6)?,
                nominal: row.get(7)?,
                p50: row.get(8)?,
                status: line(row, 9)?,
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

/// A column of text.
fn line(row: &Row<'_>, column: usize) -> rusqlite::Result<OneLine> {
    row.get::<_, String>(column).map(OneLine::from)
}
