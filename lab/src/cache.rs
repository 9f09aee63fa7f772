//! What is made once and can be made again: kernels from the network, machines that have booted. It lies in the user's cache
//! folder, stays below a fixed size, and `chronoscope cache` lists and clears it.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process,
    time::SystemTime,
};

use anyhow::{Context, Result, anyhow};

/// What it may take. The entry that has not been used for longest goes first, but kernels, which are small and come from far
/// away, go last.
pub const LIMIT: u64 = 1 << 30;

/// The kind of entry that goes last.
pub const KERNELS: &str = "kernels";

/// The folder; it need not exist.
#[derive(Clone, Debug)]
pub struct Cache(PathBuf);

/// A folder in the cache: `kernels/6.1`, `machines/linux-rt-0123456789abcdef`.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    pub path: PathBuf,
    pub bytes: u64,
    pub used: SystemTime,
}

impl Cache {
    /// The user's.
    ///
    /// # Errors
    /// When there is no folder for it.
    pub fn of_user() -> Result<Self> {
        let absolute =
            |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        let folder = folder.context(
            "there is no folder for kernels and booted machines: set HOME or XDG_CACHE_HOME",
        )?;
        Ok(Self(folder.join("chronoscope")))
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The folder `kind/name`, if it is there. It counts as used now.
    pub fn find(&self, kind: &str, name: &str) -> Option<PathBuf> {
        let path = self.0.join(kind).join(name);
        // Its own time may not be set where somebody else made it, and then it only goes a little early.
        let _ = File::open(&path).and_then(|folder| folder.set_modified(SystemTime::now()));
        path.is_dir().then_some(path)
    }

    /// The folder `kind/name`. Where it is not there, `make` fills it: once, however many ask at a time, and it is there whole
    /// or not at all.
    ///
    /// # Errors
    /// `make`'s, and those of the file system with the place.
    pub fn obtain(
        &self,
        kind: &str,
        name: &str,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        if let Some(path) = self.find(kind, name) {
            return Ok(path);
        }
        let parent = self.0.join(kind);
        let place = || format!("the cache {} cannot be written", parent.display());
        fs::create_dir_all(&parent).with_context(place)?;
        // Held until this returns; the system gives it back when the process dies.
        let lock = File::create(self.0.join("lock")).with_context(place)?;
        lock.lock().with_context(place)?;
        if let Some(path) = self.find(kind, name) {
            return Ok(path);
        }
        let unfinished = Unfinished(self.0.join(format!("unfinished-{}", process::id())));
        fs::create_dir_all(&unfinished.0).with_context(place)?;
        make(&unfinished.0)?;
        let path = parent.join(name);
        fs::rename(&unfinished.0, &path).with_context(place)?;
        self.shrink(&path)?;
        Ok(path)
    }

    /// All entries, in the order in which they go.
    ///
    /// # Errors
    /// Of the file system, with the place.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let list = || {
            let mut entries = Vec::new();
            for kind in folders(&self.0)? {
                for path in folders(&kind)? {
                    let name = path.strip_prefix(&self.0).unwrap_or(&path).display().to_string();
                    let used = fs::metadata(&path)?.modified()?;
                    entries.push(Entry { name, bytes: size(&path)?, used, path });
                }
            }
            entries.sort_by_key(|entry| (entry.name.starts_with(KERNELS), entry.used));
            io::Result::Ok(entries)
        };
        list().map_err(|error| anyhow!("the cache {} cannot be read: {error}", self.0.display()))
    }

    fn shrink(&self, keep: &Path) -> Result<()> {
        let entries = self.entries()?;
        let mut excess = entries.iter().map(|entry| entry.bytes).sum::<u64>().saturating_sub(LIMIT);
        for entry in entries.iter().filter(|entry| entry.path != keep) {
            if excess == 0 {
                break;
            }
            remove(entry)?;
            excess = excess.saturating_sub(entry.bytes);
        }
        Ok(())
    }
}

/// # Errors
/// Of the file system, with the place.
pub fn remove(entry: &Entry) -> Result<()> {
    fs::remove_dir_all(&entry.path)
        .with_context(|| format!("{} cannot be removed", entry.path.display()))
}

/// Folders in a folder, none where there is no such.
fn folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}

/// Of all files in a folder without folders.
fn size(path: &Path) -> io::Result<u64> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

/// Removed again when something fails in between.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn an_entry_is_made_once_and_whole() {
        let cache = Cache(env::temp_dir().join(format!("chronoscope-cache-{}", process::id())));
        let failed = cache.obtain("kernels", "a", |folder| {
            fs::write(folder.join("half"), "half")?;
            bail!("no network")
        });
        assert!(failed.is_err() && cache.entries().unwrap().is_empty());
        let made = cache
            .obtain("kernels", "a", |folder| Ok(fs::write(folder.join("whole"), "whole")?))
            .unwrap();
        let found = cache.obtain("kernels", "a", |_| panic!("it is there")).unwrap();
        assert_eq!(made, found);
        let entries = cache.entries().unwrap();
        assert!(
            matches!(&entries[..], [entry] if entry.name == "kernels/a" && entry.bytes == 5),
            "{entries:?}"
        );
        fs::remove_dir_all(cache.folder()).unwrap();
    }
}
