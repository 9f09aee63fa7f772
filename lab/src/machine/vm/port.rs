//! The port as the guest's only program: installed with the lab, or built with `xtask guest` when a
//! guest is first prepared.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::machine::builder::{self, folder_of_the_lab};

const PACKAGE: &str = "chronoscope-linux";

/// The installed program, relative to the parent of the lab's own folder.
const INSTALLED: &str = "share/chronoscope/guest/chronoscope-linux";

/// The built program, relative to the build folder.
const BUILT: &str = "guest/x86_64-unknown-linux-gnu/release/chronoscope-linux";

/// Reads the program, after building it where it is not installed. If it is up to date, Cargo
/// builds nothing.
///
/// # Errors
/// If it is neither installed nor can be built.
pub fn program() -> Result<Vec<u8>> {
    let folder = folder_of_the_lab()?;
    // In a checkout, the programs are one folder below the build folder.
    let above = folder.parent().unwrap_or(Path::new("/"));
    let installed = above.join(INSTALLED);
    let path = if installed.is_file() {
        installed
    } else {
        let arguments = ["guest", "build", "--release", "--locked", "--package", PACKAGE];
        builder::build(&arguments, above, "the guest's program")
            .context("the guest's program could not be built")?;
        above.join(BUILT)
    };
    fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))
}
