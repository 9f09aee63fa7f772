//! cargo for the bench board, once for each core.
//!
//! The cores are no part of this repository: pip fetches the packages that hold them, whose hashes
//! are in bench/cores.txt, and Verilator makes programs of them. The program is
//! `target/bench/CORE/release/chronoscope-bench`, optimised always.

use std::{fs, fs::File, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    command::{self, become_command},
    firmware::BUILD_DIR,
    images::sha256,
    packages,
    repository::{self, root, target},
    rust::Toolchain,
    say,
};

pub const USAGE: &str = "bench ibex|ibex-wb|cv32e40p|cva6 COMMAND ARGUMENT…  cargo for the bench board, as in: bench ibex build";

pub fn run(arguments: &[&str]) -> Result<()> {
    let [core, command, rest @ ..] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    let toolchain = Toolchain::find()?;
    packages::need(&["verilator", "g++"], "bench")?;
    let folder = target()?.join("bench");
    fetch_cores(&folder)?;
    let mut cargo = toolchain.cargo(command);
    cargo.current_dir(root().join("bench"));
    if *command != "fmt" {
        cargo.env("CHRONOSCOPE_BOARD", identity(core)?);
        cargo.args(["--locked", "--features", core]);
        if !rest.contains(&"--release") {
            cargo.arg("--release");
        }
    }
    cargo.args(rest);
    cargo.env("CARGO_TARGET_DIR", folder.join(core)).env(BUILD_DIR, folder.join("build"));
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
    if command::output(&mut python(&["-m", "pip", "--version"])).is_err() {
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
    command::run(&mut pip).context("could not fetch the cores that bench/cores.txt lists")?;
    for wheel in fs::read_dir(&wheels)? {
        let wheel = wheel?.path();
        command::run(python(&["-m", "zipfile", "-e"]).arg(&wheel).arg(&cores))
            .with_context(|| format!("could not unpack {}", wheel.display()))?;
    }
    fs::write(cores.join("cores.txt"), listed)?;
    Ok(())
}

/// The versions and hashes that identify the board with a core, as lines `NAME: VALUE`. The board's
/// program prints them.
fn identity(core: &str) -> Result<String> {
    let bench = root().join("bench");
    let list = repository::read(&bench.join("cores.txt"))?;
    let package = format!("pythondata-cpu-{}==", core.trim_end_matches("-wb"));
    let wheel = list.lines().find(|line| line.starts_with(&package));
    let wheel = wheel.with_context(|| format!("bench/cores.txt does not name {core}"))?;
    let wheel = wheel.replace("==", " ").replace(" --hash=sha256:", ", sha256 ");
    let mut sources = Vec::new();
    for folder in ["rtl", "src"] {
        for entry in fs::read_dir(bench.join(folder))? {
            let path = entry?.path();
            sources.push((path.file_name().map(ToOwned::to_owned), sha256(&fs::read(&path)?)));
        }
    }
    sources.sort();
    let sources: String = sources.into_iter().map(|(_, hash)| hash).collect();
    let sources = sha256(sources.as_bytes());
    let verilator = command::output(Command::new("verilator").arg("--version"))?;
    let verilator = command::text(&verilator);
    let verilator = verilator.trim();
    Ok(format!(
        "core: {core}\ncore's source: {wheel}\nsimulator: {verilator}\nboard: sha256 {sources}"
    ))
}

fn python(arguments: &[&str]) -> Command {
    let mut python = Command::new("python3");
    python.args(arguments);
    python
}
