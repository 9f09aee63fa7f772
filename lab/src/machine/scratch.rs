//! A folder for what instruments write while a case runs.

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result};

/// Removed with all that is in it.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("chronoscope-{}-{number}", process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What was written there.
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
