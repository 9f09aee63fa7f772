//! The parts that all machines with microcontrollers' images share: defaults of experiments, and a
//! table of files that are made once. The images themselves are in [`images`](super::images).

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Values};

use super::family::Defaults;

/// Defaults of experiments' parameters on these machines, where they differ from the experiments'
/// own. A mark takes two instructions, so no operation is too short to be timed alone. All samples
/// of a kind are equal and the host executes every instruction of a hog, so few and short samples
/// suffice. The chip's memory does not hold the stacks of 100 threads.
pub(super) const DEFAULTS: &Defaults = &[
    ("switch", "batch", "1"),
    ("switch", "loops", "2000"),
    ("message", "batch", "1"),
    ("message", "loops", "2000"),
    ("log", "loops", "500"),
    ("ticks", "loops", "20"),
    ("spawn", "tasks", "30"),
    ("masked", "interval_us", "3"),
    ("inversion", "hog_us", "1000"),
    ("inversion", "hold_us", "100"),
];

/// The parameter that makes the image drive pins at the marks.
pub(super) static PINS: Parameter = Parameter {
    name: "pins",
    unit: "",
    default: "no",
    values: Values::Word(&["no", "yes"]),
    help: "drive pins at the marks and capture them: a second instrument, whose stores are in the figures",
};

/// Runs `make`, which creates the file at `path`, once per process; later calls return the first
/// result.
pub(super) fn once(
    made: &Mutex<BTreeMap<PathBuf, Result<(), String>>>,
    path: &Path,
    make: impl FnOnce() -> Result<()>,
) -> Result<PathBuf> {
    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome =
        made.entry(path.to_owned()).or_insert_with(|| make().map_err(|error| format!("{error:#}")));
    match outcome {
        Ok(()) => Ok(path.to_owned()),
        Err(error) => bail!("{error}"),
    }
}
