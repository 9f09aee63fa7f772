//! The temporary folder into which a machine's instruments write. A folder that is missing, full or
//! may not be written is an error of the set-up, and not of the target.

use std::{env, fmt};

use anyhow::{Error, Result};

use super::SetUpFailed;
use chronoscope_child::Folder;

/// Creates the folder for the recordings of a repetition.
///
/// # Errors
/// [`SetUpFailed`] if the file system refuses it.
pub(super) fn folder() -> Result<Folder> {
    Folder::new().map_err(|error| remedied(&error))
}

/// The error of an instrument that could not write a file: [`SetUpFailed`], with the place.
pub(super) fn remedied(error: &dyn fmt::Display) -> Error {
    let place = env::temp_dir();
    let why = format!(
        "{error:#}: recordings are kept in {} while they are made: free room there, or name another folder with TMPDIR",
        place.display()
    );
    SetUpFailed(why).into()
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_place_and_the_remedy_are_named() {
        let error = remedied(&anyhow!("No space left on device"));
        assert!(error.is::<SetUpFailed>());
        let (text, place) = (error.to_string(), env::temp_dir());
        assert!(text.starts_with("No space left on device: "), "{text}");
        assert!(text.contains(place.to_str().unwrap()) && text.contains("TMPDIR"), "{text}");
    }
}
