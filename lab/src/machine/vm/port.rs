//! Builds the port as the guest's only program, with `tools/guest-cargo`, when a guest is first
//! prepared.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::machine::firmware::told_when_long;

const PACKAGE: &str = "chronoscope-linux";

/// Builds and reads the program. If it is up to date, Cargo builds nothing.
///
/// # Errors
/// If the source is missing or does not build.
pub fn program() -> Result<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"));
    if !root.join("ports/linux/Cargo.toml").is_file() {
        bail!(
            "the source of the guest's program is not in {} any more: build chronoscope again where it is",
            root.display()
        );
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = std::path::absolute(target)?;
    let mut cargo = Command::new(root.join("tools/guest-cargo"));
    cargo.args(["build", "--release", "--locked", "--package", PACKAGE]);
    cargo.current_dir(root).env("CARGO_TARGET_DIR", &target);
    for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
        cargo.env_remove(flags);
    }
    cargo.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = told_when_long("building the guest's program", || cargo.output())
        .context("cannot start tools/guest-cargo")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines = || text.lines().filter(|line| !line.trim().is_empty());
        let error = lines()
            .find(|line| line.starts_with("error"))
            .or(lines().next_back())
            .unwrap_or_default();
        bail!(
            "the guest's program could not be built: {error} (all of it: tools/guest-cargo build --package {PACKAGE})"
        );
    }
    let path = target.join("guest/x86_64-unknown-linux-gnu/release").join(PACKAGE);
    fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))
}
