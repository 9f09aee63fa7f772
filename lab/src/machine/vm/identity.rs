//! What makes two runs the same run: hashes of everything that a guest's bytes follow from.

use std::{collections::BTreeMap, env, fs, io::ErrorKind, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

pub const PROGRAM: &str = "qemu-system-x86_64";

/// In hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// QEMU, as it is installed.
#[derive(Clone, Debug)]
pub struct Emulator {
    /// As it says itself.
    pub version: String,
    pub sha256: String,
}

impl Emulator {
    /// # Errors
    /// When it is not installed, with the mend.
    pub fn find() -> Result<Self> {
        let output = match Command::new(PROGRAM).arg("--version").output() {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!(
                    "{PROGRAM} is not installed: as root, apt-get install --no-install-recommends qemu-system-x86"
                )
            }
            Err(error) => return Err(error).context(PROGRAM),
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

    /// The first part of its version.
    pub fn major(&self) -> u32 {
        self.version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
    }
}

fn path() -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(PROGRAM))
        .find(|path| path.is_file())
}

/// Facts by name, in the order of their names.
pub type Identity = BTreeMap<String, String>;

/// One name for all of them.
pub fn key(identity: &Identity) -> String {
    let text: String = identity.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    sha256(text.as_bytes())[..16].to_owned()
}
