//! The cache of reproducible files: kernels from the network and snapshots of booted machines. The
//! cache is in the user's cache folder and bounded in size; `chronoscope cache` lists and clears
//! it. The module does not know the content of an entry.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, SystemTime},
};

use crate::{digest::sha256, folders};
use chronoscope_child::{supervisor, supervisor::Supervised};
use chronoscope_units::file::within;

/// The size in bytes above which entries are removed, the least recently used first. Kernels are
/// removed last, since they are small and slow to download.
pub const LIMIT: u64 = 1 << 30;

/// The kind of entry that is removed last.
pub const KERNELS: &str = "kernels";

/// The cache's folder, which need not exist.
#[derive(Clone, Debug)]
pub struct Cache(PathBuf);

/// An entry, which is a folder in the cache: `kernels/6.1`, `machines/linux-rt-0123456789abcdef`.
#[derive(Debug)]
pub struct Entry {
    /// The kind and the name, as `kernels/6.1`.
    pub name: String,
    /// The entry's folder.
    pub path: PathBuf,
    /// The size of all its files, in bytes.
    pub bytes: u64,
    /// The time of the latest use.
    pub used: SystemTime,
}

impl Cache {
    /// The cache in the user's cache directory.
    ///
    /// # Errors
    /// If neither XDG_CACHE_HOME nor HOME is an absolute path.
    pub fn for_user() -> io::Result<Self> {
        let folder = folders::for_user("XDG_CACHE_HOME", ".cache");
        let error =
            "there is no folder for kernels and booted machines: set HOME or XDG_CACHE_HOME";
        Ok(Self(folder.ok_or_else(|| io::Error::other(error))?.join("chronoscope")))
    }

    /// The cache's folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Returns the folder `kind/name` if it exists, and marks it as used now.
    pub fn find(&self, kind: &str, name: &str) -> Option<PathBuf> {
        let path = self.0.join(kind).join(name);
        // Setting the time of another user's folder fails; the entry is then removed too early at
        // worst.
        let _ = File::open(&path).and_then(|folder| folder.set_modified(SystemTime::now()));
        path.is_dir().then_some(path)
    }

    /// Returns the folder `kind/name`. If the folder does not exist or is damaged, `make` fills it
    /// first, and old entries are removed if the cache is then above [`LIMIT`]. The folder appears
    /// complete or not at all. Concurrent callers, also in other processes, wait, and `make` runs
    /// once. The wait ends within 0.1 s after `stop` becomes true.
    ///
    /// # Errors
    /// If `make` fails, the wait is stopped, or the file system fails; the message of a file
    /// system's error gives the path.
    pub fn obtain<E: From<io::Error>>(
        &self,
        kind: &str,
        name: &str,
        stop: &AtomicBool,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        if let Some(path) = self.find(kind, name).filter(|path| is_sound(path)) {
            return Ok(path);
        }
        let parent = self.0.join(kind);
        let place = || within(format!("the cache {} cannot be written", parent.display()));
        fs::create_dir_all(&parent).map_err(place())?;
        // The lock is held until this function returns; the system releases it if the process dies.
        let lock = File::create(self.0.join("lock")).map_err(place())?;
        wait_for(&lock, stop).map_err(place())?;
        if let Some(path) = self.find(kind, name) {
            if is_sound(&path) {
                return Ok(path);
            }
            fs::remove_dir_all(&path).map_err(place())?;
        }
        let unfinished = Unfinished::new(self.0.join(format!("unfinished-{}", process::id())));
        fs::create_dir_all(&unfinished.path).map_err(place())?;
        make(&unfinished.path)?;
        describe(&unfinished.path).map_err(place())?;
        let path = parent.join(name);
        fs::rename(&unfinished.path, &path).map_err(place())?;
        self.shrink(&path)?;
        Ok(path)
    }

    /// Returns all entries, in the order of their removal.
    ///
    /// # Errors
    /// If the cache cannot be read; the message gives its path.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let list = || -> io::Result<Vec<Entry>> {
            let mut entries = Vec::new();
            for kind in folders(&self.0)? {
                for path in folders(&kind)? {
                    let name = path.strip_prefix(&self.0).unwrap_or(&path).display().to_string();
                    let used = fs::metadata(&path)?.modified()?;
                    entries.push(Entry { name, bytes: size(&path)?, used, path });
                }
            }
            entries.sort_by_key(|entry| (entry.name.starts_with(KERNELS), entry.used));
            Ok(entries)
        };
        list().map_err(within(format!("the cache {} cannot be read", self.0.display())))
    }

    /// Removes entries, in the order of [`Self::entries`], until the cache is within [`LIMIT`].
    /// Never removes the entry `keep`.
    fn shrink(&self, keep: &Path) -> io::Result<()> {
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

/// Removes an entry.
///
/// # Errors
/// If the folder cannot be removed; the message gives its path.
pub fn remove(entry: &Entry) -> io::Result<()> {
    fs::remove_dir_all(&entry.path)
        .map_err(within(format!("{} cannot be removed", entry.path.display())))
}

/// The subfolders of a folder; empty if the folder does not exist.
fn folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}

