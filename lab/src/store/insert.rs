//! Writes a run into the tables. The transaction around it is the caller's.

use rusqlite::{Connection, params};

use crate::run::{CaseResult, Run};

/// Inserts a run and its cases and returns the run's number.
///
/// # Errors
/// If SQLite fails; the caller must then roll back.
pub fn insert(connection: &Connection, run: &Run, document: &str) -> rusqlite::Result<i64> {
    let context = &run.context;
    connection.execute(
        "INSERT INTO runs (schema, started, study, host, system, seconds, interrupted, status, document)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            run.schema,
            context.date.as_str(),
            run.study.as_str(),
            context.host.as_str(),
            context.system.as_str(),
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
    let mut row =
        |name: &str, unit: &str, nominal: f64, [p50, low, high, p99, max]: [Option<f64>; 5]| {
            let (experiment, target, label) =
                (case.experiment.as_str(), case.target.as_str(), case.label.as_str());
            insert.execute(params![
                run, key, experiment, target, label, name, unit, nominal, p50, low, high, p99, max,
                status
            ])
        };
    for series in case.measured() {
        let (summary, interval) = (&series.summary, series.p50_interval);
        let (low, high) =
            (interval.map(|interval| interval.low), interval.map(|interval| interval.high));
        row(
            &series.name,
            series.unit.name(),
            series.nominal,
            [summary.p50, low, high, summary.p99, summary.max],
        )?;
    }
    if case.measured().next().is_none() {
        row("", "", 0.0, [None; 5])?;
    }
    Ok(())
}
