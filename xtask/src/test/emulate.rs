//! tandem's own images on emulated chips. An instruction takes 1 ns: one tick of the STM32's timer,
//! one count of RV32's mcycle.

use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

use crate::repository::target;

/// Each emulator's options, for triples that begin with the first word.
const EMULATORS: [(&str, &[&str]); 2] = [
    (
        "thumb",
        &[
            "qemu-system-arm",
            "-M",
            "netduinoplus2",
            "-icount",
            "shift=0",
            "-serial",
            "null",
            "-semihosting-config",
            "enable=on,target=native",
        ],
    ),
    (
        "riscv32",
        &[
            "qemu-system-riscv32",
            "-M",
            "virt",
            "-bios",
            "none",
            // Without sleep=off, virtual time begins when the host says.
            "-icount",
            "shift=0,sleep=off",
            "-serial",
            "stdio",
        ],
    ),
];

/// Runs an image to its end and prints its output. With a message, the image must fail with it.
pub fn run(triple: &str, image: &str, message: Option<&str>) -> Result<()> {
    let (status, output) = emulate(triple, image)?;
    print!("{output}");
    match message {
        None if !status.success() => bail!("{image} ended with {status}"),
        Some(_) if status.success() => bail!("{image} was to fail"),
        Some(message) if !output.contains(message) => bail!("{image} did not report: {message}"),
        _ => Ok(()),
    }
}

/// Runs an image to its end and prints its output, which must contain `text`.
pub fn run_image(triple: &str, image: &str, text: &str, succeeds: bool) -> Result<()> {
    let (status, output) = emulate(triple, image)?;
    print!("{output}");
    if status.success() != succeeds {
        bail!("{image} ended with {status}");
    }
    if !output.contains(text) {
        bail!("{image} did not print: {text}");
    }
    Ok(())
}

/// Runs the soak twice: both runs must print the same bytes.
pub fn soak_twice(triple: &str) -> Result<()> {
    let [first, second] = [(); 2].map(|()| emulate(triple, "checked/soak"));
    let (first, second) = (first?, second?);
    print!("{}", first.1);
    if !first.0.success() || first != second {
        bail!("the second soak ended with {} and printed:\n{}", second.0, second.1);
    }
    Ok(())
}

fn emulate(triple: &str, image: &str) -> Result<(ExitStatus, String)> {
    let fits = |(start, _): &&(&str, &[&str])| triple.starts_with(start);
    let (_, options) = EMULATORS.iter().find(fits).context("no emulator for this chip")?;
    let image = target()?.join("firmware").join(triple).join(image);
    let mut emulator = Command::new("timeout");
    emulator.arg("900").args(*options);
    emulator.args(["-nographic", "-monitor", "none", "-kernel"]).arg(image).stdin(Stdio::null());
    let output = emulator.output().context("cannot start timeout")?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status, String::from_utf8_lossy(&text).into_owned()))
}

/// Prints the size of each section of the smallest image.
pub fn sizes(triple: &str) -> Result<()> {
    let image = target()?.join("firmware").join(triple).join("release/smallest");
    let output = Command::new("readelf")
        .args(["--section-headers", "--wide"])
        .arg(image)
        .output()
        .context("cannot start readelf")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let sections = [" .text ", " .rodata ", " .data ", " .bss "];
    let lines: Vec<&str> =
        text.lines().filter(|line| sections.iter().any(|section| line.contains(section))).collect();
    if lines.is_empty() {
        bail!("readelf shows no section of the smallest image: {}", output.status);
    }
    println!("smallest image:\n{}", lines.join("\n"));
    Ok(())
}
