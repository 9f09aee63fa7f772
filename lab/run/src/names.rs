//! Names that a run uses for its parts: attachments, and series that pins show.

/// The target of this computer.
pub const HOST: &str = "linux@host";

/// The fact of a case's identity that says how its kernel was compiled, as a port sent it.
pub const BUILD: &str = chronoscope_suite::wire::BUILD;

/// The fact of a case's identity that an image of the user's was run: its hash.
pub const GIVEN_IMAGE: &str = "given image";

/// The fact of a case's identity with the kernel that a given image says it is.
pub const KERNEL: &str = "kernel";

/// The attachment with the edges of the pins, as a value change dump.
pub const CAPTURE: &str = "pins.vcd";

/// The attachment that holds runs of one function, in cycles: lines `START END name`.
pub const RUNS: &str = "retired.txt";

/// The name of the samples of a series as its pin shows them.
pub fn by_pin(name: &str) -> String {
    format!("{name} by pin")
}

/// The beginning of the names of all readings of a series by a slower analyser.
pub fn readings_of(name: &str) -> String {
    format!("{} at ", by_pin(name))
}

/// The experiment's name of an observation, whose samples all start at times since the image's first
/// instruction.
pub const OBSERVE: &str = "observe";
