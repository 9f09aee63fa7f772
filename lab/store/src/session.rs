//! A connection to a database, as far as a store needs one: statements with values, and rows of
//! values. Each kind of database implements it in a file of its own.

/// The error of a store: its place, without a password, and the reason with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store {place} {reason}")]
pub struct StoreError {
    /// The place, as `--store` names it.
    pub place: String,
    /// The reason and the remedy, as the rest of a sentence that begins with the place.
    pub reason: String,
}

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

/// An open database. Statements number their values `?1`, `?2`, …. Each
/// error has the store's place and the remedy.
pub trait Session: Send {
    /// Executes a statement and returns its rows.
    ///
    /// # Errors
    /// If the database cannot be read, or refuses the statement.
    fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError>;

    /// Executes a statement and returns the number of rows that it changed.
    ///
    /// # Errors
    /// If the database cannot be written, or refuses the statement.
    fn change(&mut self, sql: &str, values: &[Value]) -> Result<usize, StoreError>;

    /// Begins a transaction that will write, and undoes a transaction that an error left open.
    ///
    /// # Errors
    /// If the database cannot be written.
    fn begin(&mut self) -> Result<(), StoreError>;

    /// Completes the transaction.
    ///
    /// # Errors
    /// If the transaction fails. After a lost connection it may have succeeded.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Undoes the transaction if the connection still works; otherwise the database undoes it.
    fn rollback(&mut self);

    /// Checks that runs can be stored.
    ///
    /// # Errors
    /// If the database cannot be written.
    fn check_writable(&mut self) -> anyhow::Result<()>;

    /// Gives the room of deleted rows back to the disk, unless the database does so by itself.
    ///
    /// # Errors
    /// If the database cannot be written.
    fn shrink(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Gives the connection back to the server until the next call.
    fn rest(&mut self) {}

    /// Connects anew if the connection is lost; returns `false` if it was not.
    ///
    /// # Errors
    /// If the server cannot be reached.
    fn reconnect(&mut self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Returns a remark for the user on a usable store.
    fn remark(&mut self) -> Option<String> {
        None
    }
}
