#![doc = include_str!("../README.md")]
//!
//! ```text
//! file ─► source ─► (resample) ─► sink: measures, a file of another format, or a Capture
//! ```
//!
//! A [`Source`] reads one format and passes edges in the order of time to a [`Sink`], so memory
//! does not grow with the file. A [`Capture`] holds all edges of a small capture, such as the pins
//! of one repetition.

#![forbid(unsafe_code)]

mod flow;
pub mod measure;
mod meter;
mod names;
mod open;
mod request;
mod resample;
pub mod saleae;
pub mod sigrok;
mod tally;
#[cfg(test)]
mod test;
mod tick;
pub mod vcd;
mod words;

use std::io::{self, Read, Write};

use anyhow::{Context as _, Result, bail};

pub use flow::{Collect, Edge, Header, Sampling, Sink, Source};
pub use names::Names;
pub use open::{open, open_sampled};
pub use resample::{Analyser, Resampled};
pub use tick::Tick;

use chronoscope_units::printable;

/// A whole capture in memory. All times are in ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// The name of the capture's origin, as shown to the user.
    pub source: String,
    pub tick: Tick,
    pub sampling: Sampling,
    /// The first time at which levels are known.
    pub start: u64,
    /// The last time at which levels are known.
    pub end: u64,
    pub channels: Vec<Channel>,
}

/// A pin and its edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    pub name: String,
    /// The level at the capture's start.
    pub initial: bool,
    /// The times of the edges in ticks, rising; each edge toggles the level.
    pub edges: Vec<u64>,
}

/// A level that lasted from an edge to the next: its start and its width, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    pub at: u64,
    pub width: u64,
}

impl Channel {
    /// Yields each edge: its time, and the level after it.
    pub fn edges(&self) -> impl Iterator<Item = (u64, bool)> + '_ {
        let first = !self.initial;
        self.edges.iter().enumerate().map(move |(place, at)| (*at, (place % 2 == 0) == first))
    }

    /// Yields each pulse at `level`, except those that the capture's start or end cuts short.
    pub fn pulses(&self, level: bool) -> impl Iterator<Item = Pulse> + '_ {
        let skip = usize::from(self.initial == level);
        self.edges
            .get(skip..)
            .unwrap_or(&[])
            .chunks_exact(2)
            .map(|pair| Pulse { at: pair[0], width: pair[1] - pair[0] })
    }
}

impl Capture {
    /// Finds a channel by its name.
    ///
    /// # Errors
    /// If no channel has that name; the message lists the first sixteen.
    pub fn channel(&self, name: &str) -> Result<&Channel> {
        let names = || self.channels.iter().map(|channel| channel.name.as_str());
        Ok(&self.channels[find(name, names())?])
    }

    /// Yields the edges of a channel: the time, and the level after it.
    ///
    /// # Errors
    /// If no channel has that name.
    pub fn edges(&self, channel: &str) -> Result<impl Iterator<Item = (u64, bool)> + '_> {
        Ok(self.channel(channel)?.edges())
    }

    /// Yields the whole pulses of a channel at `level`.
    ///
    /// # Errors
    /// If no channel has that name.
    pub fn pulses(&self, channel: &str, level: bool) -> Result<impl Iterator<Item = Pulse> + '_> {
        Ok(self.channel(channel)?.pulses(level))
    }

    /// Reads all channels of a source into memory.
    ///
    /// # Errors
    /// If the source cannot be read or is malformed; the message says where.
    pub fn collect(source: &mut dyn Source) -> Result<Self> {
        let header = source.header().clone();
        let all: Vec<usize> = (0..header.channels.len()).collect();
        let mut collect = Collect::new(&header, &all);
        source.read(&all, &mut collect)?;
        Ok(collect.finish())
    }

    /// Reads a value change dump; `source` is the name that messages show.
    ///
    /// # Errors
    /// If the dump is malformed or cannot be read; the message gives the line.
    pub fn from_vcd(source: &str, input: impl Read) -> Result<Self> {
        vcd::Reader::new(source, input)
            .and_then(|mut reader| Self::collect(&mut reader))
            .with_context(|| printable(source))
    }

    /// Describes this capture without its edges.
    pub fn header(&self) -> Header {
        Header {
            source: self.source.as_str().into(),
            tick: self.tick,
            sampling: self.sampling,
            channels: self.channels.iter().map(|channel| &channel.name).collect(),
        }
    }

    /// Passes all edges to a sink in the order of time, as a file's source does.
    ///
    /// # Errors
    /// If the sink fails.
    pub fn replay(&self, sink: &mut dyn Sink) -> Result<()> {
        let levels: Vec<bool> = self.channels.iter().map(|channel| channel.initial).collect();
        sink.begin(self.start, &levels)?;
        let of = |(channel, pin): (usize, &Channel)| -> Vec<Edge> {
            pin.edges().map(|(at, level)| Edge { at, channel, level }).collect()
        };
        let mut all: Vec<Edge> = self.channels.iter().enumerate().flat_map(of).collect();
        all.sort_by_key(|edge| edge.at);
        all.into_iter().try_for_each(|edge| sink.edge(edge))?;
        sink.end(self.end)
    }

    /// Resamples the exact edges as a logic analyser would have seen them.
    ///
    /// # Errors
    /// If the capture was sampled already, or is shorter than a sample.
    pub fn resample(&self, analyser: Analyser) -> Result<Self> {
        Self::collect(&mut Resampled::new(Box::new(self.clone().into_source()), analyser)?)
    }

    fn into_source(self) -> impl Source {
        Replay { header: self.header(), capture: self }
    }

    /// Writes a value change dump, which waveform viewers open.
    ///
    /// # Errors
    /// If `output` fails, or a time does not fit into 64 bits of the dump's unit.
    pub fn to_vcd(&self, output: &mut dyn Write) -> Result<()> {
        let mut writer = vcd::Writer::new(&self.header(), output)?;
        self.replay(&mut writer)
    }
}

/// A capture in memory, presented as a source.
struct Replay {
    header: Header,
    capture: Capture,
}

impl Source for Replay {
    fn header(&self) -> &Header {
        &self.header
    }

    fn read(&mut self, wanted: &[usize], sink: &mut dyn Sink) -> Result<()> {
        let channels = wanted.iter().map(|place| self.capture.channels[*place].clone()).collect();
        Capture { channels, ..self.capture.clone() }.replay(sink)
    }
}

/// Finds the index of a name among others.
///
/// # Errors
/// If no name equals it; the message lists the first sixteen.
pub fn find<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<usize> {
    let wanted = printable(name);
    let Some(place) = names.clone().position(|known| known == wanted) else {
        let shown: Vec<String> = names.clone().take(16).map(printable).collect();
        let more = names.count().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        match shown.len() {
            0 => bail!("there is no channel {}: it has none", printable(name)),
            _ => bail!(
                "there is no channel {}: there is {}{more}",
                printable(name),
                shown.join(", ")
            ),
        }
    };
    Ok(place)
}

/// The error of a time that does not fit into the written file.
fn overflow() -> io::Error {
    io::Error::other("a time does not fit into the file: it is too long")
}
