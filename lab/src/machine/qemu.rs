//! Microcontrollers that QEMU emulates: `cortex-m4`, `rv32`. A case is one fresh start of the chip with the port's image.
//!
//! The lab builds the images itself, through `tools/firmware-cargo`; cargo sees to it that a second run builds nothing.
//! `docs/machines/qemu.md` says why the machine is built as it is.

use std::{
    collections::BTreeMap,
    env,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError, atomic::AtomicBool, mpsc},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use chronoscope_suite::{Parameter, Spec, Values, experiments};

use super::{Machine, Made, agreement, default_in, smallest, take};
use crate::{child, report};

/// An emulated chip.
#[derive(Debug)]
pub(super) struct Chip {
    pub(super) name: &'static str,
    /// As Rust calls it.
    pub(super) triple: &'static str,
    /// QEMU's program, and Debian's package that has it.
    pub(super) program: &'static str,
    package: &'static str,
    pub(super) arguments: &'static [&'static str],
}

static CHIPS: [Chip; 2] = [
    Chip {
        name: "cortex-m4",
        triple: "thumbv7em-none-eabihf",
        program: "qemu-system-arm",
        package: "qemu-system-arm",
        arguments: &["-machine", "netduinoplus2"],
    },
    Chip {
        name: "rv32",
        triple: "riscv32imc-unknown-none-elf",
        program: "qemu-system-riscv32",
        package: "qemu-system-misc",
        arguments: &[
            "-machine",
            "virt",
            "-bios",
            "none",
            // RV32IMC, with machine mode alone.
            "-cpu",
            "rv32,a=off,f=off,d=off,h=off,s=off,u=off",
            // The alarm that counts instructions, from when the processor's counter does.
            "-rtc",
            "base=1970-01-01T00:00:00,clock=vm",
        ],
    },
];

/// For all chips. One instruction takes one tick; a processor that sleeps skips to the next event at once; and nothing of
/// the host's user interface gets in the way.
pub(super) const ARGUMENTS: [&str; 10] = [
    "-icount",
    "shift=0,sleep=off,align=off",
    "-display",
    "none",
    "-monitor",
    "none",
    "-serial",
    "null",
    "-parallel",
    "null",
];

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
    Port { kernel: "tandem", chips: &["cortex-m4", "rv32"], kind: "thread" },
    Port { kernel: "embassy", chips: &["cortex-m4", "rv32"], kind: "coroutine" },
    Port { kernel: "lilos", chips: &["cortex-m4"], kind: "coroutine" },
    Port { kernel: "rtic", chips: &["cortex-m4"], kind: "coroutine" },
    Port { kernel: "bare", chips: &["cortex-m4", "rv32"], kind: "thread" },
];

/// Of the kernels whose images can record what they do.
static TRACE: Parameter = Parameter {
    name: "trace",
    unit: "",
    default: "no",
    values: Values::Word(&["no", "yes"]),
    help: "record what the kernel does for `chronoscope trace`: its latest events; the recording's instructions are in the figures",
};

/// Whether a trace is asked for, and the request without that: it is the image that differs.
fn split(request: &str) -> (bool, String) {
    let (trace, request) = take(request, TRACE.name);
    (trace == Some("yes"), request)
}

/// One kernel on one chip.
#[derive(Debug)]
pub struct Qemu {
    pub(super) chip: &'static Chip,
    pub(super) port: &'static Port,
}

/// The emulated chip of that name with that kernel, if there is such a pair.
pub fn find(kernel: &str, machine: &str) -> Option<Qemu> {
    let chip = CHIPS.iter().find(|chip| chip.name == machine)?;
    let port = PORTS.iter().find(|port| port.kernel == kernel && port.chips.contains(&machine))?;
    Some(Qemu { chip, port })
}

/// Every kernel on every chip that it has an image for, as `kernel@machine`.
pub fn targets() -> impl Iterator<Item = String> {
    CHIPS.iter().flat_map(|chip| {
        let ports = PORTS.iter().filter(|port| port.chips.contains(&chip.name));
        ports.map(|port| format!("{}@{}", port.kernel, chip.name))
    })
}

/// The kind of task that is measured of that kernel, unless another is asked for.
pub(super) fn kind(kernel: &str) -> Option<&'static str> {
    PORTS.iter().find(|port| port.kernel == kernel).map(|port| port.kind)
}

/// A microcontroller's default of an experiment's parameter, for a kernel with that kind of task.
pub(super) fn default(kind: Option<&str>, spec: &Spec, parameter: &Parameter) -> Option<&'static str> {
    let fits = |word: &&&str| kind.is_some_and(|kind| word.split('-').all(|word| word == kind));
    match (parameter.name, &parameter.values) {
        ("kind" | "pair", Values::Word(words)) => words.iter().find(fits).copied(),
        _ => default_in(&DEFAULTS, spec, parameter),
    }
}

