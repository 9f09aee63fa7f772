//! Microcontrollers that QEMU emulates, as `cortex-m4` and `rv32`. Each repetition of a case is a fresh
//! start of the chip with the port's image.
//!
//! `docs/machines/qemu.md` gives the reasons for the machine's settings.

mod chip;
mod operations;
mod smallest;

use std::{io::ErrorKind, path::PathBuf, sync::atomic::AtomicBool};

use anyhow::{Error, Result, anyhow, bail};
use chronoscope_suite::{Parameter, Spec, Values, experiments};

use self::chip::{CHIPS, Chip};
use super::{
    Machine, Made, Recording, Start, builder, determinism,
    family::{Family, Targets},
    firmware::{self, PINS},
    images::{self, Image, Variant},
    own::{self, Own},
    processes::{self, ASID},
    scratch, take,
};
use chronoscope_child::{self as child, Folder};
use chronoscope_run::{Target, names::CAPTURE};

pub static FAMILY: Family = Family {
    find,
    targets: Targets::Listed(targets),
    takes_images: true,
    defaults: &[firmware::DEFAULTS],
};

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
/// The request asks for two variants at once, or for a parameter of processes without one.
fn split(request: &str) -> Result<(Variant, String)> {
    let yes = |value: Option<&str>| value == Some("yes");
    let (is_of_processes, rest) = processes::split(request)?;
    let (trace, rest) = take(&rest, TRACE.name);
    let (pins, rest) = take(&rest, PINS.name);
    let variant = match (yes(trace), yes(pins), is_of_processes) {
        (true, true, _) => {
            bail!("`trace=yes` and `pins=yes` are two images here: ask for one of them")
        }
        (true, _, true) | (_, true, true) => {
            bail!("processes have no image with `trace=yes` or `pins=yes`: leave them out")
        }
        (true, false, _) => Variant::Traced,
        (false, true, _) => Variant::Pins,
        (false, false, true) => Variant::Processes,
        (false, false, false) => Variant::Plain,
    };
    Ok((variant, rest))
}

/// A kernel on an emulated chip.
#[derive(Debug)]
pub struct Qemu {
    chip: &'static Chip,
    image: Source,
}

/// The image of a target.
#[derive(Debug)]
enum Source {
    /// A kernel's plain image, from the index.
    Listed(&'static Image),
    /// A file of the user's.
    Given(Own),
}

impl Source {
    /// Returns whether there is an image of that variant.
    fn has(&self, variant: Variant) -> bool {
        match self {
            Self::Listed(image) => image.has(variant),
            Self::Given(_) => variant == Variant::Plain,
        }
    }

    /// The file of the variant, brought up to date.
    fn variant(&self, variant: Variant) -> Result<PathBuf> {
        match self {
            Self::Listed(image) => image.variant(variant),
            Self::Given(own) => Ok(own.path.clone()),
        }
    }

    fn kernel(&self) -> &str {
        match self {
            Self::Listed(image) => &image.kernel,
            Self::Given(own) => &own.name,
        }
    }

    /// The kind of task that is measured unless another is asked for.
    fn kind(&self) -> &str {
        match self {
            Self::Listed(image) => &image.kind,
            Self::Given(_) => own::KIND,
        }
    }

    /// The kernel's smallest image with that number of tasks.
    fn smallest(&self, tasks: usize) -> Option<&'static Image> {
        match self {
            Self::Listed(image) => image.smallest(tasks),
            Self::Given(_) => None,
        }
    }

    /// The benchmark of the kernel's own.
    fn operations(&self, has_slices: bool) -> Option<&'static Image> {
        match self {
            Self::Listed(image) => image.operations(has_slices),
            Self::Given(_) => None,
        }
    }

    fn made(&self) -> Made {
        match self {
            Self::Listed(image) => {
                Made { identity: image.build().into_iter().collect(), ..Made::default() }
            }
            Self::Given(own) => own.made(),
        }
    }
}

/// Fails if there is no index of images, or if the target's own image is none for the chip.
fn find(target: &Target) -> Result<Option<Box<dyn Machine>>> {
    let Some(chip) = CHIPS.iter().find(|chip| chip.name == target.machine) else {
        return Ok(None);
    };
    if let Some(own) = Own::for_chip(target, chip.architecture, &chip.code)? {
        return Ok(Some(Box::new(Qemu { chip, image: Source::Given(own) })));
    }
    let Some(image) = images::find(&target.kernel, chip.name)? else { return Ok(None) };
    Ok(Some(Box::new(Qemu { chip, image: Source::Listed(image) })))
}

fn targets() -> Vec<String> {
    CHIPS.iter().flat_map(|chip| images::targets(chip.name)).collect()
}

impl Machine for Qemu {
    fn parameters(&self) -> Vec<(&'static Parameter, String)> {
        let own = [(Variant::Traced, &TRACE), (Variant::Pins, &PINS), (Variant::Processes, &ASID)];
        own.into_iter()
            .filter(|(variant, _)| self.image.has(*variant))
            .map(|(_, parameter)| (parameter, parameter.default.to_owned()))
            .collect()
    }

