//! References to runs on the command line: `12`, `last`, `last-1`, or a JSON file; and the reader
//! of run files. The module knows stores and files, but no use of a run.

use std::{
    ffi::OsStr,
    fmt,
    io::Read as _,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::{Deserialize, de::Error as _};

use crate::Store;
use chronoscope_run::{self as run, Run};
use chronoscope_units::{OneLine, file};

/// The largest run file that is read, in bytes: ten times a run with all its samples.
pub const MAX_FILE: u64 = 256 << 20;

/// The reason why a text or a JSON value is no run.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// A field is missing, unknown or of another type.
    #[error("this is not a run: {0}")]
    NotARun(serde_json::Error),
    /// The text is no JSON, or ends too early.
    #[error("this file is cut short, or is not JSON: {0}")]
    NotJson(serde_json::Error),
    /// The run is of a schema that this program does not read.
    #[error("this {what} has schema {schema}; this program reads {}", run::READABLE)]
    Schema {
        /// The word for the text: `file`, or `run` for a part of a file.
        what: &'static str,
        /// The schema of the run.
        schema: u32,
    },
}

impl From<serde_json::Error> for RunFileError {
    fn from(error: serde_json::Error) -> Self {
        if error.is_data() { Self::NotARun(error) } else { Self::NotJson(error) }
    }
}

/// A reference to a run, in the store or in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The number of a run in the store.
    Number(i64),
    /// `last-N`: the N-th run before the newest; 0 is the newest.
    Last(u32),
    /// The UUID of a run in the store.
    Uuid(String),
    /// A JSON file.
    File(PathBuf),
}

/// Returns whether a word of the command line refers to a run, and not to a target.
pub fn is_run(word: &OsStr) -> bool {
    // A path may be any bytes, a target may not. A number, `last` and a UUID have no `@`.
    let Some(text) = word.to_str() else { return true };
    !text.contains('@') || Path::new(text).exists()
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number| *number > 0)
}

fn last(text: &str) -> Option<u32> {
    match text.strip_prefix("last")? {
        "" => Some(0),
        back => back.strip_prefix('-')?.parse().ok(),
    }
}

/// Returns whether a text has the form of a UUID, in lower case.
fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_part = |(part, length): (&&str, usize)| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    parts.len() == 5 && parts.iter().zip([8, 4, 4, 4, 12]).all(is_part)
}

impl FromStr for Reference {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(number) = number(text) {
            return Ok(Self::Number(number));
        }
        if let Some(back) = last(text) {
            return Ok(Self::Last(back));
        }
        let path = PathBuf::from(text);
        if is_uuid(text) && !path.exists() {
            return Ok(Self::Uuid(text.to_owned()));
        }
        if !path.exists() {
            bail!("no such file: {text}: write a number, last, last-1, or the name of a JSON file");
        }
        Ok(Self::File(path))
    }
}

impl TryFrom<&OsStr> for Reference {
    type Error = anyhow::Error;

    /// Parses a word of the command line; one that is not UTF-8 can only be a file's path.
    fn try_from(word: &OsStr) -> Result<Self> {
        match word.to_str() {
            Some(text) => text.parse(),
            None if Path::new(word).exists() => Ok(Self::File(word.into())),
            None => bail!("no such file: {}: name a JSON file that exists", word.display()),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "run {number}"),
            Self::Last(0) => f.write_str("the last run"),
            Self::Last(back) => write!(f, "last-{back}"),
            Self::Uuid(uuid) => write!(f, "run {uuid}"),
            Self::File(path) => write!(f, "{}", OneLine::from(path.display().to_string())),
        }
    }
}

impl Reference {
    /// Returns the word that names the run on the command line.
    pub fn word(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Last(0) => "last".to_owned(),
            Self::Uuid(uuid) => uuid.clone(),
            Self::Last(_) | Self::File(_) => self.to_string(),
        }
    }

    /// Returns whether the run is in the store.
    pub fn is_in_store(&self) -> bool {
        !matches!(self, Self::File(_))
    }

    /// Loads the run and returns it with its resolved reference. Opens the store only if it is
    /// needed.
    ///
    /// # Errors
    /// If there is no such run, or it cannot be read.
    pub fn load(&self, store: impl FnOnce() -> Result<Store>) -> Result<(Self, Run)> {
        if let Self::File(path) = self {
            return Ok((self.clone(), load_file(path)?));
        }
        let store = store()?;
        let number = self.number(&store)?;
        Ok((Self::Number(number), store.run(number)?))
    }

    /// Returns the number of the run in the store.
    ///
    /// # Errors
    /// If the store cannot be read or has no such run, or the reference is to a file.
    pub fn number(&self, store: &Store) -> Result<i64> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Last(back) => store.newest(*back),
            Self::Uuid(uuid) => store.find(uuid)?.with_context(|| {
                format!(
                    "there is no run {uuid} in {}: `chronoscope history` lists all",
                    store.place()
                )
            }),
            Self::File(path) => bail!("{} is a file, and no run in the store", path.display()),
        }
    }
}

