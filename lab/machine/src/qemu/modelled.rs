//! Time on a named chip: the cycles that a model of its core gives to the executed instructions
//! (`docs/cycles.md`), in the place of a count of instructions.
//!
//! QEMU's plugin writes the sums of cycles at each read of a device, the clock's among them. The
//! image's stream has each sample as two times of its clock. This module finds the reads with these
//! times, so a sample's cycles are those between its two marks: the image is not changed.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use chronoscope_chips::{Chip, Compared, Part};
use chronoscope_cycles::{Cause, Sum};
use chronoscope_suite::{
    Parameter, Values,
    wire::{self, Clock, Domain, Record, Role, Sample, Series, Unit},
};
use chronoscope_units::parse_hertz;

use crate::{
    Request,
    stream::{StreamBuilder, frames},
};

/// The parameter that names the chip.
pub(super) static CHIP: Parameter = Parameter {
    name: chronoscope_run::names::CHIP,
    unit: "",
    default: "",
    values: Values::Text("a chip's name, as stm32f405, or with its clock, as stm32f405:84MHz"),
    help: "time in µs of this chip, by the cycles that a model of its core gives, with bounds; at its highest clock unless one is given",
};

/// The name of the plugin's file.
pub(crate) const FILE: &str = "cycles";

/// The words of a record of the plugin's.
const WORDS: usize = 12;

/// A chip at a rate of its clock.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Modelled {
    part: Part,
    hertz: u64,
    /// Marks capture a timer's count by a store, and load it later.
    captures: bool,
}

impl Modelled {
    /// The chip that a request names, which must have the core of the emulated one, and the rest of
    /// the request; no chip if it names none.
    ///
    /// # Errors
    /// There is no such chip, its core is another one, or its clock is too fast.
    pub(super) fn split(
        request: &Request,
        chip: &Chip,
        parts: &[Part],
    ) -> Result<(Option<Self>, Request)> {
        let rest = request.without(CHIP.name);
        let Some(text) = request.get(CHIP.name).filter(|text| !text.is_empty()) else {
            return Ok((None, rest));
        };
        Ok((Some(Self::named(text, chip, parts)?), rest))
    }

    /// The chip of that name, or with its clock, which must have the core of the emulated one.
    ///
    /// # Errors
    /// There is no such chip, its core is another one, or its clock is too fast.
    pub(crate) fn named(text: &str, chip: &Chip, parts: &[Part]) -> Result<Self> {
        let (name, clock) =
            text.split_once(':').map_or((text, None), |(name, clock)| (name, Some(clock)));
        let Some(part) = parts.iter().find(|part| part.name == name).cloned() else {
            let names: Vec<&str> = parts.iter().map(|part| &*part.name).collect();
            bail!("`chip={name}`: the chips with a model are {}", names.join(", "));
        };
        if !part.runs.contains(&chip.core) {
            bail!(
                "`chip={name}` has a {}, and {} is a {}: choose a target with the chip's core",
                part.core,
                chip.name,
                chip.core
            );
        }
        let hertz = match clock {
            Some(clock) => parse_hertz(clock).with_context(|| format!("`chip={text}`"))?,
            None => part.hertz,
        };
        if !(part.lowest..=part.hertz).contains(&hertz) {
            let [least, most] = [part.lowest, part.hertz].map(|hertz| hertz / 1_000_000);
            match least == most {
                true => bail!("`chip={text}`: {name} runs at {most}MHz alone"),
                false => bail!("`chip={text}`: {name} runs at {least}MHz to {most}MHz"),
            }
        }
        let captures = chip.timers.as_deref() == Some("nrf51");
        Ok(Self { part, hertz, captures })
    }

