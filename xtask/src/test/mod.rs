//! Checks the repository: `./chronoscope test`.
//!
//! The steps are rows of [`table`]; [`schedule`] runs them side by side, one for each core. A missing
//! tool is installed or fails its step; no step is ever skipped.

mod bring_up;
mod c;
mod chip;
mod costs;
mod emulate;
mod kit;
mod layer;
mod measure;
mod miri;
mod models;
mod peers;
mod schedule;
mod scipy;
mod step;
mod study;
mod summary;
mod table;

use std::process;

use anyhow::{Result, bail};

use self::chip::Chip;
use crate::{packages, python, repository::target, rust::Toolchain};

pub const USAGE: &str = "test [quick|long] FILTER…  \
    checks the repository; the filters go to cargo test";

/// The amount of checking. Each stage has all steps of the stages before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Minutes: format, lints and the tests that need no target.
    Quick,
    /// All targets.
    Full,
    /// Second soaks, long searches, whole studies.
    Long,
}

pub fn run(arguments: &[&str]) -> Result<()> {
    let (stage, filters) = match arguments {
        ["quick", filters @ ..] => (Stage::Quick, filters),
        ["long", filters @ ..] => (Stage::Long, filters),
        filters => (Stage::Full, filters),
    };
    Toolchain::find()?.need_linters()?;
    let mut steps = table::steps(filters)?;
    steps.retain(|step| step.stage <= stage);
    let done = schedule::run(&steps, &target()?.join("test"))?;
    let summary = summary::print(&done);
    finish(summary.steps && summary.tests)
}

/// Checks tandem alone, or measures its costs: the steps of the table whose names begin with
/// `tandem`.
pub fn tandem(arguments: &[&str]) -> Result<()> {
    let start = match arguments {
        [] => "tandem: ",
        ["benchmark"] => "tandem: costs",
        ["peers"] => "tandem: peers",
        _ => bail!("usage: cargo xtask {TANDEM_USAGE}"),
    };
    let mut steps = table::steps(&[])?;
    steps.retain(|step| step.stage <= Stage::Full && step.name.starts_with(start));
    let done = schedule::run(&steps, &target()?.join("test"))?;
    finish(summary::print(&done).steps)
}

pub const TANDEM_USAGE: &str = "tandem [benchmark|peers]  \
    checks the kernel on this host and on emulated chips; or prints its costs, or other kernels' costs";

/// Does the work of a step of [`table`] that no single command does.
pub fn step(arguments: &[&str]) -> Result<()> {
    match *arguments {
        ["packages"] => packages::install(&table::PACKAGES),
        ["scipy"] => scipy::write_figures(),
        ["labgrid"] => {
            python::environment("labgrid", "tools/labgrid-requirements.txt", "labgrid").map(drop)
        }
        ["miri"] => miri::run(),
        ["chip", name, command, features, ref arguments @ ..] => {
            Chip::find(name)?.cargo(command, features, arguments)
        }
        ["emulate", chip, image] => emulate::run(&Chip::find(chip)?, image, true, "").map(drop),
        ["emulate", chip, image, "fails", "with", ref message @ ..] => {
            emulate::run(&Chip::find(chip)?, image, false, &message.join(" ")).map(drop)
        }
        ["soak-twice", chip] => emulate::soak_twice(&Chip::find(chip)?),
        ["c"] => c::run(),
        ["kit"] => kit::run(),
        ["models"] => models::check(),
        ["peers"] => peers::run(),
        ["peers", kernel] => peers::native(kernel),
        ["bring-up"] => bring_up::run(),
        ["study", name, ref statuses @ ..] => study::run(name, statuses),
        ["costs", chip] => costs::run(&Chip::find(chip)?),
        ["sizes", chip] => emulate::sizes(&Chip::find(chip)?),
        _ => bail!("usage: cargo xtask {STEP_USAGE}"),
    }
}

pub const STEP_USAGE: &str = "step NAME ARGUMENT…  one step of the test that is no single command";

/// Ends the process with an error status unless all is well.
fn finish(is_well: bool) -> Result<()> {
    if !is_well {
        process::exit(1);
    }
    Ok(())
}
