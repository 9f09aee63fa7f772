//! The queries of a history: lists of runs and of cases.

use anyhow::Result;

use super::{
    Store,
    session::{Row, Value},
};
use chronoscope_run::history::{CaseRow, RunRow};

/// The runs that a history shows; by default all. A run that lacks a property has no value of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Which<'a> {
    pub study: Option<&'a str>,
    /// The machine of the run's context.
    pub machine: Option<&'a str>,
    /// The name and the value of a label.
    pub label: Option<(&'a str, &'a str)>,
}

/// A condition on rows of `runs`, and the values in it. Only conditions that are asked for are part
/// of the statement, so that the database can use an index for each.
#[derive(Default)]
struct Condition {
    terms: Vec<String>,
    values: Vec<Value>,
}

impl Condition {
    fn of(which: &Which<'_>) -> Self {
        let mut condition = Self::default();
        if let Some(study) = which.study {
            let place = condition.value(study);
            condition.terms.push(format!("runs.study = {place}"));
        }
        if let Some(machine) = which.machine {
            let place = condition.value(machine);
            condition.terms.push(format!("runs.machine = {place}"));
        }
        if let Some((name, value)) = which.label {
            let (name, value) = (condition.value(name), condition.value(value));
            condition.terms.push(format!(
                "runs.id IN (SELECT run FROM labels WHERE name = {name} AND value = {value})"
            ));
        }
        condition
    }

    /// Adds a value and returns its place in the statement.
    fn value(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn text(&self) -> String {
        match self.terms.as_slice() {
            [] => String::new(),
            terms => format!("WHERE {}", terms.join(" AND ")),
        }
    }
}

/// The columns of a [`CaseRow`], in the order in which [`case`] reads them.
const CASE: &str =
    "cases.run, runs.started, runs.host, cases.key, cases.label, cases.series, cases.unit,
     cases.nominal, cases.p50, cases.status, runs.machine, cases.experiment";

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
        let mut condition = Condition::of(which);
        let limit = condition.value(i64::from(limit));
        let query = format!(
            "SELECT id, started, study, (SELECT count(DISTINCT key) FROM cases WHERE run = runs.id), status,
                    interrupted, host, system, machine, uuid
             FROM runs {} ORDER BY id DESC LIMIT {limit}",
            condition.text()
        );
        let rows = self.session().rows(&query, &condition.values)?;
        let row = |row: &Row| RunRow {
            run: row.int(0),
            started: row.text(1).into(),
            study: row.text(2).into(),
            cases: row.int(3),
            status: row.text(4).into(),
            interrupted: row.int(5) != 0,
            host: row.text(6).into(),
            system: row.text(7).into(),
            machine: row.text(8).into(),
            uuid: row.text(9).into(),
        };
        Ok(rows.iter().map(row).collect())
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
        let mut condition = Condition::of(which);
        let experiment = condition.value(experiment);
        condition.terms.push(format!(
            "EXISTS (SELECT 1 FROM cases WHERE run = runs.id AND experiment = {experiment})"
        ));
        let limit = condition.value(i64::from(limit));
        let query = format!(
            "SELECT {CASE} FROM cases JOIN runs ON runs.id = cases.run
             WHERE cases.experiment = {experiment} AND cases.run IN (
                 SELECT id FROM runs {} ORDER BY id DESC LIMIT {limit})
             ORDER BY cases.run, cases.place",
            condition.text()
        );
        let rows = self.session().rows(&query, &condition.values)?;
        Ok(rows.iter().map(case).collect())
    }

    /// Returns all cases of the `limit` newest of these runs, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn all_cases_of(&self, which: &Which<'_>, limit: u32) -> Result<Vec<CaseRow>> {
        let mut condition = Condition::of(which);
        let limit = condition.value(i64::from(limit));
        let query = format!(
            "SELECT {CASE} FROM cases JOIN runs ON runs.id = cases.run
             WHERE cases.run IN (SELECT id FROM runs {} ORDER BY id DESC LIMIT {limit})
             ORDER BY cases.run, cases.place",
            condition.text()
        );
        let rows = self.session().rows(&query, &condition.values)?;
        Ok(rows.iter().map(case).collect())
    }

    /// Returns the numbers of these runs, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn numbers_of(&self, which: &Which<'_>) -> Result<Vec<i64>> {
        let condition = Condition::of(which);
        let query = format!("SELECT id FROM runs {} ORDER BY id", condition.text());
        let rows = self.session().rows(&query, &condition.values)?;
        Ok(rows.iter().map(|row| row.int(0)).collect())
    }
}

fn case(row: &Row) -> CaseRow {
    CaseRow {
        run: row.int(0),
        started: row.text(1).into(),
        host: row.text(2).into(),
        key: row.text(3).into(),
        label: row.text(4).into(),
        series: row.text(5).into(),
        unit: row.text(6).into(),
        nominal: row.real(7).unwrap_or_default(),
        p50: row.real(8),
        status: row.text(9).into(),
        machine: row.text(10).into(),
        experiment: row.text(11).into(),
    }
}
