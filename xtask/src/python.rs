//! Environments of Python with pinned packages, in the build folder.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{
    command,
    repository::{root, target},
    say,
};

/// Returns the environment `name` of the build folder, with the packages of a file of requirements
/// that has their digests. Installs them unless the same ones are there.
///
/// # Errors
/// Python has no `venv`, or a package cannot be fetched.
pub fn environment(name: &str, requirements: &str, what: &str) -> Result<PathBuf> {
    let (venv, pinned) = (target()?.join(name), root().join(requirements));
    let python = venv.join("bin/python");
    let wanted = fs::read(&pinned).with_context(|| pinned.display().to_string())?;
    let is_there = fs::read(venv.join("installed.txt")).is_ok_and(|installed| installed == wanted);
    if !is_there || !command::succeeds(Command::new(&python).args(["-c", ""])) {
        say(&format!("installing {what} into {}", venv.display()));
        command::run(Command::new("/usr/bin/python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args(["install", "--quiet", "--require-hashes", "--only-binary", ":all:"]);
        command::run(pip.arg("--requirement").arg(&pinned))?;
        fs::write(venv.join("installed.txt"), wanted)?;
    }
    Ok(venv)
}
