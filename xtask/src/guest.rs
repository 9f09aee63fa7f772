//! Runs cargo for the guest's program: the Linux port, statically linked, as the only program of a
//! virtual machine.
//!
//! Cargo builds into `target/guest`; intermediate files are shared with the lab's own build.
//!
//! For a guest with another processor than the host's, the standard library comes from rustup.
//! Where rustup cannot give it, it is built from Debian's source. The linker is Debian's cross
//! compiler.

use std::{env::consts::ARCH, process::Command};

use anyhow::{Result, bail};

use crate::{
    command::become_command,
    firmware::BUILD_DIR,
    packages,
    repository::{root, target},
    rust::{self, Toolchain},
};

pub const USAGE: &str = "guest TRIPLE COMMAND ARGUMENT…  \
    cargo for the guest's program, as in: guest x86_64-unknown-linux-gnu build --release --package chronoscope-linux";

/// The compiler's flags. The program is linked statically, since process 1 has no dynamic loader. A
/// panic aborts, since the end of process 1 ends the machine in any case.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static -C panic=abort \
                     -C strip=symbols";

/// A processor of guests.
struct Processor {
    triple: &'static str,
    /// QEMU's program, and the occasion (`WHEN`) for which `tools/packages.txt` lists its package.
    emulator: (&'static str, &'static str),
    /// The linker on a host with another processor. `tools/packages.txt` lists its package for the
    /// occasion of the same name.
    linker: &'static str,
}

static PROCESSORS: [Processor; 2] = [
    Processor {
        triple: "x86_64-unknown-linux-gnu",
        emulator: ("qemu-system-x86_64", "vm"),
        linker: "x86_64-linux-gnu-gcc",
    },
    Processor {
        triple: "aarch64-unknown-linux-gnu",
        emulator: ("qemu-system-aarch64", "vm-arm64"),
        linker: "aarch64-linux-gnu-gcc",
    },
];

pub fn run(arguments: &[&str]) -> Result<()> {
    let [triple, command, rest @ ..] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    let Some(processor) = PROCESSORS.iter().find(|processor| processor.triple == *triple) else {
        let triples = PROCESSORS.iter().map(|processor| processor.triple).collect::<Vec<_>>();
        bail!("guests are built for {}, not for `{triple}`", triples.join(" and "));
    };
    let (emulator, when) = processor.emulator;
    packages::need(&[emulator], when)?;
    let mut cargo = cargo(processor, command)?;
    cargo.args(["--target", triple]).args(rest);
    cargo.current_dir(root()).env("CARGO_TARGET_DIR", target()?.join("guest"));
    cargo.env(BUILD_DIR, target()?);
    become_command(cargo)
}

/// `cargo COMMAND` with the processor's library, linker and flags. Installs the library and the
/// linker where they are absent.
fn cargo(processor: &Processor, command: &str) -> Result<Command> {
    let toolchain = Toolchain::find()?;
    let variable = |name| rust::variable(processor.triple, name);
    if processor.triple.starts_with(ARCH) {
        let mut cargo = toolchain.cargo(command);
        cargo.env(variable("RUSTFLAGS"), FLAGS);
        return Ok(cargo);
    }
    let linker = processor.linker;
    packages::need(&[linker], linker)?;
    let mut cargo = if toolchain.has_library(processor.triple)? {
        toolchain.cargo(command)
    } else {
        Toolchain::with_debians_source(command, "std,panic_abort")?
    };
    cargo.env(variable("RUSTFLAGS"), FLAGS).env(variable("LINKER"), linker);
    Ok(cargo)
}
