//! The files that checks read, from the disk or from a test. Checks read through [`Files`] only, so
//! each can be tested without a machine.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read},
};

/// The most bytes read of a file; no file that the doctor reads in /proc is longer.
const MAX_BYTES: u64 = 8 << 20;

/// The reason why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The file does not exist on this kernel or machine.
    Absent,
    /// The user may not read the file.
    Denied,
    /// Reading failed for this reason.
    Failed(String),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Absent => write!(f, "not shown by this kernel"),
            Unread::Denied => write!(f, "not readable: needs root"),
            Unread::Failed(why) => write!(f, "not readable: {why}"),
        }
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Unread::Absent,
            io::ErrorKind::PermissionDenied => Unread::Denied,
            _ => Unread::Failed(error.to_string()),
        }
    }
}

/// Access to files by their absolute paths.
pub trait Files {
    /// The content of a file, of at most 8 MiB.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, Unread>;

    /// The names in a folder; empty if it cannot be read.
    fn names(&self, folder: &str) -> Vec<String>;

    /// Reads a file's text without leading and trailing blanks.
    fn text(&self, path: &str) -> Result<String, Unread> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).trim().to_owned())
    }

    /// Reads a file that holds a single number.
    fn number(&self, path: &str) -> Result<i64, Unread> {
        let text = self.text(path)?;
        text.parse().map_err(|_| Unread::Failed(format!("`{path}` holds no number")))
    }
}

/// The files of this machine.
pub struct Disk;

impl Files for Disk {
    /// The content of a file, of at most 8 MiB.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, Unread> {
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// A test's files: paths and their contents. The content [`DENIED`] marks a file that only root can
/// read.
#[cfg(test)]
pub fn fixture(files: &[(&str, &str)]) -> impl Files + use<> {
    Fixture(files.iter().map(|(name, content)| ((*name).into(), (*content).into())).collect())
}

#[cfg(test)]
pub const DENIED: &str = "(denied)";

#[cfg(test)]
struct Fixture(Vec<(String, String)>);

#[cfg(test)]
impl Files for Fixture {
    /// The content of a file, of at most 8 MiB.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, Unread> {
        match self.0.iter().find(|(name, _)| *name == path) {
            Some((_, content)) if *content == DENIED => Err(Unread::Denied),
            Some((_, content)) => Ok(content.as_bytes().to_vec()),
            None => Err(Unread::Absent),
        }
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let inside =
            self.0.iter().filter_map(|(name, _)| name.strip_prefix(folder)?.strip_prefix('/'));
        let mut names: Vec<_> =
            inside.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned()).collect();
        names.dedup();
        names
    }
}
