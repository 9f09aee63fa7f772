//! cargo for QEMU's plugin, which shows pins and interrupts of an emulated microcontroller.
//!
//! The library is in `target/qemu-plugin`.

use anyhow::{Result, bail};

use crate::{
    command::become_command,
    firmware,
    repository::{root, target},
    rust::Toolchain,
};

pub const USAGE: &str =
    "plugin COMMAND ARGUMENT…  cargo for QEMU's plugin, as in: plugin build --release --locked";

pub fn run(arguments: &[&str]) -> Result<()> {
    let [command, rest @ ..] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    let mut cargo = Toolchain::find()?.cargo(command);
    cargo.args(rest);
    cargo.current_dir(root().join("ports/qemu-plugin"));
    cargo.env("CARGO_TARGET_DIR", target()?.join("qemu-plugin"));
    cargo.env(firmware::BUILD_DIR, firmware::build_folder()?);
    become_command(cargo)
}
