//! A connection to a database, as far as a store needs one: statements with values, and rows of
//! values. Each kind of database implements it in a file of its own.

use anyhow::Result;

/// A value of a statement or of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<Option<f64>> for Value {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Null, Self::Real)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// A row of an answer. Columns count from 0. A column of another type, as a damaged file may have,
/// reads as empty.
#[derive(Debug)]
pub struct Row(pub Vec<Value>);

impl Row {
    pub fn int(&self, column: usize) -> i64 {
        match self.0.get(column) {
            Some(Value::Int(value)) => *value,
            _ => 0,
        }
    }

    pub fn text(&self, column: usize) -> &str {
        match self.0.get(column) {
            Some(Value::Text(value)) => value,
            _ => "",
        }
    }

    pub fn real(&self, column: usize) -> Option<f64> {
        match self.0.get(column) {
            Some(Value::Real(value)) => Some(*value),
            Some(Value::Int(value)) => Some(*value as f64),
            _ => None,
        }
    }
}

/// An open database. Statements number their values `?1`, `?2`, …. Errors are messages that name
/// the store and the remedy.
pub trait Session: Send {
    /// Executes a statement and returns its rows.
    ///
    /// # Errors
    /// If the database cannot be read, or refuses the statement.
    fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>>;

    /// Executes a statement and returns the number of rows that it changed.
    ///
    /// # Errors
    /// If the database cannot be written, or refuses the statement.
    fn change(&mut self, sql: &str, values: &[Value]) -> Result<usize>;

    /// Begins a transaction that will write. One that was left open by an error is undone first.
    ///
    /// # Errors
    /// If the database cannot be written.
    fn begin(&mut self) -> Result<()>;

    /// Completes the transaction.
    ///
    /// # Errors
    /// If it could not be completed; it may have been, if the connection is lost.
    fn commit(&mut self) -> Result<()>;

    /// Undoes the transaction, as far as the connection still allows; the database does it
    /// otherwise.
    fn rollback(&mut self);

    /// Checks that runs can be stored.
    ///
    /// # Errors
    /// If the database cannot be written.
    fn check_writable(&mut self) -> Result<()>;

    /// Gives the room of deleted rows back to the disk, where that is the program's task.
    ///
    /// # Errors
    /// If the database cannot be written.
    fn shrink(&mut self) -> Result<()>;

    /// Connects anew if the connection is lost; returns `false` if it was not.
    ///
    /// # Errors
    /// If the server cannot be reached.
    fn reconnect(&mut self) -> Result<bool>;

    /// A remark for the user on a store that can be used.
    fn remark(&mut self) -> Option<String> {
        None
    }
}
