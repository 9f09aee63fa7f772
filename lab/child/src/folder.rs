//! Temporary folders that are removed however the program ends.

use std::{
    env, fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use chronoscope_units::file::within;

use crate::supervisor::{self, Supervised};

/// An empty temporary folder; removed with its contents on drop, or by the supervisor when the
/// program is killed.
pub struct Folder {
    path: PathBuf,
    _held: Supervised,
}

impl Folder {
    /// Creates a folder of a new name in the system's temporary folder.
    ///
    /// # Errors
    /// If the file system refuses the folder; the message has the path.
    pub fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!("chronoscope-{}-{number}", process::id()));
            if path.exists() {
                // Left by a process of the same number that was killed without a supervisor, or held
                // by one in another container.
                continue;
            }
            // The supervisor knows the folder before it exists: a kill between the two leaves none.
            let held = supervisor::hold_folder(&path);
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(within(format!("cannot make the folder {}", path.display()))(
                        error,
                    ));
                }
                Ok(()) => return Ok(Self { path, _held: held }),
            }
        }
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads the contents of a file in the folder.
    ///
    /// # Errors
    /// If the file cannot be read or is not UTF-8.
    pub fn text(&self, name: &str) -> io::Result<String> {
        let path = self.path(name);
        fs::read_to_string(&path).map_err(within(format!("{} cannot be read", path.display())))
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_removed_with_its_contents() {
        let folder = Folder::new().unwrap();
        fs::write(folder.path("a"), "text").unwrap();
        assert_eq!(folder.text("a").unwrap(), "text");
        let path = folder.as_ref().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
