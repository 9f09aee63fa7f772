//! The figures of an observation as a stream of records like a port's, so that they are judged,
//! stored and shown like any case's figures.

use std::{cmp::Reverse, collections::BTreeMap};

use anyhow::{Error, Result};
use chronoscope_suite::wire::{Record, Series, Unit};

use crate::{
    Request,
    marks::{self, Kind},
    qemu::modelled::{Modelled, Reads},
    stream::{Interval, MOST_SERIES, StreamBuilder},
};

use super::{
    Observed, busy,
    encoder::{Encoder, MOST_FIGURES},
    events::{Due, FROM, Figures, SWITCH, TO, Trap},
    image::{Place, Sizes},
    named::Named,
};

/// The most series of traps, of interrupts with a due time, and of address spaces or tasks. The
/// others, which are the rarest or the shortest, have none.
const MOST_TRAPS: usize = 80;
const MOST_LATENCIES: usize = 16;
const MOST_PLACES: usize = 12;

/// The note in place of the latencies, where cycles are asked for on RISC-V.
const NO_ENTRY: &str = "waits of interrupts are left out: the model has no cycles between an \
                        interrupt's arrival and its handler on this core";

/// Encodes the figures, and notes on the image's own output.
///
/// # Errors
/// A name is longer than a record.
pub fn encode(
    observed: &Observed<'_>,
    request: &Request,
    figures: &Figures,
    named: Option<&Named<'_>>,
    cycles: Option<&Reads>,
    notes: &[String],
) -> Result<Vec<u8>> {
    let written = |remark: Option<&str>| {
        let mut encoder = Encoder::new(StreamBuilder::begin(&observed.name, request)?, cycles);
        encoder.stream.send(&observed.clock())?;
        if let Some(remark) = remark {
            encoder.stream.send(&Record::Log(remark))?;
        }
        encoder.write(observed, figures, named, notes)?;
        Ok::<_, Error>(encoder)
    };
    let encoder = written(None)?;
    if encoder.without_room == 0 {
        return encoder.stream.end();
    }
    // The remark is the first one, because a case keeps the first ones.
    let remark = format!(
        "the last {} series and figures are left out, since a run has room for {MOST_SERIES} series and \
         {MOST_FIGURES} figures: mark fewer places, or use a smaller view",
        encoder.without_room
    );
    written(Some(&remark))?.stream.end()
}

fn name(trap: Trap, observed: &Observed<'_>) -> String {
    match trap {
        Trap::SystemCall(number) => format!("system call {number}"),
        // SBI's extensions are known by their numbers in hex.
        Trap::MachineCall(number) => format!("call of machine mode {number:#x}"),
        Trap::Supervisor => "interrupt or fault, supervisor mode".to_owned(),
        Trap::Machine => "interrupt or fault, machine mode".to_owned(),
        Trap::Exception(number) => observed.exception(number),
    }
}

/// The name of a series of latencies, which says the source of the due time.
fn latency(due: Due, observed: &Observed<'_>) -> String {
    match due {
        Due::Pended(number) if observed.is_arm() => {
            format!("{}, pended to handler", observed.exception(number))
        }
        Due::Pended(number) => {
            let mode = if number & 3 == 3 { "machine" } else { "supervisor" };
            let source = match number {
                1 | 3 => "software interrupt",
                5 | 7 => "timer",
                _ => "external interrupt",
            };
            format!("{mode} {source}, pended to handler")
        }
        Due::MachineTimer => "machine timer, due to handler".to_owned(),
        Due::SysTick => "SysTick, due to handler".to_owned(),
        Due::SupervisorTimer => "supervisor timer, due to handler".to_owned(),
    }
}

