//! Reads Saleae's binary export. Each channel has a file with its initial level and the times of
//! its edges, as doubles in seconds. A file of version 1 consists of chunks, which give the
//! sampling rate; between two chunks may be a gap, in which the channel was not sampled. A file
//! with a gap of more than one and a half sampling periods is refused.

use std::io::{BufReader, Read};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use chronoscope_units::printable;

use super::MAGIC;
use crate::{
    Sampling, Tick,
    flow::{Header, Settle, Sink, Source},
};

/// The greatest time in seconds, 115 days; a file with a greater one is damaged.
const LONGEST: f64 = 1e7;

/// An export under way: one file for each channel.
pub struct Reader<R> {
    header: Header,
    channels: Vec<Channel<R>>,
}

/// The file of a channel under way.
struct Channel<R> {
    name: String,
    input: BufReader<R>,
    version: i32,
    /// The number of chunks after `chunk`.
    chunks_left: u64,
    chunk: Chunk,
    /// The time of the latest edge in seconds, to detect time that goes back.
    latest_s: f64,
}

/// A chunk under way.
struct Chunk {
    /// The level after the edges read so far.
    level: bool,
    /// The sampling rate; `None` in version 0.
    hertz: Option<f64>,
    start_s: f64,
    end_s: f64,
    /// The number of edges that are not read yet.
    edges_left: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the heads of the files. `files` has the name and the file of each channel; `source` is
    /// the capture's name in messages.
    ///
    /// # Errors
    /// If a file is malformed, or the files are not of the same export.
    pub fn new(source: &str, files: Vec<(String, R)>) -> Result<Self> {
        let open = |(name, input): (String, R)| {
            let context = printable(&name);
            Channel::new(name, input).with_context(|| context)
        };
        let channels = files.into_iter().map(open).collect::<Result<Vec<_>>>()?;
        let Some(first) = channels.first() else { bail!("there is no file of a channel in it") };
        if let Some(other) =
            channels.iter().find(|other| other.chunk.start_s != first.chunk.start_s)
        {
            bail!(
                "{} and {} do not begin at one time: they are not of one export",
                printable(&first.name),
                printable(&other.name)
            );
        }
        // The slowest rate bounds the error between any two edges.
        let rate = channels
            .iter()
            .map(|channel| channel.chunk.hertz)
            .reduce(|a, b| Some(a?.min(b?)))
            .flatten();
        let header = Header {
            source: source.into(),
            tick: Tick::PICOSECOND,
            sampling: rate.map_or(Sampling::Unknown, |hertz| Sampling::At(hertz.round() as u64)),
            channels: channels.iter().map(|channel| channel.name.clone()).collect(),
        };
        Ok(Self { header, channels })
    }
}

impl<R: Read> Channel<R> {
    fn new(name: String, input: R) -> Result<Self> {
        let mut input = BufReader::with_capacity(1 << 16, input);
        let magic: [u8; 8] = bytes(&mut input)?;
        ensure!(magic == *MAGIC, "it is none of Saleae's files");
        let version = i32::from_le_bytes(bytes(&mut input)?);
        let kind = i32::from_le_bytes(bytes(&mut input)?);
        ensure!(
            matches!(version, 0 | 1),
            "it is of version {version}: 0 and 1 are known; export it as CSV"
        );
        ensure!(kind == 0, "it holds no digital channel (type {kind})");
        let chunks = if version == 0 { 1 } else { u64::from_le_bytes(bytes(&mut input)?) };
        ensure!(chunks > 0, "there is nothing in it");
        let chunk = Chunk::read(&mut input, version)?;
        Ok(Self { name, input, version, chunks_left: chunks - 1, latest_s: chunk.start_s, chunk })
    }

    fn next_named(&mut self) -> Result<Option<f64>> {
        self.next().with_context(|| printable(&self.name))
    }

