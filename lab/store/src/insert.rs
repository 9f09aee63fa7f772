//! Writes a run into the tables. The module begins and ends no transaction.

use anyhow::{Context as _, Result, bail};

use super::session::{Session, Value};
use chronoscope_run::{CaseResult, Run};

/// The columns of `cases`, in the order of [`row`].
const COLUMNS: [&str; 15] = [
    "run",
    "place",
    "key",
    "experiment",
    "target",
    "label",
    "series",
    "unit",
    "nominal",
    "p50",
    "low",
    "high",
    "p99",
    "max",
    "status",
];

/// The rows of one statement: few enough for both databases' limits on values.
const ROWS: usize = 200;

/// Inserts a run and its cases and returns the run's number. A run whose UUID the store has already
/// is not inserted again: its number is returned.
///
/// # Errors
/// If the database fails, or it has other results under the UUID; the caller must then roll back.
pub fn insert(session: &mut dyn Session, run: &Run, document: &str) -> Result<i64> {
    let context = &run.context;
    let uuid = match context.uuid.as_str() {
        "" => Value::Null,
        uuid => uuid.into(),
    };
    if let Some(number) = known(session, &uuid, document)? {
        return Ok(number);
    }
    let values = [
        i64::from(run.schema).into(),
        context.date.as_str().into(),
        run.study.as_str().into(),
        context.host.as_str().into(),
        context.system.as_str().into(),
        context.seconds.into(),
        i64::from(context.interrupted).into(),
        run.status().words().into(),
        document.into(),
        uuid.clone(),
        context.machine.as_str().into(),
    ];
    let rows = session.rows(
        "INSERT INTO runs (schema, started, study, host, system, seconds, interrupted, status, document, uuid, machine)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (uuid) DO NOTHING RETURNING id",
        &values,
    )?;
    let Some(number) = rows.first().map(|row| row.int(0)) else {
        // Another program has stored the run since the search for it.
        return known(session, &uuid, document)?.context("gave the run no number");
    };
    let cases: Vec<_> = run.cases.iter().flat_map(rows_of).collect();
    let places = (0..).map(Value::Int);
    let cases = cases
        .into_iter()
        .zip(places)
        .map(|(row, place)| [Value::Int(number), place].into_iter().chain(row).collect::<Vec<_>>());
    insert_rows(session, "cases", &COLUMNS, &cases.collect::<Vec<_>>())?;
    let labels = context
        .labels
        .iter()
        .map(|(name, value)| vec![Value::Int(number), name.as_str().into(), value.as_str().into()]);
    insert_rows(session, "labels", &["run", "name", "value"], &labels.collect::<Vec<_>>())?;
    Ok(number)
}

/// Returns the number of the run with this UUID, if the store has it.
///
/// # Errors
/// If the run there has other results than the document.
fn known(session: &mut dyn Session, uuid: &Value, document: &str) -> Result<Option<i64>> {
    let Value::Text(name) = uuid else { return Ok(None) };
    let found = session
        .rows("SELECT id, document FROM runs WHERE uuid = ?1", std::slice::from_ref(uuid))?;
    let Some(row) = found.first() else { return Ok(None) };
    let number = row.int(0);
    if results(row.text(1)) != results(document) {
        bail!(
            "has other results under the UUID {name} of this run, as run {number}: one of them was changed"
        );
    }
    Ok(Some(number))
}

/// Returns the number of an older program's run, without a UUID, that has the date and the results
/// of `run`.
///
/// # Errors
/// If the store cannot be read.
pub fn unnamed(session: &mut dyn Session, run: &Run) -> Result<Option<i64>> {
    let query = "SELECT id, document FROM runs WHERE uuid IS NULL AND started = ?1";
    let found = session.rows(query, &[run.context.date.as_str().into()])?;
    let wanted = results(&serde_json::to_string(run)?);
    Ok(found.iter().find(|row| results(row.text(1)) == wanted).map(|row| row.int(0)))
}

/// Returns the results in a run's document: everything but the context. Null for a damaged
/// document.
fn results(document: &str) -> serde_json::Value {
    let run: Result<Run, _> = serde_json::from_str(document);
    let results = run.ok().and_then(|mut run| {
        run.upgrade();
        let mut value = serde_json::to_value(run).ok()?;
        value.as_object_mut()?.remove("context");
        Some(value)
    });
    results.unwrap_or_default()
}

fn insert_rows(
    session: &mut dyn Session,
    table: &str,
    columns: &[&str],
    rows: &[Vec<Value>],
) -> Result<()> {
    for rows in rows.chunks(ROWS) {
        let width = columns.len();
        let row = |first: usize| {
            let places: Vec<_> = (first..first + width).map(|at| format!("?{at}")).collect();
            format!("({})", places.join(", "))
        };
        let places: Vec<_> = (0..rows.len()).map(|at| row(at * width + 1)).collect();
        let sql =
            format!("INSERT INTO {table} ({}) VALUES {}", columns.join(", "), places.join(", "));
        session.change(&sql, &rows.concat())?;
    }
    Ok(())
}

/// Returns the rows of a case without run and place: one for each measured series, or one without
/// figures.
fn rows_of(case: &CaseResult) -> Vec<[Value; 13]> {
    let (key, status) = (case.key(), case.verdict.status.words());
    let row = |name: &str, unit: &str, nominal: f64, [p50, low, high, p99, max]: [Value; 5]| {
        let text = |text: &str| Value::from(text);
        let (experiment, target, label) = (&case.experiment, &case.target, &case.label);
        [
            text(&key),
            text(experiment),
            text(target),
            text(label),
            text(name),
            text(unit),
            nominal.into(),
            p50,
            low,
            high,
            p99,
            max,
            text(status),
        ]
    };
    let mut rows: Vec<_> = case
        .measured()
        .map(|series| {
            let (summary, interval) = (&series.summary, series.p50_interval);
            let (low, high) =
                (interval.map(|interval| interval.low), interval.map(|interval| interval.high));
            let figures = [summary.p50, low, high, summary.p99, summary.max].map(Value::from);
            row(&series.name, series.unit.name(), series.nominal, figures)
        })
        .collect();
    if rows.is_empty() {
        rows.push(row("", "", 0.0, [const { Value::Null }; 5]));
    }
    rows
}
