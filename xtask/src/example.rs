//! Examples that run by one command, in an emulator: `./chronoscope example tandem blinky`.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{firmware, repository::target};

pub const USAGE: &str = "example tandem [NAME]  \
    runs an example of tandem in QEMU and prints its timeline; without a name, lists them";

struct Example {
    name: &'static str,
    about: &'static str,
    /// QEMU's options for the serial ports.
    serial: &'static [&'static str],
}

/// The package of the examples, and the chip they are for.
const PACKAGE: &str = "tandem-stm32f4";
const TRIPLE: &str = "thumbv7em-none-eabihf";

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

static EXAMPLES: [Example; 3] = [
    Example {
        name: "blinky",
        about: "a lamp, switched by a coroutine and observed by a thread",
        serial: &["-serial", "null"],
    },
    Example {
        name: "rs485",
        about: "a sensor on a bus, by a published async driver, with threads and a coroutine",
        serial: CONNECTED,
    },
    Example {
        name: "sensor",
        about: "a sensor on an I2C bus, by a published driver for embedded-hal-async",
        serial: CONNECTED,
    },
];

pub fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["tandem"] => {
            EXAMPLES.iter().for_each(|example| println!("{:8} {}", example.name, example.about));
            Ok(())
        }
        ["tandem", name] => {
            let Some(example) = EXAMPLES.iter().find(|example| example.name == name) else {
                let names = EXAMPLES.each_ref().map(|example| example.name).join(", ");
                bail!("there is no example {name} of tandem, but: {names}");
            };
            emulate(example)
        }
        _ => bail!("usage: ./chronoscope {USAGE}"),
    }
}

/// Builds an example and runs it to its end.
fn emulate(example: &Example) -> Result<()> {
    let target = target()?;
    let mut cargo = firmware::cargo(TRIPLE, "build", &target)?;
    cargo.args(["--quiet", "--release", "--locked", "--package", PACKAGE, "--features", "qemu"]);
    if !cargo.status().context("cannot start cargo")?.success() {
        bail!("the example {} does not build", example.name);
    }
    let image = target.join("firmware").join(TRIPLE).join("release").join(example.name);
    let folder = Folder::new(target.join("firmware").join(format!("example-{}", example.name)))?;
    let mut emulator = Command::new("timeout");
    emulator.args(["120", "qemu-system-arm", "-M", "netduinoplus2", "-icount", "shift=0"]);
    emulator.args(["-semihosting-config", "enable=on,target=native"]);
    emulator.args(["-nographic", "-monitor", "none"]).args(example.serial);
    // The name of a socket may have 107 bytes, so it is one in the folder.
    emulator.arg("-kernel").arg(image).current_dir(&folder.0).stdin(Stdio::null());
    let status = emulator.status().context("cannot start timeout")?;
    if !status.success() {
        bail!("the example {} ended with {status}", example.name);
    }
    Ok(())
}

/// A folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(path: PathBuf) -> Result<Self> {
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the build folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}
