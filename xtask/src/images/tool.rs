//! The programs and libraries that machines need besides their images: QEMU's plugin, and the
//! simulators of the bench board.

use std::{collections::BTreeSet, env, path::Path, process::Command};

use anyhow::{Context, Result};

use super::index::ToolRow;
use crate::command;

/// A tool, and how it is built.
pub struct Tool {
    pub name: &'static str,
    /// The machines that need it.
    machines: &'static [&'static str],
    /// The arguments with which this program builds it.
    build: &'static [&'static str],
    /// The file's path relative to the build folder.
    pub file: &'static str,
}

/// The simulated board with a core.
macro_rules! board {
    ($core:literal) => {
        Tool {
            name: $core,
            machines: &[$core],
            build: &["bench", $core, "build"],
            file: concat!("bench/", $core, "/release/chronoscope-bench"),
        }
    };
}

/// The tools. A simulated board has the name of its core.
pub static TOOLS: [Tool; 5] = [
    Tool {
        name: "qemu-plugin",
        machines: &["cortex-m3", "cortex-m4", "rv32"],
        build: &["plugin", "build", "--release", "--locked"],
        file: "qemu-plugin/release/libchronoscope_qemu_plugin.so",
    },
    board!("ibex"),
    board!("ibex-wb"),
    board!("cv32e40p"),
    board!("cva6"),
];

/// The tools that these machines need.
pub fn needed_by(machines: &BTreeSet<&str>) -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(|tool| tool.machines.iter().any(|name| machines.contains(name)))
}

impl Tool {
    /// Runs cargo for the tool, which builds into the folder `target`. Cargo decides whether there
    /// is anything to do.
    pub fn build(&self, target: &Path) -> Result<()> {
        let mut builder = Command::new(env::current_exe()?);
        builder.args(self.build).env("CARGO_TARGET_DIR", target);
        command::run(&mut builder).with_context(|| {
            format!("{} could not be built: cargo xtask {}", self.name, self.build.join(" "))
        })
    }

    /// The tool's row in an index, to which `path` is relative.
    pub fn row(&self, path: String) -> ToolRow {
        ToolRow { name: self.name.to_owned(), path, sha256: None }
    }
}
