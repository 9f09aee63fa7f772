//! Whole studies, for the long test.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::repository::{root, target};

/// Runs a study of this repository with the program that users have. Nothing is stored.
///
/// # Errors
/// The program does not start, or its exit status is none of `statuses`.
pub fn run(name: &str, statuses: &[&str]) -> Result<()> {
    let mut program = Command::new(target()?.join("lab/chronoscope"));
    program.args(["run", "--study", name, "--no-store", "-q"]).current_dir(root());
    let status = program.status().context("cannot start the program")?;
    let is_expected = |code: i32| statuses.iter().any(|known| *known == code.to_string());
    if !status.code().is_some_and(is_expected) {
        bail!("the study {name} ended with {status}, not with {}", statuses.join(" or "));
    }
    Ok(())
}
