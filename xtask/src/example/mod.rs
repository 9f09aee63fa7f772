//! Examples that run by one command: programs of tandem in an emulator (`./chronoscope example tandem
//! blinky`), and programs with marks of their own (`./chronoscope example own loop-c`).

mod boot2;
mod own;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{
    command, firmware,
    repository::{TemporaryFolder, root, target},
    rust::Toolchain,
};

pub const USAGE: &str = "example tandem|own [NAME]  \
    runs an example of tandem in QEMU, or watches a program with marks; without a name, lists them";

struct Example {
    name: &'static str,
    about: &'static str,
    board: &'static Board,
    /// The program in the board's package, and the features that it needs besides the board's.
    binary: &'static str,
    features: &'static str,
    /// QEMU's options for the serial ports.
    serial: &'static [&'static str],
    output: Output,
}

/// A board with examples.
struct Board {
    package: &'static str,
    triple: &'static str,
    features: &'static str,
    machine: Machine,
}

enum Machine {
    /// QEMU's name of the board.
    Emulated(&'static str),
    /// QEMU has no such board: a hint that is printed, and a check of the image.
    BuiltOnly(&'static str, fn(&Path) -> Result<()>),
}

impl Example {
    /// The feature and QEMU's option that choose the clock. The idle task spins, so that time is the
    /// emulator's own, at 64 ns an instruction, about as fast as a real chip after its reset. Bytes
    /// between connected ports take real time, so there the emulator sleeps with the processor.
    fn clock(&self) -> (&'static str, &'static str) {
        match (self.serial, &self.board.machine) {
            (CONNECTED, _) => ("", "shift=0"),
            (_, Machine::Emulated(_)) => ("spin", "shift=6"),
            (_, Machine::BuiltOnly(..)) => ("", ""),
        }
    }
}

/// The form of a program's output.
enum Output {
    Text,
    /// Frames of defmt, which must give texts that contain these, in this order.
    Frames(&'static [&'static str]),
}

static STM32F4: Board = Board {
    package: "tandem-stm32f4",
    triple: "thumbv7em-none-eabihf",
    features: "qemu",
    machine: Machine::Emulated("netduinoplus2"),
};

static NRF52: Board = Board {
    package: "tandem-nrf52",
    triple: "thumbv7em-none-eabihf",
    features: "",
    machine: Machine::BuiltOnly("the example microbit runs the same source", |_| Ok(())),
};

static MICROBIT: Board =
    Board { triple: "thumbv6m-none-eabi", machine: Machine::Emulated("microbit"), ..NRF52 };

static RP2040: Board = Board {
    package: "tandem-rp2040",
    triple: "thumbv6m-none-eabi",
    features: "",
    machine: Machine::BuiltOnly("copy it to a Pico", boot2::check),
};

/// Both serial ports of the board, connected with each other.
const CONNECTED: &[&str] = &[
    "-chardev",
    "socket,id=first,path=ports.sock,server=on,wait=off",
    "-chardev",
    "socket,id=second,path=ports.sock",
    "-serial",
    "chardev:first",
    "-serial",
    "chardev:second",
];

/// An example for the STM32F4 that prints text.
const BLINKY: Example = Example {
    name: "blinky",
    about: "a lamp, switched by a coroutine and observed by a thread",
    board: &STM32F4,
    binary: "blinky",
    features: "",
    serial: &["-serial", "null"],
    output: Output::Text,
};

static EXAMPLES: [Example; 12] = [
    BLINKY,
    Example {
        name: "readme",
        about: "the program in tandem's README, with a check of its clock",
        binary: "readme",
        ..BLINKY
    },
    Example {
        name: "guide",
        about: "the programs of the guide to each object",
        binary: "guide",
        ..BLINKY
    },
    Example {
        name: "rs485",
        about: "a sensor on a bus, by a published async driver, with threads and a coroutine",
        binary: "rs485",
        serial: CONNECTED,
        ..BLINKY
    },
    Example {
        name: "sensor",
        about: "a sensor on an I2C bus, by a published driver for embedded-hal-async",
        binary: "sensor",
        serial: CONNECTED,
        ..BLINKY
    },
    Example {
        name: "embassy",
        about: "timers, channels and signals of embassy-time and embassy-sync",
        binary: "embassy",
        features: "embassy",
        ..BLINKY
    },
    Example {
        name: "hal_clock",
        about: "the time driver of a HAL as the kernel's clock",
        binary: "hal_clock",
        features: "embassy-clock",
        ..BLINKY
    },
    Example {
        name: "log",
        about: "a log by defmt from a coroutine, a thread and a handler",
        binary: "log",
        features: "defmt",
        output: Output::Frames(&[
            "INFO consumer: Sample { number: 1, level: 5 }",
            "WARN sampler: level -10 is below 0",
            "INFO consumer: Sample { number: 2, level: -10 }",
            "WARN sampler: level -25 is below 0",
            "INFO consumer: Sample { number: 3, level: -25 }",
            "INFO handler: pressed, false",
        ]),
        ..BLINKY
    },
    Example {
        name: "usage",
        about: "processor time by task, and threads that take turns",
        binary: "usage",
        features: "usage",
        ..BLINKY
    },
    Example {
        name: "nrf52",
        about: "a lamp, on Nordic's nRF52 DK",
        board: &NRF52,
        binary: "nrf52",
        ..BLINKY
    },
    Example {
        name: "microbit",
        about: "the same on the first micro:bit",
        board: &MICROBIT,
        binary: "nrf52",
        ..BLINKY
    },
    Example {
        name: "rp2040",
        about: "a lamp, on the Raspberry Pi Pico",
        board: &RP2040,
        binary: "rp2040",
        ..BLINKY
    },
];

pub fn run(arguments: &[&str]) -> Result<()> {
    match arguments[..] {
        ["own"] => {
            own::list();
            Ok(())
        }
        ["own", name] => own::run(name),
        ["tandem"] => {
            EXAMPLES.iter().for_each(|example| println!("{:8} {}", example.name, example.about));
            Ok(())
        }
        ["tandem", name] => {
            let Some(example) = EXAMPLES.iter().find(|example| example.name == name) else {
                let names = EXAMPLES.each_ref().map(|example| example.name).join(", ");
                bail!("there is no example {name} of tandem, but: {names}");
            };
            let image = build(example)?;
            match example.board.machine {
                Machine::Emulated(machine) => emulate(example, machine, &image),
                Machine::BuiltOnly(instead, check) => {
                    check(&image)?;
                    println!("{}\nQEMU has no such board: {instead}", image.display());
                    Ok(())
                }
            }
        }
        _ => bail!("usage: ./chronoscope {USAGE}"),
    }
}

/// Builds an example. Returns its image.
fn build(example: &Example) -> Result<PathBuf> {
    let Board { package, triple, features, .. } = *example.board;
    let mut cargo = firmware::cargo(triple, "build", &target()?)?;
    let features = [features, example.features, example.clock().0].join(",");
    cargo.args(["--quiet", "--release", "--locked", "--package", package]);
    cargo.args(["--features", &features, "--bin", example.binary]);
    command::run(&mut cargo)
        .with_context(|| format!("the example {} does not build", example.name))?;
    firmware::image(triple, example.binary)
}

/// Runs an example to its end.
fn emulate(example: &Example, machine: &str, image: &Path) -> Result<()> {
    let folder = target()?.join("firmware").join(format!("example-{}", example.name));
    let folder = TemporaryFolder::new(folder)?;
    let mut emulator = command::limited(2, "qemu-system-arm");
    emulator.args(["-M", machine, "-icount", example.clock().1]);
    emulator.args(["-semihosting-config", "enable=on,target=native"]);
    emulator.args(["-nographic", "-monitor", "none"]).args(example.serial);
    // The name of a socket may have 107 bytes, so it is one in the folder.
    emulator.arg("-kernel").arg(image).current_dir(&folder.0).stdin(Stdio::null());
    if let Output::Frames(_) = example.output {
        emulator.stdout(Stdio::piped());
    }
    let mut emulator = emulator.spawn().context("cannot start the emulator")?;
    if let Output::Frames(texts) = example.output {
        print_frames(&mut emulator, image, texts)?;
    }
    let status = emulator.wait()?;
    if !status.success() {
        bail!("the example {} ended with {status}", example.name);
    }
    Ok(())
}

/// Prints the texts of the frames that the emulator prints, by defmt's own decoder. Fails if they
/// lack one of `texts`.
fn print_frames(emulator: &mut Child, image: &Path, texts: &[&str]) -> Result<()> {
    let folder = root().join("tandem/examples/decode");
    let mut cargo = Toolchain::find()?.cargo("build");
    cargo.args(["--quiet", "--locked"]).current_dir(&folder);
    let target = target()?.join("decode");
    command::run(cargo.env("CARGO_TARGET_DIR", &target))
        .context("the decoder of logs does not build")?;
    let frames = emulator.stdout.take().context("the emulator's output is not a pipe")?;
    let mut decoder = Command::new(target.join("debug/tandem-decode"));
    let decoded = decoder.arg(image).stdin(frames).stderr(Stdio::inherit()).output()?;
    std::io::stdout().write_all(&decoded.stdout)?;
    if !decoded.status.success() {
        bail!("the log cannot be decoded");
    }
    let log = String::from_utf8(decoded.stdout)?;
    let mut lines = log.lines();
    for text in texts {
        if !lines.any(|line| line.contains(text)) {
            bail!("the log lacks, at its place: {text}");
        }
    }
    Ok(())
}
