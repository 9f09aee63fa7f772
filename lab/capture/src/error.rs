//! The errors of captures, and the macros that make them.

use std::{fmt::Display, io};

use zip::result::ZipError;

/// The reason why a capture cannot be read, measured, resampled or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is malformed or cannot be read, or does not fit the request. The text has the place,
    /// such as a line or a channel.
    #[error("{0}")]
    Fault(String),
    /// The output of a writer failed.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// The output of a writer of archives failed.
    #[error(transparent)]
    Archive(#[from] ZipError),
}

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Makes a function that adds the place to an error's text.
pub fn within<E: Display>(place: impl Display) -> impl FnOnce(E) -> Error {
    move |error| Error::Fault(format!("{place}: {error}"))
}

/// An [`Error::Fault`] with this text.
macro_rules! fault {
    ($($text:tt)*) => { $crate::Error::Fault(format!($($text)*)) };
}

/// Returns from the function with a fault.
macro_rules! bail {
    ($($text:tt)*) => { return Err($crate::error::fault!($($text)*)) };
}

/// Returns from the function with a fault unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)*) => {
        match $condition {
            true => {}
            false => $crate::error::bail!($($text)*),
        }
    };
}

pub(crate) use {bail, ensure, fault};
