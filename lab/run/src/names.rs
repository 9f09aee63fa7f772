//! The names of parts of a run: attachments, facts of an identity, and series that pins show.

/// The target of this computer.
pub const HOST: &str = "linux@host";

/// The fact of a case's identity with the kernel's compiler and options, as a port sent it.
pub const BUILD: &str = chronoscope_suite::wire::BUILD;

/// The fact of a case's identity with the hash of an image of the user's.
pub const GIVEN_IMAGE: &str = "given image";

/// The fact of a case's identity with the kernel's name, as a given image reports it.
pub const KERNEL: &str = "kernel";

/// The fact of a case's identity with the chip whose core a model follows, and the model's numbers.
/// Cases with it have modelled time.
pub const MODEL: &str = "model";

/// The fact of a case's identity with the files that a guest starts from. Cases with it ran in a
/// guest.
pub const INITRAMFS: &str = "initramfs";

/// The fact of a case's identity with the origin of a guest's kernel: a package with its version and
/// SHA-256, or the path of a file of the user's.
pub const KERNEL_ORIGIN: &str = "kernel's origin";

/// The parameter with that chip, and its clock.
pub const CHIP: &str = "chip";

/// The parameter with the options that an image was compiled with.
pub const COMPILED: &str = "build";

/// The builds of an image, as values of [`COMPILED`]: the usual one first. A kernel in Rust has the
/// first [`BUILDS_OF_RUST`].
pub const BUILDS: [&str; 5] = ["fat", "cargo", "size", "c-o3", "c-lto"];

/// The number of builds of a kernel in Rust.
pub const BUILDS_OF_RUST: usize = 3;

/// The value of [`COMPILED`] that stands for every build of an image.
pub const EVERY_BUILD: &str = "all";

/// The attachment with the edges of the pins, as a value change dump.
pub const CAPTURE: &str = "pins.vcd";

/// The attachment that holds runs of one function, in cycles: lines `START END name`.
pub const RUNS: &str = "retired.txt";

/// Returns the name of a series as its pin shows it.
pub fn by_pin(name: &str) -> String {
    format!("{name} by pin")
}

/// Returns the beginning of the names of all readings of a series by a slower analyser.
pub fn readings_of(name: &str) -> String {
    format!("{} at ", by_pin(name))
}

/// The experiment's name of an observation, whose samples all start at times since the image's
/// first instruction.
pub const OBSERVE: &str = "observe";

/// The experiment's name of a program under watch, whose samples all start at times since its first
/// mark.
pub const WATCH: &str = "watch";

/// The experiment's name of a case that another tool has measured, and the machine of its target.
pub const IMPORT: &str = "import";

/// The name of a series with the samples of all processors of a case, beside a series for each of them.
pub const TOGETHER: &str = "all processors";

/// The first words of the note on the longest wait of a case that tries arrivals. The note ends with
/// `, in ` and the place in the code.
pub const LONGEST_WAIT: &str = "longest wait: ";

/// The first words of the name of their series; the end of a wait follows: `handler`, or a place of the
/// image.
pub const WAIT: &str = "arrival to ";

/// The figure with the number of pairs of arrivals, where another interrupt came, too.
pub const PAIRS: &str = "pairs";
