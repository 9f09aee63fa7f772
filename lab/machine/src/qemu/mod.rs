//! Microcontrollers that QEMU emulates, as `cortex-m4` and `rv32`. Each repetition of a case is a fresh
//! start of the chip with the port's image.
//!
//! `docs/machines/qemu.md` gives the reasons for the machine's settings.

mod builds;
pub(super) mod chip;
pub(crate) mod modelled;
mod operations;
mod smallest;
pub(crate) mod worst;

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::{Error, Result, anyhow, bail};
use chronoscope_suite::{Parameter, Spec, Values, experiments};

use super::{
    Description, Machine, Properties, Provenance, Recording, Request, Round, Start, builder,
    description::Defaults,
    determinism::{Agreements, Manner},
    family::Family,
    firmware::{self, PINS},
    given::{self, GivenImage},
    images::{Image, Images, Variant},
    processes::{self, ASID, Identifiers},
    scratch,
    stream::StreamBuilder,
};
use chip::quoted;
use chronoscope_child::{self as child, Folder, Limit};
use chronoscope_chips::{Chip, Part};
use chronoscope_run::{Target, names::CAPTURE, names::COMPILED};
use modelled::Modelled;

/// The parameter that records kernel events; only kernels with a traced image have it.
static TRACE: Parameter = Parameter {
    name: "trace",
    unit: "",
    default: "no",
    values: Values::Word(&["no", "yes"]),
    help: "record what the kernel does for `chronoscope trace`: its latest events; the recording's instructions are in the figures",
};

/// The experiment whose images have nothing else to measure.
const TASKSET: &str = experiments::taskset::SPEC.name;

/// Splits a request into the variant of the image that it asks for, and the rest for the image.
///
/// # Errors
/// The request asks for two variants at once, or for a parameter of processes without one.
fn split(request: &Request) -> Result<(Variant, Request)> {
    let asks = |parameter: &Parameter| request.has(parameter.name, "yes");
    let (asks_for_processes, rest) = processes::split(request, Identifiers::Kept)?;
    let rest = rest.without(TRACE.name).without(PINS.name).without(COMPILED);
    let is_modelled = request.get(modelled::CHIP.name).is_some_and(|chip| !chip.is_empty());
    if let Some(built) = builds::asked(request) {
        if asks(&TRACE) || asks(&PINS) || asks_for_processes {
            bail!("`build=` is of the plain image: leave out trace=, pins= and processes");
        }
        if of_the_lab(request).is_some() {
            bail!("`{}` measures images of its own: leave out build=", request.experiment());
        }
        return Ok((built, rest));
    }
    let variant = match (asks(&TRACE), asks(&PINS), asks_for_processes) {
        (true, true, _) => {
            bail!("`trace=yes` and `pins=yes` are two images here: ask for one of them")
        }
        (true, ..) | (_, true, _) | (.., true) if is_modelled => {
            bail!("`chip=` measures the plain image: leave out trace=, pins= and processes")
        }
        (true, _, true) | (_, true, true) => {
            bail!("processes have no image with `trace=yes` or `pins=yes`: leave them out")
        }
        (true, false, _) => Variant::Traced,
        (false, true, _) => Variant::Pins,
        (false, false, true) => Variant::Processes,
        (false, false, false) if request.experiment() == TASKSET => Variant::TaskSet,
        (false, false, false) => Variant::Plain,
    };
    Ok((variant, rest))
}

/// The properties of an emulated chip.
const PROPERTIES: Properties =
    Properties { offers_soaks: false, is_emulated: true, shares_the_host: true, slowness: 1 };

/// A kernel on an emulated chip.
struct Qemu<'m> {
    chip: &'m Chip,
    image: Source<'m>,
    images: &'m Images,
    agreements: &'m Agreements,
}

/// The image of a target.
enum Source<'m> {
    /// A kernel's plain image, from the index.
    Listed(Image<'m>),
    /// A file of the user's.
    Given(GivenImage),
}

