//! Builds the stream of records of figures that the lab has found itself. A machine passes it on
//! like a port's, so that such figures are kept, judged and shown like any others.

use anyhow::{Context, Result, ensure};
use chronoscope_suite::{
    Reason,
    wire::{self, BLOCK, Evidence, MAX_FRAME, Record, Sample, Samples, Series},
};

use crate::Request;

/// The most series of a stream.
pub const MOST_SERIES: u8 = u8::MAX;

/// An interval between two events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The ticks before the first event, since the start of the measurement.
    pub start: u64,
    /// The ticks between the events.
    pub length: u64,
}

/// The samples of intervals, whose starts all series of a case count from one moment.
pub fn samples(intervals: &[Interval]) -> impl Iterator<Item = Sample> {
    let mut last = 0;
    intervals.iter().map(move |interval| {
        let gap = interval.start.wrapping_sub(last).cast_signed();
        last = interval.start;
        Sample { gap, value: interval.length }
    })
}

/// The frames of a stream, without their ends.
///
/// # Errors
/// The last one has no end.
pub fn frames(stream: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut frames: Vec<Vec<u8>> = stream.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    ensure!(frames.pop().is_none_or(|rest| rest.is_empty()), "the stream was cut short");
    Ok(frames)
}

/// A stream under construction. Every method fails if a record is longer than a frame.
pub struct StreamBuilder {
    bytes: Vec<u8>,
    records: u32,
    /// The number of series so far.
    series: u8,
}

impl StreamBuilder {
    /// Begins the stream of a kernel's answer to a request.
    ///
    /// # Errors
    /// The record is longer than a frame; likewise in the other methods.
    pub fn begin(kernel: &str, request: &Request) -> Result<Self> {
        let request = &request.to_string();
        let mut stream = Self::new();
        stream.send(&Record::Hello { version: wire::VERSION, kernel, release: "", request })?;
        Ok(stream)
    }

    /// A stream whose first record is still to come.
    pub fn new() -> Self {
        Self { bytes: Vec::new(), records: 0, series: 0 }
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

    /// Appends a number that the run is judged by, and its bounds.
    ///
    /// # Errors
    /// The name is longer than a frame.
    pub fn evidence(&mut self, name: &str, value: f64, low: f64, high: f64) -> Result<()> {
        self.send(&Record::Evidence(Evidence { name, value, low, high }))
    }

    /// The number of series for which the stream has room.
    pub fn room(&self) -> usize {
        (MOST_SERIES - self.series).into()
    }

    /// Appends a series, which gets the next free number, and its samples.
    ///
    /// # Errors
    /// If the stream has [`MOST_SERIES`] already.
    pub fn series(
        &mut self,
        series: Series<'_>,
        samples: impl Iterator<Item = Sample>,
    ) -> Result<()> {
        let id = self.series;
        ensure!(id < MOST_SERIES, "more than {MOST_SERIES} series");
        self.series = id + 1;
        self.send(&Record::Series(Series { id, ..series }))?;
        let mut samples = samples.peekable();
        while samples.peek().is_some() {
            let block = samples.by_ref().take(BLOCK).collect();
            self.send(&Record::Samples(Samples { series: id, block }))?;
        }
        Ok(())
    }

    /// Appends a series of values whose times are unknown; otherwise as [`series`](Self::series).
    pub fn values(&mut self, series: Series<'_>, values: &[u64]) -> Result<()> {
        self.series(series, values.iter().map(|&value| Sample { gap: 0, value }))
    }

    /// Ends the stream with its last record, and returns its bytes.
    pub fn end(mut self) -> Result<Vec<u8>> {
        self.send(&Record::End { records: self.records })?;
        Ok(self.bytes)
    }

    /// The bytes of a stream that has no last record.
    pub fn cut(self) -> Vec<u8> {
        self.bytes
    }

    /// Ends the stream with the reason why the request is not offered, and returns its bytes.
    pub fn refuse(mut self, what: &str) -> Result<Vec<u8>> {
        let reason = Reason::NotOffered;
        self.send(&Record::Refused { reason, what, mend: "", code: 0 })?;
        Ok(self.bytes)
    }
}
