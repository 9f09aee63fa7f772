//! Data that all machines with microcontrollers' images share: defaults of experiments, and the
//! parameter of pins. The images themselves are in [`images`](super::images).

use chronoscope_suite::{Parameter, Values};

use super::description::Defaults;

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