impl<'m> Source<'m> {
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
            Self::Given(given) => Ok(given.path.clone()),
        }
    }

    fn kernel(&self) -> &str {
        match self {
            Self::Listed(image) => image.kernel(),
            Self::Given(given) => &given.name,
        }
    }

    /// The kind of task that is measured unless another is asked for.
    fn kind(&self) -> &str {
        match self {
            Self::Listed(image) => image.kind(),
            Self::Given(_) => given::KIND,
        }
    }

    /// The kernel's smallest image with that number of tasks.
    fn smallest(&self, tasks: usize) -> Option<Image<'m>> {
        match self {
            Self::Listed(image) => image.smallest(tasks),
            Self::Given(_) => None,
        }
    }

    /// The kernel's own benchmark of that variant.
    fn benchmark(&self, variant: &str) -> Option<Image<'m>> {
        match self {
            Self::Listed(image) => image.other(variant),
            Self::Given(_) => None,
        }
    }

    /// Runs the image by `start`, as [`GivenImage::run`]. A listed image has a port.
    fn run(
        &self,
        limit: Limit,
        start: impl FnOnce(Limit, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Listed(_) => start(limit, sink),
            Self::Given(given) => given.run(limit, start, sink),
        }
    }

    fn provenance(&self, variant: Variant) -> Provenance {
        match self {
            Self::Listed(image) => Provenance {
                identity: image.build(variant).into_iter().collect(),
                ..Provenance::default()
            },
            Self::Given(given) => given.provenance(),
        }
    }
}

/// The chip of a target and its image; `None` if the target is none of an emulated chip.
///
/// # Errors
/// There is no index of images, or the target's own image is none for the chip.
fn look_up<'m>(images: &'m Images, target: &Target) -> Result<Option<(&'m Chip, Source<'m>)>> {
    let Some(chip) = images.table().targets().find(|chip| chip.name == target.machine) else {
        return Ok(None);
    };
    if let Some(given) = GivenImage::for_chip(target, chip::architecture(chip), &chip.code())? {
        return Ok(Some((chip, Source::Given(given))));
    }
    let listed = images.find(&target.kernel, &chip.name)?;
    Ok(listed.map(|image| (chip, Source::Listed(image))))
}

/// The family of emulated chips, and the streams on which starts of each case agreed.
#[derive(Default)]
pub(super) struct Chips(Agreements);

impl Family for Chips {
    fn describe(&self, images: &Images, target: &Target) -> Result<Option<Description>> {
        let Some((chip, image)) = look_up(images, target)? else { return Ok(None) };
        let own = [(Variant::Traced, &TRACE), (Variant::Pins, &PINS), (Variant::Processes, &ASID)];
        let has_model = images.table().parts.iter().any(|part| part.runs.contains(&chip.core));
        let model = has_model.then_some(&modelled::CHIP);
        let parameters = own
            .into_iter()
            .filter(|(variant, _)| image.has(*variant))
            .map(|(_, parameter)| parameter)
            .chain(model)
            .chain(builds::parameter(&image))
            .map(|parameter| (parameter, parameter.default.to_owned()));
        let (emulated, parts) = (chip.clone(), images.table().parts.clone());
        Ok(Some(Description {
            parameters: parameters.collect(),
            kind: Some(image.kind().to_owned()),
            check: Arc::new(move |request| {
                Modelled::split(request, &emulated, &parts)?;
                split(request).map(drop)
            }),
            ..Description::new(self.defaults(), PROPERTIES)
        }))
    }

    fn open<'m>(
        &'m self,
        images: &'m Images,
        target: &Target,
    ) -> Result<Option<Box<dyn Machine + 'm>>> {
        let Some((chip, image)) = look_up(images, target)? else { return Ok(None) };
        Ok(Some(Box::new(Qemu { chip, image, images, agreements: &self.0 })))
    }

    fn targets(&self, images: &Images) -> Vec<String> {
        images.table().targets().flat_map(|chip| images.targets(&chip.name)).collect()
    }

    fn takes_images(&self) -> bool {
        true
    }

    fn defaults(&self) -> &'static [&'static Defaults] {
        &[firmware::DEFAULTS]
    }
}

