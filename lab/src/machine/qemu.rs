//! Microcontrollers that QEMU emulates: `cortex-m4`, `rv32`. Each repetition of a case is a fresh
//! start of the chip with the port's image.
//!
//! `docs/machines/qemu.md` gives the reasons for the machine's settings.

mod smallest;

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::PathBuf,
    process::Command,
    sync::{Mutex, atomic::AtomicBool},
};

use anyhow::{Context, Error, Result, anyhow, bail};
use chronoscope_suite::{Parameter, Spec, Values, experiments};

use super::{
    Machine, Made, Recording, agreement, builder,
    firmware::{self, PINS, once, repository, target},
    images::{self, Image, Variant},
    take,
};
use crate::{
    child::{self, Folder, Limit},
    run::names::CAPTURE,
};

/// An emulated chip.
#[derive(Debug)]
pub(super) struct Chip {
    pub(super) name: &'static str,
    /// QEMU's program, and Debian's package that has it.
    pub(super) program: &'static str,
    package: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// Where the plugin finds its pins.
    pins: &'static str,
}

static CHIPS: [Chip; 2] = [
    Chip {
        name: "cortex-m4",
        program: "qemu-system-arm",
        package: "qemu-system-arm",
        arguments: &["-machine", "netduinoplus2"],
        // GPIOA's BSRR, through its bit-band alias.
        pins: "pins=0x42400300,exceptions=on",
    },
    Chip {
        name: "rv32",
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
        // Two registers of the bench board's, which QEMU ignores.
        pins: "set=0x02003010,clear=0x02003014",
    },
];

/// QEMU's arguments for all chips: one instruction takes one tick, a sleeping processor skips to
/// the next event at once, and the host's user interface is off.
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

/// The parameter that records kernel events; only kernels with a traced image have it.
static TRACE: Parameter = Parameter {
    name: "trace",
    unit: "",
    default: "no",
    values: Values::Word(&["no", "yes"]),
    help: "record what the kernel does for `chronoscope trace`: its latest events; the recording's instructions are in the figures",
};

/// Splits a request into the variant of the image that it asks for, and the rest for the image.
///
/// # Errors
/// The request asks for two variants at once.
fn split(request: &str) -> Result<(Variant, String)> {
    let yes = |value: Option<&str>| value == Some("yes");
    let (trace, rest) = take(request, TRACE.name);
    let (pins, rest) = take(&rest, PINS.name);
    let variant = match (yes(trace), yes(pins)) {
        (true, true) => {
            bail!("`trace=yes` and `pins=yes` are two images here: ask for one of them")
        }
        (true, false) => Variant::Traced,
        (false, true) => Variant::Pins,
        (false, false) => Variant::Plain,
    };
    Ok((variant, rest))
}

/// A kernel on an emulated chip.
#[derive(Debug)]
pub struct Qemu {
    pub(super) chip: &'static Chip,
    /// The plain image.
    pub(super) image: &'static Image,
}

/// Finds the emulated chip and the kernel's image for it; `None` if there is no such pair.
///
/// # Errors
/// There is no index of images.
pub fn find(kernel: &str, machine: &str) -> Result<Option<Qemu>> {
    let Some(chip) = CHIPS.iter().find(|chip| chip.name == machine) else { return Ok(None) };
    Ok(images::find(kernel, machine)?.map(|image| Qemu { chip, image }))
}

/// The targets with an image for an emulated chip, as `kernel@machine`.
pub fn targets() -> impl Iterator<Item = String> {
    CHIPS.iter().flat_map(|chip| images::targets(chip.name))
}

impl Machine for Qemu {
    fn parameters(&self) -> Vec<(&'static Parameter, String)> {
        let own = [(Variant::Traced, &TRACE), (Variant::Pins, &PINS)].into_iter();
        own.filter(|(variant, _)| self.image.has(*variant))
            .map(|(_, parameter)| (parameter, parameter.default.to_owned()))
            .collect()
    }

