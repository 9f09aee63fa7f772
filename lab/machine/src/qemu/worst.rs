//! The experiment `worst` on an emulated Cortex-M or RISC-V: an interrupt at every instruction of a round
//! of another experiment.
//!
//! The image runs twice, unchanged. In the first run, QEMU's plugin writes the reads of clocks, which
//! may be loads from devices; the mark is among them. In the second run the plugin makes the interrupt
//! pending, an instruction later in each round (`ports/qemu-plugin/src/arrivals`).
//!
//! The samples of `masked` start when an interrupt is due. There the mark is the function that sets it,
//! once a round.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use chronoscope_child::{self as child, Folder};
use chronoscope_suite::{
    experiments,
    wire::{Clock, Domain, Record},
};

use super::{
    Qemu, Variant,
    chip::{self, quoted},
    modelled::Modelled,
    plugin, semihosting,
};
use crate::{
    Request, Round, Start,
    arrivals::{Asked, HANDLER, ONE_AT_A_TIME, SKIPPED, Starts, Sweep, Tried, Waits, starts},
    determinism::Manner,
    profile::Symbols,
    scratch,
    stream::StreamBuilder,
};

/// The arrivals in a round of `masked`, whose handler leaves the kernel as it is.
const TOGETHER: u32 = 32;

/// Returns whether a function sets the interrupt of a round of `masked`, by its name in either mangling.
fn sets_the_interrupt(name: &str) -> bool {
    let is_of_type = name.starts_with("<chronoscope_suite::experiments::masked::Masked<");
    name.ends_with("masked::Masked<K>::set") || is_of_type && name.ends_with(">>::set")
}

/// Tries every arrival, and passes the waits to `sink`.
///
/// # Errors
/// The image cannot be built or run, or its round has no mark or does not repeat.
pub(super) fn run(
    qemu: &Qemu<'_>,
    start: &Start<'_>,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut stream = StreamBuilder::begin(qemu.image.kernel(), start.request)?;
    if !offers_rounds(qemu) {
        return sink(&stream.refuse("the interrupts of this chip cannot be made pending here")?);
    }
    let bench = Bench::new(qemu, start)?;
    let tried = match bench.rounds()? {
        Found::Round(Tried { mark, sweep }) => sweep.completed(|first| bench.sweep(mark, first))?,
        Found::Refused(why) => return sink(&stream.refuse(&why)?),
    };
    let image = fs::read(&bench.file)?;
    let clock = match &bench.modelled {
        Some(chip) => chip.clock(),
        None => {
            let (domain, hertz) = (Domain::Instructions, qemu.chip.hertz());
            Record::Clock(Clock { domain, hertz, resolution: 1 })
        }
    };
    stream.send(&clock)?;
    let waits = Waits::by_model(bench.modelled.is_some());
    tried.write(&mut stream, waits, HANDLER, &Symbols::read(&image)?)?;
    sink(&stream.end()?)
}

/// The instructions of one round by function, as [`run`] finds it.
///
/// # Errors
/// As of [`run`], or the image refuses the experiment.
pub(super) fn round(qemu: &Qemu<'_>, start: &Start<'_>) -> Result<Round> {
    let target = format!("{}@{}", qemu.image.kernel(), qemu.chip.name);
    ensure!(offers_rounds(qemu), "the rounds of {target} cannot be looked at");
    let bench = Bench::new(qemu, start)?;
    let tried = match bench.rounds()? {
        Found::Round(tried) => tried,
        Found::Refused(why) => bail!("{target}: {why}"),
    };
    let image = fs::read(&bench.file)?;
    let symbols = Symbols::read(&image)?;
    let mut runs: Vec<(String, u64)> = Vec::new();
    for at in &tried.sweep.path {
        let function = symbols.function(*at);
        match runs.last_mut() {
            Some((last, instructions)) if *last == function => *instructions += 1,
            _ => runs.push((function, 1)),
        }
    }
    Ok(Round { architecture: qemu.chip.architecture(), runs })
}

/// Returns whether the plugin knows the chip's interrupts and marks.
fn offers_rounds(qemu: &Qemu<'_>) -> bool {
    qemu.chip.timers.is_none()
}

/// An image that is started for its rounds.
struct Bench<'a, 'm> {
    qemu: &'a Qemu<'m>,
    start: &'a Start<'a>,
    /// The chip in whose time the waits are.
    modelled: Option<Modelled>,
    asked: Asked,
    file: PathBuf,
    folder: Folder,
    plugin: String,
}

/// The rounds of an image.
enum Found {
    Round(Tried),
    /// The image refuses the request.
    Refused(String),
}

impl<'a, 'm> Bench<'a, 'm> {
    fn new(qemu: &'a Qemu<'m>, start: &'a Start<'a>) -> Result<Self> {
        let (modelled, request) = Modelled::split(start.request, qemu.chip, qemu.parts())?;
        let asked = Asked::new(&request, qemu.image.kind())?;
        let file = qemu.image.variant(Variant::Plain)?;
        let plugin = quoted(&plugin(qemu.images)?);
        Ok(Self { qemu, start, modelled, asked, file, folder: scratch::folder()?, plugin })
    }

    /// Runs the image with more options of QEMU's.
    fn run(
        &self,
        request: &Request,
        more: &[String],
        manner: Manner,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let chip = self.qemu.chip;
        let mut command = chip::command(chip);
        manner.add_to(&mut command);
        command.arg("-semihosting-config").arg(semihosting(request)).args(more);
        command.arg("-kernel").arg(&self.file);
        child::run(&mut command, chip.program(), self.start.limit, self.start.stop, sink)
    }

