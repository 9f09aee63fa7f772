//! Debian's package manager: the system's own package lists, or separate ones for another
//! processor, which leave the system's dpkg as it is. It knows the programs, not the packages.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use thiserror::Error;

use chronoscope_base::console;
use chronoscope_child as child;

/// The longest wait for another program that holds apt, and the pause between two tries.
const BUSY: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_secs(5);

/// The programs of apt with the options that select its package lists.
pub struct Apt {
    options: Vec<String>,
}

impl Apt {
    /// Apt with the system's package lists.
    pub fn for_system() -> Self {
        Self { options: Vec::new() }
    }

    /// Apt for the packages of another processor, with the system's sources and keys, and with its
    /// lists in `folder`. The lists are empty until [`update`](Self::update).
    ///
    /// # Errors
    /// If the folder's files cannot be made.
    pub fn for_other(architecture: &str, folder: &Path) -> Result<Self> {
        for name in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(name))?;
        }
        let status = folder.join("status");
        // No package is installed.
        fs::write(&status, "")?;
        let place = |name: &str, path: &Path| format!("{name}={}", path.display());
        let settings = [
            format!("APT::Architecture={architecture}"),
            format!("APT::Architectures={architecture}"),
            place("Dir::State", folder),
            place("Dir::State::lists", &folder.join("lists")),
            place("Dir::State::status", &status),
            place("Dir::Cache", &folder.join("cache")),
            // Names of packages are needed, no translations of their descriptions.
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
        ];
        Ok(Self { options: settings.into_iter().flat_map(|text| ["-o".into(), text]).collect() })
    }

    /// The same with the packages in a folder as its only source. They need no signature.
    #[cfg(test)]
    pub fn with_source(mut self, folder: &Path) -> Self {
        let list = folder.join("sources.list");
        let line = format!("deb [trusted=yes] file:{} ./\n", folder.display());
        fs::write(&list, line).expect("a test can write its folder");
        let settings = [
            format!("Dir::Etc::sourcelist={}", list.display()),
            "Dir::Etc::sourceparts=-".to_owned(),
            // Apt's own user cannot read the folder.
            "APT::Sandbox::User=root".to_owned(),
        ];
        self.options.extend(settings.into_iter().flat_map(|text| ["-o".into(), text]));
        self
    }

    /// Returns the packages on which `package` depends, among other words.
    ///
    /// # Errors
    /// If the lists have no such package, or `stop` becomes true.
    pub fn depends(&self, package: &str, stop: &AtomicBool) -> Result<String> {
        run(self.command("apt-cache").args(["depends", package]), stop)
    }

    /// Returns whether the lists have a package, given as `NAME=VERSION`.
    ///
    /// # Errors
    /// If apt is not installed, or `stop` becomes true.
    pub fn has(&self, package: &str, stop: &AtomicBool) -> Result<bool> {
        match run(self.command("apt-cache").args(["show", package]), stop) {
            // Of another version alone, apt-cache prints nothing.
            Ok(entry) => Ok(!entry.trim().is_empty()),
            Err(error) if error.is::<Failed>() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Downloads a package, given as `NAME` or `NAME=VERSION`, into `folder`. Apt refuses a file
    /// that does not have the hash of its signed lists.
    ///
    /// # Errors
    /// If apt fails; the message has its first error.
    pub fn download(&self, package: &str, folder: &Path, stop: &AtomicBool) -> Result<()> {
        let options = ["-o", "Acquire::Retries=3", "-q", "download", package];
        run(self.command("apt-get").args(options).current_dir(folder), stop).map(drop)
    }

    /// Updates the package lists, once no other program holds them; waits for that at most ten
    /// minutes, and says so.
    ///
    /// # Errors
    /// If apt fails; the message has its first error.
    pub fn update(&self, stop: &AtomicBool) -> Result<()> {
        let start = Instant::now();
        loop {
            let updated = run(self.command("apt-get").args(["update", "-q"]), stop).map(drop);
            let why = match &updated {
                Err(error) if is_held(&error.to_string()) => error,
                _ => return updated,
            };
            if start.elapsed() > BUSY || stop.load(Ordering::Relaxed) {
                return updated;
            }
            if start.elapsed() < PAUSE {
                console::note(&format!("waiting for apt, which another program holds: {why}"));
            }
            pause(PAUSE, stop);
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options);
        command
    }
}

/// Returns whether apt failed because another program holds one of its locks.
fn is_held(error: &str) -> bool {
    ["Could not get lock", "Unable to lock", "Unable to acquire"]
        .iter()
        .any(|words| error.contains(words))
}

/// Waits, and ends the wait within 0.1 s after `stop` becomes true.
pub fn pause(time: Duration, stop: &AtomicBool) {
    let start = Instant::now();
    while start.elapsed() < time && !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(50));
    }
}

/// Runs the command and returns its standard output.
///
/// # Errors
/// If the command cannot be started, or it fails: then the error is a [`Failed`].
pub fn run(command: &mut Command, stop: &AtomicBool) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = child::output(command, stop).map_err(|error| explained(error.into()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let what = format!("{name} failed: {}", cause(&String::from_utf8_lossy(&output.stderr)));
    Err(Failed { what, words: [output.stdout, output.stderr].concat() }.into())
}

/// A program that failed, with all that it printed.
#[derive(Debug, Error)]
#[error("{what}")]
pub struct Failed {
    what: String,
    pub words: Vec<u8>,
}

/// The line of a program's standard error that tells most: apt's first error, or the last line.
fn cause(text: &str) -> &str {
    let error = text.lines().find_map(|line| line.strip_prefix("E: "));
    error.or(text.lines().next_back()).unwrap_or_default()
}

/// Adds the remedy to the error of a program that is not installed.
pub fn explained(error: anyhow::Error) -> anyhow::Error {
    if !error.downcast_ref().is_some_and(child::Error::is_missing) {
        return error;
    }
    anyhow!(
        "{error:#}: Debian's kernels come through apt-get, dpkg-deb and tar; elsewhere, name a kernel of your own with \
         --kernel-image FILE --target linux@vm"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_failure_is_told() {
        let held = "Reading…\nE: Could not get lock /var/lib/apt/lists/lock. It is held by process 7\nE: Unable to lock directory /var/lib/apt/lists/\n";
        assert!(cause(held).starts_with("Could not get lock") && is_held(cause(held)));
        assert_eq!(cause("one\ntwo\n"), "two");
        assert!(!is_held("Temporary failure resolving 'deb.debian.org'"));
    }
}
