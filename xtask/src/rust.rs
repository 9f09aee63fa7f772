//! The Rust toolchain: PATH's, or Debian's where PATH has none that is new enough.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Result, bail};

use crate::{
    command, packages,
    repository::{root, target},
    say,
};

/// The oldest version that compiles the repository, as `1.95`.
const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");

/// A toolchain that is new enough.
pub struct Toolchain {
    sysroot: PathBuf,
    /// PATH of the programs that use this toolchain.
    path: OsString,
}

impl Toolchain {
    /// Finds the toolchain: PATH's, or the one in /usr/bin where PATH's is too old.
    ///
    /// # Errors
    /// There is none that is new enough.
    pub fn find() -> Result<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [PathBuf::from("/usr/bin")].into_iter().chain(env::split_paths(&path));
        let debian_first = env::join_paths(folders)?;
        let found = [path, debian_first].into_iter().find_map(Self::in_path);
        let Some(found) = found else {
            bail!(
                "needs Rust {OLDEST} or newer in PATH: rustup installs it for an account, and \
                 ./chronoscope for all when root runs it"
            );
        };
        Ok(found)
    }

    fn in_path(path: OsString) -> Option<Self> {
        let minor = |version: &str| version.split('.').nth(1)?.parse::<u32>().ok();
        let version = printed("rustc", &["--version"], &path)?;
        // rustup can have a compiler without cargo.
        printed("cargo", &["--version"], &path)?;
        let sysroot = PathBuf::from(printed("rustc", &["--print", "sysroot"], &path)?);
        (minor(&version)? >= minor(OLDEST)?).then_some(Self { sysroot, path })
    }

    /// The compiler's name and version, as `rustc 1.95.0`.
    pub fn version(&self) -> Option<String> {
        let line = printed("rustc", &["--version"], &self.path)?;
        Some(line.split_once(" (").map_or(line.as_str(), |(version, _)| version).to_owned())
    }

    /// `cargo COMMAND` of this toolchain.
    pub fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.arg(command).env("PATH", &self.path);
        cargo
    }

    pub fn is_from_rustup(&self) -> bool {
        self.sysroot.parent().is_some_and(|folder| folder.ends_with("toolchains"))
    }

    pub fn is_from_debian(&self) -> bool {
        self.sysroot == Path::new("/usr")
    }

    /// Returns whether Rust's libraries for this processor are installed; if not, first tries once to
    /// install them through rustup.
    pub fn has_library(&self, triple: &str) -> Result<bool> {
        let library = self.sysroot.join("lib/rustlib").join(triple).join("lib");
        let gave_up = target()?.join(format!(".no-{triple}-from-rustup"));
        if !library.is_dir() && self.is_from_rustup() && !gave_up.exists() {
            say(&format!("installing Rust's library for {triple} through rustup"));
            let mut rustup = Command::new("timeout");
            rustup.args(["300", "rustup", "target", "add", triple]).env("RUST_BACKTRACE", "0");
            // Standard output is for this program's own results.
            rustup.stdout(Stdio::null());
            if !command::succeeds(&mut rustup) {
                say(&format!(
                    "rustup could not: Debian's compiler and source instead (until you remove {})",
                    gave_up.display()
                ));
                fs::write(&gave_up, "")?;
            }
        }
        Ok(library.is_dir())
    }

    /// `cargo COMMAND` of Debian's toolchain, that builds `libraries` from Debian's source. Installs
    /// both where they are absent.
    ///
    /// # Errors
    /// The packages cannot be installed.
    pub fn with_debians_source(command: &str, libraries: &str) -> Result<Command> {
        packages::install(&["firmware"])?;
        let mut cargo = Command::new("/usr/bin/cargo");
        cargo.args([command, &format!("-Zbuild-std={libraries}")]);
        cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", "/usr/bin/rustc");
        Ok(cargo)
    }

    /// Installs rustfmt and clippy where they are absent.
    ///
    /// # Errors
    /// They are absent still.
    pub fn need_linters(&self) -> Result<()> {
        let have = || {
            let version = |linter| printed("cargo", &[linter, "--version"], &self.path);
            version("fmt").is_some() && version("clippy").is_some()
        };
        if !have() && self.is_from_debian() {
            packages::install(&["rust-test"])?;
        } else if !have() && self.is_from_rustup() {
            say("installing rustfmt and clippy through rustup");
            Command::new("rustup").args(["component", "add", "rustfmt", "clippy"]).status()?;
        }
        if !have() {
            bail!("needs the rustfmt and clippy of {}", self.sysroot.display());
        }
        Ok(())
    }
}

/// The features with which cargo builds a package.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Features {
    /// The features besides the default ones.
    pub names: Vec<String>,
    /// The default features are absent, unless `names` has them.
    pub is_bare: bool,
}

impl Features {
    /// Cargo's arguments; none for a package with its default features.
    pub fn arguments(&self) -> Vec<String> {
        let bare = self.is_bare.then(|| "--no-default-features".to_owned());
        let named =
            (!self.names.is_empty()).then(|| format!("--features={}", self.names.join(",")));
        bare.into_iter().chain(named).collect()
    }
}

/// Cargo's environment variable for an option of a target, such as `LINKER` or `RUSTFLAGS`.
pub fn variable(triple: &str, option: &str) -> String {
    format!("CARGO_TARGET_{}_{option}", triple.to_uppercase().replace(['-', '.'], "_"))
}

/// The first line that a program prints, if it ends well. Asked in the repository, where a file may
/// choose the toolchain.
fn printed(program: &str, arguments: &[&str], path: &OsStr) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).env("PATH", path).current_dir(root()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}