    /// The name with the rate, as [`Modelled::named`] takes it.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}MHz", self.part.name, self.hertz as f64 / 1e6)
    }

    /// The name of the chip.
    pub(crate) fn part(&self) -> &str {
        &self.part.name
    }

    /// The plugin's options, but for the file.
    pub(crate) fn options(&self) -> String {
        let Part { core, flash, .. } = &self.part;
        let marks = if self.captures { "stores" } else { "loads" };
        format!(
            "marks={marks},core={core},origin={:#x},kib={},waits={},read={},line={},lines={},data={}",
            flash.origin,
            flash.kib,
            self.part.wait_states(self.hertz),
            flash.read.unwrap_or(flash.line).trailing_zeros(),
            flash.line.trailing_zeros(),
            flash.instruction_lines,
            flash.data_lines,
        )
    }

    /// How to read the figures.
    pub(crate) fn remark(&self) -> String {
        let waits = self.part.wait_states(self.hertz);
        let compared = match self.part.compared {
            Compared::Chips if waits == 0 => {
                "the core was compared with published measurements of chips"
            }
            Compared::Chips => {
                "the core was compared with published measurements of chips, its flash was not"
            }
            Compared::Logic => "a test compares it with the core's own logic",
            Compared::Nothing => "unvalidated: compared with no chip",
        };
        format!(
            "time by a model of {} ({}) at {} MHz with {waits} wait states; {compared}; `at \
             least` and `at most` are its bounds",
            self.part.name,
            self.part.core,
            self.hertz as f64 / 1e6
        )
    }

    /// The chip and the numbers of its model, as a fact of a case's identity.
    pub(crate) fn identity(&self) -> (String, String) {
        (chronoscope_run::names::MODEL.to_owned(), format!("{} {}", self.part.name, self.options()))
    }

    /// The record of the chip's clock.
    pub(crate) fn clock(&self) -> Record<'static> {
        Record::Clock(Clock { domain: Domain::Cycles, hertz: self.hertz, resolution: 1 })
    }

    /// Translates an image's stream into cycles of the chip. A measured series gets two more with its
    /// bounds; an auxiliary series whose samples are not between two reads of the clock is left out.
    /// The result is of the size of the stream.
    ///
    /// # Errors
    /// The stream or the plugin's file is damaged.
    pub(super) fn translate(&self, stream: &[u8], file: &[u8]) -> Result<Vec<u8>> {
        let reads = Reads::new(file)?;
        let frames = frames(stream)?;
        let mut built = StreamBuilder::new();
        let mut frames = frames.into_iter().peekable();
        while let Some(mut frame) = frames.next() {
            let Ok(record) = wire::decode(&mut frame) else { bail!("the stream is damaged") };
            match record {
                Record::Clock(_) => built.send(&self.clock())?,
                Record::Series(series) => {
                    let mut samples = Vec::new();
                    while let Some(next) = frames.peek() {
                        let mut next = next.clone();
                        let Ok(Record::Samples(block)) = wire::decode(&mut next) else { break };
                        samples.extend(block.block);
                        frames.next();
                    }
                    if let Err(why) = reads.series(&mut built, series, &samples)? {
                        if series.role != Role::Auxiliary {
                            return built
                                .refuse(&format!("`{}` in modelled time: {why}", series.name));
                        }
                        built
                            .send(&Record::Log(&format!("`{}` is left out: {why}", series.name)))?;
                    }
                }
                Record::End { .. } => return built.end(),
                other => built.send(&other)?,
            }
        }
        Ok(built.cut())
    }
}

/// A read of the clock: the number of instructions that may have slept, and the cycles before it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Read {
    sleeps: u64,
    sum: Sum,
}

/// The cycles of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cycles {
    least: u64,
    estimate: u64,
    most: u64,
    width: [u64; Cause::ALL.len()],
}

impl Cycles {
    fn between(start: &Read, end: &Read) -> Self {
        let Sum { least, estimate_halves, most, width, .. } = end.sum - start.sum;
        Self { least, estimate: estimate_halves.div_ceil(2), most, width }
    }

    /// The cycles of either, with the lower and the upper of their bounds.
    fn or(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most), ..other }
    }
}

/// Why the bounds of a series are apart: the share of each cause, the greatest first; nothing if they
/// are not apart.
fn causes(cycles: &[Cycles]) -> Option<String> {
    let mut shares: Vec<(u64, &str)> = (0..Cause::ALL.len())
        .map(|cause| {
            let cycles: u64 = cycles.iter().map(|cycles| cycles.width[cause]).sum();
            (cycles, Cause::ALL[cause].name())
        })
        .filter(|(cycles, _)| *cycles > 0)
        .collect();
    shares.sort_by_key(|(cycles, _)| std::cmp::Reverse(*cycles));
    let all: u64 = shares.iter().map(|(cycles, _)| cycles).sum();
    let share = |(cycles, name): &(u64, &str)| {
        format!("{name} {:.0} %", 100.0 * *cycles as f64 / all as f64)
    };
    (all > 0).then(|| shares.iter().map(share).collect::<Vec<_>>().join(", "))
}

/// The reads by their times.
pub(crate) struct Reads {
    /// The reads at which the times of a stream may begin.
    origins: Vec<u64>,
    by_time: HashMap<u64, Read>,
}

/// Why a series has no cycles.
pub(crate) type Why = &'static str;