impl Encoder<'_> {
    /// Adds everything but the clock.
    fn write(
        &mut self,
        observed: &Observed<'_>,
        figures: &Figures,
        named: Option<&Named<'_>>,
        notes: &[String],
    ) -> Result<()> {
        self.judges_single = !figures.has_several();
        self.reserved = if observed.is_watched { Sizes::SERIES } else { 0 };
        self.evidence("instructions", figures.instructions, 1)?;
        let Observed { from, to, switch, .. } = observed;
        for (place, index) in [(from, FROM), (to, TO), (switch, SWITCH)] {
            if let Some(Place { name, .. }) = place {
                self.evidence(&format!("hits of {name}"), figures.hits[index as usize], 1)?;
            }
        }
        if let (Some(from), Some(to)) = (from, to) {
            let name = format!("{} to {}", from.name, to.name);
            self.series(Series::measured(&name), &figures.between)?;
        }
        if let (Some(phases), Some(to)) = (&observed.phases, to) {
            let requests = figures.requests.len() as u64;
            self.evidence(&format!("requests of {}", phases.timer), requests, 1)?;
            self.figure("phases", "", figures.between.len() as f64)?;
            let name = format!("{} to {}", phases.timer, to.name);
            self.series(Series::measured(&name), &figures.between)?;
        }
        for series in &figures.marks {
            self.mark(series)?;
        }
        if let Some(named) = named {
            self.named(named)?;
        }
        if observed.is_watched {
            observed.image.sizes().send(&mut self.stream, &observed.marks)?;
        } else {
            self.seen(observed, figures, named)?;
        }
        if figures.is_empty() && named.is_none_or(Named::is_empty) {
            let (table, core) = (observed.machines.table(), &observed.emulated.core);
            let chip = observed.chip.as_ref().map(Modelled::part);
            if let Some(place) = busy::sentence(&observed.image, figures, table, core, chip) {
                self.stream.send(&Record::Log(&place))?;
            }
        }
        for note in notes {
            self.stream.send(&Record::Log(note))?;
        }
        if let Some(why) = figures.ended_early {
            self.stream.send(&Record::Log(why))?;
        }
        Ok(())
    }

    /// Adds the series that need no name: switches, traps, interrupts, masked time, stays.
    fn seen(
        &mut self,
        observed: &Observed<'_>,
        figures: &Figures,
        named: Option<&Named<'_>>,
    ) -> Result<()> {
        if !figures.switches.is_empty() {
            self.intervals("from switch to switch", &figures.switches)?;
        }
        let is_arm = observed.is_arm();
        self.most("kinds of calls", MOST_TRAPS, &figures.traps, |trap| name(*trap, observed))?;
        if is_arm || self.cycles.is_none() {
            let name = |due: &Due| latency(*due, observed);
            self.most("interrupts", MOST_LATENCIES, &figures.latencies, name)?;
        } else if !figures.latencies.is_empty() {
            self.stream.send(&Record::Log(NO_ENTRY))?;
        }
        let masks = [
            (
                if is_arm { "interrupts masked" } else { "interrupts masked, machine mode" },
                &figures.masked,
            ),
            ("interrupts masked, supervisor mode", &figures.supervisor_masked),
        ];
        for (name, intervals) in masks.into_iter().filter(|(_, intervals)| !intervals.is_empty()) {
            self.intervals(name, intervals)?;
        }
        let by_address = |place: u64| format!("{place:#x}");
        let name = |place: u64| {
            named
                .and_then(|named| named.task(place))
                .map_or_else(|| by_address(place), str::to_owned)
        };
        match (observed.task.is_some(), is_arm) {
            (true, _) => self.places("task", &figures.tasks, name),
            (false, true) => self.places("stack pointer", &figures.spaces, by_address),
            (false, false) => self.places("address space", &figures.spaces, by_address),
        }
    }

    /// Adds the intervals or the numbers of one mark, and remarks on hits outside any interval.
    fn mark(&mut self, series: &marks::Series) -> Result<()> {
        for line in marks::remarks(series) {
            self.stream.send(&Record::Log(&line))?;
        }
        match (series.intervals.is_empty(), series.kind, series.slept) {
            (true, ..) => Ok(()),
            (_, Kind::Value, _) => {
                let numbers = Series { unit: Unit::Count, ..Series::measured(&series.name) };
                self.series(numbers, &series.intervals)
            }
            (_, _, 0) => self.series(Series::measured(&series.name), &series.intervals),
            _ => self.series(Series::auxiliary(&series.name), &series.intervals),
        }
    }

    /// Adds a series for each of the keys with the most intervals.
    fn most<K: Ord>(
        &mut self,
        what: &str,
        most: usize,
        series: &BTreeMap<K, Vec<Interval>>,
        name: impl Fn(&K) -> String,
    ) -> Result<()> {
        let mut sorted: Vec<_> = series.iter().collect();
        sorted.sort_by_key(|(_, intervals)| Reverse(intervals.len()));
        for (key, intervals) in sorted.iter().take(most) {
            self.intervals(&name(key), intervals)?;
        }
        self.left_out(what, "rarest", sorted.len(), most)
    }

    /// Adds the whole time of each of the longest used places as a figure, and the stays in it as a
    /// series.
    fn places(
        &mut self,
        what: &str,
        places: &BTreeMap<u64, Vec<Interval>>,
        name: impl Fn(u64) -> String,
    ) -> Result<()> {
        let whole = |stays: &[Interval]| stays.iter().map(|stay| stay.length).sum::<u64>();
        let mut sorted: Vec<_> =
            places.iter().map(|(place, stays)| (whole(stays), place, stays)).collect();
        sorted.sort_by_key(|(time, place, _)| (Reverse(*time), **place));
        for (time, place, stays) in sorted.iter().take(MOST_PLACES) {
            let name = format!("in {what} {}", name(**place));
            self.figure(&name, "instructions", *time as f64)?;
            self.series(Series::auxiliary(&name), stays)?;
        }
        self.left_out(&format!("{what}s"), "least used", sorted.len(), MOST_PLACES)
    }
}
