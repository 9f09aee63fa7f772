//! The errors of reports.

use std::io;

use chronoscope_base::toml_text::TomlError;
use chronoscope_capture as capture;

/// The reason why a result cannot be rendered, written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request does not fit the result, or a baseline is malformed. The text has the remedy.
    #[error("{0}")]
    Refused(String),
    /// A file cannot be read or written. The text has its path.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The text of a baseline is not TOML, or not a baseline's.
    #[error(transparent)]
    Toml(#[from] TomlError),
    /// A capture cannot be converted.
    #[error(transparent)]
    Capture(#[from] capture::Error),
    /// The result cannot be serialized, which no result of the lab causes.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns from the function with [`Error::Refused`].
macro_rules! refuse {
    ($($text:tt)*) => { return Err($crate::error::Error::Refused(format!($($text)*))) };
}

pub(crate) use refuse;
