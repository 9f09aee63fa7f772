//! Runs `xtask`, the program next to the lab's own that builds images of targets and installs
//! packages. The module knows commands and their output, not what they build.
//!
//! The builder does nothing where a file is fresh, so each run of the lab may ask for it, in any
//! account. In the repository, `cargo xtask` runs the same program by hand.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use anyhow::{Context, Result, anyhow, bail};

use super::{lock::lock, setup};
use chronoscope_base::{console, signals};
use chronoscope_child as child;

/// Environment variables that may configure the lab's own build; a builder of images does not get
/// them.
const FOREIGN: [&str; 4] =
    ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"];

/// The folder of the lab's own program.
///
/// # Errors
/// The system does not report the program's path.
pub(super) fn folder_of_the_lab() -> Result<PathBuf> {
    let program = env::current_exe().context("where am I?")?;
    // Cargo puts test programs one folder deeper, into `deps`.
    let folder = program.parent().filter(|folder| !folder.ends_with("deps"));
    Ok(folder.or(program.ancestors().nth(2)).unwrap_or(Path::new(".")).to_owned())
}

/// The path of the program `name`, which is built with the lab and is in the lab's folder.
///
/// # Errors
/// The folder has no such program; the message says how to install it.
pub(super) fn next_to_the_lab(name: &str) -> Result<PathBuf> {
    let folder = folder_of_the_lab()?;
    let path = folder.join(name);
    if !path.is_file() {
        bail!(
            "{name} is not in {}: in a checkout, build the whole workspace; otherwise install the \
             Debian package or the tarball, which have all (docs/install.md), or for linux@host \
             alone run `cargo install chronoscope-linux`",
            folder.display()
        );
    }
    Ok(path)
}

/// Returns whether a program exists: `program` is a path, or a name in a folder of PATH.
pub fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    // An absolute path replaces each folder that it is joined to.
    program.contains('/') && Path::new(program).is_file()
        || env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Runs `xtask` with these arguments, which build `what` into the folder `target`.
///
/// # Errors
/// The builder is absent, or as [`run`].
pub(super) fn build(arguments: &[&str], target: &Path, what: &str) -> Result<()> {
    let mut builder = Command::new(next_to_the_lab("xtask")?);
    let retry = format!("cargo xtask {}", arguments.join(" "));
    run(builder.args(arguments).env("CARGO_TARGET_DIR", target), target, what, &retry)
}

/// The packages of peers' tools that the lab has tried to install: `None` after a success, else the
/// error's text.
#[derive(Default)]
pub(super) struct Packages(Mutex<BTreeMap<String, Option<String>>>);

impl Packages {
    /// Installs a package as a step of set-up. Each package is tried once; later calls return the
    /// first outcome. A lab without `xtask` installs nothing and returns `Ok`.
    ///
    /// # Errors
    /// The package cannot be installed; the message has the reason and the remedy.
    pub(super) fn install(&self, package: &str) -> Result<()> {
        let Ok(xtask) = next_to_the_lab("xtask") else { return Ok(()) };
        let mut tried = lock(&self.0);
        let failure = tried
            .entry(package.to_owned())
            .or_insert_with(|| install(&xtask, package).err().map(|error| format!("{error:#}")));
        failure.clone().map_or(Ok(()), |failure| Err(anyhow!("{failure}")))
    }
}

fn install(xtask: &Path, package: &str) -> Result<()> {
    let mut installer = Command::new(xtask);
    installer.args(["packages", &format!("peer-{package}")]);
    let what = format!("installing {package}");
    let output =
        setup::step(&what, || child::output_with_lines(&mut installer, signals::stop(), pass_on))?;
    if output.status.success() {
        return Ok(());
    }
    Err(anyhow!("{}", complaint(&output.stderr)))
}

/// Runs a builder of `what` as a step of set-up. Its lines for the user are printed while it runs.
/// If it fails, its output is written to a log in `target/set-up`.
///
/// # Errors
/// The build failed; the message has the most telling line of its output, the log's path and the
/// command `retry`.
pub(super) fn run(builder: &mut Command, target: &Path, what: &str, retry: &str) -> Result<()> {
    for name in FOREIGN {
        builder.env_remove(name);
    }
    let what = format!("building {what}");
    let output =
        setup::step(&what, || child::output_with_lines(builder, signals::stop(), pass_on))?;
    if output.status.success() {
        return Ok(());
    }
    let words = [output.stdout.as_slice(), &output.stderr].concat();
    let remedy = setup::remedy(&target.join("set-up"), &what, &words, retry);
    Err(anyhow!("{} ({remedy})", complaint(&output.stderr)))
}

/// Prints a line of a builder's standard error if it is for the user, that is, begins with
/// `chronoscope: `. An example: the builder waits for the package manager.
fn pass_on(line: &str) {
    if let Some(text) = line.strip_prefix("chronoscope: ") {
        console::note(text);
    }
}

/// The most telling line of a failed build's standard error: the error of a build script, cargo's
/// first error, or the last line.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let is_error = |line: &&str| line.starts_with("error");
    // Cargo shows the output of a failed build script, indented, below its own error.
    let script = text.split_once("--- stderr").map_or("", |(_, script)| script);
    let script = script.lines().map(str::trim_start).find(is_error);
    script.or(lines().find(is_error)).or(lines().next_back()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn the_most_telling_line_is_shown() {
        let script = "error: failed to run custom build command for `mine`\n\nCaused by:\n  \
                      process didn't exit successfully\n  --- stdout\n  cargo:x\n\n  --- stderr\n  \
                      warning: a\n  error: set MINE_DIR\n";
        assert_eq!(complaint(script.as_bytes()), "error: set MINE_DIR");
        let cargo = "   Compiling a\nerror[E0425]: cannot find\nerror: could not compile\n";
        assert_eq!(complaint(cargo.as_bytes()), "error[E0425]: cannot find");
        // A build script that fails without a line of this kind.
        let silent = "error: failed to run custom build command\n  --- stderr\n  oh\n";
        assert_eq!(complaint(silent.as_bytes()), "error: failed to run custom build command");
        assert_eq!(complaint(b"killed\n\n"), "killed");
        assert_eq!(complaint(b""), "");
    }
}
