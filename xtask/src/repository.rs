//! Where the repository and its build folder are.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// The repository from which this program was built.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"))
}

/// The build folder, as an absolute path that exists: `CARGO_TARGET_DIR`, or `target` of the root.
///
/// # Errors
/// The folder cannot be created.
pub fn target() -> Result<PathBuf> {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let target = std::path::absolute(target)?;
    fs::create_dir_all(&target)
        .with_context(|| format!("cannot create the build folder {}", target.display()))?;
    Ok(target)
}
