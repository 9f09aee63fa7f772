//! cargo for a microcontroller, in the workspace ports/firmware.
//!
//! The chip's core library comes from rustup. Where rustup cannot give it, Debian's compiler builds
//! it from Debian's source. The images are in `target/firmware/TRIPLE`: apart from the lab's own
//! files, since the second way would have cargo rebuild those each time. An image has the same bytes in every
//! checkout ([`compiler`]).

use std::{path::Path, process::Command};

use anyhow::{Result, bail};

use crate::{
    compiler, packages,
    repository::{become_command, root, target},
    rust::Toolchain,
};

pub const USAGE: &str = "firmware TRIPLE COMMAND ARGUMENT…  \
    cargo for a microcontroller, as in: firmware thumbv7em-none-eabihf build --release --package chronoscope-bare";

pub fn run(arguments: &[String]) -> Result<()> {
    let [triple, command, rest @ ..] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    let mut cargo = cargo(triple, command, &target()?)?;
    cargo.args(rest);
    become_command(cargo)
}

/// QEMU's program for the chip: also the name under which `tools/packages.txt` lists its package.
fn emulator(triple: &str) -> &'static str {
    match triple.split_at(7).0 {
        "riscv32" => "qemu-system-riscv32",
        "riscv64" => "qemu-system-riscv64",
        _ => "qemu-system-arm",
    }
}

/// The chip's C compiler: also the name under which `tools/packages.txt` lists its package.
pub fn c_compiler(triple: &str) -> &'static str {
    if triple.starts_with("riscv32") { "riscv64-unknown-elf-gcc" } else { "arm-none-eabi-gcc" }
}

/// `cargo COMMAND --target TRIPLE`, to which arguments can be added; it builds in the folder
/// `firmware` of the build folder `target`. Installs the emulator, too, where that is absent.
///
/// # Errors
/// There is no toolchain for the chip, and none can be installed.
pub fn cargo(triple: &str, command: &str, target: &Path) -> Result<Command> {
    let emulator = emulator(triple);
    packages::need(&[emulator], emulator)?;
    let toolchain = Toolchain::find()?;
    let mut cargo = if toolchain.has_library(triple)? {
        toolchain.cargo(command)
    } else {
        let mut cargo = Toolchain::with_debians_source(command, "core,alloc")?;
        let linker = triple.to_uppercase().replace(['-', '.'], "_");
        cargo.env(format!("CARGO_TARGET_{linker}_LINKER"), "ld.lld");
        cargo
    };
    // In that folder, since its .cargo/config.toml counts.
    cargo.current_dir(root().join("ports/firmware"));
    cargo.env("CARGO_TARGET_DIR", target.join("firmware"));
    cargo.args(["--target", triple]);
    compiler::wrap(&mut cargo)?;
    Ok(cargo)
}
