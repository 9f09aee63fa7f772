//! Where the repository and its build folder are.

use std::{
    env, fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow};

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

/// Becomes `command`: the process goes on as that program, with its exit status.
///
/// # Errors
/// The program does not start.
pub fn become_command(mut command: Command) -> Result<()> {
    let error = command.exec();
    Err(anyhow!(error).context(format!("cannot start {}", command.get_program().display())))
}
