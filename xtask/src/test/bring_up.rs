//! FreeRTOS on a Cortex-M4 with nothing but the kit, built by CMake: clocks of 16, 32 and 64 bits,
//! the sinks by semihosting and over a UART, the board at one of labgrid's places, and wrong images.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use super::kit::{self, lab, median};
use crate::{c_kit, command, firmware::freertos_source, repository::root, rust::Toolchain};

/// The experiments that the kit is built with.
const EXPERIMENTS: &str = "switch,interrupt";

/// A wrong image: options of CMake, a line of the port to FreeRTOS and its replacement, an
/// experiment, and a text that the lab must report.
struct WrongImage {
    options: &'static [&'static str],
    port: Option<(&'static str, &'static str)>,
    experiment: &'static str,
    says: &'static str,
}

static WRONG: [WrongImage; 5] = [
    // Handlers on this level must not call FreeRTOS.
    WrongImage {
        options: &["-DCHECKED=ON", "-DCMAKE_C_FLAGS=-DLEVEL=0"],
        port: None,
        experiment: "interrupt",
        says: "ucCurrentPriority >= ucMaxSysCallPriority",
    },
    WrongImage {
        options: &["-DCHECKED=OFF", "-DCMAKE_C_FLAGS=-DLEVEL=0"],
        port: None,
        experiment: "interrupt",
        says: "priority of the experiments' line",
    },
    WrongImage {
        options: &["-DCHECKED=ON", "-DCMAKE_C_FLAGS=-DCHRONO_STACK_WORDS=44"],
        port: None,
        experiment: "switch",
        says: "stack overflow in a task",
    },
    WrongImage {
        options: &["-DCHECKED=OFF", "-DCMAKE_C_FLAGS=-DCHRONO_STACK_WORDS=44"],
        port: None,
        experiment: "switch",
        says: "stack that each task had left",
    },
    // A task that returns.
    WrongImage {
        options: &["-DCHECKED=ON", "-DCMAKE_C_FLAGS="],
        port: Some(("    vTaskDelete(NULL);", "    return;")),
        experiment: "switch",
        says: "uxCriticalNesting",
    },
];

/// Makes the kit, builds its images for the chip, and runs them.
pub fn run() -> Result<()> {
    let folder = kit::outside()?;
    let kit = folder.0.join("kit");
    let place = kit.display().to_string();
    let words = ["-o", &place, "--chip", "cortex-m4", "--experiments", EXPERIMENTS];
    c_kit::run(&words)?;
    let freertos = freertos_source()?;
    let build = |name: &str, options: &[&str]| build(&kit, name, &freertos, options);
    let emulated = |image: &Path| format!("mine={}@cortex-m4", image.display());

    let register = build("clock32", &["-DCLOCK=32"])?;
    let own = median(&["switch"], &emulated(&register))?;
    let listed = median(&["switch"], "freertos@cortex-m4")?;
    ensure!((own - listed).abs() <= 0.03 * listed, "{own} with the kit, {listed} of freertos");
    let wide = median(&["switch"], &emulated(&build("clock64", &["-DCLOCK=64"])?))?;
    // A mark by a call takes a few instructions more than a load.
    ensure!((own..=own + 40.0).contains(&wide), "{wide} by a clock of 64 bits, {own} by one of 32");
    // Ticks of 50 ns: an instruction takes 1 ns.
    let narrow = median(&["switch"], &emulated(&build("clock16", &["-DCLOCK=16"])?))?;
    ensure!((narrow - own).abs() <= 100.0, "{narrow} ns by a clock of 16 bits, {own} by one of 32");

    let board = Board::start(&build("uart", &["-DUART=ON"])?)?;
    let serial =
        median(&["switch"], &format!("mine={}@serial:{}", board.image.display(), board.device))?;
    ensure!(serial == own, "{serial} over a serial line, {own} by semihosting");
    at_a_place(&board)?;
    println!(
        "FreeRTOS with the kit: {own}, {listed} as freertos@cortex-m4; {wide} with 64 bits; \
         {narrow} ns with 16"
    );

    let port = kit.join("ports/freertos.c");
    let good = fs::read_to_string(&port)?;
    for &WrongImage { options, port: edit, experiment, says } in &WRONG {
        if let Some((from, to)) = edit {
            ensure!(good.contains(from), "the port has no `{from}`");
            fs::write(&port, good.replacen(from, to, 1))?;
        }
        let output = lab(&[experiment], &emulated(&build("wrong", options)?))?;
        kit::is_refused(&output, says).with_context(|| options.join(" "))?;
    }
    Ok(())
}

/// Runs the lab's test of a board that two users share by labgrid.
fn at_a_place(board: &Board) -> Result<()> {
    let mut cargo = Toolchain::find()?.cargo("test");
    cargo.args(["--workspace", "--locked", "--test", "chips", "a_real_board", "--", "--ignored"]);
    cargo.env("CHRONOSCOPE_TEST_DEVICE", &board.device).current_dir(root());
    command::run(&mut cargo).context("the board at one of labgrid's places: see above")
}

/// Builds the kit's image for the chip. Returns its path.
fn build(kit: &Path, name: &str, freertos: &Path, options: &[&str]) -> Result<PathBuf> {
    let source = format!("-DFREERTOS_DIR={}", freertos.display());
    let folder = kit::cmake(&kit.join("cortex-m4"), name, &[&[&*source], options].concat())?;
    Ok(folder.join("app.elf"))
}

/// The emulated chip as a board: its UART is one end of a pseudo-terminal, `device` the other.
struct Board {
    qemu: Child,
    image: PathBuf,
    device: String,
}

impl Board {
    fn start(image: &Path) -> Result<Self> {
        let mut qemu = Command::new("qemu-system-arm");
        qemu.args(["-machine", "netduinoplus2", "-icount", "shift=0,sleep=off,align=off"]);
        qemu.args(["-display", "none", "-monitor", "none"]);
        qemu.args(["-chardev", "pty,id=line", "-serial", "chardev:line", "-kernel"]).arg(image);
        qemu.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let qemu = qemu.spawn().context("cannot start QEMU")?;
        let mut board = Self { qemu, image: image.to_owned(), device: String::new() };
        let output = board.qemu.stdout.take().context("QEMU has an output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let device = line.split(' ').find(|word| word.starts_with("/dev/"));
        board.device = device.with_context(|| format!("QEMU names no device: {line}"))?.to_owned();
        Ok(board)
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}
