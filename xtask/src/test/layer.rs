//! The cost of `chronoscope.h`: measures tandem's port in C through the header, and with the suite
//! calling tandem's functions directly.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, ObjectSymbol};
use serde_json::Value;

use super::kit;
use crate::{
    command::{self, text},
    firmware,
    repository::{copy, target},
};

const TRIPLE: &str = "thumbv7em-none-eabihf";
const PACKAGE: &str = "chronoscope-tandem-c";

/// The most instructions that the layer may cost a call; a switch by semaphore has two, give and
/// take.
const A_CALL: f64 = 2.0;

/// Checks that take and give are one branch each, and that the layer costs at most [`A_CALL`]
/// instructions a call.
pub fn run() -> Result<()> {
    let direct = build(&["--features", "direct"], "direct")?;
    let layer = build(&[], "layer")?;
    for name in ["chrono_take", "chrono_give"] {
        ensure!(is_one_branch(&layer, name)?, "{name} is more than a branch");
    }
    let image = |name: &str, path: &PathBuf| format!("{name}={}@cortex-m4", path.display());
    let targets = [image("layer", &layer), image("direct", &direct), "tandem@cortex-m4".to_owned()];
    let output = kit::lab(&["switch"], &targets.join(","))?;
    let run: Value = serde_json::from_slice(&output.stdout).context("the lab wrote no run")?;
    let median = |target: &str| {
        let mut cases = run["cases"].as_array().into_iter().flatten();
        let case = cases.find(|case| case["target"] == format!("{target}@cortex-m4"));
        let case = case.filter(|case| case["verdict"]["status"] == "pass");
        case.and_then(|case| case["series"][0]["p50"].as_f64())
            .with_context(|| format!("no figure of {target}: {}", text(&output)))
    };
    let (with, without, rust) = (median("layer")?, median("direct")?, median("tandem")?);
    println!(
        "a switch by semaphore: {with} by chronoscope.h, {without} without it, {rust} in Rust"
    );
    ensure!(with - without <= 2.0 * A_CALL, "the layer costs {} a switch", with - without);
    Ok(())
}

/// Builds the image, and returns the path of its copy called `name`.
fn build(more: &[&str], name: &str) -> Result<PathBuf> {
    let mut cargo = firmware::cargo(TRIPLE, "build", &target()?)?;
    cargo.args(["--quiet", "--release", "--locked", "--package", PACKAGE]).args(more);
    command::run(&mut cargo).with_context(|| format!("{PACKAGE} does not build"))?;
    let built = firmware::image(TRIPLE, PACKAGE)?;
    let kept = built.with_file_name(format!("{PACKAGE}-{name}"));
    copy(&built, &kept)?;
    Ok(kept)
}

/// Returns whether a function of an image is a single unconditional branch of Thumb-2, `b.w`.
fn is_one_branch(image: &PathBuf, name: &str) -> Result<bool> {
    let bytes = fs::read(image)?;
    let elf = object::File::parse(&*bytes)?;
    let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name));
    let symbol = symbol.with_context(|| format!("the image has no {name}"))?;
    let section = elf.section_by_index(symbol.section_index().context("it is in no section")?)?;
    // The lowest bit of a function's address marks Thumb code.
    let code = section.data_range(symbol.address() & !1, 4)?.context("the function has no code")?;
    let half = |at: usize| u16::from_le_bytes([code[at], code[at + 1]]);
    Ok(symbol.size() == 4 && half(0) & 0xF800 == 0xF000 && half(2) & 0xD000 == 0x9000)
}