    /// Returns the time of the next edge in seconds; `None` at the end.
    fn next(&mut self) -> Result<Option<f64>> {
        while self.chunk.edges_left == 0 {
            if self.chunks_left == 0 {
                let mut rest = Vec::new();
                // Unlike `read`, `read_to_end` tries an interrupted read again.
                self.input.by_ref().take(1).read_to_end(&mut rest).context("cannot be read")?;
                ensure!(rest.is_empty(), "there is more in it than it says: it is damaged");
                return Ok(None);
            }
            self.chunks_left -= 1;
            let (level, end) = (self.chunk.level, self.chunk.end_s);
            self.chunk = Chunk::read(&mut self.input, self.version)?;
            let sample = self.chunk.hertz.map_or(0.0, |hertz| 1.5 / hertz);
            ensure!(
                (self.chunk.start_s - end).abs() <= sample,
                "there is a gap from {end} s to {} s: what the channel did then is not known; export one side of it",
                self.chunk.start_s
            );
            if self.chunk.level != level {
                self.chunk.level = level;
                return self.edge(self.chunk.start_s.max(self.latest_s));
            }
        }
        self.chunk.edges_left -= 1;
        let time = f64::from_le_bytes(bytes(&mut self.input)?);
        self.edge(time)
    }

    /// Takes in an edge at `time`, in seconds: changes the level, and returns the time.
    fn edge(&mut self, time: f64) -> Result<Option<f64>> {
        ensure!(time.is_finite() && time.abs() <= LONGEST, "{time} s is no time of an edge");
        ensure!(time >= self.latest_s, "time goes back, from {} s to {time} s", self.latest_s);
        ensure!(
            time <= self.chunk.end_s,
            "an edge at {time} s is after the end, {} s",
            self.chunk.end_s
        );
        self.latest_s = time;
        self.chunk.level = !self.chunk.level;
        Ok(Some(time))
    }
}

impl Chunk {
    /// Reads the head of a chunk.
    fn read(input: &mut impl Read, version: i32) -> Result<Self> {
        let level = u32::from_le_bytes(bytes(input)?);
        ensure!(level < 2, "{level} is no level");
        let hertz = if version == 0 { None } else { Some(f64::from_le_bytes(bytes(input)?)) };
        ensure!(
            hertz.is_none_or(|hertz| (1.0..1e15).contains(&hertz)),
            "{} is no rate of sampling",
            hertz.unwrap_or_default()
        );
        let [start_s, end_s] = [bytes(input)?, bytes(input)?].map(f64::from_le_bytes);
        let is_time = |time: f64| time.is_finite() && time.abs() <= LONGEST;
        ensure!(
            is_time(start_s) && is_time(end_s) && start_s <= end_s,
            "it begins at {start_s} s and ends at {end_s} s"
        );
        Ok(Self {
            level: level == 1,
            hertz,
            start_s,
            end_s,
            edges_left: u64::from_le_bytes(bytes(input)?),
        })
    }
}

fn bytes<const N: usize>(input: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    input
        .read_exact(&mut bytes)
        .map_err(|error| anyhow!("it is cut off, or cannot be read: {error}"))?;
    Ok(bytes)
}

impl<R: Read> Source for Reader<R> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn read(&mut self, wanted: &[usize], sink: &mut dyn Sink) -> Result<()> {
        let mut places = vec![Vec::new(); self.channels.len()];
        for (place, channel) in wanted.iter().enumerate() {
            places[*channel].push(place);
        }
        let begin = self.channels[0].chunk.start_s;
        let ticks = |time: f64| ((time - begin) * 1e12).round() as u64;
        let levels = wanted.iter().map(|channel| self.channels[*channel].chunk.level).collect();
        let mut settle = Settle::new(0, levels, sink);
        let mut next: Vec<Option<f64>> = vec![None; self.channels.len()];
        for (channel, next) in
            next.iter_mut().enumerate().filter(|(channel, _)| !places[*channel].is_empty())
        {
            *next = self.channels[channel].next_named()?;
        }
        loop {
            let pending =
                next.iter().enumerate().filter_map(|(channel, time)| Some((channel, (*time)?)));
            let Some((channel, time)) = pending.min_by(|one, other| one.1.total_cmp(&other.1))
            else {
                break;
            };
            settle.advance(ticks(time))?;
            let stream = &mut self.channels[channel];
            for place in &places[channel] {
                settle.set(*place, stream.chunk.level);
            }
            next[channel] = stream.next_named()?;
        }
        let end =
            wanted.iter().map(|channel| self.channels[*channel].chunk.end_s).fold(begin, f64::max);
        settle.advance(ticks(end))?;
        settle.end()
    }
}
