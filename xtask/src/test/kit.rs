//! The kit for kernels written in C, outside the checkout: builds its program with CMake alone and
//! measures it. Wrong ports must not give a figure.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, id},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::layer;
use crate::{
    c_kit,
    command::{self, text},
    repository::{TemporaryFolder, copy, root, target},
};

/// A line of the port to POSIX threads, its replacement, an experiment, and the lab's message.
struct WrongPort {
    from: &'static str,
    to: &'static str,
    experiment: &'static str,
    says: &'static str,
}

static WRONG: [WrongPort; 6] = [
    WrongPort {
        from: "target.abi = CHRONO_ABI;",
        to: "target.abi = CHRONO_ABI + 1;",
        experiment: "switch",
        says: "compiled with a chronoscope.h of another version",
    },
    WrongPort {
        from: "uint64_t chrono_clock_now(void)\n{\n    return chrono_clock_read();",
        to: "uint64_t chrono_clock_now(void)\n{\n    return 7;",
        experiment: "switch",
        says: "chrono_clock_now() stands still",
    },
    WrongPort {
        from: "uint64_t chrono_clock_now(void)\n{\n    return chrono_clock_read();",
        to: "uint64_t chrono_clock_now(void)\n{\n    return chrono_clock_read() + 1000000007;",
        experiment: "switch",
        says: "are not one counter",
    },
    WrongPort {
        from: "target.bytes = sizeof memory;",
        to: "target.bytes = 100;",
        experiment: "switch",
        says: "the port has handed over no memory",
    },
    WrongPort {
        from: "(time_t)(due / 1000000000u)",
        to: "(time_t)(due / 2000000000u)",
        experiment: "period",
        says: "early wake-ups",
    },
    WrongPort {
        from: "queue->words[queue->tail] = word;",
        to: "queue->words[queue->tail] = word / 2;",
        experiment: "message",
        says: "words received in order",
    },
];

/// The required function that one port lacks.
const LACKED: &str = "chrono_yield";

/// Ports to kernels whose sources the user has, and the folders with declarations of the kernels'
/// functions.
const DECLARED: [(&str, &str); 8] = [
    ("kernels/threadx.c", "threadx"),
    ("kernels/embos.c", "embos"),
    ("kernels/cmsis_rtos2.c", "cmsis"),
    ("kernels/zephyr.c", "zephyr"),
    ("kit/zephyr/app/src/main.c", "zephyr"),
    ("machines/semihosting.c", "zephyr"),
    ("machines/uart.c", "zephyr"),
    ("machines/clock16.c", "zephyr"),
];

const ARM: [&str; 4] = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-std=c99"];
const ARM_CXX: [&str; 4] = ["arm-none-eabi-g++", "-mcpu=cortex-m4", "-mthumb", "-std=c++11"];
const RISC_V: [&str; 4] =
    ["riscv64-unknown-elf-gcc", "-march=rv32imac_zicsr", "-mabi=ilp32", "-std=c99"];

/// Checks that the ports of [`DECLARED`] compile, and that the headers are C99 and C++11.
fn check_declared() -> Result<()> {
    DECLARED.iter().try_for_each(|(file, folder)| compiles(&ARM, file, folder))?;
    compiles(&RISC_V, "machines/semihosting.c", "zephyr")?;
    for header in [
        "include/chronoscope.h",
        "kernels/chronoscope_ticks.h",
        "machines/chronoscope_semihosting.h",
        "machines/chronoscope_uart.h",
        "machines/chronoscope_clock16.h",
    ] {
        compiles(&[&ARM[..], &["-xc"]].concat(), header, "zephyr")?;
        compiles(&[&ARM_CXX[..], &["-xc++"]].concat(), header, "zephyr")?;
    }
    Ok(())
}

/// Checks that a file compiles without a warning. `declarations` is the folder of a kernel's.
fn compiles(compiler: &[&str], file: &str, declarations: &str) -> Result<()> {
    let c = root().join("ports/c");
    let mut gcc = Command::new(compiler[0]);
    gcc.args(&compiler[1..]).args(["-ffreestanding", "-fsyntax-only"]);
    gcc.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    for folder in ["include", "kernels", "machines", &format!("declarations/{declarations}")] {
        gcc.arg("-I").arg(c.join(folder));
    }
    command::output(gcc.arg(c.join(file))).with_context(|| file.to_owned())?;
    Ok(())
}

