//! How QEMU is started for a row of the table of chips.

use std::{path::Path, process::Command};

use chronoscope_chips::Chip;
use object::Architecture;

/// QEMU's arguments for all chips: the host's user interface is off.
const ARGUMENTS: [&str; 8] =
    ["-display", "none", "-monitor", "none", "-serial", "null", "-parallel", "null"];

/// The architecture of a chip's images.
pub fn architecture(chip: &Chip) -> Architecture {
    match chip.architecture() {
        "riscv32" => Architecture::Riscv32,
        "riscv64" => Architecture::Riscv64,
        _ => Architecture::Arm,
    }
}

/// A path in an option of QEMU's, where commas end a value.
pub fn quoted(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// The command that starts a chip without an image. A sleeping processor skips to the next event at
/// once.
pub fn command(chip: &Chip) -> Command {
    let mut qemu = Command::new(chip.program());
    qemu.args(chip.arguments(None)).arg("-icount");
    qemu.arg(format!("shift={},sleep=off,align=off", chip.qemu.shift)).args(ARGUMENTS);
    qemu
}
