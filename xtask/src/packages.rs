//! Programs of other Debian packages: installed when a task needs one that is absent.

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

/// Installs the packages that `tools/packages.txt` lists for `when`, unless PATH has all
/// `programs`.
///
/// # Errors
/// The packages cannot be installed; standard error has the reason and the remedy in one line.
pub fn need(programs: &[&str], when: &str) -> Result<()> {
    if programs.iter().all(|program| is_in_path(program)) {
        return Ok(());
    }
    install(&[when])
}

/// Installs those packages of the occasions in `tools/packages.txt` that are absent.
///
/// # Errors
/// As [`need`].
pub fn install(occasions: &[&str]) -> Result<()> {
    let mut installer = Command::new(root().join("tools/packages"));
    installer.args(occasions).env("CARGO_TARGET_DIR", target()?);
    let status = installer.status().context("cannot start tools/packages")?;
    if !status.success() {
        // The installer has printed the reason.
        process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}

/// Returns whether a folder of PATH has this program.
fn is_in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