/// Checks the kit and the ports. Then checks the cost of the header ([`layer`]).
///
/// # Errors
/// A program does not build, the lab refuses a good port, or accepts a wrong one.
pub fn run() -> Result<()> {
    check_declared()?;
    let folder = outside()?;
    let kit = folder.0.join("kit");
    c_kit::run(&["-o", &kit.display().to_string(), "--chip", "linux"])?;
    let posix = kit.join("posix");
    let build = |name: &str, more: &[&str]| -> Result<PathBuf> {
        Ok(cmake(&posix, name, more)?.join("app"))
    };
    let app = build("build", &["-DFUTEX=ON"])?;
    let target = format!("mine={}@host", app.display());
    let measured = lab(&["switch", "message", "spawn"], &target)?;
    let printed = text(&measured);
    // Without the permission for a real-time class, the evidence fails.
    ensure!(matches!(measured.status.code(), Some(0 | 4)), "the kit's program: {printed}");
    for known in ["\"target\": \"mine@host\"", "\"kernel\": \"Linux\"", "given image", ", futex"] {
        ensure!(printed.contains(known), "no `{known}` in {printed}");
    }
    agrees_in_the_guest(&app)?;
    let port = kit.join("ports/posix.c");
    let good = fs::read_to_string(&port)?;
    fs::write(&port, good.replacen(&format!("void {LACKED}("), "void lacked(", 1))?;
    let error = build("lacking", &[]).err().map(|error| error.to_string());
    ensure!(error.as_ref().is_some_and(|text| text.contains(LACKED)), "linked: {error:?}");
    for &WrongPort { from, to, experiment, says } in &WRONG {
        ensure!(good.contains(from), "the port has no `{from}`");
        fs::write(&port, good.replacen(from, to, 1))?;
        let app = build("build", &[])?;
        let wrong = lab(&[experiment], &format!("mine={}@host", app.display()))?;
        is_refused(&wrong, says).with_context(|| format!("`{to}`"))?;
    }
    println!("the kit: a program runs, {} wrong ports are found", WRONG.len() + 1);
    layer::run()
}

/// Checks that the lab gives no figure of a wrong port, and reports the reason `says`.
pub(super) fn is_refused(output: &Output, says: &str) -> Result<()> {
    let printed = text(output);
    let has_reason = matches!(output.status.code(), Some(1 | 4)) && printed.contains(says);
    ensure!(has_reason, "the lab does not say `{says}`: {printed}");
    ensure!(!printed.contains("\"status\": \"pass\""), "it gave a figure: {printed}");
    Ok(())
}

/// Checks that the port in C and the port in Rust have the same figures in a guest that counts
/// instructions, where both have a futex.
fn agrees_in_the_guest(app: &Path) -> Result<()> {
    /// The largest difference, as a share.
    const APART: f64 = 0.02;
    // A path that stays the same: the guest with this program is kept.
    let kept = target()?.join("test/posix");
    copy(app, &kept)?;
    let given = format!("linux-full={}@vm", kept.display());
    for set in ["primitive=semaphore", "primitive=yield"] {
        let median = |target: &str| median(&["switch", "--set", set], target);
        let (c, rust) = (median(&given)?, median("linux-full@vm")?);
        println!("a switch in linux-full@vm, {set}: {c} in C, {rust} in Rust");
        ensure!((c - rust).abs() <= APART * rust, "the ports' figures differ");
    }
    Ok(())
}

/// Builds one of the kit's programs by CMake, in the folder `build` of the kit. Returns the folder's
/// path.
pub(super) fn cmake(source: &Path, build: &str, more: &[&str]) -> Result<PathBuf> {
    let build = source.with_file_name(build);
    let cmake = || Command::new("cmake");
    command::output(cmake().arg("-S").arg(source).arg("-B").arg(&build).args(more))?;
    command::output(cmake().arg("--build").arg(&build))?;
    Ok(build)
}

/// Runs experiments in the lab, with few samples.
pub(super) fn lab(experiments: &[&str], target: &str) -> Result<Output> {
    let own = || root().join("chronoscope");
    let mut lab =
        Command::new(env::var_os("CHRONOSCOPE_TEST_PROGRAM").map_or_else(own, Into::into));
    lab.arg("run").args(experiments).args(["-q", "-l", "100", "--repeat", "1", "--no-store"]);
    lab.args(["--format", "json", "--target", target]).output().context("cannot start the lab")
}

/// The median of a case's first series, in the unit of the target's clock.
pub(super) fn median(experiment: &[&str], target: &str) -> Result<f64> {
    let output = lab(experiment, target)?;
    let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let case = Some(&run["cases"][0]).filter(|case| case["verdict"]["status"] == "pass");
    case.and_then(|case| case["series"][0]["p50"].as_f64())
        .with_context(|| format!("no figure of {target}: {}", text(&output)))
}

/// A folder outside the checkout.
pub(super) fn outside() -> Result<TemporaryFolder> {
    TemporaryFolder::new(env::temp_dir().join(format!("chronoscope-kit-{}", id())))
}