impl Machine for Qemu<'_> {
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn prepare(&self, request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        let (modelled, request) = Modelled::split(request, self.chip, self.parts())?;
        let (variant, request) = self.split(&request)?;
        // The builder of the image also installs QEMU, if it is permitted.
        self.image.variant(variant)?;
        if !builder::is_installed(self.chip.program()) {
            return Err(self.missing());
        }
        let program = of_the_lab(&request);
        if (variant == Variant::Pins || modelled.is_some()) && program.is_none() {
            plugin(self.images)?;
        }
        let mut provenance = self.image.provenance(variant);
        let is_timed = program.is_none_or(|program| program.chip == ByChip::Timed);
        if let Some(modelled) = modelled.filter(|_| is_timed) {
            provenance.identity.extend([modelled.identity()]);
            provenance.remark = modelled.remark();
        }
        Ok(provenance)
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let (modelled, request) = Modelled::split(start.request, self.chip, self.parts())?;
        let (variant, request) = self.split(&request)?;
        if let Some(OfTheLab { run, chip }) = of_the_lab(&request) {
            if modelled.is_some() && chip == ByChip::Refused {
                let why = format!("`{}` has no time of a chip", request.experiment());
                let stream = StreamBuilder::begin(self.image.kernel(), &request)?;
                sink(&stream.refuse(&why)?)?;
                return Ok(Recording::new());
            }
            let request = if chip == ByChip::Timed { start.request } else { &request };
            run(self, &Start { request, ..*start }, sink)?;
            return Ok(Recording::new());
        }
        let is_listed = matches!(self.image, Source::Listed(_));
        if is_listed && request.experiment() == TASKSET && variant != Variant::TaskSet {
            let stream = StreamBuilder::begin(self.image.kernel(), &request)?;
            return sink(&stream.refuse("this target has no image that runs a set of tasks")?)
                .map(|()| Recording::new());
        }
        let what = format!("{}@{} {}", self.image.kernel(), self.chip.name, start.request);
        let image = self.image.variant(variant)?;
        // Each start overwrites the files of the one before: the recording left is of a start that
        // agreed with the others.
        let folder = scratch::folder()?;
        let limit = start.limit;
        let analyser = (variant == Variant::Pins).then(|| self.analyser(&folder)).transpose()?;
        let model = modelled.as_ref().map(|model| self.model(model, &folder)).transpose()?;
        let once = |manner: Manner, sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            let mut qemu = chip::command(self.chip);
            manner.add_to(&mut qemu);
            qemu.arg("-semihosting-config").arg(semihosting(&request));
            qemu.args(analyser.iter().chain(&model).flatten()).arg("-kernel").arg(&image);
            let start = |limit, sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
                child::run(&mut qemu, self.chip.program(), limit, start.stop, sink)
            };
            let Some(modelled) = &modelled else { return self.image.run(limit, start, sink) };
            let mut stream = Vec::new();
            self.image.run(limit, start, &mut |bytes| {
                stream.extend_from_slice(bytes);
                Ok(())
            })?;
            sink(&modelled.translate(&stream, &fs::read(folder.path(modelled::FILE))?)?)
        };
        self.agreements
            .run(&image, &what, once, sink)
            .map_err(|error| self.explained(error, variant))?;
        let capture = analyser.map(|_| folder.text(CAPTURE)).transpose()?;
        Ok(Recording { capture: capture.map(String::into_bytes), ..Recording::new() })
    }

    fn round(&self, start: &Start<'_>) -> Result<Round> {
        worst::round(self, start)
    }
}

