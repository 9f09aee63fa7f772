//! The notes of the reservations that this user's processes hold: a file each, locked by its
//! process for as long as it lives.

use std::{
    env,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};

use chronoscope_base::folders;

/// The coordinator that labgrid's client asks without LG_COORDINATOR.
const USUAL: &str = "127.0.0.1:20408";

/// A note, and its lock.
#[derive(Debug)]
pub struct Record {
    pub token: String,
    /// The coordinator's address.
    pub coordinator: String,
    path: PathBuf,
    _lock: File,
}

/// The folder of the notes, in the user's folder for what programs keep between their runs.
fn folder() -> Result<PathBuf> {
    let state = folders::for_user("XDG_STATE_HOME", ".local/state");
    let state = state.context("there is no folder to note the place in: set HOME")?;
    Ok(state.join("chronoscope/places"))
}

/// Returns whether a word can be a token of a reservation, which is also the name of its note.
pub fn is_token(word: &str) -> bool {
    (1..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl Record {
    /// Notes that this process holds the reservation.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn new(token: &str) -> Result<Self> {
        let folder = folder()?;
        let path = folder.join(token);
        let unwritable = || format!("cannot note the place in {}", folder.display());
        fs::create_dir_all(&folder).with_context(unwritable)?;
        // The note has its name once it is locked and whole: [`lost`](Self::lost) of another
        // process may look at any moment, and passes over names that are no token.
        let unfinished = folder.join(format!(".{token}"));
        let mut file = File::create(&unfinished).with_context(unwritable)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).with_context(unwritable)?;
        let coordinator = env::var("LG_COORDINATOR").unwrap_or_else(|_| USUAL.to_owned());
        file.write_all(coordinator.as_bytes()).with_context(unwritable)?;
        fs::rename(&unfinished, &path).with_context(unwritable)?;
        Ok(Self { token: token.to_owned(), coordinator, path, _lock: file })
    }

    /// The notes of processes that are dead, locked by this one.
    ///
    /// # Errors
    /// If the folder or a note cannot be read.
    pub fn lost() -> Result<Vec<Self>> {
        let folder = folder()?;
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let unreadable = || format!("cannot read the notes of places in {}", folder.display());
        let entries = fs::read_dir(&folder).with_context(unreadable)?;
        let mut lost = Vec::new();
        for entry in entries {
            let path = entry.with_context(unreadable)?.path();
            lost.extend(Self::read(&path).with_context(unreadable)?);
        }
        Ok(lost)
    }

    /// The note at `path`; `None` if its process lives, or has just removed it.
    fn read(path: &Path) -> Result<Option<Self>> {
        let Some(token) = path.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
        let Some(file) = File::open(path).ok().filter(|_| is_token(token) && path.is_file()) else {
            return Ok(None);
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() || !path.exists() {
            return Ok(None);
        }
        // A note that is no text has lost its coordinator's address: no coordinator has this one,
        // so the note is kept and reported, and stops nothing.
        let coordinator = String::from_utf8_lossy(&fs::read(path)?).into_owned();
        Ok(Some(Self { token: token.to_owned(), coordinator, path: path.to_owned(), _lock: file }))
    }

    /// Removes the note: nothing is held any more.
    pub fn remove(self) {
        // A note that stays names a reservation that the coordinator does not know, and is removed
        // by the next start.
        let _ = fs::remove_file(&self.path);
    }
}
