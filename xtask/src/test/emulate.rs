//! tandem's own images on emulated chips.

use std::{
    fs,
    process::{Command, ExitStatus, Stdio},
};

use anyhow::{Context, Result, bail};

use super::chip::Chip;
use crate::repository::root;

/// Runs an image to its end and prints its output. With a message, the image must fail with it.
pub fn run(chip: &Chip, image: &str, message: Option<&str>) -> Result<()> {
    let (status, output) = emulate(chip, image)?;
    print!("{output}");
    match message {
        None if !status.success() => bail!("{image} ended with {status}"),
        Some(_) if status.success() => bail!("{image} was to fail"),
        Some(message) if !output.contains(message) => bail!("{image} did not report: {message}"),
        _ => Ok(()),
    }
}

/// Runs an image to its end and prints its output, which must contain `text`. Returns the output.
pub fn run_image(chip: &Chip, image: &str, text: &str, succeeds: bool) -> Result<String> {
    let (status, output) = emulate(chip, image)?;
    print!("{output}");
    if status.success() != succeeds {
        bail!("{image} ended with {status}");
    }
    if !output.contains(text) {
        bail!("{image} did not print: {text}");
    }
    Ok(output)
}

/// Runs the soak twice: both runs must print the same bytes.
pub fn soak_twice(chip: &Chip) -> Result<()> {
    let [first, second] = [(); 2].map(|()| emulate(chip, "checked/soak"));
    let (first, second) = (first?, second?);
    print!("{}", first.1);
    if !first.0.success() || first != second {
        bail!("the second soak ended with {} and printed:\n{}", second.0, second.1);
    }
    Ok(())
}

pub fn emulate(chip: &Chip, image: &str) -> Result<(ExitStatus, String)> {
    let mut emulator = Command::new("timeout");
    emulator.arg("900").args(chip.emulator);
    emulator.args(["-nographic", "-monitor", "none", "-kernel"]).arg(chip.image(image)?);
    emulator.stdin(Stdio::null());
    let output = emulator.output().context("cannot start timeout")?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status, String::from_utf8_lossy(&text).into_owned()))
}

/// The row of `docs/tandem.md` with the size of the smallest image, and the sections it counts.
const SIZES: [(&str, &str, &[&str]); 2] = [
    ("cortex-m4", "| text of the smallest image (", &[".text"]),
    ("rv32", "| text and constants of the smallest image (riscv-rt", &[".text", ".rodata"]),
];

/// The bytes by which the smallest image may exceed the page's figure: another compiler of the same
/// release aligns differently.
const SLACK: u64 = 16;

/// Prints the size of each section of the smallest image, and compares it with the page's figure.
pub fn sizes(chip: &Chip) -> Result<()> {
    let image = chip.image("release/smallest")?;
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
    let page = fs::read_to_string(root().join("docs/tandem.md"))?;
    for (_, row, counted) in SIZES.iter().filter(|row| row.0 == chip.name) {
        let figure = page.lines().find(|line| line.starts_with(row));
        let figure = figure.and_then(|line| line.split('|').nth(2)?.trim().parse().ok());
        let figure: u64 = figure.with_context(|| format!("docs/tandem.md has no row {row}"))?;
        let bytes: u64 = counted.iter().map(|section| section_size(&lines, section)).sum();
        if bytes == 0 || bytes > figure + SLACK {
            bail!("the smallest image has {bytes} bytes of code, {figure} by docs/tandem.md");
        }
    }
    Ok(())
}

/// The size of a section by lines of `readelf`: name, type, address, offset, size. 0 without it.
fn section_size(lines: &[&str], section: &str) -> u64 {
    let rest = lines.iter().find_map(|line| Some(line.split_once(&format!(" {section} "))?.1));
    let size = rest.and_then(|rest| rest.split_whitespace().nth(3));
    size.and_then(|size| u64::from_str_radix(size, 16).ok()).unwrap_or(0)
}
