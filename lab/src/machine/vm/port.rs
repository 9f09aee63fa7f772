//! Builds the port as the guest's only program, with `xtask guest`, when a guest is first prepared.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::machine::builder;

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
    let arguments = ["guest", "build", "--release", "--locked", "--package", PACKAGE];
    builder::build(&arguments, &target, "the guest's program")
        .context("the guest's program could not be built")?;
    let path = target.join("guest/x86_64-unknown-linux-gnu/release").join(PACKAGE);
    fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))
}
