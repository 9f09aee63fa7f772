//! Runs cargo for the guest's program: the Linux port, statically linked, as the only program of a
//! virtual machine.
//!
//! Cargo builds into `target/guest`; intermediate files are shared with the lab's own build. Without
//! a command of cargo's, the program is built unless it is fresh.
//!
//! For a guest with another processor than the host's, the standard library comes from rustup.
//! Where rustup cannot give it, it is built from Debian's source. The linker is Debian's cross
//! compiler.

use std::{env::consts::ARCH, path::PathBuf, process::Command};

use anyhow::{Result, bail};

use crate::{
    command::{self, become_command},
    firmware::BUILD_DIR,
    fresh, packages,
    repository::{root, target},
    rust::{self, Toolchain},
};

pub const USAGE: &str = "guest TRIPLE [COMMAND ARGUMENT…]  \
    builds the guest's program; or: cargo for it, as in: guest x86_64-unknown-linux-gnu clippy --package chronoscope-linux";

/// The package of the guest's program, and the program.
const PROGRAM: &str = "chronoscope-linux";

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
    let [triple, words @ ..] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    let Some(processor) = PROCESSORS.iter().find(|processor| processor.triple == *triple) else {
        let triples = PROCESSORS.iter().map(|processor| processor.triple).collect::<Vec<_>>();
        bail!("guests are built for {}, not for `{triple}`", triples.join(" and "));
    };
    let (emulator, when) = processor.emulator;
    packages::need(&[emulator], when)?;
    match words {
        [] => fresh::unless_fresh(&program(triple)?, || {
            let words = ["--release", "--locked", "--package", PROGRAM];
            command::run(&mut cargo(processor, "build", &words)?)
        })
        .map(drop),
        [command, words @ ..] => become_command(cargo(processor, command, words)?),
    }
}

/// The path of the program that this module builds for guests of a processor.
///
/// # Errors
/// The build folder cannot be created.
pub fn program(triple: &str) -> Result<PathBuf> {
    Ok(target()?.join("guest").join(triple).join("release").join(PROGRAM))
}

/// `cargo COMMAND WORDS…` for a processor, into the guest's build folder.
fn cargo(processor: &Processor, command: &str, words: &[&str]) -> Result<Command> {
    let mut cargo = toolchain(processor, command)?;
    cargo.args(["--target", processor.triple]).args(words);
    cargo.current_dir(root()).env("CARGO_TARGET_DIR", target()?.join("guest"));
    cargo.env(BUILD_DIR, target()?);
    Ok(cargo)
}

/// `cargo COMMAND` with the processor's library, linker and flags. Installs the library and the
/// linker where they are absent.
fn toolchain(processor: &Processor, command: &str) -> Result<Command> {
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
