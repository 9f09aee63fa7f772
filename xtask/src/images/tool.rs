//! The programs and libraries that machines need besides their images: QEMU's plugin, and the
//! simulators of the bench board.

use std::{collections::BTreeSet, env, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use super::index::Built;

/// How a tool is built.
pub struct Tool {
    pub name: &'static str,
    /// The machines that need it.
    machines: &'static [&'static str],
    /// The arguments with which this program builds it.
    build: &'static [&'static str],
    /// The file's path relative to the build folder.
    pub file: &'static str,
}

/// A board is called as the core on it.
pub const TOOLS: [Tool; 5] = [
    Tool {
        name: "qemu-plugin",
        machines: &["cortex-m3", "cortex-m4", "rv32"],
        build: &["plugin", "build", "--release", "--locked"],
        file: "qemu-plugin/release/libchronoscope_qemu_plugin.so",
    },
    Tool {
        name: "ibex",
        machines: &["ibex"],
        build: &["bench", "ibex", "build"],
        file: "bench/ibex/release/chronoscope-bench",
    },
    Tool {
        name: "ibex-wb",
        machines: &["ibex-wb"],
        build: &["bench", "ibex-wb", "build"],
        file: "bench/ibex-wb/release/chronoscope-bench",
    },
    Tool {
        name: "cv32e40p",
        machines: &["cv32e40p"],
        build: &["bench", "cv32e40p", "build"],
        file: "bench/cv32e40p/release/chronoscope-bench",
    },
    Tool {
        name: "cva6",
        machines: &["cva6"],
        build: &["bench", "cva6", "build"],
        file: "bench/cva6/release/chronoscope-bench",
    },
];

/// The tools that these machines need.
pub fn of(machines: &BTreeSet<&str>) -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(|tool| tool.machines.iter().any(|name| machines.contains(name)))
}

impl Tool {
    /// Runs cargo for the tool, which builds into the folder `target`. Cargo decides whether there
    /// is anything to do.
    pub fn build(&self, target: &Path) -> Result<()> {
        let mut builder = Command::new(env::current_exe()?);
        builder.args(self.build).env("CARGO_TARGET_DIR", target);
        let status = builder.status().context("cannot start the builder")?;
        if !status.success() {
            bail!("{} could not be built: cargo xtask {}", self.name, self.build.join(" "));
        }
        Ok(())
    }

    /// The tool's row in an index, to which `path` is relative.
    pub fn row(&self, path: String) -> Built {
        Built { name: self.name.to_owned(), path, sha256: None }
    }
}
