//! The compiler of images, wrapped so that an image has the same bytes in every checkout.
//!
//! Cargo hashes the folder of a package outside the workspace's own folder into `-C metadata`. That
//! decides the names of symbols, and so the order of functions: without this module a checkout in
//! another folder is another image, whose figures can differ by some instructions. Cargo calls
//! `RUSTC_WRAPPER` in place of the compiler, as `xtask rustc ARGUMENT…`; this module changes the
//! arguments and becomes the compiler.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result};

use crate::{command::become_command, repository::root};

/// The programs that cargo calls through the wrapper.
const COMPILERS: [&str; 2] = ["rustc", "clippy-driver"];

/// The options that distinguish the crates of one build, in addition to the package's name and
/// version.
const DISTINGUISHING: [&str; 4] = ["--crate-name", "--crate-type", "--cfg", "--target"];

/// Makes `cargo` compile with this module's arguments.
///
/// # Errors
/// The system does not report this program's path.
pub fn wrap(cargo: &mut Command) -> Result<()> {
    cargo.env("RUSTC_WRAPPER", env::current_exe().context("the path of this program is unknown")?);
    Ok(())
}

/// Returns whether cargo called this program in place of a compiler.
pub fn is_called(arguments: &[&str]) -> bool {
    let program = arguments.first().and_then(|first| Path::new(first).file_name());
    program.and_then(OsStr::to_str).is_some_and(|name| COMPILERS.contains(&name))
}

/// Becomes the compiler.
///
/// # Errors
/// It cannot be started.
pub fn run(arguments: &[&str]) -> Result<()> {
    let mut compiler = Command::new(arguments[0]);
    // Cargo asks for the compiler's version without a package.
    match env::var_os("CARGO_MANIFEST_DIR") {
        Some(package) => {
            let package = Path::new(&package);
            let is_ours = package.starts_with(root());
            let name = is_ours.then(|| name(&arguments[1..]));
            compiler.args(arguments[1..].iter().map(|argument| match &name {
                Some(name) if argument.starts_with("metadata=") => name,
                _ => *argument,
            }));
            let folder = if is_ours { root() } else { package.parent().unwrap_or(package) };
            compiler.arg(remap(folder));
        }
        None => drop(compiler.args(&arguments[1..])),
    }
    become_command(compiler)
}

/// The `metadata` of a crate of this repository, which names no folder.
fn name(arguments: &[&str]) -> String {
    let variable = |key: &str| env::var(key).unwrap_or_default();
    let mut name = format!("metadata={}", variable("CARGO_PKG_NAME"));
    name += &format!(" {}", variable("CARGO_PKG_VERSION"));
    for pair in arguments.windows(2).filter(|pair| DISTINGUISHING.contains(&pair[0])) {
        name += &format!(" {}", pair[1]);
    }
    name
}

/// The option by which messages and debug information leave out a folder.
fn remap(folder: &Path) -> OsString {
    let mut option = OsString::from("--remap-path-prefix=");
    option.push(folder);
    option.push("=");
    option
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<&str> {
        line.split(' ').collect()
    }

    #[test]
    fn a_compiler_is_no_subcommand() {
        assert!(is_called(&words("/usr/bin/rustc -vV")));
        assert!(is_called(&words("clippy-driver rustc -vV")));
        assert!(!is_called(&words("firmware riscv32imc-unknown-none-elf build")));
    }

    #[test]
    fn crates_of_one_build_have_names_of_their_own() {
        let one = "--crate-name tandem src/lib.rs --crate-type lib --cfg fence -C metadata=1";
        let name_of = |line: &str| name(&words(line));
        assert_eq!(name_of(one), name_of(&one.replace("metadata=1", "metadata=2")));
        for (from, to) in [("lib --cfg", "bin --cfg"), ("fence", "trace"), ("tandem", "c")] {
            assert_ne!(name_of(one), name_of(&one.replacen(from, to, 1)));
        }
    }
}
