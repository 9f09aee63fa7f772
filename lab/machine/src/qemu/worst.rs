//! The experiment `worst` on an emulated Cortex-M or RISC-V: an interrupt at every instruction of a round
//! of another experiment.
//!
//! The image runs twice, unchanged. In the first run, QEMU's plugin writes the reads of clocks, which
//! may be loads from devices; the starts of the samples are among them, and the read at which most samples start is the mark, where a
//! round begins. In the second run the plugin makes the interrupt pending, an instruction later in each
//! round (`ports/qemu-plugin/src/arrivals`).

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use chronoscope_child::{self as child, Folder};
use chronoscope_run::names::LONGEST_WAIT;
use chronoscope_suite::{
    experiments,
    wire::{self, Clock, Domain, Evidence, Record, Role, Sample, Series},
};

use super::{
    Qemu, Variant,
    chip::{self, quoted},
    modelled::{Modelled, frames},
    plugin, semihosting,
};
use crate::{
    Request, Round, Start, description::word_of_kind, profile::Symbols, scratch,
    stream::StreamBuilder,
};

/// The rounds before the first one that counts, in which caches of the kernel's own fill.
const SKIPPED: u32 = 20;

/// Most starts of an image whose rounds do not come back to their path after an interrupt.
const MOST_STARTS: usize = 100;

/// The functions of a round that are named, and the characters of a name.
const MOST_BLOCKS: usize = 6;
const LONGEST_NAME: usize = 40;

/// The name of the measured series.
const WAIT: &str = "arrival to handler";

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
    tried.write(&mut stream, bench.modelled.is_some(), &Symbols::read(&image)?)?;
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

/// The arrivals that one start of the image tried, and the mark of its rounds.
struct Tried {
    mark: u64,
    sweep: Sweep,
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
    fn run(&self, more: &[String], sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let chip = self.qemu.chip;
        let mut command = chip::command(chip);
        command.arg("-semihosting-config").arg(semihosting(&self.asked.request)).args(more);
        command.arg("-kernel").arg(&self.file);
        child::run(&mut command, chip.program(), self.start.limit, self.start.stop, sink)
    }

    /// Finds the round, and tries the arrivals that one start of the image has rounds for.
    fn rounds(&self) -> Result<Found> {
        let loads = self.folder.path("loads");
        let mut stream = Vec::new();
        let options = format!("{},loads={}", self.plugin, quoted(&loads));
        self.run(&["-plugin".to_owned(), options], &mut |bytes| {
            stream.extend_from_slice(bytes);
            Ok(())
        })?;
        let starts = match starts(&stream)? {
            Starts::Of(starts) => starts,
            Starts::Refused(why) => return Ok(Found::Refused(why)),
        };
        let mark = mark(&starts, &fs::read_to_string(&loads)?)?;
        let tried = Tried { mark, sweep: self.sweep(mark, 0)? };
        // A sample may be of many operations, one after the other: then one of them is the round.
        let inner = if tried.sweep.is_complete() { None } else { inner_mark(&tried.sweep.path) };
        Ok(Found::Round(match inner {
            None => tried,
            Some(mark) => Tried { mark, sweep: self.sweep(mark, 0)? },
        }))
    }

