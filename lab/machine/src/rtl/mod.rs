//! The bench board: a cycle-accurate simulation of a real core's RTL, with a logic analyser on its
//! pins. It runs the images of `rv32`, and the images of `rv64` on a core of 64 bits. The board is in
//! `bench/`; `docs/machines/bench.md` describes how it is built.

mod worst;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use anyhow::{Context, Error, Result, bail};
use chronoscope_suite::{Parameter, Values, experiments};

use super::{
    Description, Machine, Properties, Provenance, Recording, Request, Start,
    description::Defaults,
    family::Family,
    firmware::{self, PINS},
    images::{Image, Images, Variant},
    lock::lock,
    processes::{self, ASID, Identifiers},
    scratch,
};
use crate::profile::Retirement;
use chronoscope_base::{digest::sha256, signals};
use chronoscope_child::{self as child, Folder};
use chronoscope_chips::Core;
use chronoscope_run::{Target, names::CAPTURE};
use chronoscope_units::parse_hertz;

/// The parameters of the board, which are not passed to the image.
static OWN: [&Parameter; 5] = [&PINS, &WAIT_STATES, &CLOCK, &SEED, &TRACE];

/// The parameters of a core that its row of the table names.
fn parameters(core: &Core) -> impl Iterator<Item = &'static Parameter> {
    let known = |name: &String| OWN.into_iter().chain([&ASID]).find(|known| known.name == name);
    core.parameters.iter().filter_map(known)
}

/// The identifiers of address spaces that a core keeps.
fn identifiers(core: &Core) -> Identifiers {
    if core.lacks_asids { Identifiers::Absent } else { Identifiers::Kept }
}

/// The valid clock rates: the board passes its rate to the image as 32 bits.
const HERTZ: std::ops::RangeInclusive<u64> = 1_000_000..=4_000_000_000;

static WAIT_STATES: Parameter = Parameter {
    name: "wait_states",
    unit: "",
    default: "0",
    values: Values::Number(0, 5),
    help: "cycles that each fetch from flash waits; on a core with caches, each burst of the memory",
};

static CLOCK: Parameter = Parameter {
    name: "clock",
    unit: "",
    // A usual rate of such cores on chips and in FPGAs; at 1 GHz, simulating a busy millisecond
    // would take the host half a second.
    default: "100MHz",
    values: Values::Text("a rate, as 84MHz"),
    help: "the clock's rate: how many cycles a µs of the experiment has",
};

static SEED: Parameter = Parameter {
    name: "seed",
    unit: "",
    default: "1",
    values: Values::Number(0, u32::MAX as u64),
    help: "of the phases at which the stimulus comes",
};

static TRACE: Parameter = Parameter {
    name: "trace",
    unit: "",
    default: "no",
    values: Values::Word(&["no", "yes"]),
    help: "keep which function ran when, from the first sample on; with pins=yes",
};

/// Defaults of experiments' parameters that differ from the emulators': as long in cycles as the
/// emulators' are in instructions.
const DEFAULTS: &Defaults = &[("masked", "interval_us", "40")];

/// The properties of a simulation of some million cycles a second.
const PROPERTIES: Properties =
    Properties { offers_soaks: false, is_emulated: true, shares_the_host: true, slowness: 60 };

/// A kernel on a simulated core.
struct Rtl<'m> {
    core: &'m Core,
    /// The plain image.
    image: Image<'m>,
    images: &'m Images,
    identities: &'m Identities,
}

/// The core of a target and its plain image; `None` if the target is none of a simulated core.
///
/// # Errors
/// There is no index of images.
fn look_up<'m>(images: &'m Images, target: &Target) -> Result<Option<(&'m Core, Image<'m>)>> {
    let Some(core) = images.table().cores.iter().find(|core| core.name == target.machine) else {
        return Ok(None);
    };
    Ok(images.find(&target.kernel, &core.name)?.map(|image| (core, image)))
}

/// The family of simulated cores, and the identities of their boards.
#[derive(Default)]
pub(super) struct Cores(Identities);

