//! The stream of edges from a file to its consumer, in the order of time; no edge is stored.
//! Formats and measures are implemented elsewhere, as sources and sinks.

use chronoscope_units::OneLine;

use super::{names::Names, tick::Tick};
use crate::error::Result;

/// The properties of a capture that are known before its first edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The name of the capture's origin, as shown to the user.
    pub source: OneLine,
    /// The length of a tick, the unit of all times.
    pub tick: Tick,
    /// The way in which levels were observed.
    pub sampling: Sampling,
    /// The channels' names, all different.
    pub channels: Names,
}

impl Header {
    /// Returns the header with the given sampling rate in hertz, if the file states none.
    pub fn sampled(&self, hertz: Option<u64>) -> Self {
        let mut header = self.clone();
        if let (Sampling::Unknown, Some(hertz)) = (header.sampling, hertz) {
            header.sampling = Sampling::At(hertz);
        }
        header
    }
}

/// The way in which levels were observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Each edge has its exact time, as from a simulation or an emulator.
    Exact,
    /// Sampled at this rate in hertz: an edge may be up to one sample period older than its time.
    At(u64),
    /// Sampled at an unknown rate.
    Unknown,
}

/// A change of a channel's level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The time in ticks.
    pub at: u64,
    /// The index of the channel in the list of requested channels.
    pub channel: usize,
    /// The level after the edge.
    pub level: bool,
}

/// Receives a capture's edges: a `begin`, any number of `edge`, an `end`. Times never fall. A
/// channel has at most one edge at any time, and each edge toggles its level.
pub trait Sink {
    /// Receives the start's time and the level of each channel.
    ///
    /// # Errors
    /// If the sink rejects the start or fails to write; the source then stops reading.
    fn begin(&mut self, start: u64, levels: &[bool]) -> Result<()>;
    /// Receives the next edge.
    ///
    /// # Errors
    /// If the sink rejects the edge or fails to write; the source then stops reading.
    fn edge(&mut self, edge: Edge) -> Result<()>;
    /// Receives the time at which the capture ends.
    ///
    /// # Errors
    /// If the sink cannot finish its work.
    fn end(&mut self, end: u64) -> Result<()>;
}

/// Reads a capture and passes its edges to a sink.
pub trait Source {
    /// The properties of the capture that its head states.
    fn header(&self) -> &Header;

    /// Reads the whole capture; may be called once. `wanted` holds indices into the header's
    /// channels.
    ///
    /// # Errors
    /// If the capture is malformed or cannot be read (the message says where), or the sink fails.
    fn read(&mut self, wanted: &[usize], sink: &mut dyn Sink) -> Result<()>;

    /// After reading, the number of pulses that were too short to be seen.
    fn unseen(&self) -> u64 {
        0
    }
}

/// Merges the changes of a channel within one instant: the sink sees only the final level. The
/// levels after the first instant are the initial levels.
pub(super) struct Settle<'a> {
    sink: &'a mut dyn Sink,
    now: u64,
    levels: Vec<bool>,
    passed_on: Vec<bool>,
    /// Channels that have changed in this instant, and the number of changes of each channel.
    touched: Vec<usize>,
    changes: Vec<u64>,
    begun: bool,
    /// The number of pulses that began and ended within one instant.
    unseen: u64,
}

impl<'a> Settle<'a> {
    pub fn new(start: u64, levels: Vec<bool>, sink: &'a mut dyn Sink) -> Self {
        let (passed_on, changes) = (levels.clone(), vec![0; levels.len()]);
        Self {
            sink,
            now: start,
            passed_on,
            levels,
            touched: Vec::new(),
            changes,
            begun: false,
            unseen: 0,
        }
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    /// Sets the start's time; to be called before the first `set`.
    pub fn start(&mut self, at: u64) {
        self.now = at;
    }

    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Moves time on to `at`; a time before the current one is ignored.
    pub fn advance(&mut self, at: u64) -> Result<()> {
        if at > self.now {
            self.flush()?;
            self.now = at;
        }
        Ok(())
    }

    pub fn set(&mut self, channel: usize, level: bool) {
        if self.levels[channel] != level {
            self.levels[channel] = level;
            if self.changes[channel] == 0 {
                self.touched.push(channel);
            }
            self.changes[channel] += 1;
        }
    }

    fn flush(&mut self) -> Result<()> {
        if !self.begun {
            self.begun = true;
            self.touched.clear();
            self.changes.fill(0);
            self.passed_on.clone_from(&self.levels);
            return self.sink.begin(self.now, &self.levels);
        }
        for channel in self.touched.drain(..) {
            self.unseen += std::mem::take(&mut self.changes[channel]) / 2;
            let level = self.levels[channel];
            if self.passed_on[channel] != level {
                self.passed_on[channel] = level;
                self.sink.edge(Edge { at: self.now, channel, level })?;
            }
        }
        Ok(())
    }

    /// The number of pulses that began and ended within one instant.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    pub fn end(mut self) -> Result<()> {
        self.end_at(self.now)
    }

    /// Ends the capture at `end`. Changes of the current instant are dropped if it is after `end`.
    pub fn end_at(&mut self, end: u64) -> Result<()> {
        if self.now <= end {
            self.flush()?;
        }
        self.sink.end(end)
    }
}
