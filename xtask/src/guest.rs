//! cargo for the Linux port as the only program of a virtual machine, linked statically.
//!
//! The program is in `target/guest`: apart from the lab's own files, since other flags would have
//! cargo rebuild those each time.

use anyhow::{Result, bail};

use crate::{
    packages,
    repository::{become_command, root, target},
    rust::Toolchain,
};

pub const USAGE: &str = "guest COMMAND ARGUMENT…  \
    cargo for the guest's program, as in: guest build --release --package chronoscope-linux";

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Process 1 has no loader; and a panic in it ends the machine in any case.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static -C panic=abort \
                     -C strip=symbols";

pub fn run(arguments: &[String]) -> Result<()> {
    let [command, rest @ ..] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    packages::need(&["qemu-system-x86_64"], "vm")?;
    let mut cargo = Toolchain::find()?.cargo(command);
    cargo.args(["--target", TRIPLE]).args(rest);
    cargo.current_dir(root()).env("CARGO_TARGET_DIR", target()?.join("guest"));
    cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", FLAGS);
    become_command(cargo)
}