/// The total size in bytes of the files in a folder without subfolders.
fn size(path: &Path) -> io::Result<u64> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

/// The file of an entry that lists the entry's other files, one a line: size in bytes, SHA-256,
/// name.
const CONTENTS: &str = "contents";

/// The size in bytes up to which a file is hashed at each use of its entry: about 0.1 s of work.
const HASHED: u64 = 32 << 20;

/// Writes the list of an entry's files, [`CONTENTS`].
fn describe(folder: &Path) -> io::Result<()> {
    let mut text = String::new();
    for file in fs::read_dir(folder)? {
        let file = file?;
        let (size, hash) = (file.metadata()?.len(), hash(&file.path())?);
        text.push_str(&format!("{size} {hash} {}\n", file.file_name().display()));
    }
    fs::write(folder.join(CONTENTS), text)
}

/// The SHA-256 of a file, or `-` for a file above [`HASHED`].
fn hash(path: &Path) -> io::Result<String> {
    let is_small = path.metadata()?.len() <= HASHED;
    if is_small { fs::read(path).map(|bytes| sha256(&bytes)) } else { Ok("-".to_owned()) }
}

/// Returns whether all files of an entry have the size and the hash that [`CONTENTS`] lists. An
/// entry of an older version has no list, and counts as sound.
fn is_sound(folder: &Path) -> bool {
    let list = match fs::read_to_string(folder.join(CONTENTS)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
        Err(_) => return false,
        Ok(list) => list,
    };
    list.lines().all(|line| {
        let mut words = line.splitn(3, ' ');
        let (Some(size), Some(expected), Some(name)) = (words.next(), words.next(), words.next())
        else {
            return false;
        };
        let path = folder.join(name);
        path.metadata().is_ok_and(|file| file.len().to_string() == size)
            && hash(&path).is_ok_and(|hash| hash == expected)
    })
}

/// Takes the lock, and waits while another process holds it.
///
/// # Errors
/// If the file cannot be locked, or `stop` becomes true.
fn wait_for(lock: &File, stop: &AtomicBool) -> io::Result<()> {
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if stop.load(Ordering::Relaxed) => {
                return Err(io::Error::other("interrupted"));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// A folder that is removed on drop, or when the program is killed, unless it has been renamed to
/// its final name.
struct Unfinished {
    path: PathBuf,
    _supervised: Supervised,
}

impl Unfinished {
    fn new(path: PathBuf) -> Self {
        Self { _supervised: supervisor::hold_folder(&path), path }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn an_entry_is_made_once_and_whole() {
        let cache = Cache(env::temp_dir().join(format!("chronoscope-cache-{}", process::id())));
        let stop = AtomicBool::new(false);
        let failed = cache.obtain::<io::Error>("kernels", "a", &stop, |folder| {
            fs::write(folder.join("half"), "half")?;
            Err(io::Error::other("no network"))
        });
        assert!(failed.is_err() && cache.entries().unwrap().is_empty());
        let made = cache
            .obtain::<io::Error>("kernels", "a", &stop, |folder| {
                fs::write(folder.join("whole"), "whole")
            })
            .unwrap();
        let found =
            cache.obtain::<io::Error>("kernels", "a", &stop, |_| panic!("it is there")).unwrap();
        assert_eq!(made, found);
        let entries = cache.entries().unwrap();
        assert!(
            matches!(&entries[..], [entry] if entry.name == "kernels/a" && entry.bytes == 5 + "5 - whole\n".len() as u64 + 63),
            "{entries:?}"
        );
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn a_damaged_entry_is_renewed() {
        let cache = Cache(env::temp_dir().join(format!("chronoscope-damaged-{}", process::id())));
        let stop = AtomicBool::new(false);
        let make = |folder: &Path| fs::write(folder.join("file"), "whole");
        let path = cache.obtain::<io::Error>("machines", "a", &stop, make).unwrap();
        let damages: [fn(&Path); 3] = [
            |file| fs::remove_file(file).unwrap(),
            |file| fs::write(file, "whol").unwrap(),
            |file| fs::write(file, "WHOLE").unwrap(),
        ];
        for damage in damages {
            damage(&path.join("file"));
            assert_eq!(cache.obtain::<io::Error>("machines", "a", &stop, make).unwrap(), path);
            assert_eq!(fs::read(path.join("file")).unwrap(), b"whole");
        }
        let sound = cache.obtain::<io::Error>("machines", "a", &stop, |_| panic!("it is sound"));
        assert!(sound.is_ok());
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn a_stopped_wait_for_the_lock_ends() {
        let cache = Cache(env::temp_dir().join(format!("chronoscope-held-{}", process::id())));
        fs::create_dir_all(cache.folder()).unwrap();
        let other = File::create(cache.folder().join("lock")).unwrap();
        other.lock().unwrap();
        let stop = AtomicBool::new(true);
        let waited =
            cache.obtain::<io::Error>("kernels", "a", &stop, |_| panic!("another makes it"));
        assert!(format!("{:#}", waited.unwrap_err()).ends_with(": interrupted"));
        fs::remove_dir_all(cache.folder()).unwrap();
    }
}
