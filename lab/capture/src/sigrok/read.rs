//! Reads a session's samples and finds their edges. The metadata is parsed by its own module.

use std::io::{ErrorKind, Read, Seek};

use chronoscope_units::printable;
use zip::{ZipArchive, result::ZipError};

use super::{
    MOST,
    metadata::{self, Metadata},
};
use crate::error::{Result, bail, ensure, fault, within};
use crate::{
    Sampling, Tick,
    flow::{Edge, Header, Sink, Source},
};

/// The longest metadata in bytes.
const LONGEST: u64 = 1 << 20;

/// The number of bytes unpacked at a time.
const ROOM: usize = 1 << 18;

/// The number of samples compared at a time.
const BLOCK: usize = 64;

/// A session that is read part by part.
pub struct Reader<F> {
    archive: ZipArchive<F>,
    header: Header,
    metadata: Metadata,
    parts: Vec<String>,
}

impl<F: Read + Seek> Reader<F> {
    /// Reads the version and the metadata; `source` is the name that messages show.
    ///
    /// # Errors
    /// If the archive is no session, is damaged, misses a part, states no rate, or holds more than
    /// 8 GiB of samples.
    pub fn new(source: &str, file: F) -> Result<Self> {
        Self::sampled(source, file, None)
    }

    /// Reads as [`new`](Self::new) does. `hertz` is the rate of a session that states none.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if neither states a rate.
    pub fn sampled(source: &str, file: F, hertz: Option<u64>) -> Result<Self> {
        let mut archive =
            ZipArchive::new(file).map_err(|error| broken("the archive", &error.to_string()))?;
        let version = text(&mut archive, "version")?;
        ensure!(
            matches!(version.trim(), "1" | "2"),
            "it is a session of version {}: 1 and 2 are known",
            printable(version.trim())
        );
        let metadata =
            metadata::parse(&text(&mut archive, "metadata")?).map_err(within("metadata"))?;
        let parts = parts(&archive, &metadata.file)?;
        let size = |part: &String| {
            archive.by_index_data(archive.index_for_name(part)?).ok().map(|entry| entry.size())
        };
        let total = parts
            .iter()
            .map(size)
            .try_fold(0_u64, |sum, size| sum.checked_add(size?))
            .unwrap_or(u64::MAX);
        ensure!(
            total <= MOST,
            "its samples take {total} bytes unpacked, and {MOST} are the most that is read: save a part of it"
        );
        let Some(hertz) = metadata.hertz.or(hertz) else {
            bail!(
                "it has no `samplerate`, so the time between its samples is not known: give it, --sampled RATE"
            )
        };
        let header = Header {
            source: source.into(),
            tick: Tick::from_hertz(hertz).ok_or_else(|| fault!("its samplerate is 0"))?,
            sampling: Sampling::At(hertz),
            channels: metadata.channels.iter().map(|(_, name)| name).collect(),
        };
        Ok(Self { archive, header, metadata, parts })
    }
}

/// Reads a whole small entry as text.
fn text<F: Read + Seek>(archive: &mut ZipArchive<F>, name: &str) -> Result<String> {
    let entry = archive.by_name(name).map_err(|error| match error {
        ZipError::FileNotFound => fault!("it is a zip archive without `{name}`: none of sigrok's"),
        error => broken(name, &error.to_string()),
    })?;
    let mut text = Vec::new();
    entry
        .take(LONGEST + 1)
        .read_to_end(&mut text)
        .map_err(|error| broken(name, &error.to_string()))?;
    ensure!(text.len() as u64 <= LONGEST, "{name} is longer than {LONGEST} bytes");
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the names of the parts with the samples, in order.
fn parts<F: Read + Seek>(archive: &ZipArchive<F>, file: &str) -> Result<Vec<String>> {
    if archive.index_for_name(file).is_some() {
        return Ok(vec![file.to_owned()]);
    }
    let numbered = |number: usize| format!("{file}-{number}");
    let parts: Vec<String> =
        (1..).map(numbered).take_while(|name| archive.index_for_name(name).is_some()).collect();
    let prefix = numbered(0);
    let prefix = prefix.trim_end_matches('0').as_bytes();
    let is_part = |name: &&[u8]| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
    };
    if archive.file_names_raw().filter(is_part).count() > parts.len() {
        bail!("its part {} is missing", printable(&numbered(parts.len() + 1)));
    }
    ensure!(!parts.is_empty(), "it has no samples: there is no {}", printable(&numbered(1)));
    Ok(parts)
}