/// Runs an experiment that is a program of the lab's, as [`Machine::run`].
type RunOfTheLab = fn(&Qemu<'_>, &Start<'_>, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;

/// An experiment that is a program of the lab's.
struct OfTheLab {
    run: RunOfTheLab,
    chip: ByChip,
}

/// The meaning of a named chip for such a program.
#[derive(Clone, Copy, PartialEq)]
enum ByChip {
    /// The program has no time of a chip.
    Refused,
    /// The figures are bytes, which no clock changes.
    Bytes,
    /// The program reads the chip, and gives its time.
    Timed,
}

/// The program of the experiment that the request names, if it is one of the lab's.
fn of_the_lab(request: &Request) -> Option<OfTheLab> {
    let programs = [
        (&experiments::image::SPEC, OfTheLab { run: smallest::run, chip: ByChip::Bytes }),
        (&experiments::operations::SPEC, OfTheLab { run: operations::run, chip: ByChip::Refused }),
        (&experiments::crowded::SPEC, OfTheLab { run: operations::run, chip: ByChip::Refused }),
        (&experiments::worst::SPEC, OfTheLab { run: worst::run, chip: ByChip::Timed }),
    ];
    let named = |spec: &Spec| spec.name == request.experiment();
    programs.into_iter().find(|(spec, _)| named(spec)).map(|(_, program)| program)
}

/// The value of QEMU's option that passes `request` to the image word by word as its command line.
/// QEMU reads `,,` as a literal comma.
fn semihosting(request: &Request) -> String {
    let words = request.words().map(|word| format!(",arg={}", word.replace(',', ",,")));
    "enable=on,target=native".to_owned() + &words.collect::<String>()
}

impl Qemu<'_> {
    /// Splits a request, as [`split`]. Without an image for processes or for a set of tasks, the plain
    /// one gets the request, and refuses it.
    fn split(&self, request: &Request) -> Result<(Variant, Request)> {
        let (variant, rest) = split(request)?;
        let of_its_own = matches!(variant, Variant::Processes | Variant::TaskSet);
        let is_missing = of_its_own && !self.image.has(variant);
        Ok((if is_missing { Variant::Plain } else { variant }, rest))
    }

    /// The chips whose time is modelled.
    fn parts(&self) -> &[Part] {
        &self.images.table().parts
    }

    /// QEMU's options for a logic analyser that writes a file of the folder.
    fn analyser(&self, folder: &Folder) -> Result<[String; 2]> {
        let (plugin, file) = (quoted(&plugin(self.images)?), quoted(&folder.path(CAPTURE)));
        let Chip { name, pins, .. } = self.chip;
        let pins = pins.as_deref().unwrap_or_default();
        Ok(["-plugin".to_owned(), format!("{plugin},out={file},scope={name},{pins}")])
    }

    /// QEMU's options for the model of a chip, which writes a file of the folder.
    fn model(&self, modelled: &Modelled, folder: &Folder) -> Result<[String; 2]> {
        let (plugin, file) = (quoted(&plugin(self.images)?), quoted(&folder.path(modelled::FILE)));
        Ok(["-plugin".to_owned(), format!("{plugin},cycles={file},{}", modelled.options())])
    }

    /// The error of a QEMU that is not there.
    fn missing(&self) -> Error {
        let (program, package) = (self.chip.program(), self.chip.package());
        anyhow!(
            "{program} is not installed: as root, apt-get install --no-install-recommends {package}"
        )
    }

    fn explained(&self, error: Error, variant: Variant) -> Error {
        if error.downcast_ref().is_some_and(child::Error::is_missing) {
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
pub(super) fn plugin(images: &Images) -> Result<PathBuf> {
    images.tool("qemu-plugin", "QEMU's plugin")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;

    #[test]
    fn the_request_reaches_the_image_word_by_word() {
        assert_eq!(
            semihosting(&request("switch a=1,2")),
            "enable=on,target=native,arg=switch,arg=a=1,,2"
        );
    }

    #[test]
    fn a_trace_is_no_business_of_the_request() {
        assert_eq!(
            split(&request("switch tasks=2 trace=yes")).unwrap(),
            (Variant::Traced, request("switch tasks=2"))
        );
        assert_eq!(split(&request("image trace=no")).unwrap(), (Variant::Plain, request("image")));
        assert_eq!(
            split(&request("switch pins=yes trace=no")).unwrap(),
            (Variant::Pins, request("switch"))
        );
        assert!(split(&request("switch pins=yes trace=yes")).is_err());
    }

    #[test]
    fn processes_have_an_image_of_their_own() {
        let ask = |text| split(&request(text)).unwrap();
        assert_eq!(
            ask("switch pair=process-process trace=no asid=on"),
            (Variant::Processes, request("switch pair=process-process"))
        );
        assert_eq!(
            ask("spawn kind=process asid=off"),
            (Variant::Processes, request("spawn kind=process asid=off"))
        );
        assert_eq!(
            ask("spawn kind=thread asid=on"),
            (Variant::Plain, request("spawn kind=thread"))
        );
        assert!(split(&request("spawn kind=thread asid=off")).is_err());
        assert!(split(&request("spawn kind=process trace=yes")).is_err());
    }
}
