//! The reasons of a store's errors in PostgreSQL's words. The module knows nothing of the tables.

use std::{error::Error as _, io};

use postgres::error::SqlState;

use super::{super::session::StoreError, cause, stream::Refused};
use chronoscope_units::printable;

/// The error of a server that may take a connection later: to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum Busy {
    /// Without a free connection now, or about to start.
    #[error(transparent)]
    Full(StoreError),
    /// The connection was not taken in time, or was dropped: many programs connect, or no server is
    /// there.
    #[error(transparent)]
    Late(StoreError),
}

impl Busy {
    /// The error itself.
    pub fn into_inner(self) -> StoreError {
        let (Self::Full(error) | Self::Late(error)) = self;
        error
    }
}

/// Returns the error of a connection that was not made: [`Busy`] where it may be tried again.
pub fn unconnected(name: &str, error: &postgres::Error) -> anyhow::Error {
    // A server that refuses a connection may end it before its word has been read.
    let is_late = socket_error(error).is_some_and(|error| {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut};
        matches!(error.kind(), TimedOut | ConnectionReset | BrokenPipe)
    });
    let is_full = matches!(
        error.code(),
        Some(&(SqlState::TOO_MANY_CONNECTIONS | SqlState::CANNOT_CONNECT_NOW))
    );
    let error = explain(name, error);
    match (is_full, is_late) {
        (true, _) => Busy::Full(error).into(),
        (_, true) => Busy::Late(error).into(),
        _ => error.into(),
    }
}

/// Returns the server's or the client's error with the store's place and the remedy.
pub fn explain(name: &str, error: &postgres::Error) -> StoreError {
    let said = match error.as_db_error() {
        Some(error) => printable(error.message()),
        None => printable(&cause(error)),
    };
    let reason = match error.code() {
        Some(&(SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION)) => {
            format!("refuses its user ({said}): set PGPASSWORD, or name another user in --store")
        }
        Some(&SqlState::UNDEFINED_DATABASE) => {
            format!("does not exist ({said}): create it with createdb, or name another in --store")
        }
        Some(&(SqlState::INSUFFICIENT_PRIVILEGE | SqlState::READ_ONLY_SQL_TRANSACTION)) => format!(
            "refuses this ({said}): its owner grants the right (docs/many-machines.md), or name another store with --store"
        ),
        Some(&(SqlState::LOCK_NOT_AVAILABLE | SqlState::QUERY_CANCELED)) => {
            format!("is held by another program ({said}): try again")
        }
        Some(&(SqlState::DISK_FULL | SqlState::OUT_OF_MEMORY)) => {
            format!("has no room left ({said}): ask who keeps the server")
        }
        Some(&(SqlState::TOO_MANY_CONNECTIONS | SqlState::CANNOT_CONNECT_NOW)) => {
            format!("takes no connection now ({said}): try again")
        }
        Some(&(SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN)) => {
            format!("ended the connection ({said}): start the server, and try again")
        }
        Some(_) => format!("cannot be used ({said}): name another with --store"),
        None if let Some(refused) = refused(error) => match refused {
            Refused::Clear => format!(
                "is not used ({refused}): let the server ask by scram-sha-256, or write ?sslmode=require, or \
                 disable where that may be"
            ),
            Refused::TooLong | Refused::Unknown => format!(
                "is not used ({refused}): look at the server, or name another store with --store"
            ),
        },
        None => format!(
            "cannot be reached ({said}): start the server, or name another store with --store"
        ),
    };
    StoreError { place: name.to_owned(), reason }
}

/// Returns the bound that a server has broken.
fn refused(error: &postgres::Error) -> Option<Refused> {
    socket_error(error)?.get_ref()?.downcast_ref().copied()
}

/// The error of the socket behind a client's error.
fn socket_error(error: &postgres::Error) -> Option<&io::Error> {
    error.source()?.downcast_ref()
}
