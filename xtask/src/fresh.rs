//! Decides whether a built file is up to date, without calling cargo.
//!
//! Cargo locks its build folder even where nothing is to be done. Another account may not write there,
//! and may have no cargo. So each file that the lab asks for has a stamp beside it, with the time at which
//! its build began. A change of the compiler is not seen: `./chronoscope` does not see one either.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process,
    time::SystemTime,
};

use anyhow::{Context, Result, bail};

use crate::{images::index::sha256, repository::root};

/// The sources of images, tools and guests, relative to the repository. The script `chronoscope` has a
/// longer list, which the lab is built from.
const SOURCES: [&str; 14] = [
    "lab",
    "chips",
    "cycles",
    "peripherals",
    "suite",
    "ports",
    "tandem",
    "xtask",
    "bench",
    "tools",
    ".cargo",
    "rust-toolchain.toml",
    "Cargo.toml",
    "Cargo.lock",
];

/// Calls `build`, which makes `file`, unless `file` is as the last call made it and no source is
/// newer. Returns whether it was built. Cost of a fresh file: a look at each source, and a hash of
/// `file`.
///
/// # Errors
/// `file` is not fresh, and either its folder cannot be written or `build` fails.
pub fn unless_fresh(file: &Path, build: impl FnOnce() -> Result<()>) -> Result<bool> {
    let stamp = beside(file, "built");
    if is_fresh(file, &stamp) {
        return Ok(false);
    }
    let part = beside(file, &format!("built.{}", process::id()));
    let mut writer = match create(&part) {
        Ok(writer) => writer,
        Err(error) => bail!(
            "{} is to be built, and this account cannot write there ({error}): CARGO_TARGET_DIR=\
             FOLDER ./chronoscope builds in a folder of your own",
            file.display()
        ),
    };
    let start = SystemTime::now();
    let outcome = build().and_then(|()| {
        let text = stamp_text(file).with_context(|| format!("no build of {}", file.display()))?;
        writer.write_all(text.as_bytes())?;
        writer.set_modified(start)?;
        fs::rename(&part, &stamp).with_context(|| format!("cannot write {}", stamp.display()))
    });
    if outcome.is_err() {
        // The error of the build matters, not the one of the file that it leaves.
        let _ = fs::remove_file(&part);
    }
    outcome.map(|()| true)
}

/// `FILE.NAME`, in the folder of `file`.
fn beside(file: &Path, name: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(format!(".{name}"));
    path.into()
}

fn create(path: &Path) -> std::io::Result<File> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn is_fresh(file: &Path, stamp: &Path) -> bool {
    let Ok(built) = fs::metadata(stamp).and_then(|stamp| stamp.modified()) else { return false };
    let is_same = || {
        let text = stamp_text(file);
        text.is_some() && text == fs::read_to_string(stamp).ok()
    };
    // A source that does not exist is ignored, as the script `chronoscope` ignores it.
    is_same() && !SOURCES.iter().any(|source| is_newer(&root().join(source), built))
}

/// The stamp's text: the repository, and the hash of the file, since another build may replace the file.
fn stamp_text(file: &Path) -> Option<String> {
    Some(format!("{}\n{}\n", root().display(), sha256(&fs::read(file).ok()?)))
}

/// Returns whether a file, or anything in a folder, changed after `built`. Folders count: a file
/// that was removed or renamed changes its folder. A folder `target` does not.
fn is_newer(path: &Path, built: SystemTime) -> bool {
    let Ok(entry) = fs::symlink_metadata(path) else { return false };
    if entry.is_dir() && path.ends_with("target") {
        return false;
    }
    if entry.modified().is_ok_and(|time| time > built) {
        return true;
    }
    let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
    entry.is_dir() && entries.any(|entry| is_newer(&entry.path(), built))
}

#[cfg(test)]
mod tests {
    use std::{env, time::Duration};

    use super::*;
    use crate::repository::TemporaryFolder;

    fn folder(name: &str) -> TemporaryFolder {
        let name = format!("chronoscope-fresh-{name}-{}", process::id());
        TemporaryFolder::new(env::temp_dir().join(name)).unwrap()
    }

    #[test]
    fn a_file_is_built_once_and_again_when_another_build_replaced_it() {
        let folder = folder("once");
        let file = folder.0.join("deep/image");
        let build = || Ok(fs::write(&file, "made")?);
        assert!(unless_fresh(&file, build).unwrap());
        assert!(!unless_fresh(&file, || bail!("not needed")).unwrap());
        fs::write(&file, "made by another").unwrap();
        let error = unless_fresh(&file, || bail!("no room in flash")).unwrap_err();
        assert_eq!(error.to_string(), "no room in flash");
        assert!(unless_fresh(&file, build).unwrap());
        // Nothing is left of the build that failed.
        let mut names: Vec<_> = fs::read_dir(folder.0.join("deep")).unwrap().flatten().collect();
        names.sort_by_key(fs::DirEntry::file_name);
        let names: Vec<_> = names.iter().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["image", "image.built"]);
    }

    #[test]
    fn a_build_that_makes_nothing_is_an_error() {
        let folder = folder("nothing");
        let error = unless_fresh(&folder.0.join("image"), || Ok(())).unwrap_err();
        assert!(error.to_string().contains("no build of"), "{error}");
    }

    #[test]
    fn files_and_folders_that_changed_are_newer() {
        let folder = folder("newer");
        let inside = folder.0.join("a/b");
        fs::create_dir_all(&inside).unwrap();
        fs::create_dir_all(folder.0.join("a/target")).unwrap();
        fs::write(inside.join("c"), "").unwrap();
        let built = SystemTime::now();
        let set = |path: &Path, time| File::open(path).unwrap().set_modified(time).unwrap();
        let (before, after) = (built - Duration::from_secs(9), built + Duration::from_secs(9));
        for path in [&inside.join("c"), &inside, &folder.0.join("a")] {
            set(path, before);
        }
        set(&folder.0.join("a/target"), after);
        assert!(!is_newer(&folder.0.join("a"), built));
        assert!(!is_newer(&folder.0.join("absent"), built));
        for path in [&inside.join("c"), &inside] {
            set(path, after);
            assert!(is_newer(&folder.0.join("a"), built), "{}", path.display());
            set(path, before);
        }
    }
}
