//! A stream of records about figures that the lab has found itself, like a port's.

use crate::Request;
use anyhow::{Context, Result};
use chronoscope_suite::{
    Reason,
    wire::{self, BLOCK, MAX_FRAME, Record, Role, Sample, Samples, Series, Unit},
};

/// A stream under construction.
pub struct Stream {
    bytes: Vec<u8>,
    records: u32,
    series: u8,
}

impl Stream {
    /// Begins the stream of a kernel's answer to a request.
    ///
    /// # Errors
    /// The record is longer than a frame; likewise in the other methods.
    pub fn begin(kernel: &str, request: &Request) -> Result<Self> {
        let request = &request.to_string();
        let mut stream = Self { bytes: Vec::new(), records: 0, series: 0 };
        stream.send(&Record::Hello { version: wire::VERSION, kernel, release: "", request })?;
        Ok(stream)
    }

    /// Appends a record.
    ///
    /// # Errors
    /// The record is longer than a frame.
    pub fn send(&mut self, record: &Record<'_>) -> Result<()> {
        let mut frame = [0; MAX_FRAME + 1];
        let length = wire::encode(record, &mut frame).context("a record is longer than a frame")?;
        self.bytes.extend_from_slice(&frame[..length]);
        self.records += 1;
        Ok(())
    }

    /// A series. When its samples began is not known.
    pub fn series(&mut self, role: Role, name: &str, unit: Unit, values: &[u64]) -> Result<()> {
        let id = self.series;
        self.series = id.checked_add(1).context("more than 255 series")?;
        self.send(&Record::Series(Series { id, unit, role, ..Series::measured(name) }))?;
        for values in values.chunks(BLOCK) {
            let block = values.iter().map(|&value| Sample { gap: 0, value }).collect();
            self.send(&Record::Samples(Samples { series: id, block }))?;
        }
        Ok(())
    }

    /// The bytes of a complete stream.
    pub fn end(mut self) -> Result<Vec<u8>> {
        self.send(&Record::End { records: self.records })?;
        Ok(self.bytes)
    }

    /// The bytes of a stream that says why there are no figures.
    pub fn refuse(mut self, what: &str) -> Result<Vec<u8>> {
        let reason = Reason::NotOffered;
        self.send(&Record::Refused { reason, what, mend: "", code: 0 })?;
        Ok(self.bytes)
    }
}
