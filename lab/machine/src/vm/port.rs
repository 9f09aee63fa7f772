//! Finds the port for Linux, which is a guest's only program. The program is installed with the
//! lab, or is built with `xtask guest` when a guest is prepared.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::architecture::Architecture;
use crate::{builder, builder::folder_of_the_lab};

const PACKAGE: &str = "chronoscope-linux";

/// The Cargo profile of measuring code, in the root's Cargo.toml.
const PROFILE: &str = "release";

/// The folder of the installed programs, relative to the parent of the lab's own folder.
const INSTALLED: &str = "share/chronoscope/guest";

/// The folder of the programs that `xtask guest` builds, relative to the build folder.
const BUILT: &str = "guest";

/// Returns the program's bytes. Where the program is not installed, it is first built, unless it is
/// fresh.
///
/// # Errors
/// If the program is not installed and cannot be built, or cannot be read.
pub fn program(architecture: &Architecture) -> Result<Vec<u8>> {
    let triple = architecture.triple;
    let folder = folder_of_the_lab()?;
    // In a checkout, the lab's own folder is one level below the build folder.
    let above = folder.parent().unwrap_or(Path::new("/"));
    let installed = above.join(INSTALLED).join(triple).join(PACKAGE);
    let path = if installed.is_file() {
        installed
    } else {
        builder::build(&["guest", triple], above, "the guest's program")
            .context("the guest's program could not be built")?;
        above.join(BUILT).join(triple).join(PROFILE).join(PACKAGE)
    };
    fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))
}
