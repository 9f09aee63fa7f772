//! SciPy's figures of the samples that the statistics are tested with, as JSON.

use std::{fs, fs::File, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    repository::{root, target},
    say,
};

/// Writes `target/scipy_figures.json`; installs SciPy and Perfetto's classes into `target/venv`
/// unless the pinned versions are there.
pub fn write_figures() -> Result<()> {
    let target = target()?;
    let (venv, pinned) = (target.join("venv"), root().join("tools/test-requirements.txt"));
    let python = venv.join("bin/python");
    let wanted = fs::read(&pinned).with_context(|| pinned.display().to_string())?;
    let is_there = fs::read(venv.join("installed.txt")).is_ok_and(|installed| installed == wanted);
    if !is_there
        || !Command::new(&python).args(["-c", ""]).status().is_ok_and(|status| status.success())
    {
        say(&format!("installing SciPy and Perfetto's classes into {}", venv.display()));
        run(Command::new("/usr/bin/python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args(["install", "--quiet", "--require-hashes", "--only-binary", ":all:"]);
        run(pip.arg("--requirement").arg(&pinned))?;
        fs::write(venv.join("installed.txt"), wanted)?;
    }
    let figures = File::create(target.join("scipy_figures.json"))?;
    let script = root().join("lab/statistics/tests/scipy_figures.py");
    run(Command::new(python).arg(script).stdout(figures))
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} ended with {status}");
    }
    Ok(())
}
