//! tandem's interface for C: builds the library and its examples, and runs them on an emulated
//! chip.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use super::{chip::Chip, emulate};
use crate::{
    firmware, packages,
    repository::{root, target},
};

const CHIP: &str = "cortex-m4";
const COMPILER: &str = "arm-none-eabi-gcc";

/// The compiler's options, as `docs/tandem-c.md` gives them to users.
const OPTIONS: [&str; 14] = [
    "-mcpu=cortex-m4",
    "-mthumb",
    "-mfloat-abi=hard",
    "-mfpu=fpv4-sp-d16",
    "-std=c11",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffreestanding",
    "-ffunction-sections",
    "-nostdlib",
    "-Wl,--gc-sections",
    "-Wl,-z,noexecstack",
];

/// Each example, and a text that its output must contain.
const EXAMPLES: [(&str, &str); 3] = [
    ("blinky", "60 ms  lamp off 5"),
    ("calls", "all calls: ok"),
    ("benchmark", "tick -> sleeping thread"),
];

/// Programs that must end with a report, which is the example `misuse` with a number: the case and
/// the report.
const MISUSE: [(&str, &str); 6] = [
    ("1", "task waits: tandem_semaphore_take in a handler, in a critical section"),
    ("2", "task waits: Me::delay_until would wait in a critical section"),
    ("3", "a thread locks a mutex that it has locked"),
    ("4", "task waits: unlocks a mutex that it has not locked"),
    ("5", "stack overflow in task waits"),
    ("6", "task idle: tandem_mutex_lock in a handler"),
];

/// Builds and runs every example, and prints their output.
pub fn run() -> Result<()> {
    packages::need(&[COMPILER], COMPILER)?;
    let chip = Chip::find(CHIP)?;
    let mut cargo = firmware::cargo(chip.triple, "build", &target()?)?;
    cargo.args(["--release", "--locked", "--package", "tandem-c", "--features", "spin"]);
    if !cargo.status().context("cannot start cargo")?.success() {
        bail!("tandem's library for C does not build");
    }
    for (example, text) in EXAMPLES {
        emulate::run_image(chip, &compile(chip, example, &[])?, text, true)?;
    }
    for (case, report) in MISUSE {
        let image = compile(chip, "misuse", &[&format!("-DCASE={case}")])?;
        emulate::run_image(chip, &image, report, false)?;
    }
    Ok(())
}

/// Compiles an example. Returns the name of the image in the chip's folder.
fn compile(chip: &Chip, example: &str, more: &[&str]) -> Result<String> {
    let folder = target()?.join("firmware").join(chip.triple);
    fs::create_dir_all(folder.join("c"))?;
    let image = format!("c/{example}");
    let c = root().join("tandem/c");
    let file = |name: &str| c.join(name).display().to_string();
    let mut compiler = Command::new(COMPILER);
    compiler.args(OPTIONS).args(more).arg(format!("-I{}", file("include")));
    compiler.args(["-T", &file("examples/stm32f405.ld")]);
    compiler.args([file(&format!("examples/{example}.c")), file("examples/board.c")]);
    compiler.arg(folder.join("release/libtandem_c.a")).arg(file("cmsis.ld"));
    compiler.arg("-lgcc").arg("-o").arg(Path::new(&folder).join(&image));
    if !compiler.status().context("cannot start the C compiler")?.success() {
        bail!("{example}.c does not compile");
    }
    Ok(image)
}
