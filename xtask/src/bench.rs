//! cargo for the bench board, once for each core.
//!
//! The cores are no part of this repository: pip fetches the package that holds a core, whose hash is
//! in bench/cores.txt, and Verilator makes programs of them. The program is
//! `target/bench/CORE/release/chronoscope-bench`, optimised always.

use std::{fs, fs::File, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    command::{self, become_command},
    firmware::BUILD_DIR,
    images::index::sha256,
    packages,
    repository::{self, root, target},
    rust::Toolchain,
    say,
};

pub const USAGE: &str = "bench ibex|ibex-wb|cv32e40p|cva6|rocket|rocket-small COMMAND ARGUMENT…  cargo for the bench board, as in: bench ibex build";

pub fn run(arguments: &[&str]) -> Result<()> {
    let [core, command, rest @ ..] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    let package = Package::with_core(core)?;
    let toolchain = Toolchain::find()?;
    packages::need(&["verilator", "g++"], "bench")?;
    let folder = target()?.join("bench");
    fetch(package, &folder)?;
    let mut cargo = toolchain.cargo(command);
    cargo.current_dir(root().join("bench"));
    if *command != "fmt" {
        cargo.env("CHRONOSCOPE_BOARD", identity(core, package)?);
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

/// A package of `bench/cores.txt`.
pub struct Package {
    /// The name without its begin, `pythondata-cpu-`.
    name: &'static str,
    /// The licence of the cores' Verilog, by SPDX.
    pub licence: &'static str,
    cores: &'static [&'static str],
    /// The beginnings of the names of the files that the boards need.
    files: &'static [&'static str],
}

const PACKAGES: [Package; 4] = [
    Package {
        name: "ibex",
        licence: "Apache-2.0",
        cores: &["ibex", "ibex-wb"],
        files: &["pythondata_cpu_ibex/system_verilog/"],
    },
    Package {
        name: "cv32e40p",
        licence: "SHL-0.51",
        cores: &["cv32e40p"],
        files: &["pythondata_cpu_cv32e40p/system_verilog/"],
    },
    Package {
        name: "cva6",
        licence: "SHL-0.51",
        cores: &["cva6"],
        files: &["pythondata_cpu_cva6/system_verilog/"],
    },
    // Two configurations of many: 18 MB of 409.
    Package {
        name: "rocket",
        licence: "Apache-2.0",
        cores: &["rocket", "rocket-small"],
        files: &[
            "pythondata_cpu_rocket/verilog/vsrc/plusarg_reader.v",
            "pythondata_cpu_rocket/verilog/generated-src/freechips.rocketchip.system.LitexFullConfig.v",
            "pythondata_cpu_rocket/verilog/generated-src/freechips.rocketchip.system.LitexFullConfig.behav_srams.v",
            "pythondata_cpu_rocket/verilog/generated-src/freechips.rocketchip.system.LitexLinuxConfig.v",
            "pythondata_cpu_rocket/verilog/generated-src/freechips.rocketchip.system.LitexLinuxConfig.behav_srams.v",
        ],
    },
];

impl Package {
    /// The package of a core.
    ///
    /// # Errors
    /// The bench has no such core.
    pub fn with_core(core: &str) -> Result<&'static Self> {
        let mut packages = PACKAGES.iter();
        let package = packages.find(|package| package.cores.contains(&core));
        package.with_context(|| format!("no core `{core}`: usage: cargo xtask {USAGE}"))
    }

    /// The package's version and hash, from its line `NAME==VERSION --hash=sha256:HASH` of
    /// `bench/cores.txt`.
    pub fn pin(&self) -> Result<Pin> {
        let list = repository::read(&root().join("bench/cores.txt"))?;
        let name = format!("pythondata-cpu-{}", self.name);
        let rest = list.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix("=="));
        let parts = rest.and_then(|rest| rest.split_once(" --hash=sha256:"));
        let (version, hash) =
            parts.with_context(|| format!("bench/cores.txt has no version and hash of {name}"))?;
        Ok(Pin { version: version.to_owned(), hash: hash.to_owned(), name })
    }
}

/// The version of a package.
pub struct Pin {
    /// The name in the registry.
    pub name: String,
    pub version: String,
    /// The SHA-256 of the wheel, in hexadecimal digits.
    pub hash: String,
}

impl Pin {
    /// The line for pip.
    fn requirement(&self) -> String {
        format!("{}=={} --hash=sha256:{}", self.name, self.version, self.hash)
    }
}

/// Fetches the package and unpacks its needed files in `folder/cores`, unless they are there.
fn fetch(package: &Package, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    // Two labs may come here at once; the file is unlocked when it is closed.
    let lock = File::create(folder.join(".lock"))?;
    lock.lock()?;
    let (cores, wheels) = (folder.join("cores"), folder.join("wheels"));
    let unpacked = cores.join(format!("{}.txt", package.name));
    let pin = package.pin()?.requirement();
    let wanted = format!("{pin}\n{}\n", package.files.join("\n"));
    if fs::read_to_string(&unpacked).is_ok_and(|unpacked| unpacked == wanted) {
        return Ok(());
    }
    if command::output(&mut python(&["-m", "pip", "--version"])).is_err() {
        packages::install(&["pip"])?;
    }
    say(&format!("fetching the core {}", package.name));
    let _ = fs::remove_dir_all(cores.join(format!("pythondata_cpu_{}", package.name)));
    let _ = fs::remove_dir_all(&wheels);
    fs::create_dir_all(&cores)?;
    fs::create_dir_all(&wheels)?;
    let list = wheels.join("cores.txt");
    fs::write(&list, pin)?;
    let mut pip = python(&["-m", "pip", "--disable-pip-version-check", "--quiet", "download"]);
    pip.args(["--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement"]);
    pip.arg(&list).arg("--dest").arg(&wheels);
    command::run(&mut pip).with_context(|| {
        format!("could not fetch the core {}, which bench/cores.txt lists", package.name)
    })?;
    command::run(python(&["-c", UNPACK]).arg(&wheels).arg(&cores).args(package.files))
        .with_context(|| format!("could not unpack the core {}", package.name))?;
    fs::remove_dir_all(&wheels)?;
    fs::write(unpacked, wanted)?;
    Ok(())
}

/// Unpacks the files of a folder's only wheel whose names begin with one of the arguments.
const UNPACK: &str = r#"
import pathlib, sys, zipfile
folder, cores, *begins = sys.argv[1:]
[wheel] = pathlib.Path(folder).glob("*.whl")
with zipfile.ZipFile(wheel) as files:
    for begin in begins:
        names = [name for name in files.namelist() if name.startswith(begin)]
        if not names:
            sys.exit(f"{wheel.name} has no file {begin}")
        files.extractall(cores, names)
"#;

/// The versions and hashes that identify the board with a core, as lines `NAME: VALUE`. The board's
/// program prints them.
fn identity(core: &str, package: &Package) -> Result<String> {
    let bench = root().join("bench");
    let Pin { name, version, hash } = package.pin()?;
    let wheel = format!("{name} {version}, sha256 {hash}");
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