/// Reads a run from the JSON that `--format json` writes.
///
/// # Errors
/// If the file cannot be read or is not a run; the message gives the file, and the place in it if
/// known.
pub fn load_file(path: &Path) -> Result<Run> {
    let cannot = || format!("cannot read {}", path.display());
    let file = file::open(path).with_context(cannot)?;
    let mut text = String::new();
    // A source without a known size, such as a pipe, is cut off at the limit.
    if file.metadata().with_context(cannot)?.len() <= MAX_FILE {
        file.take(MAX_FILE + 1).read_to_string(&mut text).with_context(cannot)?;
    }
    if text.len() as u64 > MAX_FILE || text.is_empty() {
        bail!(
            "{} is empty, or larger than {} MiB: that is not a run",
            path.display(),
            MAX_FILE >> 20
        );
    }
    parse(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// Reads a run from parsed JSON, and upgrades a run of an older schema.
///
/// # Errors
/// If the value is not a run of a schema that this program reads.
pub fn from_value(value: serde_json::Value) -> Result<Run, RunFileError> {
    let schema = value.get("schema").and_then(serde_json::Value::as_u64);
    let schema = schema
        .and_then(|schema| u32::try_from(schema).ok())
        .ok_or_else(|| serde_json::Error::missing_field("schema"))?;
    if !run::is_readable(schema) {
        return Err(RunFileError::Schema { what: "run", schema });
    }
    let mut run: Run = serde_json::from_value(value)?;
    run.upgrade();
    Ok(run)
}

/// Parses the JSON of a run, and upgrades a run of an older schema.
///
/// # Errors
/// If the text is not a run of a schema that this program reads; the message gives the place if
/// known.
pub fn parse(text: &str) -> Result<Run, RunFileError> {
    /// The fields that every schema version has.
    #[derive(Deserialize)]
    struct Head {
        schema: u32,
    }
    let Head { schema } = serde_json::from_str(text)?;
    if !run::is_readable(schema) {
        return Err(RunFileError::Schema { what: "file", schema });
    }
    let mut run: Run = serde_json::from_str(text)?;
    run.upgrade();
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_referred_to() {
        let read = |text: &str| text.parse::<Reference>();
        assert_eq!(read("12").unwrap(), Reference::Number(12));
        assert_eq!(read("last").unwrap(), Reference::Last(0));
        assert_eq!(read("last-3").unwrap(), Reference::Last(3));
        let uuid = "018f4a2e-0000-4abc-abcd-0123456789ab";
        assert_eq!(read(uuid).unwrap(), Reference::Uuid(uuid.to_owned()));
        assert!(is_run(OsStr::new(uuid)));
        assert_eq!(read("/dev/null").unwrap(), Reference::File("/dev/null".into()));
        for wrong in
            ["", "0", "-1", "last-", "last-x", "lasting", "no/such.json", "99999999999999999999"]
        {
            assert!(read(wrong).unwrap_err().to_string().contains("no such file: "), "{wrong}");
        }
    }

    #[test]
    fn an_error_of_a_run_file_names_the_place() {
        let wrong = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(wrong(r#"{"schema": 7}"#), "this file has schema 7; this program reads 1 and 2");
        assert!(wrong("{\"schema\": 1,\n \"context\": {").contains("cut short"));
        assert!(wrong("{\"schema\": 1,\n \"context\": {").contains("line 2 column 13"));
        assert!(wrong(r#"{"schema": 1}"#).contains("this is not a run: missing field `context`"));
        assert!(wrong(r#"{"schema": -1}"#).contains("this is not a run"));
        assert!(wrong("[]").contains("this is not a run"));
        assert!(wrong("").contains("cut short"));
        assert!(
            wrong(&"[".repeat(100_000)).contains("this is not a run"),
            "{}",
            wrong(&"[".repeat(100_000))
        );
    }
}
