//! Files that are replaced as a whole or left unchanged.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, ErrorKind, IntoInnerError, Write},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process,
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

use rustix::{
    fs::{Access, OFlags, access, fcntl_getfl, fcntl_setfl},
    io::Errno,
};

use chronoscope_base::signals;
use chronoscope_child::{supervisor, supervisor::Supervised};
use chronoscope_units::file::within;

/// Checks before a long run that [`write`] will be able to write `path`.
///
/// # Errors
/// When `path` is a folder or has no file name, or its folder is missing or takes no new file.
pub fn check(path: &Path) -> io::Result<()> {
    check_name(path)?;
    if is_special(path) {
        return Ok(());
    }
    // Some file systems, as /sys, refuse it to a user whom the modes allow it.
    let created = TemporaryFile::create(&path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    created.map(drop).map_err(within(format!("cannot write {}", path.display())))
}

/// Checks the name of a file, its folder and the permission to write there, and writes nothing.
fn check_name(path: &Path) -> io::Result<()> {
    let shown = path.display();
    let refused = |text: String| Err(io::Error::new(ErrorKind::InvalidFilename, text));
    if path.is_dir() {
        return refused(format!("cannot write {shown}: it is a folder: name a file in it"));
    }
    if path.file_name().is_none() {
        return refused(format!("cannot write `{shown}`: that is no file's name"));
    }
    let place = if is_special(path) { path } else { folder(path) };
    if !place.exists() {
        let place = place.display();
        return refused(format!("cannot write {shown}: there is no folder {place}: make it first"));
    }
    let access = access(place, Access::WRITE_OK).map_err(io::Error::from);
    access.map_err(within(format!("cannot write {shown}")))
}

/// Writes a file atomically: to a temporary file in the same folder, which is then renamed. Devices
/// and pipes are written to directly. The file keeps the permissions of the one it replaces.
///
/// # Errors
/// When the file cannot be written; an existing file is then unchanged.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    write_with(path, |file| file.write_all(text.as_bytes()))
}

/// Writes a file atomically as [`write`] does, from a stream: for content too large for memory.
///
/// # Errors
/// When `content` fails or the file cannot be written; an existing file is then unchanged.
pub fn write_with(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    check_name(path)?;
    let written = if is_special(path) {
        open_special(path).and_then(|file| buffered(file, content)).map(drop)
    } else {
        replace(path, content)
    };
    written.map_err(within(format!("cannot write {}", path.display())))
}

/// Opens a device or a pipe for writing. Waits for the reader of a named pipe until a signal asks
/// the program to stop.
fn open_special(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    if !fs::metadata(path)?.file_type().is_fifo() {
        return options.open(path);
    }
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    loop {
        let is_alone = |error: &io::Error| error.raw_os_error() == Some(Errno::NXIO.raw_os_error());
        match options.open(path) {
            Err(error) if is_alone(&error) => {
                if signals::stop().load(Ordering::Relaxed) {
                    return Err(io::Error::other("no program reads the pipe"));
                }
                thread::sleep(Duration::from_millis(50));
            }
            opened => {
                let file = opened?;
                // Writing waits for the reader, as usual.
                fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
                return Ok(file);
            }
        }
    }
}

fn buffered(
    file: File,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<File> {
    let mut writer = BufWriter::new(file);
    content(&mut writer)?;
    writer.into_inner().map_err(IntoInnerError::into_error)
}

fn replace(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A symbolic link is kept; its target is replaced.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (temporary, file) = TemporaryFile::create(&path)?;
    let file = buffered(file, content)?;
    if let Ok(old) = fs::metadata(&path) {
        file.set_permissions(old.permissions())?;
    }
    // Some file systems report that they are full only here.
    file.sync_all()?;
    fs::rename(&temporary.path, &path)?;
    // A file system may not be able to; the file itself is on its disk.
    let _ = File::open(folder(&path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// A temporary file; deleted on drop, or when the program is killed, unless it has been renamed to
/// its final name.
struct TemporaryFile {
    path: PathBuf,
    _held: Supervised,
}

impl TemporaryFile {
    /// Creates an empty file beside `path` and opens it. A file or a link that has its name is left
    /// alone: in a folder that others may write, a link may lead anywhere.
    fn create(path: &Path) -> io::Result<(Self, File)> {
        let mut number = 0_u32;
        loop {
            let name = format!(".chronoscope-{}-{number}.part", process::id());
            let path = folder(path).join(name);
            let held = supervisor::hold_file(&path);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                file => return Ok((Self { path, _held: held }, file?)),
            }
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("chronoscope-{}-{name}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn a_link_in_the_place_of_the_temporary_file_is_not_followed() {
        let folder = scratch("planted");
        let (file, victim) = (folder.join("file"), folder.join("victim"));
        fs::write(&victim, "precious").unwrap();
        let planted = [0, 1].map(|number| {
            let link = folder.join(format!(".chronoscope-{}-{number}.part", process::id()));
            symlink(&victim, &link).unwrap();
            link
        });
        write(&file, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(!file.is_symlink() && planted.iter().all(|link| link.is_symlink()));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_and_through_its_link() {
        let folder = scratch("replaced");
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing else is left");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_error_names_the_path() {
        let folder = scratch("error");
        let why = |path: &Path| format!("{:#}", write(path, "text").unwrap_err());
        assert!(why(&folder).contains("it is a folder"), "{}", why(&folder));
        assert!(why(&folder.join("no/file")).contains("there is no folder"));
        assert!(why(Path::new("/dev/full")).starts_with("cannot write /dev/full: "));
        assert!(
            write(Path::new("/dev/null"), "text").is_ok() && is_special(Path::new("/dev/null"))
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left");
        fs::remove_dir_all(folder).unwrap();
    }
}