impl Reads {
    fn new(file: &[u8]) -> Result<Self> {
        let (records, rest) = file.as_chunks::<{ 8 * WORDS }>();
        if !rest.is_empty() {
            bail!("the file of cycles is damaged: it has {} bytes", file.len());
        }
        let mut reads = Self { origins: Vec::new(), by_time: HashMap::new() };
        for record in records {
            let (words, _) = record.as_chunks::<8>();
            let word = |index: usize| u64::from_le_bytes(words[index]);
            let sum = Sum {
                instructions: word(2),
                least: word(3),
                estimate_halves: word(4),
                most: word(5),
                width: std::array::from_fn(|cause| word(6 + cause)),
            };
            let before = reads.origins.last().and_then(|time| reads.by_time.get(time));
            if before.is_some_and(|before| !before.sum.is_before(&sum)) {
                bail!("the file of cycles is damaged: its sums become smaller");
            }
            reads.origins.push(word(0));
            reads.by_time.insert(word(0), Read { sleeps: word(1), sum });
        }
        Ok(reads)
    }

    /// The records of a file whose times count from the reset, as the samples' do.
    ///
    /// # Errors
    /// The file is damaged.
    pub(crate) fn since_the_reset(file: &[u8]) -> Result<Self> {
        Ok(Self { origins: vec![0], ..Self::new(file)? })
    }

    /// Appends a series in cycles, and its bounds; the inner error is the reason why it has none.
    pub(crate) fn series(
        &self,
        built: &mut StreamBuilder,
        series: Series<'_>,
        samples: &[Sample],
    ) -> Result<Result<(), Why>> {
        if series.unit != Unit::Ticks {
            built.series(series, samples.iter().copied())?;
            return Ok(Ok(()));
        }
        let cycles = match self.cycles(&series, samples) {
            Ok(cycles) => cycles,
            Err(why) => return Ok(Err(why)),
        };
        let mut send = |series: Series<'_>, of: fn(&Cycles) -> u64| {
            let each = samples.iter().zip(&cycles);
            built.series(
                series,
                each.map(|(sample, cycles)| Sample { value: of(cycles), ..*sample }),
            )
        };
        send(Series { nominal: 0, pin: None, ..series }, |cycles| cycles.estimate)?;
        if series.role == Role::Measured {
            for (words, of) in [
                ("at least", (|cycles| cycles.least) as fn(&Cycles) -> u64),
                ("at most", |cycles| cycles.most),
            ] {
                let name = format!("{}, {words}", series.name);
                let bound = Series { role: Role::Auxiliary, name: &name, x: None, ..series };
                send(Series { nominal: 0, pin: None, ..bound }, of)?;
            }
            if let Some(causes) = causes(&cycles) {
                let apart = format!("the bounds of `{}` are apart by: {causes}", series.name);
                built.send(&Record::Log(&apart))?;
            }
        }
        Ok(Ok(()))
    }

    /// The cycles of a series' samples. Where the same times fit at several places, which happens
    /// between equal rounds, the bounds are the widest of all places.
    fn cycles(&self, series: &Series<'_>, samples: &[Sample]) -> Result<Vec<Cycles>, Why> {
        let mut start = 0_i64;
        let spans: Vec<(i64, i64)> = samples
            .iter()
            .map(|sample| {
                start += sample.gap;
                (start, start + (sample.value + series.nominal).cast_signed())
            })
            .collect();
        let mut found: Option<Vec<Cycles>> = None;
        let mut slept = false;
        for origin in &self.origins {
            let read = |offset: i64| self.by_time.get(&origin.wrapping_add_signed(offset));
            // Between equal rounds, a wrong place is found out by its last sample.
            if spans.last().is_none_or(|(_, end)| read(*end).is_none()) {
                continue;
            }
            let pairs: Option<Vec<(&Read, &Read)>> =
                spans.iter().map(|(start, end)| read(*start).zip(read(*end))).collect();
            let Some(pairs) = pairs else { continue };
            slept |= pairs.iter().any(|(start, end)| start.sleeps != end.sleeps);
            let cycles = pairs.iter().map(|(start, end)| Cycles::between(start, end));
            found = Some(match found {
                None => cycles.collect(),
                Some(known) => {
                    known.into_iter().zip(cycles).map(|(known, other)| known.or(other)).collect()
                }
            });
        }
        match found {
            Some(_) if slept => Err("the processor sleeps within its samples"),
            Some(cycles) => Ok(cycles),
            None => Err("its samples do not begin and end at reads of the clock"),
        }
    }
}

#[cfg(test)]
mod tests {
    use chronoscope_chips::Table;

    use super::*;
    use crate::request::request;

    fn chip(name: &str) -> Chip {
        Table::read().chips.into_iter().find(|chip| chip.name == name).unwrap()
    }

    fn split(text: &str, on: &str) -> Result<(Option<Modelled>, Request)> {
        Modelled::split(&request(text), &chip(on), &Table::read().parts)
    }

