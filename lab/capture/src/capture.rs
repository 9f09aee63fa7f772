//! A small capture in memory: its channels with all their edges, as a sink's result and as a
//! source. Formats and the virtual analyser work on streams; the module only connects them.

use std::io::{Read, Write};

use chronoscope_units::printable;

use super::{
    flow::{Edge, Header, Sampling, Sink, Source},
    names::find,
    resample::{Analyser, Resampled},
    tick::Tick,
    vcd,
};
use crate::error::{Result, within};

/// A whole capture in memory. All times are in ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// The name of the capture's origin, as shown to the user.
    pub source: String,
    /// The length of a tick.
    pub tick: Tick,
    /// The way in which levels were observed.
    pub sampling: Sampling,
    /// The first time at which levels are known.
    pub start: u64,
    /// The last time at which levels are known.
    pub end: u64,
    /// The channels, with different names.
    pub channels: Vec<Channel>,
}

/// A pin and its edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The name, as the capture gives it.
    pub name: String,
    /// The level at the capture's start.
    pub initial: bool,
    /// The times of the edges in ticks, rising; each edge toggles the level.
    pub edges: Vec<u64>,
}

/// A level that lasted from an edge to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// The start, in ticks.
    pub at: u64,
    /// The width, in ticks.
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
            .map_err(within(printable(source)))
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
        let edges = |(channel, pin): (usize, &Channel)| -> Vec<Edge> {
            pin.edges().map(|(at, level)| Edge { at, channel, level }).collect()
        };
        let mut all: Vec<Edge> = self.channels.iter().enumerate().flat_map(edges).collect();
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

    /// Presents the capture as a source, which reads it from memory.
    pub(super) fn into_source(self) -> impl Source {
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

/// A sink that collects all edges into a [`Capture`].
pub struct Collect {
    capture: Capture,
}

impl Collect {
    /// Creates a sink for the `wanted` channels, which are indices into the header's channels.
    pub fn new(header: &Header, wanted: &[usize]) -> Self {
        let channel = |place: &usize| Channel {
            name: header.channels[*place].to_owned(),
            initial: false,
            edges: Vec::new(),
        };
        Self {
            capture: Capture {
                source: header.source.to_string(),
                tick: header.tick,
                sampling: header.sampling,
                start: 0,
                end: 0,
                channels: wanted.iter().map(channel).collect(),
            },
        }
    }

    /// Returns the capture with all edges received so far.
    pub fn finish(self) -> Capture {
        self.capture
    }
}

impl Sink for Collect {
    fn begin(&mut self, start: u64, levels: &[bool]) -> Result<()> {
        self.capture.start = start;
        for (channel, level) in self.capture.channels.iter_mut().zip(levels) {
            channel.initial = *level;
        }
        Ok(())
    }

    fn edge(&mut self, edge: Edge) -> Result<()> {
        self.capture.channels[edge.channel].edges.push(edge.at);
        Ok(())
    }

    fn end(&mut self, end: u64) -> Result<()> {
        self.capture.end = end;
        Ok(())
    }
}
