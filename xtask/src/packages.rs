//! Installs Debian packages when a task needs a program that is absent. `tools/packages.txt` lists
//! the packages with their occasions; the script `tools/packages` installs them.

use std::{
    env,
    process::{self, Command},
};

use anyhow::{Context, Result, bail};

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
/// all `programs`. If a package cannot be installed, `tools/packages` prints the reason and the
/// remedy, and this process exits with the script's status.
///
/// # Errors
/// The script `tools/packages` cannot be started.
pub fn need(programs: &[&str], when: &str) -> Result<()> {
    if programs.iter().all(|program| is_in_path(program)) {
        return Ok(());
    }
    install(&[when])
}

/// Installs the absent packages among those that `tools/packages.txt` lists for `occasions`. Exits
/// the process, as [`need`] does, if a package cannot be installed.
///
/// # Errors
/// As [`need`].
pub fn install(occasions: &[&str]) -> Result<()> {
    let mut installer = Command::new(root().join("tools/packages"));
    installer.args(occasions).env("CARGO_TARGET_DIR", target()?);
    let status = installer.status().context("cannot start tools/packages")?;
    if !status.success() {
        // The script has printed the reason.
        process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}

/// Returns whether a folder of PATH has this program.
fn is_in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
