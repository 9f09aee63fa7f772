//! The emulator that guests run in: its version and digest, which are part of a guest's identity.

use std::{env, fs, path::PathBuf, process::Command, sync::atomic::AtomicBool};

use anyhow::{Context, Result, bail};

use super::architecture::Architecture;
use chronoscope_base::digest::sha256;
use chronoscope_child as child;

/// The installed QEMU.
#[derive(Clone, Debug)]
pub struct Emulator {
    /// The version that QEMU prints.
    pub version: String,
    /// The SHA-256 of QEMU's program, in hexadecimal.
    pub sha256: String,
}

impl Emulator {
    /// Finds the architecture's QEMU in PATH and hashes it.
    ///
    /// # Errors
    /// If it is not installed, cannot be read or is stopped; the message gives the remedy.
    pub fn find(architecture: &Architecture, stop: &AtomicBool) -> Result<Self> {
        let Architecture { emulator, package, .. } = *architecture;
        let output = match child::output(Command::new(emulator).arg("--version"), stop) {
            Ok(output) => output,
            Err(error) if error.is_missing() => {
                bail!(
                    "{emulator} is not installed: as root, apt-get install --no-install-recommends {package}"
                )
            }
            Err(error) => return Err(error.into()),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("QEMU emulator version ")
            .to_owned();
        let path = path(emulator).with_context(|| format!("{emulator} is not in PATH"))?;
        let program =
            fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        Ok(Self { version, sha256: sha256(&program) })
    }

    /// The first number of the version; 0 if it cannot be parsed.
    pub fn major(&self) -> u32 {
        self.version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
    }
}

fn path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}
