//! The folders of the repository and of its builds, and files in them.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// The repository from which this program was built.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"))
}

/// The build folder, as an absolute path that exists: `CARGO_TARGET_DIR`, or `target` of the root.
///
/// # Errors
/// The folder cannot be created.
pub fn target() -> Result<PathBuf> {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let target = std::path::absolute(target)?;
    fs::create_dir_all(&target)
        .with_context(|| format!("cannot create the build folder {}", target.display()))?;
    Ok(target)
}

/// Reads a text file.
///
/// # Errors
/// The file cannot be read; the message has its path.
pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Copies a file; creates the folder that it goes to.
///
/// # Errors
/// The file cannot be copied; the message has both paths.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = fs::create_dir_all(to.parent().context("a file is in a folder")?)
        .and_then(|()| fs::copy(from, to));
    copied.with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Copies the files of a folder and of those within it, likewise.
///
/// # Errors
/// The folder cannot be read, or as [`copy`].
pub fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let read = || format!("cannot read {}", from.display());
    for entry in fs::read_dir(from).with_context(read)? {
        let entry = entry.with_context(read)?;
        let place = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &place)?,
            false => copy(&entry.path(), &place)?,
        }
    }
    Ok(())
}

/// A folder that is removed when the value is dropped.
pub struct TemporaryFolder(pub PathBuf);

impl TemporaryFolder {
    /// Creates the folder.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new(path: PathBuf) -> Result<Self> {
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed is left behind.
        let _ = fs::remove_dir_all(&self.0);
    }
}
