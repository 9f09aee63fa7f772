//! The port as the guest's only program: installed with the lab, or built with `xtask guest` when a
//! guest is first prepared.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::architecture::Architecture;
use crate::{builder, builder::folder_of_the_lab};

const PACKAGE: &str = "chronoscope-linux";

/// The profile of measuring code, in the root's Cargo.toml.
const PROFILE: &str = "optimized";

/// The folders of the installed and the built programs, relative to the parent of the lab's own
/// folder and to the build folder.
const INSTALLED: &str = "share/chronoscope/guest";
const BUILT: &str = "guest";

/// Reads the program, after building it where it is not installed. If it is up to date, Cargo
/// builds nothing.
///
/// # Errors
/// If it is neither installed nor can be built.
pub fn program(architecture: &Architecture) -> Result<Vec<u8>> {
    let triple = architecture.triple;
    let folder = folder_of_the_lab()?;
    // In a checkout, the programs are one folder below the build folder.
    let above = folder.parent().unwrap_or(Path::new("/"));
    let installed = above.join(INSTALLED).join(triple).join(PACKAGE);
    let path = if installed.is_file() {
        installed
    } else {
        let arguments =
            ["guest", triple, "build", "--profile", PROFILE, "--locked", "--package", PACKAGE];
        builder::build(&arguments, above, "the guest's program")
            .context("the guest's program could not be built")?;
        above.join(BUILT).join(triple).join(PROFILE).join(PACKAGE)
    };
    fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))
}
