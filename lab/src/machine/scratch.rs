//! A temporary folder for the files that instruments write during a case.

use std::{
    env, fs,
    io::ErrorKind,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result, bail};

/// A folder that is removed with its content on drop.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!("chronoscope-{}-{number}", process::id()));
            match fs::create_dir(&path) {
                // The folder was left by a killed process with the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => bail!("cannot make the folder {}: {error}", path.display()),
                Ok(()) => return Ok(Self(path)),
            }
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Reads a file in the folder.
    pub(super) fn text(&self, name: &str) -> Result<String> {
        let path = self.path(name);
        fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
