//! Looks for undefined behaviour in tandem's tests on the host.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{
    repository::{root, target},
    rust::Toolchain,
    say,
};

/// Runs tandem's library tests under Miri. Debian's Rust has none, and installs none: that is said.
pub fn run() -> Result<()> {
    if !Toolchain::find()?.is_from_rustup() {
        say("not run: Miri, which only rustup's nightly has");
        return Ok(());
    }
    let mut version = Command::new("cargo");
    version.args(["+nightly", "miri", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        say("installing Miri through rustup");
        let mut rustup = Command::new("rustup");
        rustup.args([
            "toolchain",
            "install",
            "nightly",
            "--no-self-update",
            "--profile",
            "minimal",
        ]);
        rustup.args(["--component", "miri,rust-src"]).status().context("cannot start rustup")?;
    }
    let mut miri = Command::new("timeout");
    miri.args([
        "900",
        "cargo",
        "+nightly",
        "miri",
        "test",
        "--locked",
        "--package",
        "tandem",
        "--lib",
    ]);
    // A test leaks statics of a program. A poll finds its storage around the record by a cast that
    // Miri would report.
    miri.env("MIRIFLAGS", "-Zmiri-permissive-provenance -Zmiri-ignore-leaks");
    miri.env("CARGO_TARGET_DIR", target()?.join("miri")).current_dir(root());
    let status = miri.status().context("cannot start timeout")?;
    if !status.success() {
        bail!("Miri ended with {status}");
    }
    Ok(())
}