impl Family for Cores {
    fn describe(&self, images: &Images, target: &Target) -> Result<Option<Description>> {
        let Some((core, image)) = look_up(images, target)? else { return Ok(None) };
        let has_processes = image.has(Variant::Processes);
        let identifiers = identifiers(core);
        let shows_instructions = parameters(core).any(|parameter| parameter.name == PINS.name);
        let default = |parameter: &'static Parameter| match parameter.name == ASID.name {
            true => identifiers.default(),
            false => parameter.default,
        };
        let parameters = parameters(core)
            .filter(|parameter| has_processes || parameter.name != ASID.name)
            .map(|parameter| (parameter, default(parameter).to_owned()));
        Ok(Some(Description {
            parameters: parameters.collect(),
            kind: Some(image.kind().to_owned()),
            check: Arc::new(move |request| {
                let asked = BoardRequest::new(request, identifiers)?;
                if asked.is_worst() { worst::check(&asked, shows_instructions) } else { Ok(()) }
            }),
            ..Description::new(self.defaults(), PROPERTIES)
        }))
    }

    fn open<'m>(
        &'m self,
        images: &'m Images,
        target: &Target,
    ) -> Result<Option<Box<dyn Machine + 'm>>> {
        let Some((core, image)) = look_up(images, target)? else { return Ok(None) };
        Ok(Some(Box::new(Rtl { core, image, images, identities: &self.0 })))
    }

    fn targets(&self, images: &Images) -> Vec<String> {
        images.table().cores.iter().flat_map(|core| images.targets(&core.name)).collect()
    }

    fn defaults(&self) -> &'static [&'static Defaults] {
        &[DEFAULTS, firmware::DEFAULTS]
    }
}

impl Machine for Rtl<'_> {
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn prepare(&self, request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        let asked = self.asked(request)?;
        let image = self.image.variant(asked.variant)?;
        bench(self.images, &self.core.name)?;
        let image = fs::read(&image).with_context(|| format!("cannot read {}", image.display()))?;
        let mut identity = self.identities.board(self.images, &self.core.name)?;
        identity.insert("image".to_owned(), format!("sha256 {}", sha256(&image)));
        identity.extend(self.image.build(asked.variant));
        identity.insert("wait states".to_owned(), asked.wait_states.to_owned());
        identity.insert("clock".to_owned(), format!("{} Hz", asked.hertz));
        let remark = self.image.remark().unwrap_or(&self.core.remark).to_owned();
        Ok(Provenance { identity, remark })
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let asked = self.asked(start.request)?;
        if asked.is_worst() {
            return worst::run(self, start, &asked, sink).map(|()| Recording::new());
        }
        let image = self.image.variant(asked.variant)?;
        let folder = scratch::folder()?;
        let mut command = Command::new(bench(self.images, &self.core.name)?);
        command.arg(&image).args(["--request", &asked.request.to_string()]);
        command.args(["--wait-states", asked.wait_states]);
        command.args(["--hertz", &asked.hertz.to_string(), "--seed", asked.seed]);
        if asked.pins {
            command
                .arg("--pins")
                .arg(folder.path(CAPTURE))
                .arg("--profile")
                .arg(folder.path("profile"));
        }
        if asked.trace {
            command.arg("--retired").arg(folder.path("retired"));
        }
        let outcome = child::run(&mut command, "chronoscope-bench", start.limit, start.stop, sink);
        // The bench names a file that it cannot write.
        let path = folder.as_ref().display().to_string();
        let is_of_a_file = |error: &Error| error.to_string().contains(&path);
        outcome.map_err(|error| match is_of_a_file(&error) {
            true => scratch::remedied(&error),
            false => error,
        })?;
        if asked.pins { recording(&folder, &image, asked.trace) } else { Ok(Recording::new()) }
    }
}

impl Rtl<'_> {
    /// Reads a request. Without an image for processes, the plain one gets the request, and refuses
    /// it.
    fn asked<'a>(&self, request: &'a Request) -> Result<BoardRequest<'a>> {
        let asked = BoardRequest::new(request, identifiers(self.core))?;
        let variant = Some(asked.variant).filter(|variant| self.image.has(*variant));
        Ok(BoardRequest { variant: variant.unwrap_or(Variant::Plain), ..asked })
    }
}

/// A request's values of the board's parameters, and the rest of the request for the image.
struct BoardRequest<'a> {
    pins: bool,
    variant: Variant,
    wait_states: &'a str,
    hertz: u64,
    seed: &'a str,
    trace: bool,
    request: Request,
}

