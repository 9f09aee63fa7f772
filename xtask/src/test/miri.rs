//! Looks for undefined behaviour in tandem's tests on the host.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::{
    command,
    repository::{root, target},
    rust::Toolchain,
    say,
};

/// The words behind `rustup` that install Miri.
const INSTALL: &str = "toolchain install nightly --no-self-update --profile minimal \
                       --component miri,rust-src";

/// The words behind `cargo` that run the tests.
const TEST: &str = "+nightly miri test --locked --package tandem --lib";

/// A test leaks statics of a program. A poll finds its storage around the record by a cast that Miri
/// would report.
const FLAGS: &str = "-Zmiri-permissive-provenance -Zmiri-ignore-leaks";

/// Runs tandem's library tests under Miri. Debian's Rust has none and installs none, which is said
/// on standard error.
///
/// # Errors
/// A test fails or has undefined behaviour, or Miri takes more than 15 minutes of processor time.
pub fn run() -> Result<()> {
    if !Toolchain::find()?.is_from_rustup() {
        say("not run: Miri, which only rustup's nightly has");
        return Ok(());
    }
    let mut version = Command::new("cargo");
    version.args(["+nightly", "miri", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !command::succeeds(&mut version) {
        say("installing Miri through rustup");
        // Without a new nightly, the installed one may do.
        Command::new("rustup").args(INSTALL.split_whitespace()).status().context("no rustup")?;
    }
    let mut miri = command::limited(15, "cargo");
    miri.args(TEST.split_whitespace()).env("MIRIFLAGS", FLAGS);
    command::run(miri.env("CARGO_TARGET_DIR", target()?.join("miri")).current_dir(root()))
        .context("Miri")
}
