//! The queries of a history: lists of runs and of cases.

use anyhow::Result;

use super::{
    Store,
    session::{Row, Value},
};
use chronoscope_run::history::{CaseRow, RunRow};

/// A filter of runs by their properties; by default all runs pass. A run without a property passes
/// no filter on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunFilter<'a> {
    /// The name of the study.
    pub study: Option<&'a str>,
    /// The machine of the run's context.
    pub machine: Option<&'a str>,
    /// The name and the value of a label.
    pub label: Option<(&'a str, &'a str)>,
}

/// A condition on rows of `runs`, and the values in it. The statement has a term only for a
/// property with a filter, so that the database can use an index for each.
#[derive(Default)]
struct Condition {
    terms: Vec<String>,
    values: Vec<Value>,
}

impl Condition {
    fn new(filter: &RunFilter<'_>) -> Self {
        let mut condition = Self::default();
        if let Some(study) = filter.study {
            let place = condition.value(study);
            condition.terms.push(format!("runs.study = {place}"));
        }
        if let Some(machine) = filter.machine {
            let place = condition.value(machine);
            condition.terms.push(format!("runs.machine = {place}"));
        }
        if let Some((name, value)) = filter.label {
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
    /// Returns the newest runs, newest first; with `study`, the newest of this study.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn runs(&self, study: Option<&str>, limit: u32) -> Result<Vec<RunRow>> {
        self.runs_of(&RunFilter { study, ..RunFilter::default() }, limit)
    }

    /// Returns the newest runs that pass the filter, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn runs_of(&self, filter: &RunFilter<'_>, limit: u32) -> Result<Vec<RunRow>> {
        let mut condition = Condition::new(filter);
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

    /// Returns the numbers and the dates of the runs of a host that no signal ended, among the `listed`
    /// newest runs of all hosts, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn complete_runs(&self, host: &str, listed: u32) -> Result<Vec<(i64, String)>> {
        let query = "SELECT id, started FROM
                         (SELECT id, started, host, interrupted FROM runs ORDER BY id DESC LIMIT ?1) AS newest
                     WHERE host = ?2 AND interrupted = 0 ORDER BY id DESC";
        let rows = self.session().rows(query, &[i64::from(listed).into(), host.into()])?;
        Ok(rows.iter().map(|row| (row.int(0), row.text(1).to_owned())).collect())
    }

    /// Returns all cases of an experiment in the `limit` newest runs that have any, oldest first,
    /// optionally of one study.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn cases(&self, experiment: &str, study: Option<&str>, limit: u32) -> Result<Vec<CaseRow>> {
        self.cases_of(experiment, &RunFilter { study, ..RunFilter::default() }, limit)
    }

    /// Returns all cases of an experiment in the `limit` newest runs that pass the filter and have
    /// any, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn cases_of(
        &self,
        experiment: &str,
        filter: &RunFilter<'_>,
        limit: u32,
    ) -> Result<Vec<CaseRow>> {
        self.case_rows(Some(experiment), filter, limit)
    }

    /// Returns all cases of the `limit` newest runs that pass the filter, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn all_cases_of(&self, filter: &RunFilter<'_>, limit: u32) -> Result<Vec<CaseRow>> {
        self.case_rows(None, filter, limit)
    }

    fn case_rows(
        &self,
        experiment: Option<&str>,
        filter: &RunFilter<'_>,
        limit: u32,
    ) -> Result<Vec<CaseRow>> {
        let mut condition = Condition::new(filter);
        let mut of_experiment = String::new();
        if let Some(experiment) = experiment {
            let experiment = condition.value(experiment);
            condition.terms.push(format!(
                "EXISTS (SELECT 1 FROM cases WHERE run = runs.id AND experiment = {experiment})"
            ));
            of_experiment = format!("cases.experiment = {experiment} AND");
        }
        let limit = condition.value(i64::from(limit));
        let query = format!(
            "SELECT {CASE} FROM cases JOIN runs ON runs.id = cases.run
             WHERE {of_experiment} cases.run IN (SELECT id FROM runs {} ORDER BY id DESC LIMIT {limit})
             ORDER BY cases.run, cases.place",
            condition.text()
        );
        let rows = self.session().rows(&query, &condition.values)?;
        Ok(rows.iter().map(case).collect())
    }

    /// Returns the numbers of the runs that pass the filter, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn numbers_of(&self, filter: &RunFilter<'_>) -> Result<Vec<i64>> {
        let condition = Condition::new(filter);
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
