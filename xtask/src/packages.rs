//! Installs Debian packages when a task needs a program that is absent. `tools/packages.txt` lists
//! the packages with their occasions; the script `tools/packages` installs them.

use std::{env, process::Command};

use anyhow::{Context, Result, bail};
use thiserror::Error;

use crate::repository::{root, target};

pub const USAGE: &str = "packages WHEN…  \
    installs the packages that tools/packages.txt lists for these occasions";

pub fn run(occasions: &[&str]) -> Result<()> {
    if occasions.is_empty() {
        bail!("usage: cargo xtask {USAGE}");
    }
    install(occasions)
}

/// Installs the packages that `tools/packages.txt` lists for the occasion `when`, unless PATH has
/// all `programs`.
///
/// # Errors
/// [`NotInstalled`] if a package cannot be installed, or the script `tools/packages` cannot be
/// started.
pub fn need(programs: &[&str], when: &str) -> Result<()> {
    if programs.iter().all(|program| is_in_path(program)) {
        return Ok(());
    }
    install(&[when])
}

/// Installs the absent packages among those that `tools/packages.txt` lists for `occasions`.
///
/// # Errors
/// As [`need`].
pub fn install(occasions: &[&str]) -> Result<()> {
    let mut installer = Command::new(root().join("tools/packages"));
    installer.args(occasions).env("CARGO_TARGET_DIR", target()?);
    let status = installer.status().context("cannot start tools/packages")?;
    match status.success() {
        true => Ok(()),
        false => Err(NotInstalled { status: status.code().unwrap_or(1) }.into()),
    }
}

/// The error of a package that cannot be installed. The script `tools/packages` has printed the
/// reason and the remedy.
#[derive(Debug, Error)]
#[error("tools/packages ended with status {status}")]
pub struct NotInstalled {
    /// The script's exit status.
    pub status: i32,
}

/// Returns whether a folder of PATH has this program.
fn is_in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