    /// The starts of the samples of a run with more options of QEMU's.
    fn starts(&self, request: &Request, more: &[String]) -> Result<Starts> {
        let mut stream = Vec::new();
        self.run(request, more, Manner::Plain, &mut |bytes| {
            stream.extend_from_slice(bytes);
            Ok(())
        })?;
        starts(&stream)
    }

    /// Finds the round, and tries the arrivals that one start of the image has rounds for.
    fn rounds(&self) -> Result<Found> {
        if self.asked.is_set_once_a_round() {
            return self.rounds_of_masked();
        }
        if self.asked.nested.is_some() && self.qemu.chip.architecture() != "arm" {
            return Ok(Found::Refused(ONE_AT_A_TIME.to_owned()));
        }
        let loads = self.folder.path("loads");
        let options = format!("{},loads={}", self.plugin, quoted(&loads));
        let starts = match self.starts(&self.asked.request, &["-plugin".to_owned(), options])? {
            Starts::Of(starts) => starts,
            Starts::Refused(why) => return Ok(Found::Refused(why)),
        };
        let loads = fs::read_to_string(&loads)?;
        Tried::new(&starts, &loads, |mark| self.sweep(mark, 0)).map(Found::Round)
    }

    /// Finds the round of `masked`, from one setting of its interrupt to the next. A short run tells
    /// whether the image has it.
    fn rounds_of_masked(&self) -> Result<Found> {
        if self.qemu.chip.architecture().starts_with("riscv") {
            let why =
                "on this chip the timer of `masked` shares its interrupt with the kernel's alarm";
            return Ok(Found::Refused(why.to_owned()));
        }
        let few = self.asked.request.clone().with("loops", 10);
        if let Starts::Refused(why) = self.starts(&few, &[])? {
            return Ok(Found::Refused(why));
        }
        let mark = Symbols::read(&fs::read(&self.file)?)?
            .address(sets_the_interrupt)
            .context("the image has no function that sets the interrupt of a round")?;
        Ok(Found::Round(Tried { mark, sweep: self.sweep(mark, 0)? }))
    }

    /// Tries the arrivals from the instruction `first` of the round on.
    fn sweep(&self, mark: u64, first: usize) -> Result<Sweep> {
        let arrivals = self.folder.path("arrivals");
        let options = rounds(&self.asked, mark).options(&arrivals, first, self.modelled.as_ref());
        let options = format!("{},{options}", self.plugin);
        let options = ["-singlestep".to_owned(), "-plugin".to_owned(), options];
        let once = |manner, sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            self.run(&self.asked.request, &options, manner, &mut |_| Ok(()))?;
            sink(&fs::read(&arrivals)?)
        };
        let (kernel, chip) = (self.qemu.image.kernel(), &self.qemu.chip.name);
        let place = format!("mark={mark:#x} first={first}");
        let what = format!("{kernel}@{chip} {} {place}", self.start.request);
        let mut bytes = Vec::new();
        self.qemu.agreements.run(&self.file, &what, once, &mut |more| {
            bytes.extend_from_slice(more);
            Ok(())
        })?;
        Sweep::parse(&String::from_utf8(bytes).context("the arrivals are no text")?)
    }
}

/// The rounds in which an interrupt arrives.
pub(crate) struct Rounds<'a> {
    /// The address of the instruction at which a round begins.
    pub mark: u64,
    /// The rounds before the first one that counts.
    pub skipped: u32,
    /// The number of the exception, or `urgent`; `None` for the kernel's timer.
    pub exception: Option<&'a str>,
    /// The arrivals of one round; `None` for one, whose handler is a part of the round.
    pub together: Option<u32>,
    /// The address of the instruction at which a wait ends; `None` for the handler's first one.
    pub until: Option<u64>,
    /// The number of another exception that comes, too.
    pub nested: Option<&'a str>,
}

impl<'a> Rounds<'a> {
    /// Rounds with one arrival each.
    pub fn new(mark: u64, exception: Option<&'a str>) -> Self {
        Self { mark, skipped: SKIPPED, exception, together: None, until: None, nested: None }
    }

    /// The plugin's options for the arrivals from the instruction `first` of the round on.
    pub fn options(&self, file: &Path, first: usize, chip: Option<&Modelled>) -> String {
        let Self { mark, skipped, exception, together, until, nested } = self;
        let mut options = format!("arrivals={},mark={mark:#x},skip={skipped}", quoted(file));
        options += &format!(",first={first}");
        if let Some(exception) = exception {
            options += &format!(",exception={exception}");
        }
        if let Some(together) = together {
            options += &format!(",together={together}");
        }
        if let Some(nested) = nested {
            options += &format!(",nested={nested}");
        }
        if let Some(until) = until {
            options += &format!(",until={until:#x}");
        }
        if let Some(chip) = chip {
            options += &format!(",{}", chip.options());
        }
        options
    }
}

/// The rounds that are asked for, from this mark on.
fn rounds(asked: &Asked, mark: u64) -> Rounds<'_> {
    if !asked.is_set_once_a_round() {
        let nested = asked.nested.as_deref();
        return Rounds { nested, ..Rounds::new(mark, asked.exception.as_deref()) };
    }
    let skipped = experiments::masked::ALONE as u32 + SKIPPED;
    Rounds { skipped, together: Some(TOGETHER), ..Rounds::new(mark, Some("urgent")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_found_in_either_mangling() {
        let found = [
            "chronoscope_suite::experiments::masked::Masked<K>::set",
            "<chronoscope_suite::experiments::masked::Masked<tandem::kernel::Tandem>>::set",
        ];
        assert!(found.into_iter().all(sets_the_interrupt));
        let other = ["masked::Masked<K>::reset", "<alloc::vec::Vec<u8>>::set", "set"];
        assert!(!other.into_iter().any(sets_the_interrupt));
    }
}
