//! Edges as they pass from a file to whoever measures them: in the order of time, none of them kept.

use anyhow::Result;

use super::{Capture, Channel, Tick};

/// What is known of a capture before its first edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Where it comes from, as the user is told.
    pub source: String,
    pub tick: Tick,
    pub sampling: Sampling,
    /// The channels' names, each of them once.
    pub channels: Vec<String>,
}

impl Header {
    /// As it is, but with that rate of sampling where the file does not tell its own.
    pub fn sampled(&self, hertz: Option<u64>) -> Self {
        let mut header = self.clone();
        if let (Sampling::Unknown, Some(hertz)) = (header.sampling, hertz) {
            header.sampling = Sampling::At(hertz);
        }
        header
    }
}

/// How levels were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Each edge has its own time: a simulation, or an emulator.
    Exact,
    /// So many times a second: an edge may be up to one sample older than its time.
    At(u64),
    /// Sampled, but the file does not tell how often.
    Unknown,
}

/// A channel takes another level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// In ticks.
    pub at: u64,
    /// Its place among the channels that were asked for.
    pub channel: usize,
    pub level: bool,
}

/// Takes a capture's edges: one `begin`, any number of `edge`, one `end`. Times never fall, and a channel has at most one edge at
/// any of them, each to the other level.
pub trait Sink {
    /// # Errors
    /// Whatever makes it give up.
    fn begin(&mut self, start: u64, levels: &[bool]) -> Result<()>;
    /// # Errors
    /// Whatever makes it give up.
    fn edge(&mut self, edge: Edge) -> Result<()>;
    /// # Errors
    /// Whatever makes it give up.
    fn end(&mut self, end: u64) -> Result<()>;
}

/// Gives a capture's edges.
pub trait Source {
    fn header(&self) -> &Header;

    /// Reads all of it, once; `wanted` are places in the header's channels.
    ///
    /// # Errors
    /// What is wrong with it and where, or what the sink says.
    fn read(&mut self, wanted: &[usize], sink: &mut dyn Sink) -> Result<()>;

    /// After reading: how many pulses were too short to be seen.
    fn unseen(&self) -> u64 {
        0
    }
}

/// Lets levels settle: what a channel does within one instant is not seen, only what it has become. The first instant makes the
/// levels to begin with.
pub(super) struct Settle<'a> {
    sink: &'a mut dyn Sink,
    now: u64,
    levels: Vec<bool>,
    told: Vec<bool>,
    /// Channels that have changed in this instant, and how often each has.
    touched: Vec<usize>,
    changes: Vec<u64>,
    begun: bool,
    /// Pulses that began and ended within one instant.
    unseen: u64,
}

impl<'a> Settle<'a> {
    pub fn new(start: u64, levels: Vec<bool>, sink: &'a mut dyn Sink) -> Self {
        let (told, changes) = (levels.clone(), vec![0; levels.len()]);
        Self {
            sink,
            now: start,
            told,
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

    /// Puts the start elsewhere, before anything was set.
    pub fn start(&mut self, at: u64) {
        self.now = at;
    }

    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Time goes on to `at`, which is not before now.
    pub fn advance(&mut self, at: u64) -> Result<()> {
        if at > self.now {
            self.tell()?;
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

    fn tell(&mut self) -> Result<()> {
        if !self.begun {
            self.begun = true;
            self.touched.clear();
            self.changes.fill(0);
            self.told.clone_from(&self.levels);
            return self.sink.begin(self.now, &self.levels);
        }
        for channel in self.touched.drain(..) {
            self.unseen += std::mem::take(&mut self.changes[channel]) / 2;
            let level = self.levels[channel];
            if self.told[channel] != level {
                self.told[channel] = level;
                self.sink.edge(Edge { at: self.now, channel, level })?;
            }
        }
        Ok(())
    }

    /// Pulses that began and ended within one instant.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    pub fn end(mut self) -> Result<()> {
        self.end_at(self.now)
    }

    /// Ends before now: what was set now is not told.
    pub fn end_at(&mut self, end: u64) -> Result<()> {
        if self.now <= end {
            self.tell()?;
        }
        self.sink.end(end)
    }
}

/// Keeps everything.
pub struct Collect {
    capture: Capture,
}

impl Collect {
    /// For these of the header's channels.
    pub fn new(header: &Header, wanted: &[usize]) -> Self {
        let channel = |place: &usize| Channel {
            name: header.channels[*place].clone(),
            initial: false,
            edges: Vec::new(),
        };
        Self {
            capture: Capture {
                source: header.source.clone(),
                tick: header.tick,
                sampling: header.sampling,
                start: 0,
                end: 0,
                channels: wanted.iter().map(channel).collect(),
            },
        }
    }

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
