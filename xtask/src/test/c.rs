//! tandem's interface for C, and CMSIS-RTOS2 on it: builds the library and the examples, and runs
//! them on an emulated chip.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use super::{chip::Chip, emulate};
use crate::{
    command, firmware, packages,
    repository::{self, root, target},
};

const CHIP: &str = "cortex-m4";
pub const COMPILER: &str = "arm-none-eabi-gcc";

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

/// The example whose program is on the page `docs/tandem-c.md`.
const ON_THE_PAGE: &str = "levels";

/// Each example, and a text that its output must contain.
const EXAMPLES: [(&str, &str); 4] = [
    (ON_THE_PAGE, "level 60"),
    ("blinky", "60 ms  lamp off 5"),
    ("calls", "all calls: ok"),
    ("benchmark", "tick -> sleeping thread"),
];

/// The same for programs with CMSIS-RTOS2.
const LAYERED: [(&str, &str); 3] = [
    ("cmsis", "all calls of CMSIS-RTOS2: ok"),
    ("producer", "50 ms  consumed 5: level 75"),
    ("cmsis_benchmark", "osEventFlagsSet -> higher thread"),
];

/// The options of a program with CMSIS-RTOS2, besides its sources.
const LAYER: [&str; 2] = ["-Itandem/c/cmsis", "-DTANDEM_OS_CLOCK_HZ=1000000000"];

/// The options with which CMSIS-RTOS2 compiles without a warning.
const STRICT: [&str; 9] = [
    "-mcpu=cortex-m4",
    "-mthumb",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Werror",
    "-ffreestanding",
    "-fsyntax-only",
];

/// The heading of the part of `docs/tandem-c.md` that is on CMSIS-RTOS2.
const HEADING: &str = "\n## CMSIS-RTOS2\n";

/// Programs that must end with a report, which is the example `misuse` with a number: the case and
/// the report.
const MISUSE: [(&str, &str); 23] = [
    ("1", "task waits: tandem_semaphore_take in a handler, in a critical section"),
    ("2", "task waits: Me::delay_until would wait in a critical section"),
    ("3", "task waits: a thread locks a mutex that it has locked"),
    ("4", "task waits: unlocks a mutex that it has not locked"),
    ("5", "stack overflow in task waits"),
    ("6", "task idle: tandem_mutex_lock in a handler"),
    ("7", "task waits: task other waits for this event"),
    ("8", "task waits: tandem_spawn: a priority is 0 to 31"),
    ("9", "task waits: the stack is too small"),
    (
        "10",
        "task waits: a stack begins at a multiple of 32, with an FPU and an MPU of 128, and has a multiple of 8 bytes",
    ),
    ("11", "task waits: waits for its own end"),
    ("12", "task waits: a queue has room for at least one byte"),
    ("13", "task waits: a wait for no flag"),
    ("14", "task waits: a timer's period has at least 1 ticks"),
    ("15", "task waits: another task runs these timers"),
    ("16", "task waits: tandem_set_priority: a priority is 0 to 31"),
    ("17", "task waits: the kernel runs already"),
    ("18", "fault in task waits: CFSR 0x10000"),
    ("19", "task waits: a message is longer than its buffer"),
    ("20", "task waits: a message is longer than the space for it"),
    ("21", "task waits: a stream has space for at least five bytes"),
    ("22", "task waits: unlocks a mutex that it has not locked"),
    ("23", "task waits: tandem_end in a handler, in a critical section"),
];

/// Builds and runs every example, and prints their output.
pub fn run() -> Result<()> {
    packages::need(&[COMPILER], COMPILER)?;
    let chip = &Chip::find(CHIP)?;
    let mut cargo = firmware::cargo(&chip.row.triple, "build", &target()?)?;
    cargo.args(["--release", "--locked", "--package", "tandem-c", "--features", "spin"]);
    command::run(&mut cargo).context("tandem's library for C does not build")?;
    let page = repository::read(&root().join("docs/tandem-c.md"))?;
    let (page, page_of_layer) =
        page.split_once(HEADING).context("docs/tandem-c.md: CMSIS-RTOS2")?;
    for (example, text) in EXAMPLES {
        let output = emulate::run(chip, &compile(chip, example, &[])?, true, text)?;
        if example == "benchmark" {
            check_costs(&output, page, 10)?;
        }
    }
    let sources = layer()?;
    check_layer(&sources)?;
    let more: Vec<&str> = LAYER.into_iter().chain(sources.iter().map(String::as_str)).collect();
    for (example, text) in LAYERED {
        let output = emulate::run(chip, &compile(chip, example, &more)?, true, text)?;
        if example == "cmsis_benchmark" {
            check_costs(&output, page_of_layer, 8)?;
        }
    }
    emulate::run(chip, &compile_peer(chip)?, true, "RAM of a thread beside its stack")?;
    for (case, report) in MISUSE {
        let image = compile(chip, "misuse", &[&format!("-DCASE={case}")])?;
        emulate::run(chip, &image, false, report)?;
    }
    Ok(())
}

