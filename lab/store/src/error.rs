//! The reasons of a store's errors in SQLite's words. The module knows nothing of the tables.

use std::path::Path;

use rusqlite::ErrorCode;

use super::{patience::patience, session::StoreError};
use chronoscope_units::printable;

/// Returns SQLite's error with the file and the remedy.
pub fn explain(path: &Path, error: rusqlite::Error) -> StoreError {
    let said = said(&error);
    let reason = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let seconds = patience().as_secs();
            format!("is held by another program for more than {seconds} s: try again")
        }
        Some(ErrorCode::NotADatabase) => "is not a store of runs: name another file with --store".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "is damaged: move it away, and the next run makes a new one".to_owned(),
        Some(ErrorCode::DiskFull) => {
            "does not fit on its disk: free some space, or name another place with --store".to_owned()
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "may not be written: get permission, or name another place with --store".to_owned()
        }
        Some(ErrorCode::CannotOpen) => {
            "cannot be opened: get permission for the file and its folder, or name another with --store".to_owned()
        }
        Some(ErrorCode::SystemIoFailure) => {
            format!("cannot be read or written ({said}): look at its disk, or name another place with --store")
        }
        Some(ErrorCode::TooBig) => "cannot hold a run above 1 GB: leave out --samples".to_owned(),
        Some(_) => format!("cannot be used ({said}): name another place with --store"),
        None => format!("is damaged ({said}): move it away, and the next run makes a new one"),
    };
    StoreError { place: path.display().to_string(), reason }
}

/// Returns the text of an error on one line, printable, since it may quote the file. A failed query
/// gives its cause only.
fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => printable(msg),
        error => printable(&error.to_string()),
    }
}