    /// Tries the arrivals from the instruction `first` of the round on.
    fn sweep(&self, mark: u64, first: usize) -> Result<Sweep> {
        let arrivals = self.folder.path("arrivals");
        let exception = self.asked.exception.as_deref();
        let options = options(&arrivals, mark, first, exception, self.modelled.as_ref());
        let options = format!("{},{options}", self.plugin);
        let options = ["-singlestep".to_owned(), "-plugin".to_owned(), options];
        let once = |sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            self.run(&options, &mut |_| Ok(()))?;
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

/// The plugin's options for the arrivals from the instruction `first` of the round on. Without an
/// exception it takes the kernel's timer.
pub(crate) fn options(
    file: &Path,
    mark: u64,
    first: usize,
    exception: Option<&str>,
    chip: Option<&Modelled>,
) -> String {
    let mut options = format!("arrivals={},mark={mark:#x},skip={SKIPPED}", quoted(file));
    options += &format!(",first={first}");
    if let Some(exception) = exception {
        options += &format!(",exception={exception}");
    }
    if let Some(chip) = chip {
        options += &format!(",{}", chip.options());
    }
    options
}

/// The round that is asked for.
struct Asked {
    request: Request,
    exception: Option<String>,
}

impl Asked {
    /// # Errors
    /// The experiment of the round does not have one of the parameters.
    fn new(request: &Request, kind: &str) -> Result<Self> {
        let name = request.get("of").unwrap_or("switch");
        let Some(spec) = experiments::find(name) else { bail!("unknown experiment `{name}`") };
        let mut inner = Request::new(name);
        for parameter in experiments::worst::SPEC.parameters {
            let passed = !matches!(parameter.name, "of" | "interrupt");
            if let Some(value) = request.get(parameter.name).filter(|_| passed) {
                ensure!(
                    spec.parameters.iter().any(|known| known.name == parameter.name),
                    "`{name}` has no parameter `{}`",
                    parameter.name
                );
                inner = inner.with(parameter.name, value);
            }
        }
        for parameter in spec.parameters {
            if let Some(word) = word_of_kind(parameter, kind)
                && inner.get(parameter.name).is_none()
            {
                inner = inner.with(parameter.name, word);
            }
        }
        let exception = request.get("interrupt").map(str::to_owned);
        Ok(Self { request: inner, exception })
    }
}

/// The starts of a stream's first measured series.
enum Starts {
    /// The times, counted from the first one.
    Of(Vec<i64>),
    /// The image refuses the request.
    Refused(String),
}

fn starts(stream: &[u8]) -> Result<Starts> {
    let mut measured = None;
    let mut starts = Vec::new();
    let mut time = 0_i64;
    for mut frame in frames(stream)? {
        match wire::decode(&mut frame) {
            Ok(Record::Series(series)) if measured.is_none() && series.role == Role::Measured => {
                measured = Some(series.id);
            }
            Ok(Record::Samples(samples)) if measured == Some(samples.series) => {
                for sample in samples.block {
                    time += sample.gap;
                    starts.push(time);
                }
            }
            Ok(Record::Refused { what, .. }) => return Ok(Starts::Refused(what.to_owned())),
            Ok(_) => {}
            Err(_) => bail!("the stream is damaged"),
        }
    }
    ensure!(starts.len() > 2, "the experiment has no samples, so no round");
    let first = starts[0];
    Ok(Starts::Of(starts.into_iter().map(|start| start - first).collect()))
}

/// The address of the load at which most samples start.
fn mark(starts: &[i64], loads: &str) -> Result<u64> {
    let mut by_time = BTreeMap::new();
    for line in loads.lines() {
        let parts = line.split_once(" 0x");
        let parsed = parts.and_then(|(time, at)| {
            Some((time.parse::<i64>().ok()?, u64::from_str_radix(at, 16).ok()?))
        });
        let Some((time, at)) = parsed else { bail!("the loads are damaged: `{line}`") };
        by_time.insert(time, at);
    }
    let last = starts.last().copied().unwrap_or_default();
    for origin in by_time.keys().filter(|origin| by_time.contains_key(&(*origin + last))) {
        let found: Option<Vec<u64>> =
            starts.iter().map(|start| by_time.get(&(origin + start)).copied()).collect();
        let Some(found) = found else { continue };
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        found.iter().for_each(|at| *counts.entry(*at).or_default() += 1);
        if let Some((at, _)) = counts.into_iter().max_by_key(|(_, count)| *count) {
            return Ok(at);
        }
    }
    bail!("the samples of the experiment do not start at reads of the clock")
}

/// The mark of the shortest round that a long one consists of, in the middle of it; `None` if it does
/// not repeat there.
fn inner_mark(path: &[u64]) -> Option<u64> {
    let rest = &path[path.len() / 2..];
    let repeats = |length: &usize| rest[..*length] == rest[*length..2 * *length];
    let length = (1..=rest.len() / 2).find(repeats)?;
    let round = &rest[..length];
    let once = |at: &&u64| round.iter().filter(|other| other == at).count() == 1;
    round.iter().find(once).copied()
}

/// An arrival that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Arrival {
    /// The place of its instruction in the round; the mark is 0.
    place: u64,
    /// The instructions until the handler.
    wait: u64,
    /// The instructions of the round with the interrupt.
    length: u64,
    /// The rounds that were needed.
    tries: u64,
    /// The cycles until the handler, from the beginning of the instruction on: at least, twice the
    /// estimate, and at most; 0 without a model.
    cycles: [u64; 3],
}

/// All arrivals of a round.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sweep {
    exception: u64,
    /// The addresses of the round's instructions.
    path: Vec<u64>,
    arrivals: Vec<Arrival>,
    /// The arrivals that no try came to.
    missed: usize,
}