    #[test]
    fn a_chip_is_named_with_its_clock_or_refused_in_one_line() {
        let (modelled, rest) = split("switch tasks=2 chip=stm32f405:84MHz", "cortex-m4").unwrap();
        assert_eq!(rest, request("switch tasks=2"));
        let modelled = modelled.unwrap();
        assert!(modelled.options().contains("core=Cortex-M4,"), "{}", modelled.options());
        assert!(modelled.options().contains(",waits=2,"), "{}", modelled.options());
        assert_eq!(
            split("switch tasks=2", "cortex-m4").unwrap(),
            (None, request("switch tasks=2"))
        );
        for (text, on, why) in [
            ("switch chip=z80", "cortex-m4", "the chips with a model are stm32f401"),
            ("switch chip=stm32f405", "cortex-m3", "has a Cortex-M4, and cortex-m3 is a Cortex-M3"),
            ("switch chip=stm32f405:169MHz", "cortex-m4", "1MHz to 168MHz"),
            ("switch chip=nrf52840:32MHz", "cortex-m4", "nrf52840 runs at 64MHz alone"),
            ("switch chip=stm32f405:fast", "cortex-m4", "chip=stm32f405:fast"),
        ] {
            let error = format!("{:#}", split(text, on).unwrap_err());
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
    }

    /// A file of reads: time, sleeps, least, twice the estimate, greatest.
    fn reads(rows: &[[u64; 5]]) -> Reads {
        let mut file = Vec::new();
        for [time, sleeps, least, estimate, most] in rows {
            let mut words = [0; WORDS];
            words[..7].copy_from_slice(&[
                *time,
                *sleeps,
                0,
                *least,
                *estimate,
                *most,
                most - least,
            ]);
            words.iter().for_each(|word| file.extend_from_slice(&word.to_le_bytes()));
        }
        Reads::new(&file).unwrap()
    }

    fn sample(gap: i64, value: u64) -> Sample {
        Sample { gap, value }
    }

    #[test]
    fn a_sample_has_the_cycles_between_its_two_reads() {
        let reads = reads(&[
            [100, 0, 10, 20, 10],
            [140, 0, 60, 130, 80],
            [150, 0, 70, 150, 95],
            [200, 0, 190, 400, 260],
        ]);
        let series = Series::measured("switch");
        let cycles = reads.cycles(&series, &[sample(0, 40), sample(50, 50)]).unwrap();
        let expected = [[50, 55, 70], [120, 125, 165]].map(|[least, estimate, most]| Cycles {
            least,
            estimate,
            most,
            width: [most - least, 0, 0, 0, 0, 0],
        });
        assert_eq!(cycles, expected);
        let short = Series { nominal: 30, ..series };
        assert_eq!(reads.cycles(&short, &[sample(0, 10)]).unwrap(), expected[..1]);
        assert!(
            reads.cycles(&series, &[sample(0, 41)]).unwrap_err().contains("reads of the clock")
        );
    }

    #[test]
    fn where_times_fit_twice_the_bounds_are_the_widest() {
        let reads = reads(&[[0, 0, 0, 0, 0], [10, 0, 12, 30, 20], [20, 0, 26, 58, 38]]);
        let cycles = reads.cycles(&Series::measured("yield"), &[sample(0, 10)]).unwrap();
        let bounds: Vec<[u64; 3]> =
            cycles.iter().map(|cycles| [cycles.least, cycles.estimate, cycles.most]).collect();
        assert_eq!(bounds, [[12, 14, 20]]);
    }

    #[test]
    fn the_causes_of_a_width_are_named_by_their_share() {
        let one = |width| Cycles { least: 0, estimate: 0, most: 0, width };
        let text = causes(&[one([3, 0, 0, 6, 0, 0]), one([0, 1, 0, 10, 0, 0])]);
        assert_eq!(text.unwrap(), "exceptions 80 %, branches 15 %, loads and stores 5 %");
        assert_eq!(causes(&[one([0; 6])]), None);
    }

    #[test]
    fn sleep_has_no_cycles() {
        let reads = reads(&[[0, 0, 0, 0, 0], [10, 1, 12, 30, 20]]);
        let why = reads.cycles(&Series::measured("delay"), &[sample(0, 10)]).unwrap_err();
        assert!(why.contains("sleeps"), "{why}");
    }

    #[test]
    fn a_damaged_file_or_stream_is_refused() {
        assert!(Reads::new(&[0; 95]).is_err());
        let (modelled, _) = split("switch chip=stm32f405", "cortex-m4").unwrap();
        let modelled = modelled.unwrap();
        assert!(modelled.translate(&[1, 2, 3], &[]).is_err());
        assert!(modelled.translate(&[1, 2, 3, 0], &[]).is_err());
    }
}
