//! Runs cargo for a microcontroller, in the workspace `ports/firmware`.
//!
//! The chip's core library comes from rustup. Where rustup cannot give it, Debian's compiler builds
//! it from Debian's source. The images are in `target/firmware/TRIPLE`. In a common folder, cargo
//! would rebuild the lab's files whenever the two compilers take turns. An image has the same bytes
//! in every checkout ([`compiler`]).

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use chronoscope_chips::{Chip, Table};
use serde_json::Value;

use crate::{
    command::{self, become_command},
    compiler, packages,
    repository::{root, target},
    rust::{self, Toolchain},
};

pub const USAGE: &str = "firmware TRIPLE COMMAND ARGUMENT…  \
    cargo for a microcontroller, as in: firmware thumbv7em-none-eabihf build --release --package chronoscope-bare";

pub fn run(arguments: &[&str]) -> Result<()> {
    let [triple, command, rest @ ..] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    let mut cargo = cargo(triple, command, &target()?)?;
    cargo.args(rest);
    become_command(cargo)
}

/// The first chip of the table with this target of the compiler.
///
/// # Errors
/// There is none.
fn with_chip<T>(triple: &str, of: impl Fn(&Chip) -> T) -> Result<T> {
    let table = Table::read();
    let chip = table.chips.iter().find(|chip| chip.triple == triple);
    chip.map(of).with_context(|| format!("the table of chips has no {triple}"))
}

/// The chip's C compiler. `tools/packages.txt` lists its package for the occasion of the same name.
///
/// # Errors
/// No chip has this target.
pub fn c_compiler(triple: &str) -> Result<&'static str> {
    with_chip(triple, Chip::c_compiler)
}

/// Cargo's variable for the folder of intermediate files.
pub const BUILD_DIR: &str = "CARGO_BUILD_BUILD_DIR";

/// The folder of the intermediate files of the workspace `ports/firmware`. Builds with other features
/// have a folder of their own for the image alone: what they share is compiled once.
///
/// # Errors
/// The build folder cannot be created.
pub fn build_folder() -> Result<PathBuf> {
    Ok(target()?.join("firmware/build"))
}

/// Installs the emulator of the chips with this target of the compiler, where it is absent.
///
/// # Errors
/// No chip has this target, or the emulator cannot be installed.
pub fn install_emulator(triple: &str) -> Result<()> {
    // `tools/packages.txt` lists its package for the occasion of the same name.
    let emulator = with_chip(triple, Chip::program)?;
    packages::need(&[emulator], emulator)
}

/// `cargo COMMAND --target TRIPLE`, to which the caller can add arguments. Cargo builds into
/// `target/firmware`. Installs the chip's emulator and library where they are absent.
///
/// # Errors
/// There is no toolchain for the chip, and none can be installed.
pub fn cargo(triple: &str, command: &str, target: &Path) -> Result<Command> {
    install_emulator(triple)?;
    let toolchain = Toolchain::find()?;
    let mut cargo = if toolchain.has_library(triple)? {
        toolchain.cargo(command)
    } else {
        let mut cargo = Toolchain::with_debians_source(command, "core,alloc")?;
        cargo.env(rust::variable(triple, "LINKER"), "ld.lld");
        cargo
    };
    // Cargo reads `.cargo/config.toml` of the folder in which it starts.
    cargo.current_dir(root().join("ports/firmware"));
    cargo.env("CARGO_TARGET_DIR", target.join("firmware")).env(BUILD_DIR, build_folder()?);
    cargo.args(["--target", triple]);
    compiler::wrap(&mut cargo)?;
    Ok(cargo)
}

/// The path of an image that [`cargo`] has built with the profile `release`.
///
/// # Errors
/// The build folder cannot be created.
pub fn image(triple: &str, name: &str) -> Result<PathBuf> {
    Ok(target()?.join("firmware").join(triple).join("release").join(name))
}

/// The folder of FreeRTOS's source, which cargo fetches.
///
/// # Errors
/// Cargo cannot fetch the package.
pub fn freertos_source() -> Result<PathBuf> {
    let manifest = root().join("ports/firmware/kernels/freertos/source/Cargo.toml");
    let mut cargo = Toolchain::find()?.cargo("metadata");
    cargo.args(["--locked", "--format-version", "1", "--manifest-path"]).arg(manifest);
    let output = command::output(&mut cargo).context("FreeRTOS's source")?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == "freertos-next");
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.context("freertos-next is no package of the manifest")?);
    Ok(manifest.with_file_name("FreeRTOS-Kernel"))
}
