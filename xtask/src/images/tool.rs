//! The programs and libraries that machines need besides their images: QEMU's plugin, and the
//! simulators of the bench board.

use std::{collections::BTreeSet, env, path::Path, process::Command};

use anyhow::{Context, Result};
use chronoscope_chips::Table;

use super::index::ToolRow;
use crate::{
    bill::{self, Crate, Part},
    command,
    rust::Features,
};

/// A tool, and how it is built.
pub struct Tool {
    pub name: String,
    /// The machines that need it.
    machines: Vec<String>,
    /// The arguments with which this program builds it.
    build: Vec<String>,
    /// The file's path relative to the build folder.
    pub file: String,
    /// Everything that is linked into the file.
    pub parts: Vec<Part>,
}

/// The tools: QEMU's plugin, and the simulated boards, each with the name of its core.
pub fn all() -> Vec<Tool> {
    let table = Table::read();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let plugin = Tool {
        name: "qemu-plugin".to_owned(),
        machines: table
            .targets()
            .filter(|chip| chip.pins.is_some())
            .map(|chip| chip.name.clone())
            .collect(),
        build: words("plugin build --release --locked"),
        file: "qemu-plugin/release/libchronoscope_qemu_plugin.so".to_owned(),
        parts: vec![Part::Crate(Crate {
            manifest: "ports/qemu-plugin/Cargo.toml",
            package: "chronoscope-qemu-plugin".to_owned(),
            features: Features::default(),
            triple: bill::host(),
        })],
    };
    let board = |core: &chronoscope_chips::Core| Tool {
        name: core.name.clone(),
        machines: vec![core.name.clone()],
        build: words(&format!("bench {} build", core.name)),
        file: format!("bench/{}/release/chronoscope-bench", core.name),
        parts: vec![
            Part::Crate(Crate {
                manifest: "bench/Cargo.toml",
                package: "chronoscope-bench".to_owned(),
                features: Features { names: vec![core.name.clone()], is_bare: false },
                triple: bill::host(),
            }),
            Part::Core(core.name.clone()),
        ],
    };
    [plugin].into_iter().chain(table.cores.iter().map(board)).collect()
}

/// The tools that these machines need.
pub fn needed_by(machines: &BTreeSet<&str>) -> impl Iterator<Item = Tool> {
    let is_needed = |tool: &Tool| tool.machines.iter().any(|name| machines.contains(&**name));
    all().into_iter().filter(is_needed)
}

impl Tool {
    /// Runs cargo for the tool, which builds into the folder `target`. Cargo decides whether there
    /// is anything to do.
    pub fn build(&self, target: &Path) -> Result<()> {
        let mut builder = Command::new(env::current_exe()?);
        builder.args(&self.build).env("CARGO_TARGET_DIR", target);
        command::run(&mut builder).with_context(|| {
            format!("{} could not be built: cargo xtask {}", self.name, self.build.join(" "))
        })
    }

    /// The tool's row in an index, to which `path` is relative.
    pub fn row(&self, path: String) -> ToolRow {
        ToolRow { name: self.name.clone(), path, sha256: None }
    }
}
