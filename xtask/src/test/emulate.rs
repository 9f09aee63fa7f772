//! tandem's own images on emulated chips.

use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::chip::Chip;
use crate::{
    command,
    repository::{self, root},
};

/// Runs an image to its end and prints its output, which must contain `text`. Returns the output.
/// Where not `succeeds`, the image must fail.
pub fn run(chip: &Chip, image: &str, succeeds: bool, text: &str) -> Result<String> {
    let (status, output) = emulate(chip, image)?;
    print!("{output}");
    ensure!(status.success() == succeeds, "{image} ended with {status}");
    ensure!(output.contains(text), "{image} did not print: {text}");
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

/// Runs an image to its end. Returns the emulator's status and the output.
///
/// # Errors
/// The emulator does not start.
pub fn emulate(chip: &Chip, image: &str) -> Result<(ExitStatus, String)> {
    let mut emulator = command::limited(15, chip.row.program());
    emulator.args(chip.emulator());
    emulator.args(["-nographic", "-monitor", "none", "-kernel"]).arg(chip.image(image)?);
    emulator.stdin(Stdio::null());
    let output = emulator.output().context("cannot start the emulator")?;
    Ok((output.status, command::text(&output)))
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
    let mut readelf = Command::new("readelf");
    readelf.args(["--section-headers", "--wide"]).arg(chip.image("release/smallest")?);
    let text = command::text(&command::output(&mut readelf)?);
    let sections = [" .text ", " .rodata ", " .data ", " .bss "];
    let lines: Vec<&str> =
        text.lines().filter(|line| sections.iter().any(|section| line.contains(section))).collect();
    ensure!(!lines.is_empty(), "readelf shows no section of the smallest image");
    println!("smallest image:\n{}", lines.join("\n"));
    let page = repository::read(&root().join("docs/tandem.md"))?;
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