    fn default(&self, spec: &Spec, parameter: &'static Parameter) -> Option<&'static str> {
        firmware::default(Some(&self.image.kind), spec, parameter)
    }

    fn check(&self, request: &str) -> Result<()> {
        split(request).map(drop)
    }

    fn prepare(&self, request: &str, _stop: &AtomicBool) -> Result<Made> {
        let (variant, request) = split(request)?;
        self.image.variant(variant)?;
        if variant == Variant::Pins && request != experiments::image::SPEC.name {
            plugin()?;
        }
        Ok(Made::default())
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn run(
        &self,
        request: &str,
        limit: Limit,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let (whole, (variant, request)) = (request, split(request)?);
        if request == experiments::image::SPEC.name {
            return smallest::run(self, &request, limit, stop, sink).map(|()| Recording::new());
        }
        let what = format!("{}@{} {whole}", self.image.kernel, self.chip.name);
        let image = self.image.variant(variant)?;
        let Chip { program, arguments, .. } = *self.chip;
        // Each start overwrites the files of the one before: the recording left is of a start that
        // agreed with the others.
        let folder = Folder::new()?;
        let analyser = (variant == Variant::Pins).then(|| self.analyser(&folder)).transpose()?;
        let start = |sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            let mut qemu = Command::new(program);
            qemu.args(arguments)
                .args(ARGUMENTS)
                .arg("-semihosting-config")
                .arg(semihosting(&request));
            qemu.args(analyser.iter().flatten());
            child::run(qemu.arg("-kernel").arg(&image), program, limit, stop, sink)
        };
        agreement::run(&what, start, sink).map_err(|error| self.explained(error, variant))?;
        let capture = analyser.map(|_| folder.text(CAPTURE)).transpose()?;
        Ok(Recording { capture: capture.map(String::into_bytes), ..Recording::new() })
    }
}

/// The value of QEMU's option that passes `request` to the image word by word as its command line.
/// QEMU reads `,,` as a literal comma.
fn semihosting(request: &str) -> String {
    let words = request.split(' ').map(|word| format!(",arg={}", word.replace(',', ",,")));
    "enable=on,target=native".to_owned() + &words.collect::<String>()
}

impl Qemu {
    /// QEMU's options for a logic analyser that writes a file of the folder.
    fn analyser(&self, folder: &Folder) -> Result<[String; 2]> {
        let quoted = |path: PathBuf| path.display().to_string().replace(',', ",,");
        let (plugin, file) = (quoted(plugin()?), quoted(folder.path(CAPTURE)));
        Ok([
            "-plugin".to_owned(),
            format!("{plugin},out={file},scope={},{}", self.chip.name, self.chip.pins),
        ])
    }

    fn explained(&self, error: Error, variant: Variant) -> Error {
        let Chip { program, package, .. } = self.chip;
        let cause = error.downcast_ref::<std::io::Error>();
        if cause.is_some_and(|cause| cause.kind() == ErrorKind::NotFound) {
            return anyhow!(
                "{program} is not installed: as root, apt-get install --no-install-recommends {package}"
            );
        }
        let mut loading = ["plugin", "chronoscope's pins"].into_iter();
        match variant == Variant::Pins && loading.any(|words| error.to_string().contains(words)) {
            true => error.context("pins=yes needs a QEMU that loads plugins, as Debian 12's"),
            false => error,
        }
    }
}

/// The logic analyser, built if it is not there or older than its source.
fn plugin() -> Result<PathBuf> {
    static BUILT: Mutex<BTreeMap<PathBuf, Result<(), String>>> = Mutex::new(BTreeMap::new());
    let root = repository()?;
    let target = target(root)?;
    let library = target.join("qemu-plugin/release/libchronoscope_qemu_plugin.so");
    once(&BUILT, &library, || {
        let arguments = ["plugin", "build", "--release", "--locked"];
        builder::build(&arguments, &target, "building QEMU's plugin").context(
            "QEMU's plugin could not be built (all of it: cargo xtask plugin build --release)",
        )
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
        assert_eq!(
            split("switch tasks=2 trace=yes").unwrap(),
            (Variant::Traced, "switch tasks=2".to_owned())
        );
        assert_eq!(split("image trace=no").unwrap(), (Variant::Plain, "image".to_owned()));
        assert_eq!(
            split("switch pins=yes trace=no").unwrap(),
            (Variant::Pins, "switch".to_owned())
        );
        assert!(split("switch pins=yes trace=yes").is_err());
    }
}
