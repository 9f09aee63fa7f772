//! Environments of Python with pinned packages, in the build folder.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
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
    if !is_there
        || !Command::new(&python).args(["-c", ""]).status().is_ok_and(|status| status.success())
    {
        say(&format!("installing {what} into {}", venv.display()));
        run(Command::new("/usr/bin/python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args(["install", "--quiet", "--require-hashes", "--only-binary", ":all:"]);
        run(pip.arg("--requirement").arg(&pinned))?;
        fs::write(venv.join("installed.txt"), wanted)?;
    }
    Ok(venv)
}

/// Runs a command to its end.
///
/// # Errors
/// It cannot be started, or does not end with success.
pub fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} ended with {status}");
    }
    Ok(())
}
