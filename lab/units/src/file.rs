//! Opens files that the user names, and words the errors of files. The module knows paths, not
//! contents.

use std::{fmt::Display, fs::File, io, path::Path};

/// Makes a function that puts the failed step and its path before an error's text. The error's kind
/// stays.
pub fn within(step: impl Display) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{step}: {error}"))
}

/// Opens a regular file, or a folder, for reading. A pipe or a device is refused before it is
/// opened, since opening may wait for ever. An open one may be read, as `/dev/stdin` or
/// `/dev/fd/63` (a shell's `<(…)`).
///
/// # Errors
/// If the path names no regular file, or it cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    let is_open = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|at| path.starts_with(at));
    let known = path.metadata()?;
    // A folder's error comes from reading it, and names the cause.
    if !is_open && !known.is_file() && !known.is_dir() {
        return Err(io::Error::other("it is a pipe or a device, not a regular file"));
    }
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        for (path, why) in [("/dev/zero", "a pipe or a device"), ("/nonexistent", "No such file")] {
            let error = open(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains(why), "{path}: {error}");
        }
        assert!(open(&std::env::current_exe().unwrap()).is_ok());
    }
}