impl<'a> BoardRequest<'a> {
    /// Returns whether every arrival of an interrupt is asked for.
    fn is_worst(&self) -> bool {
        self.request.experiment() == experiments::worst::SPEC.name
    }

    fn new(request: &'a Request, identifiers: Identifiers) -> Result<Self> {
        let value =
            |parameter: &Parameter| request.get(parameter.name).unwrap_or(parameter.default);
        let (asks_for_processes, rest) = processes::split(request, identifiers)?;
        let rest = OWN.iter().fold(rest, |rest, parameter| rest.without(parameter.name));
        let pins = value(&PINS) == "yes";
        let variant = match (pins, asks_for_processes) {
            (true, _) => Variant::Pins,
            (false, true) => Variant::Processes,
            (false, false) => Variant::Plain,
        };
        let clock = value(&CLOCK);
        let hertz = parse_hertz(clock).with_context(|| format!("clock={clock}"))?;
        if !HERTZ.contains(&hertz) {
            bail!("`clock={clock}`: the board's clock runs at 1MHz to 4GHz");
        }
        let asked = Self {
            pins,
            variant,
            wait_states: value(&WAIT_STATES),
            hertz,
            seed: value(&SEED),
            trace: value(&TRACE) == "yes",
            request: rest,
        };
        if asked.trace && !asked.pins {
            bail!(
                "`trace=yes` goes with `pins=yes`: the trace begins when the first sample's pin rises"
            );
        }
        Ok(asked)
    }
}

/// Reads the files that the board's instruments wrote to `folder`.
fn recording(folder: &Folder, image: &Path, trace: bool) -> Result<Recording> {
    let image = fs::read(image).with_context(|| format!("cannot read {}", image.display()))?;
    let trace = trace.then(|| folder.text("retired")).transpose()?;
    let retirement = Retirement { image, profile: folder.text("profile")?, trace };
    Ok(Recording {
        capture: Some(folder.text(CAPTURE)?.into_bytes()),
        retirement: Some(retirement),
    })
}

/// The path of the board's program.
fn bench(images: &Images, core: &str) -> Result<PathBuf> {
    images.tool(core, &format!("the board around {core}"))
}

/// The versions and hashes that identify the board around each core, as its program prints them.
#[derive(Default)]
struct Identities(Mutex<BTreeMap<String, BTreeMap<String, String>>>);

impl Identities {
    /// The identity of the board around a core. The board's program is asked once.
    ///
    /// # Errors
    /// The program is missing or fails.
    fn board(&self, images: &Images, core: &str) -> Result<BTreeMap<String, String>> {
        let mut known = lock(&self.0);
        if let Some(identity) = known.get(core) {
            return Ok(identity.clone());
        }
        let mut program = Command::new(bench(images, core)?);
        let said = child::output(program.arg("--identity"), signals::stop())?;
        if !said.status.success() {
            bail!("the board around {core} does not say which it is");
        }
        let said = String::from_utf8_lossy(&said.stdout);
        let lines = said.lines().filter_map(|line| line.split_once(": "));
        let identity = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Ok(known.entry(core.to_owned()).or_insert(identity).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;

    #[test]
    fn every_parameter_of_the_table_is_known() {
        for core in &chronoscope_chips::Table::read().cores {
            assert_eq!(parameters(core).count(), core.parameters.len(), "{}", core.name);
        }
    }

    #[test]
    fn what_is_the_board_s_is_taken_out() {
        let text = "switch tasks=2 pins=yes wait_states=3 clock=84MHz seed=7 trace=yes";
        let all = request(text);
        let asked = BoardRequest::new(&all, Identifiers::Kept).unwrap();
        assert_eq!(
            (asked.pins, asked.wait_states, asked.hertz, asked.seed),
            (true, "3", 84_000_000, "7")
        );
        assert!(
            asked.trace
                && asked.request == request("switch tasks=2")
                && asked.variant == Variant::Pins
        );
        let plain = request("switch");
        let plain = BoardRequest::new(&plain, Identifiers::Kept).unwrap();
        assert_eq!((plain.hertz, plain.variant), (100_000_000, Variant::Plain));
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        for text in
            ["switch clock=fast", "switch clock=1Hz", "switch clock=5GHz", "switch trace=yes"]
        {
            assert!(BoardRequest::new(&request(text), Identifiers::Kept).is_err(), "{text}");
        }
    }
}
