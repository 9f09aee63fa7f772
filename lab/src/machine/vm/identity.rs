//! The emulator that guests run in: its version and digest, which are part of a guest's identity.

use std::{
    env, fs,
    io::{self, ErrorKind},
    path::PathBuf,
    process::Command,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};

use crate::{child, digest::sha256};

pub const PROGRAM: &str = "qemu-system-x86_64";

/// The installed QEMU.
#[derive(Clone, Debug)]
pub struct Emulator {
    /// The version that QEMU prints.
    pub version: String,
    pub sha256: String,
}

impl Emulator {
    /// Finds QEMU in PATH and hashes it.
    ///
    /// # Errors
    /// If it is not installed, cannot be read or is stopped; the message gives the remedy.
    pub fn find(stop: &AtomicBool) -> Result<Self> {
        let is_missing = |error: &anyhow::Error| {
            error
                .downcast_ref::<io::Error>()
                .is_some_and(|cause| cause.kind() == ErrorKind::NotFound)
        };
        let output = match child::output(Command::new(PROGRAM).arg("--version"), stop) {
            Ok(output) => output,
            Err(error) if is_missing(&error) => {
                bail!(
                    "{PROGRAM} is not installed: as root, apt-get install --no-install-recommends qemu-system-x86"
                )
            }
            Err(error) => return Err(error),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("QEMU emulator version ")
            .to_owned();
        let path = path().with_context(|| format!("{PROGRAM} is not in PATH"))?;
        let program =
            fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        Ok(Self { version, sha256: sha256(&program) })
    }

    /// The first number of the version; 0 if it cannot be parsed.
    pub fn major(&self) -> u32 {
        self.version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
    }
}

fn path() -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(PROGRAM))
        .find(|path| path.is_file())
}