    fn default(&self, spec: &Spec, parameter: &'static Parameter) -> Option<&'static str> {
        FAMILY.default(Some(self.image.kind()), spec, parameter)
    }

    fn check(&self, request: &str) -> Result<()> {
        split(request).map(drop)
    }

    fn prepare(&self, request: &str, _stop: &AtomicBool) -> Result<Made> {
        let (variant, request) = self.split(request)?;
        // The builder of the image also installs QEMU, if it is permitted.
        self.image.variant(variant)?;
        if !builder::is_installed(self.chip.program) {
            return Err(self.missing());
        }
        if variant == Variant::Pins && of_the_lab(&request).is_none() {
            plugin()?;
        }
        Ok(self.image.made())
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn shares_the_host(&self) -> bool {
        true
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let (variant, request) = self.split(start.request)?;
        if let Some(run) = of_the_lab(&request) {
            run(self.chip, &self.image, &Start { request: &request, ..*start }, sink)?;
            return Ok(Recording::new());
        }
        let what = format!("{}@{} {}", self.image.kernel(), self.chip.name, start.request);
        let image = self.image.variant(variant)?;
        // Each start overwrites the files of the one before: the recording left is of a start that
        // agreed with the others.
        let folder = scratch::folder()?;
        let analyser = (variant == Variant::Pins).then(|| self.analyser(&folder)).transpose()?;
        let once = |sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            let mut qemu = self.chip.command();
            qemu.arg("-semihosting-config").arg(semihosting(&request));
            qemu.args(analyser.iter().flatten()).arg("-kernel").arg(&image);
            child::run(&mut qemu, self.chip.program, start.limit, start.stop, sink)
        };
        determinism::run(&image, &what, once, sink)
            .map_err(|error| self.explained(error, variant))?;
        let capture = analyser.map(|_| folder.text(CAPTURE)).transpose()?;
        Ok(Recording { capture: capture.map(String::into_bytes), ..Recording::new() })
    }
}

/// Runs an experiment that is a program of the lab's, as [`Machine::run`].
type OfTheLab = fn(&Chip, &Source, &Start<'_>, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;

/// The program of the experiment that the request names, if it is one of the lab's.
fn of_the_lab(request: &str) -> Option<OfTheLab> {
    match request.split(' ').next()? {
        name if name == experiments::image::SPEC.name => Some(smallest::run),
        name if name == experiments::operations::SPEC.name => Some(operations::run),
        _ => None,
    }
}

/// The value of QEMU's option that passes `request` to the image word by word as its command line.
/// QEMU reads `,,` as a literal comma.
fn semihosting(request: &str) -> String {
    let words = request.split(' ').map(|word| format!(",arg={}", word.replace(',', ",,")));
    "enable=on,target=native".to_owned() + &words.collect::<String>()
}

impl Qemu {
    /// Splits a request, as [`split`]. Without an image for processes, the plain one gets the
    /// request, and refuses it.
    fn split(&self, request: &str) -> Result<(Variant, String)> {
        let (variant, rest) = split(request)?;
        let is_missing = variant == Variant::Processes && !self.image.has(variant);
        Ok((if is_missing { Variant::Plain } else { variant }, rest))
    }

    /// QEMU's options for a logic analyser that writes a file of the folder.
    fn analyser(&self, folder: &Folder) -> Result<[String; 2]> {
        let quoted = |path: PathBuf| path.display().to_string().replace(',', ",,");
        let (plugin, file) = (quoted(plugin()?), quoted(folder.path(CAPTURE)));
        Ok([
            "-plugin".to_owned(),
            format!("{plugin},out={file},scope={},{}", self.chip.name, self.chip.pins),
        ])
    }

    /// The error of a QEMU that is not there.
    fn missing(&self) -> Error {
        let Chip { program, package, .. } = self.chip;
        anyhow!(
            "{program} is not installed: as root, apt-get install --no-install-recommends {package}"
        )
    }

    fn explained(&self, error: Error, variant: Variant) -> Error {
        let cause = error.downcast_ref::<std::io::Error>();
        if cause.is_some_and(|cause| cause.kind() == ErrorKind::NotFound) {
            return self.missing();
        }
        let mut loading = ["plugin", "chronoscope's pins"].into_iter();
        if variant == Variant::Pins && error.to_string().contains("cannot be written: ") {
            return scratch::remedied(&error);
        }
        match variant == Variant::Pins && loading.any(|words| error.to_string().contains(words)) {
            true => error.context("pins=yes needs a QEMU that loads plugins, as Debian 12's"),
            false => error,
        }
    }
}

/// QEMU's plugin, which is the logic analyser and the observer, brought up to date.
///
/// # Errors
/// It cannot be built, or is missing.
pub fn plugin() -> Result<PathBuf> {
    images::tool("qemu-plugin", "QEMU's plugin")
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

    #[test]
    fn processes_have_an_image_of_their_own() {
        let ask = |request| split(request).unwrap();
        assert_eq!(
            ask("switch pair=process-process trace=no asid=on"),
            (Variant::Processes, "switch pair=process-process".to_owned())
        );
        assert_eq!(
            ask("spawn kind=process asid=off"),
            (Variant::Processes, "spawn kind=process asid=off".to_owned())
        );
        assert_eq!(
            ask("spawn kind=thread asid=on"),
            (Variant::Plain, "spawn kind=thread".to_owned())
        );
        assert!(split("spawn kind=thread asid=off").is_err());
        assert!(split("spawn kind=process trace=yes").is_err());
    }
}