fn broken(what: &str, error: &str) -> crate::Error {
    fault!("{} is damaged or cut off: {}", printable(what), printable(error))
}

impl<F: Read + Seek> Source for Reader<F> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn read(&mut self, wanted: &[usize], sink: &mut dyn Sink) -> Result<()> {
        let bits = wanted.iter().map(|place| self.metadata.channels[*place].0);
        let mut samples = Samples::new(self.metadata.unit, bits.collect(), sink);
        for part in &self.parts {
            let mut entry =
                self.archive.by_name(part).map_err(|error| broken(part, &error.to_string()))?;
            let mut claimed = entry.size();
            loop {
                let count = match entry.read(samples.room()) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(broken(part, &error.to_string())),
                };
                claimed = claimed
                    .checked_sub(count as u64)
                    .ok_or_else(|| broken(part, "it holds more than it claims"))?;
                samples.take(count)?;
            }
            if claimed != 0 {
                return Err(broken(part, "it holds less than it claims"));
            }
        }
        samples.end()
    }
}

/// Finds edges in samples that arrive in pieces.
struct Samples<'a> {
    unit: usize,
    /// For each channel, its byte in a sample and its bit in that byte.
    bits: Vec<(usize, u8)>,
    sink: &'a mut dyn Sink,
    /// The latest sample, then the bytes that are not examined yet.
    buffer: Vec<u8>,
    filled: usize,
    /// The number of samples so far.
    count: u64,
}

impl<'a> Samples<'a> {
    fn new(unit: usize, bits: Vec<usize>, sink: &'a mut dyn Sink) -> Self {
        let bits = bits.into_iter().map(|bit| (bit / 8, 1 << (bit % 8))).collect();
        // The size is a whole number of samples, so that there is always room to read.
        Self { unit, bits, sink, buffer: vec![0; (ROOM / unit + 1) * unit], filled: 0, count: 0 }
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.filled..]
    }

    fn take(&mut self, count: usize) -> Result<()> {
        self.filled += count;
        let unit = self.unit;
        let data = &self.buffer[..self.filled];
        let mut at = unit;
        if self.count == 0 {
            let Some(first) = data.get(..unit) else { return Ok(()) };
            let levels: Vec<bool> =
                self.bits.iter().map(|(byte, bit)| first[*byte] & bit != 0).collect();
            self.sink.begin(0, &levels)?;
            self.count = 1;
        }
        while at + unit <= data.len() {
            // While nothing changes, each sample equals the one before, so a whole block can be
            // compared with itself shifted by one sample.
            let block = BLOCK * unit;
            if at + block <= data.len()
                && data[at..at + block] == data[at - unit..at - unit + block]
            {
                at += block;
                self.count += BLOCK as u64;
                continue;
            }
            let end = (at + block).min(data.len() / unit * unit);
            while at < end {
                let (before, now) = (&data[at - unit..at], &data[at..at + unit]);
                if before != now {
                    for (channel, (byte, bit)) in self.bits.iter().enumerate() {
                        if (before[*byte] ^ now[*byte]) & bit != 0 {
                            self.sink.edge(Edge {
                                at: self.count,
                                channel,
                                level: now[*byte] & bit != 0,
                            })?;
                        }
                    }
                }
                at += unit;
                self.count += 1;
            }
        }
        // The latest sample stays, for comparison with the next one, and so do the bytes of an
        // incomplete sample.
        self.buffer.copy_within(at - unit..self.filled, 0);
        self.filled -= at - unit;
        Ok(())
    }

    fn end(self) -> Result<()> {
        ensure!(self.count > 0, "there is no sample in it");
        ensure!(
            self.filled == self.unit,
            "it ends within a sample of {} bytes: it is cut off",
            self.unit
        );
        self.sink.end(self.count - 1)
    }
}
