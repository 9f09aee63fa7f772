//! The place of a store: a file, or a database on a PostgreSQL server. A password is never part of
//! its text. The module parses places and opens none.

use std::{
    fmt,
    path::{self, Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use chronoscope_base::{digest::sha256, folders};
use chronoscope_units::without_password;

/// The schemes of a server's URL.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Returns the user's data folder.
///
/// # Errors
/// If neither XDG_DATA_HOME nor HOME is an absolute path.
pub(super) fn data_folder() -> Result<PathBuf> {
    let data = folders::for_user("XDG_DATA_HOME", ".local/share");
    data.context("there is no folder for the store of runs: set HOME, or name a file with --store")
}

/// The place of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An SQLite file, by its absolute path.
    File(PathBuf),
    /// A PostgreSQL database.
    Server(Server),
}

/// A database on a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    url: String,
    /// The absolute path next to which this machine keeps pages and journals of its runs. No file
    /// has this name.
    local: PathBuf,
}

impl Place {
    /// Reads the word of `--store`: a URL that begins with `postgres://`, or a file's path.
    ///
    /// # Errors
    /// If a path is empty, or the user has no data folder for the pages of a server's runs.
    pub fn read(word: &Path) -> Result<Self> {
        match word.to_str().filter(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme))) {
            Some(url) => Ok(Self::Server(Server::new(url, &data_folder()?)?)),
            None => {
                let path = path::absolute(word)
                    .with_context(|| format!("`{}` is no place for a store", word.display()))?;
                Ok(Self::File(path))
            }
        }
    }

    /// The path next to which this machine keeps pages and journals of its runs; for a file the
    /// store's own path.
    pub fn local(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Server(server) => &server.local,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(server) => f.write_str(&without_password(&server.url)),
        }
    }
}

impl Server {
    /// Parses a database's URL. `data` is the user's data folder.
    fn new(url: &str, data: &Path) -> Result<Self> {
        let rest = SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme)).unwrap_or(url);
        // A password may hold any letter that its user forgot to encode. The key has no password.
        let after_user = match rest.split_once('?') {
            Some((before, _)) if before.contains('@') => before,
            _ => rest,
        };
        let after_user = after_user.rsplit('@').next().unwrap_or_default();
        let address = after_user.split(['?', '#']).next().unwrap_or_default();
        let (host, database) = address.split_once('/').unwrap_or((address, ""));
        if database.is_empty() {
            bail!(
                "`{}` names no database: write postgres://USER@HOST/DATABASE",
                without_password(url)
            );
        }
        let key = format!("{host}/{database}");
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let name: String = key.chars().map(plain).take(60).collect();
        let name = format!("{name}-{}", &sha256(key.as_bytes())[..8]);
        Ok(Self { url: url.to_owned(), local: data.join("chronoscope/servers").join(name) })
    }

    /// The URL, with a password if the user wrote one, for the connection only.
    #[cfg(feature = "postgres")]
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &without_password(&self.url)).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_or_a_server_and_shows_no_password() {
        let server = Server::new("postgres://ann:s3cret@db.example:5433/lab?x=1", Path::new("/d"));
        let place = Place::Server(server.unwrap());
        assert_eq!(place.to_string(), "postgres://ann:***@db.example:5433/lab?x=1");
        assert!(!format!("{place:?}").contains("s3cret"), "{place:?}");
        let local = place.local().to_str().unwrap();
        assert!(local.starts_with("/d/chronoscope/servers/db_example_5433_lab-"), "{local}");
        // Another user of the same database has the same pages.
        for user in ["bob", "bob:a/b", "bob:a#'b", "bob:a?b@c"] {
            let url = format!("postgresql://{user}@db.example:5433/lab");
            let other = Place::Server(Server::new(&url, Path::new("/d")).unwrap());
            assert_eq!(other.local(), place.local(), "{user}");
            let shown = if user == "bob" { "bob" } else { "bob:***" };
            assert_eq!(other.to_string(), format!("postgresql://{shown}@db.example:5433/lab"));
        }
        for wrong in ["postgres://host", "postgres://u:s3cret@host/", "postgres:///"] {
            let error = Server::new(wrong, Path::new("/d")).unwrap_err().to_string();
            assert!(error.contains("names no database") && !error.contains("s3cret"), "{error}");
        }
        assert_eq!(Place::read(Path::new("/a/b")).unwrap(), Place::File("/a/b".into()));
        assert!(Place::read(Path::new("")).is_err());
    }
}
