//! Writes a session: every sample, in parts of sigrok's size. A capture whose ticks fit no sampling
//! rate is refused; resampling is the caller's choice.

use std::io::Write;

use chronoscope_units::printable;
use zip::{
    ZipWriter,
    write::{SimpleFileOptions, StreamWriter},
};

use super::MOST;
use crate::error::{Result, bail, ensure};
use crate::{
    Sampling,
    flow::{Edge, Header, Sink},
};

/// The size of a part in bytes, as in sigrok's own files.
const PART: usize = 4 << 20;

/// A sink that writes samples as soon as they are known.
pub struct Writer<'a> {
    /// The archive; `None` after the end.
    archive: Option<ZipWriter<StreamWriter<&'a mut dyn Write>>>,
    /// The number of ticks in a sample period.
    step: u64,
    start: u64,
    /// The current sample, and the bytes of the current part.
    sample: Vec<u8>,
    part: Vec<u8>,
    parts: usize,
    /// The number of samples so far.
    count: u64,
}

impl<'a> Writer<'a> {
    /// Writes the version and the metadata.
    ///
    /// # Errors
    /// If no sampling rate fits all ticks, there is no channel, or `output` fails.
    pub fn new(header: &Header, output: &'a mut dyn Write) -> Result<Self> {
        let (numerator, denominator) = header.tick.fraction();
        let (hertz, step) = match header.sampling {
            // A sample takes 1/hertz seconds, a tick numerator/denominator seconds.
            Sampling::At(hertz) => {
                let ticks =
                    numerator.checked_mul(hertz).filter(|ticks| denominator.is_multiple_of(*ticks));
                (hertz, ticks.map(|ticks| denominator / ticks))
            }
            _ => (denominator / numerator, denominator.is_multiple_of(numerator).then_some(1)),
        };
        let Some(step) = step else {
            bail!(
                "its ticks of {} do not divide a sample of {hertz} Hz: resample it, --rate",
                header.tick
            );
        };
        ensure!(!header.channels.is_empty(), "there is no channel to write");
        let unit = header.channels.len().div_ceil(8);
        let mut archive = ZipWriter::new_stream(output);
        let mut entry = |name: &str, text: &str| -> Result<()> {
            archive.start_file(name, options())?;
            Ok(archive.write_all(text.as_bytes())?)
        };
        entry("version", "2")?;
        let probes = header.channels.iter().enumerate();
        let probes: String = probes
            .map(|(place, name)| format!("probe{}={}\n", place + 1, printable(name).trim()))
            .collect();
        entry(
            "metadata",
            &format!(
                "[global]\n\n[device 1]\ncapturefile=logic-1\ntotal probes={}\nsamplerate={hertz} Hz\ntotal analog=0\n{probes}unitsize={unit}\n",
                header.channels.len()
            ),
        )?;
        let part = Vec::with_capacity(PART);
        Ok(Self {
            archive: Some(archive),
            step,
            start: 0,
            sample: vec![0; unit],
            part,
            parts: 0,
            count: 0,
        })
    }

    /// Writes the current levels for all samples before `until` (in ticks).
    fn fill(&mut self, until: u64) -> Result<()> {
        let (count, rest) = ((until - self.start) / self.step, (until - self.start) % self.step);
        ensure!(rest == 0, "an edge at tick {until} lies between two samples: resample it, --rate");
        self.samples(count)
    }

    fn samples(&mut self, count: u64) -> Result<()> {
        let unit = self.sample.len();
        ensure!(
            count.checked_mul(unit as u64).is_some_and(|bytes| bytes <= MOST),
            "it takes more than {MOST} bytes of samples: resample it with a lower --rate"
        );
        while self.count < count {
            let room = (PART - self.part.len()) / unit;
            let more = usize::try_from(count - self.count).map_or(room, |more| more.min(room));
            for _ in 0..more {
                self.part.extend_from_slice(&self.sample);
            }
            self.count += more as u64;
            if PART - self.part.len() < unit {
                self.put()?;
            }
        }
        Ok(())
    }

    fn put(&mut self) -> Result<()> {
        if let (Some(archive), false) = (&mut self.archive, self.part.is_empty()) {
            self.parts += 1;
            archive.start_file(format!("logic-1-{}", self.parts), options())?;
            archive.write_all(&self.part)?;
            self.part.clear();
        }
        Ok(())
    }

    fn set(&mut self, channel: usize, level: bool) {
        let (byte, bit) = (&mut self.sample[channel / 8], 1 << (channel % 8));
        *byte = if level { *byte | bit } else { *byte & !bit };
    }
}

/// Writes no date, so that equal captures give equal bytes.
fn options() -> SimpleFileOptions {
    SimpleFileOptions::DEFAULT
}

impl Sink for Writer<'_> {
    fn begin(&mut self, start: u64, levels: &[bool]) -> Result<()> {
        self.start = start;
        levels.iter().enumerate().for_each(|(channel, level)| self.set(channel, *level));
        Ok(())
    }

    fn edge(&mut self, edge: Edge) -> Result<()> {
        self.fill(edge.at)?;
        self.set(edge.channel, edge.level);
        Ok(())
    }

    fn end(&mut self, end: u64) -> Result<()> {
        // The last sample is at the end.
        self.samples(((end - self.start) / self.step).saturating_add(1))?;
        self.put()?;
        if let Some(archive) = self.archive.take() {
            archive.finish()?;
        }
        Ok(())
    }
}