impl Sweep {
    /// # Errors
    /// Names the line that the plugin does not write.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut sweep = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |word: &str| match word.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => word.parse().ok(),
            };
            let numbers: Option<Vec<u64>> = words[1..].iter().map(|word| number(word)).collect();
            match (words[0], numbers.as_deref()) {
                ("enabled", Some([_, _])) => {}
                ("exception", Some([number])) => sweep.exception = *number,
                ("path", Some([at])) => sweep.path.push(*at),
                ("arrival", Some(&[place, wait, length, tries, least, halves, most])) => {
                    let cycles = [least, halves, most];
                    sweep.arrivals.push(Arrival { place, wait, length, tries, cycles });
                }
                ("missed", Some([_])) => sweep.missed += 1,
                _ => bail!("the arrivals are damaged: `{line}`"),
            }
        }
        ensure!(sweep.path.len() > 1, "the image ended before two rounds in a row were equal");
        Ok(sweep)
    }

    /// Returns whether every instruction of the round was tried.
    fn is_complete(&self) -> bool {
        self.count() == self.path.len()
    }

    /// The arrivals so far.
    fn count(&self) -> usize {
        self.arrivals.len() + self.missed
    }

    /// All arrivals: `start` runs the image again, from an instruction of the round on, until it has had
    /// enough rounds. After [`MOST_STARTS`], the rest is missed.
    ///
    /// # Errors
    /// A start fails, has another round, or tries nothing.
    pub(crate) fn completed(mut self, start: impl Fn(usize) -> Result<Self>) -> Result<Self> {
        for _ in 0..MOST_STARTS {
            if self.is_complete() {
                return Ok(self);
            }
            let before = self.count();
            self.append(start(before)?)?;
            ensure!(self.count() > before, "the image ends before the next arrival is tried");
        }
        self.missed += self.path.len() - self.count();
        Ok(self)
    }

    /// Appends the arrivals of another start.
    ///
    /// # Errors
    /// It has another round.
    fn append(&mut self, other: Self) -> Result<()> {
        ensure!(self.path == other.path, "another start of the image has another round");
        self.arrivals.extend(other.arrivals);
        self.missed += other.missed;
        Ok(())
    }

    /// The arrival that waits longest, the first of equal ones.
    fn worst(&self) -> Option<&Arrival> {
        self.arrivals.iter().rev().max_by_key(|arrival| arrival.wait)
    }

    /// Writes the waits, the evidence, and the place of the longest wait. With `is_modelled`, the waits
    /// are cycles with bounds.
    pub(crate) fn write(
        &self,
        stream: &mut StreamBuilder,
        is_modelled: bool,
        symbols: &Symbols<'_>,
    ) -> Result<()> {
        let mut send = |series: Series<'_>, value: fn(&Arrival) -> u64| {
            let mut before = 0;
            // A sample's time is its place in the round.
            let samples = self.arrivals.iter().map(|arrival| {
                let gap = (arrival.place - before).cast_signed();
                before = arrival.place;
                Sample { gap, value: value(arrival) }
            });
            stream.series(series, samples)
        };
        let beside = |name| Series { role: Role::Auxiliary, ..Series::measured(name) };
        if is_modelled {
            send(Series::measured(WAIT), |arrival| arrival.cycles[1].div_ceil(2))?;
            send(beside("arrival to handler, at least"), |arrival| arrival.cycles[0])?;
            send(beside("arrival to handler, at most"), |arrival| arrival.cycles[2])?;
        } else {
            send(Series::measured(WAIT), |arrival| arrival.wait)?;
            send(beside("round with the interrupt"), |arrival| arrival.length)?;
        }
        let round = self.path.len() as u64;
        for (name, value) in [("round", round), ("exception", self.exception)] {
            stream.send(&Record::Figure { name, unit: "", value: value as f64 })?;
        }
        if let Some(worst) = self.worst() {
            let at = self.path.get(worst.place as usize).copied().unwrap_or_default();
            stream.send(&Record::Figure { name: "at", unit: "", value: worst.place as f64 })?;
            stream.send(&Record::Log(&format!(
                "{LONGEST_WAIT}{} instructions, for an arrival at instruction {} of {round}, in {}",
                worst.wait,
                worst.place,
                symbols.place(at)
            )))?;
        }
        stream.send(&Record::Log(&format!(
            "the round, by function: {}",
            blocks(&self.path, symbols)
        )))?;
        let again = self.arrivals.iter().filter(|arrival| arrival.tries > 1).count();
        let all = round as f64;
        let tried = self.arrivals.len() as f64;
        for (name, value, low, high) in [
            ("arrivals tried", tried, all, all),
            ("arrivals tried again", again as f64, 0.0, f64::INFINITY),
        ] {
            stream.send(&Record::Evidence(Evidence { name, value, low, high }))?;
        }
        Ok(())
    }
}

