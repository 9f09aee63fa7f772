//! SciPy's figures of the samples with which the statistics are tested, as JSON.

use std::{fs::File, process::Command};

use anyhow::Result;

use crate::{
    command, python,
    repository::{root, target},
};

/// Writes `target/scipy_figures.json`; installs SciPy and Perfetto's classes into `target/venv`
/// unless the pinned versions are there.
pub fn write_figures() -> Result<()> {
    let pinned = "tools/test-requirements.txt";
    let venv = python::environment("venv", pinned, "SciPy, Perfetto's classes and CI's schemas")?;
    let figures = File::create(target()?.join("scipy_figures.json"))?;
    let script = root().join("lab/statistics/tests/scipy_figures.py");
    command::run(Command::new(venv.join("bin/python")).arg(script).stdout(figures))
}
