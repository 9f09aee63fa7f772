//! What machines that run microcontrollers' images share: the kernels that have images, how those are built, and what experiments
//! are set to there.
//!
//! The lab builds the images itself, through `tools/firmware-cargo`; cargo sees to it that a second run builds nothing.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use chronoscope_suite::{Parameter, Spec, Values};

use super::default_in;
use crate::console;

/// A kernel that has an image.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) kernel: &'static str,
    chips: &'static [&'static str],
    /// The kind of task that is measured unless another is asked for.
    pub(super) kind: &'static str,
}

/// Defaults of experiments' parameters on these machines, where they differ from the experiments' own. A mark takes two
/// instructions here, so nothing is too short to be timed alone; and since all samples of a kind are the same,
/// there is no use in many, nor in long ones: the host executes every instruction of a hog. Threads have stacks, and 100
/// of them more than the chip has.
pub(super) static DEFAULTS: [(&str, &str, &str); 10] = [
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

static PORTS: [Port; 5] = [
    Port {
        kernel: "tandem",
        chips: &["cortex-m4", "rv32", "ibex", "ibex-wb", "cv32e40p"],
        kind: "thread",
    },
    Port {
        kernel: "embassy",
        chips: &["cortex-m4", "rv32", "ibex", "ibex-wb", "cv32e40p"],
        kind: "coroutine",
    },
    Port { kernel: "lilos", chips: &["cortex-m4"], kind: "coroutine" },
    Port { kernel: "rtic", chips: &["cortex-m4"], kind: "coroutine" },
    Port {
        kernel: "bare",
        chips: &["cortex-m4", "rv32", "ibex", "ibex-wb", "cv32e40p"],
        kind: "thread",
    },
];

/// Every kernel that has an image for a machine, as `kernel@machine`.
pub(super) fn targets(machine: &'static str) -> impl Iterator<Item = String> {
    let ports = PORTS.iter().filter(move |port| port.chips.contains(&machine));
    ports.map(move |port| format!("{}@{machine}", port.kernel))
}

/// That kernel, if it has an image for that machine.
pub(super) fn find(kernel: &str, machine: &str) -> Option<&'static Port> {
    PORTS.iter().find(|port| port.kernel == kernel && port.chips.contains(&machine))
}

/// The kind of task that is measured of that kernel, unless another is asked for.
pub(super) fn kind(kernel: &str) -> Option<&'static str> {
    PORTS.iter().find(|port| port.kernel == kernel).map(|port| port.kind)
}

/// A microcontroller's default of an experiment's parameter, for a kernel with that kind of task.
pub(super) fn default(
    kind: Option<&str>,
    spec: &Spec,
    parameter: &Parameter,
) -> Option<&'static str> {
    let fits = |word: &&&str| kind.is_some_and(|kind| word.split('-').all(|word| word == kind));
    match (parameter.name, &parameter.values) {
        ("kind" | "pair", Values::Word(words)) => words.iter().find(fits).copied(),
        _ => default_in(&DEFAULTS, spec, parameter),
    }
}

/// Whether pins are to be driven.
pub(super) static PINS: Parameter = Parameter {
    name: "pins",
    unit: "",
    default: "no",
    values: Values::Word(&["no", "yes"]),
    help: "drive pins at the marks and capture them: a second instrument, whose stores are in the figures",
};

/// What an image is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    Plain,
    /// Records what its kernel does.
    Traced,
    /// Drives pins at the marks.
    Pins,
}

impl Variant {
    /// Each has a cargo profile of its own, so that what is built for one stays when another is.
    fn profile(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Plain => ("release", &[]),
            Self::Traced => ("traced", &["--features", "traced"]),
            Self::Pins => ("pins", &["--features", "pins"]),
        }
    }
}

/// What came of building each image, by its path: built once in the lab's life.
static BUILT: Mutex<BTreeMap<PathBuf, Result<(), String>>> = Mutex::new(BTreeMap::new());

impl Port {
    /// The default of an experiment's own parameter.
    pub(super) fn default(
        &self,
        spec: &Spec,
        parameter: &'static Parameter,
    ) -> Option<&'static str> {
        default(Some(self.kind), spec, parameter)
    }

    /// The kernel's image for a processor, built if it is not there or older than its source.
    pub(super) fn image(&self, triple: &str, variant: Variant) -> Result<PathBuf> {
        self.image_in("", triple, variant, &[])
    }

    /// As [`image`](Self::image), with more features, and so in a folder of its own.
    pub(super) fn image_in(
        &self,
        folder: &str,
        triple: &str,
        variant: Variant,
        more: &[&str],
    ) -> Result<PathBuf> {
        let root = repository()?;
        let target = target(root)?.join(folder);
        let package = format!("chronoscope-{}", self.kernel);
        let (profile, features) = variant.profile();
        let features = [features, more].concat();
        let image = target.join("firmware").join(triple).join(profile).join(&package);
        once(&BUILT, &image, || build(root, &target, triple, &package, profile, &features))
    }
}

/// Makes what is to lie at `path`, once in the lab's life: what came of it is told again.
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

/// Where cargo builds.
pub(super) fn target(root: &Path) -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(std::path::absolute(target)?)
}

/// Where the sources of the images are: where the lab itself was built.
pub(super) fn repository() -> Result<&'static Path> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"));
    if !root.join("ports/firmware/Cargo.toml").is_file() {
        bail!(
            "the sources of the microcontrollers' images are not in {} any more: build chronoscope again where they are",
            root.display()
        );
    }
    Ok(root)
}

pub(super) fn build(
    root: &Path,
    target: &Path,
    triple: &str,
    package: &str,
    profile: &str,
    features: &[&str],
) -> Result<()> {
    let mut cargo = Command::new(root.join("tools/firmware-cargo"));
    cargo
        .args([triple, "build", "--profile", profile, "--locked", "--package", package])
        .args(features);
    // There, since the workspace's .cargo/config.toml counts.
    cargo.current_dir(root.join("ports/firmware")).env("CARGO_TARGET_DIR", target);
    run_cargo(&mut cargo, &format!("building {package}"))
        .with_context(|| format!("{package} could not be built for {triple} (all of it: tools/firmware-cargo {triple} build --manifest-path ports/firmware/Cargo.toml)"))
}

/// Runs one of the scripts `tools/…-cargo`; says `what` it does if that takes more than a moment.
///
/// # Errors
/// What it complains of.
pub(super) fn run_cargo(cargo: &mut Command, what: &str) -> Result<()> {
    // What is meant for the lab's own build is not for these.
    for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
        cargo.env_remove(flags);
    }
    cargo.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = told_when_long(what, || cargo.output());
    let output =
        output.with_context(|| format!("cannot start {}", cargo.get_program().display()))?;
    if output.status.success() { Ok(()) } else { Err(anyhow!(complaint(&output.stderr))) }
}

/// The line of cargo's that tells most.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    lines()
        .find(|line| line.starts_with("error"))
        .or(lines().next_back())
        .unwrap_or_default()
        .to_owned()
}

/// Does `work`, and says so if it takes more than a moment.
pub(super) fn told_when_long<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (done, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(Duration::from_secs(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
                console::note(what);
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}