impl Machine for Qemu {
    fn parameters(&self) -> Vec<(&'static Parameter, String)> {
        if self.can_trace() { vec![(&TRACE, TRACE.default.to_owned())] } else { Vec::new() }
    }

    fn default(&self, spec: &Spec, parameter: &'static Parameter) -> Option<&'static str> {
        default(Some(self.port.kind), spec, parameter)
    }

    fn prepare(&self, request: &str, _stop: &AtomicBool) -> Result<Made> {
        self.image(split(request).0).map(|_| Made::default())
    }

    fn run(
        &self,
        request: &str,
        limit: Duration,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (traced, request) = split(request);
        let request = request.as_str();
        if request == experiments::image::SPEC.name {
            return smallest::run(self, request, limit, stop, sink);
        }
        let Chip { program, package, arguments, .. } = *self.chip;
        let image = self.image(traced)?;
        let start = |sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            let mut qemu = Command::new(program);
            qemu.args(arguments).args(ARGUMENTS).arg("-semihosting-config").arg(semihosting(request));
            child::run(qemu.arg("-kernel").arg(&image), program, limit, stop, sink)
        };
        let what = format!("{}@{} {request}", self.port.kernel, self.chip.name);
        agreement::run(&what, start, sink).map_err(|error| match error.downcast_ref::<std::io::Error>() {
            Some(cause) if cause.kind() == ErrorKind::NotFound => {
                anyhow!("{program} is not installed: as root, apt-get install --no-install-recommends {package}")
            }
            _ => error,
        })
    }
}

/// QEMU's option that gives the image its command line, word by word. In it a comma is written twice.
fn semihosting(request: &str) -> String {
    let words = request.split(' ').map(|word| format!(",arg={}", word.replace(',', ",,")));
    "enable=on,target=native".to_owned() + &words.collect::<String>()
}

/// What came of building each image, by its path: built once in the lab's life.
static BUILT: Mutex<BTreeMap<PathBuf, Result<(), String>>> = Mutex::new(BTreeMap::new());

impl Qemu {
    fn can_trace(&self) -> bool {
        self.port.kernel == "tandem"
    }

    /// The port's image, built if it is not there or older than its source.
    fn image(&self, traced: bool) -> Result<PathBuf> {
        let root = repository()?;
        let target = target(root)?;
        let package = format!("chronoscope-{}", self.port.kernel);
        let (profile, features): (_, &[&str]) =
            if traced { ("traced", &["--features", "traced"]) } else { ("release", &[]) };
        let image = target.join("firmware").join(self.chip.triple).join(profile).join(&package);
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = built.entry(image.clone()).or_insert_with(|| {
            build(root, &target, self.chip.triple, &package, profile, features).map_err(|error| format!("{error:#}"))
        });
        match outcome {
            Ok(()) => Ok(image),
            Err(error) => bail!("{error}"),
        }
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
    cargo.args([triple, "build", "--profile", profile, "--locked", "--package", package]).args(features);
    // There, since the workspace's .cargo/config.toml counts.
    cargo.current_dir(root.join("ports/firmware")).env("CARGO_TARGET_DIR", target);
    // What is meant for the host's compiler is not for the chip's.
    for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
        cargo.env_remove(flags);
    }
    cargo.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = told_when_long(&format!("building {package}"), || cargo.output())
        .context("cannot start tools/firmware-cargo")?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let error = lines().find(|line| line.starts_with("error")).or(lines().next_back()).unwrap_or_default();
    bail!(
        "{package} could not be built for {triple}: {error} (all of it: tools/firmware-cargo {triple} build --manifest-path ports/firmware/Cargo.toml)"
    )
}

/// Does `work`, and says so if it takes more than a moment.
pub(super) fn told_when_long<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (done, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(Duration::from_secs(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
                report::note(what);
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_reaches_the_image_word_by_word() {
        assert_eq!(semihosting("switch a=1,2"), "enable=on,target=native,arg=switch,arg=a=1,,2");
    }

    #[test]
    fn a_trace_is_no_business_of_the_request() {
        assert_eq!(split("switch tasks=2 trace=yes"), (true, "switch tasks=2".to_owned()));
        assert_eq!(split("image trace=no"), (false, "image".to_owned()));
    }

    #[test]
    fn every_port_has_its_chips() {
        let chips: usize = PORTS.iter().map(|port| port.chips.len()).sum();
        assert_eq!(targets().count(), chips);
    }
}