/// The functions with the most instructions of a round, in the order of the round.
fn blocks(path: &[u64], symbols: &Symbols<'_>) -> String {
    let mut blocks: Vec<(String, usize)> = Vec::new();
    for at in path {
        let name = symbols.function(*at);
        match blocks.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => blocks.push((name, 1)),
        }
    }
    let mut counts: Vec<usize> = blocks.iter().map(|(_, count)| *count).collect();
    counts.sort_unstable_by_key(|count| Reverse(*count));
    let least = counts.get(MOST_BLOCKS - 1).copied().unwrap_or_default();
    let shown = blocks.iter().filter(|(_, count)| *count >= least).take(MOST_BLOCKS);
    let texts: Vec<String> = shown
        .map(|(name, count)| {
            let name: String = name.chars().take(LONGEST_NAME).collect();
            format!("{name} {count}")
        })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;

    const SWEEP: &str = "enabled 44 0x8000874\nexception 44\npath 0x8000100\n\
                         path 0x8000104\narrival 0 0 127 1 0 0 0\narrival 1 46 130 3 80 181 99\n";

    #[test]
    fn the_lines_of_the_plugin_are_read() {
        let sweep = Sweep::parse(SWEEP).unwrap();
        assert_eq!((sweep.exception, sweep.path.len(), sweep.is_complete()), (44, 2, true));
        let cycles = [80, 181, 99];
        let last = Arrival { place: 1, wait: 46, length: 130, tries: 3, cycles };
        assert_eq!(sweep.worst(), Some(&last));
        for (from, to) in [
            ("arrival 0 0 127 1 0 0 0", "arrival 0 0 127 1"),
            ("arrival 0 0 127 1", "arrival 0 -1 127 1"),
            ("path 0x8000104", "path 0xg"),
            ("exception 44", "panicked"),
            ("exception 44", ""),
        ] {
            let error = Sweep::parse(&SWEEP.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains("damaged") && !error.contains('\n'), "{error}");
        }
        assert!(Sweep::parse("exception 44\n").unwrap_err().to_string().contains("equal"));
    }

    #[test]
    fn another_start_goes_on_with_the_same_round() {
        let mut sweep = Sweep::parse(&SWEEP.replace("arrival 1 46 130 3 80 181 99\n", "")).unwrap();
        assert!(!sweep.is_complete());
        let rest = SWEEP.replace("arrival 0 0 127 1 0 0 0\n", "");
        sweep.append(Sweep::parse(&rest).unwrap()).unwrap();
        assert!(sweep.is_complete());
        let other = SWEEP.replace("path 0x8000104", "path 0x8000106");
        assert!(sweep.append(Sweep::parse(&other).unwrap()).is_err());
    }

    #[test]
    fn starts_end_when_each_of_them_tries_a_single_arrival() {
        let round = vec![0x800_0100; MOST_STARTS + 3];
        let start = |first| {
            let place = first as u64;
            let arrival = Arrival { place, wait: 0, length: 9, tries: 1, cycles: [0; 3] };
            Ok(Sweep { path: round.clone(), arrivals: vec![arrival], ..Sweep::default() })
        };
        let all = start(0).unwrap().completed(start).unwrap();
        assert_eq!((all.arrivals.len(), all.missed), (MOST_STARTS + 1, 2));
    }

    /// The sample at 0 starts at the second load.
    #[test]
    fn the_mark_is_where_most_samples_start() {
        let loads = "90 0x8000500\n100 0x8000100\n140 0x8000100\n150 0x8000200\n180 0x8000100\n";
        assert_eq!(mark(&[0, 40, 50, 80], loads).unwrap(), 0x800_0100);
        assert!(mark(&[0, 41], loads).unwrap_err().to_string().contains("reads of the clock"));
        assert!(mark(&[0], "100 8000100\n").unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn a_round_of_equal_operations_is_one_of_them() {
        let path: Vec<u64> = [7, 8].into_iter().chain([1, 2, 1, 3].repeat(20)).chain([9]).collect();
        let inner = inner_mark(&path).unwrap();
        assert!(inner == 2 || inner == 3, "{inner}");
        assert_eq!(inner_mark(&[1, 2, 3, 4, 5, 6]), None);
    }

    #[test]
    fn the_round_is_of_the_kernel_s_own_kind_of_task() {
        let asked = |text, kind| Asked::new(&request(text), kind).map(|asked| asked.request);
        let switch = asked("worst of=switch tasks=2 interrupt=15", "coroutine").unwrap();
        assert_eq!(switch, request("switch tasks=2 pair=coroutine-coroutine"));
        let message = asked("worst of=message kind=thread", "coroutine").unwrap();
        assert_eq!(message, request("message kind=thread"));
        let error = asked("worst of=message tasks=2", "thread").unwrap_err().to_string();
        assert!(error.contains("`message` has no parameter `tasks`"), "{error}");
    }
}
