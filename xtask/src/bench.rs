//! cargo for the bench board, once for each core.
//!
//! The cores are no part of this repository: pip fetches the packages that hold them, whose hashes
//! bench/cores.txt has, and Verilator makes programs of them. The program is
//! `target/bench/CORE/release/chronoscope-bench`, optimised always.

use std::{fs, fs::File, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    packages,
    repository::{become_command, root, target},
    rust::Toolchain,
    say,
};

pub const USAGE: &str = "bench ibex|ibex-wb|cv32e40p COMMAND ARGUMENT…  cargo for the bench board, as in: bench ibex build";

pub fn run(arguments: &[String]) -> Result<()> {
    let [core, command, rest @ ..] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    let toolchain = Toolchain::find()?;
    packages::need(&["verilator", "g++"], "bench")?;
    let folder = target()?.join("bench");
    fetch_cores(&folder)?;
    let mut cargo = toolchain.cargo(command);
    cargo.current_dir(root().join("bench"));
    if command != "fmt" {
        cargo.args(["--locked", "--features", core]);
        if !rest.iter().any(|argument| argument == "--release") {
            cargo.arg("--release");
        }
    }
    cargo.args(rest);
    cargo.env("CARGO_TARGET_DIR", folder.join(core));
    cargo.env("CHRONOSCOPE_CORES", folder.join("cores"));
    become_command(cargo)
}

/// Unpacks the packages of bench/cores.txt in `folder/cores`, unless they are there.
fn fetch_cores(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    // Two labs may come here at once; the file is unlocked when it is closed.
    let lock = File::create(folder.join(".lock"))?;
    lock.lock()?;
    let list = root().join("bench/cores.txt");
    let (cores, wheels) = (folder.join("cores"), folder.join("wheels"));
    let listed = fs::read(&list).with_context(|| list.display().to_string())?;
    if fs::read(cores.join("cores.txt")).is_ok_and(|unpacked| unpacked == listed) {
        return Ok(());
    }
    if !python(&["-m", "pip", "--version"]).output().is_ok_and(|output| output.status.success()) {
        packages::install(&["pip"])?;
    }
    say("fetching the cores");
    for folder in [&cores, &wheels] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
    }
    let mut pip = python(&["-m", "pip", "--disable-pip-version-check", "--quiet", "download"]);
    pip.args(["--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement"]);
    pip.arg(&list).arg("--dest").arg(&wheels);
    if !pip.status().is_ok_and(|status| status.success()) {
        bail!("could not fetch the cores that bench/cores.txt lists");
    }
    for wheel in fs::read_dir(&wheels)? {
        let wheel = wheel?.path();
        let status = python(&["-m", "zipfile", "-e"]).arg(&wheel).arg(&cores).status();
        if !status.is_ok_and(|status| status.success()) {
            bail!("could not unpack {}", wheel.display());
        }
    }
    fs::write(cores.join("cores.txt"), listed)?;
    Ok(())
}

fn python(arguments: &[&str]) -> Command {
    let mut python = Command::new("python3");
    python.args(arguments);
    python
}