/// The instructions by which a cost may exceed the page's figure: another compiler of the same
/// release places a few of them elsewhere.
const SLACK: u32 = 3;

/// Compares the costs in the benchmark's output with the page's table, of at least `least` rows.
fn check_costs(output: &str, page: &str, least: u32) -> Result<()> {
    let mut rows = 0;
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, row, c, _rust, _] = cells[..] else { continue };
        let Ok(figure) = c.parse::<u32>() else { continue };
        let printed = output.lines().find_map(|line| {
            let median =
                line.trim_start().strip_prefix(row)?.trim_start().strip_prefix("median")?;
            median.split_whitespace().next()?.parse::<u32>().ok()
        });
        match printed {
            None => bail!("the benchmark in C has no row: {row}"),
            Some(cost) if cost > figure + SLACK => {
                bail!("{row}: {cost} instructions, {figure} by docs/tandem-c.md");
            }
            Some(_) => rows += 1,
        }
    }
    if rows < least {
        bail!("docs/tandem-c.md has {rows} rows of costs");
    }
    Ok(())
}

/// The sources of CMSIS-RTOS2.
fn layer() -> Result<Vec<String>> {
    let folder = root().join("tandem/c/cmsis");
    let mut sources = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            sources.push(path.display().to_string());
        }
    }
    Ok(sources)
}

/// Compiles CMSIS-RTOS2 as C99 with all warnings, and its headers as C++.
fn check_layer(sources: &[String]) -> Result<()> {
    let compiler = |standard| {
        let mut compiler = Command::new(COMPILER);
        compiler.current_dir(root()).args(STRICT).args(LAYER);
        compiler.args(["-Itandem/c/include", standard]);
        compiler
    };
    command::run(compiler("-std=c99").args(sources)).context("CMSIS-RTOS2 as C99")?;
    let mut header = compiler("-std=c++11");
    header.args(["-x", "c++", "tandem/c/cmsis/tandem_os2.h"]);
    command::run(&mut header).context("the headers of CMSIS-RTOS2 as C++")
}

/// Compiles an example. Returns the name of the image in the chip's folder.
fn compile(chip: &Chip, example: &str, more: &[&str]) -> Result<String> {
    let files = [format!("c/examples/{example}.c"), "c/examples/board.c".to_owned()];
    link(chip, example, more, files)
}

/// Compiles the benchmark of other kernels, for tandem. Returns the name of the image.
fn compile_peer(chip: &Chip) -> Result<String> {
    let folders = ["peers", "peers/tandem"];
    let folders = folders.map(|name| format!("-I{}", root().join("tandem").join(name).display()));
    let files = ["peers/benchmark.c", "peers/board.c"].map(str::to_owned);
    link(chip, "peer", &[&folders[0], &folders[1]], files)
}

/// Compiles files of the folder `tandem` with tandem's library. Returns the name of the image in the
/// chip's folder.
fn link(chip: &Chip, name: &str, more: &[&str], files: [String; 2]) -> Result<String> {
    let folder = target()?.join("firmware").join(&chip.row.triple);
    fs::create_dir_all(folder.join("c"))?;
    let image = format!("c/{name}");
    let tandem = root().join("tandem");
    let file = |name: &str| tandem.join(name).display().to_string();
    let mut compiler = Command::new(COMPILER);
    compiler.current_dir(root()).args(OPTIONS).args(more).arg(format!("-I{}", file("c/include")));
    compiler.args(["-T", &file("c/examples/stm32f405.ld")]);
    compiler.args(files.map(|name| file(&name)));
    compiler.arg(folder.join("release/libtandem_c.a")).arg(file("c/cmsis.ld"));
    compiler.arg("-lgcc").arg("-o").arg(Path::new(&folder).join(&image));
    command::run(&mut compiler).with_context(|| format!("{name} does not compile"))?;
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::{ON_THE_PAGE, check_costs};
    use crate::repository::root;
    use std::fs;

    #[test]
    fn the_page_has_the_program() {
        let program = root().join(format!("tandem/c/examples/{ON_THE_PAGE}.c"));
        let program = fs::read_to_string(program).unwrap();
        let page = fs::read_to_string(root().join("docs/tandem-c.md")).unwrap();
        assert!(page.contains(&program), "the page's program is not {ON_THE_PAGE}.c");
    }

    #[test]
    fn a_cost_above_the_page_s_is_found() {
        let row = |n: u32, cost: u32| format!("| operation {n} | {cost} | 5 |\n");
        let page: String = (0..10).map(|n| row(n, 20)).collect();
        let print =
            |cost: u32| (0..10).map(|n| format!("  operation {n} median {cost} n 4\n")).collect();
        let output: String = print(23);
        assert!(check_costs(&output, &page, 10).is_ok());
        let output: String = print(24);
        let refused = check_costs(&output, &page, 10).unwrap_err().to_string();
        assert!(refused.contains("operation 0: 24"));
        assert!(check_costs(&output, "", 10).is_err(), "a page without a table");
        assert!(check_costs("", &page, 10).is_err(), "a benchmark without rows");
    }
}
