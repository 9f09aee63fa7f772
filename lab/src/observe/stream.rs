//! The figures of an observation as a stream of records like a port's, so that they are judged,
//! stored and shown like those of any case.

use anyhow::{Context as _, Result};
use chronoscope_suite::wire::{
    self, BLOCK, Clock, Domain, Evidence, MAX_FRAME, Record, Sample, Samples, Series,
};

use super::{
    Observed,
    events::{FROM, Figures, Interval, SWITCH, TO, Trap},
    image::Place,
};

/// The most series of traps. The rarest have none.
const MOST: usize = 100;

/// A stream under construction.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    records: u32,
    series: u8,
}

/// Encodes the figures.
///
/// # Errors
/// A name is longer than a record.
pub fn encode(observed: &Observed, request: &str, figures: &Figures) -> Result<Vec<u8>> {
    let mut stream = Stream::default();
    let kernel = &observed.name;
    stream.send(&Record::Hello { version: wire::VERSION, kernel, release: "", request })?;
    let clock = Clock { domain: Domain::Instructions, hertz: 1_000_000_000, resolution: 1 };
    stream.send(&Record::Clock(clock))?;
    stream.evidence("instructions", figures.instructions, 1)?;
    let Observed { from, to, switch, .. } = observed;
    for (place, index) in [(from, FROM), (to, TO), (switch, SWITCH)] {
        if let Some(Place { name, .. }) = place {
            stream.evidence(&format!("hits of {name}"), figures.hits[index as usize], 1)?;
        }
    }
    if let (Some(from), Some(to)) = (from, to) {
        let name = format!("{} to {}", from.name, to.name);
        stream.intervals(&name, &figures.between)?;
    }
    if !figures.switches.is_empty() {
        stream.intervals("from switch to switch", &figures.switches)?;
    }
    let mut traps: Vec<_> = figures.traps.iter().collect();
    traps.sort_by_key(|(_, intervals)| std::cmp::Reverse(intervals.len()));
    for (trap, intervals) in traps.iter().take(MOST) {
        stream.intervals(&name(**trap), intervals)?;
    }
    if let Some(rest) = traps.len().checked_sub(MOST).filter(|rest| *rest > 0) {
        stream.send(&Record::Log(&format!("the {rest} rarest kinds of calls are left out")))?;
    }
    if let Some(why) = figures.ended_early {
        stream.send(&Record::Log(why))?;
    }
    stream.send(&Record::End { records: stream.records })?;
    Ok(stream.bytes)
}

fn name(trap: Trap) -> String {
    match trap {
        Trap::SystemCall(number) => format!("system call {number}"),
        // SBI's extensions are known by their numbers in hex.
        Trap::MachineCall(number) => format!("call of machine mode {number:#x}"),
        Trap::Supervisor => "interrupt or fault, supervisor mode".to_owned(),
        Trap::Machine => "interrupt or fault, machine mode".to_owned(),
    }
}

impl Stream {
    fn send(&mut self, record: &Record<'_>) -> Result<()> {
        let mut frame = [0; MAX_FRAME + 1];
        let length = wire::encode(record, &mut frame).context("a record is longer than a frame")?;
        self.bytes.extend_from_slice(&frame[..length]);
        self.records += 1;
        Ok(())
    }

    fn evidence(&mut self, name: &str, value: u64, low: u64) -> Result<()> {
        let (value, low) = (value as f64, low as f64);
        self.send(&Record::Evidence(Evidence { name, value, low, high: f64::INFINITY }))
    }

    fn intervals(&mut self, name: &str, intervals: &[Interval]) -> Result<()> {
        let id = self.series;
        self.series += 1;
        self.send(&Record::Series(Series { id, ..Series::measured(name) }))?;
        let mut last = intervals.first().map_or(0, |interval| interval.start);
        for part in intervals.chunks(BLOCK) {
            let mut samples = Samples { series: id, block: Default::default() };
            for interval in part {
                let gap = interval.start.wrapping_sub(last).cast_signed();
                last = interval.start;
                // A part is no longer than a block.
                let _ = samples.block.push(Sample { gap, value: interval.length });
            }
            self.send(&Record::Samples(samples))?;
        }
        Ok(())
    }
}
