//! The stream of records into which an observation is written, and the names of exceptions.

use anyhow::Result;
use chronoscope_suite::wire::{Record, Role, Sample, Series, Unit};

use crate::{
    qemu::modelled::Reads,
    stream::{Interval, StreamBuilder, samples},
};

/// The most figures of a case.
pub(super) const MOST_FIGURES: usize = 256;

/// The stream of an observation under construction.
pub(super) struct Encoder<'c> {
    pub(super) stream: StreamBuilder,
    /// Series of a single sample are judged, since there are no longer ones.
    pub(super) judges_single: bool,
    /// The cycles at each event, if the time of a chip is asked for.
    pub(super) cycles: Option<&'c Reads>,
    /// The number of series for which the stream keeps room.
    pub(super) reserved: usize,
    /// The number of figures so far.
    pub(super) figures: usize,
    /// The series and figures for which there was no room.
    pub(super) without_room: usize,
}

impl<'c> Encoder<'c> {
    /// An encoder of a stream, for series in instructions, or in cycles if they are given.
    pub(super) fn new(stream: StreamBuilder, cycles: Option<&'c Reads>) -> Self {
        Self { stream, judges_single: false, cycles, reserved: 0, figures: 0, without_room: 0 }
    }

    pub(super) fn evidence(&mut self, name: &str, value: u64, low: u64) -> Result<()> {
        let (value, low) = (value as f64, low as f64);
        self.stream.evidence(name, value, low, f64::INFINITY)
    }

    /// Says how many of `count` are left out beyond `most`.
    pub(super) fn left_out(
        &mut self,
        what: &str,
        which: &str,
        count: usize,
        most: usize,
    ) -> Result<()> {
        match count.saturating_sub(most) {
            0 => Ok(()),
            rest => {
                self.stream.send(&Record::Log(&format!("the {rest} {which} {what} are left out")))
            }
        }
    }

    /// Adds a series. One of a single sample has no median: it is shown, and not judged, unless all
    /// are so.
    pub(super) fn intervals(&mut self, name: &str, intervals: &[Interval]) -> Result<()> {
        let is_judged = self.judges_single || intervals.len() != 1;
        let series = if is_judged { Series::measured(name) } else { Series::auxiliary(name) };
        self.series(series, intervals)
    }

    /// Adds a figure, if there is room for it.
    pub(super) fn figure(&mut self, name: &str, unit: &str, value: f64) -> Result<()> {
        if self.figures == MOST_FIGURES {
            self.without_room += 1;
            return Ok(());
        }
        self.figures += 1;
        self.stream.send(&Record::Figure { name, unit, value })
    }

    /// The numbers that a series takes in the stream: in cycles, a measured one has two more with its bounds.
    fn room_for(&self, series: &Series<'_>) -> usize {
        let is_bounded = series.unit == Unit::Ticks && series.role == Role::Measured;
        if is_bounded && self.cycles.is_some() { 3 } else { 1 }
    }

    /// Adds a series with its samples, if there is room for it. The first sample's gap is its start: all
    /// series of an observation are counted from the image's first instruction.
    pub(super) fn series(&mut self, series: Series<'_>, intervals: &[Interval]) -> Result<()> {
        if self.stream.room() < self.reserved + self.room_for(&series) {
            self.without_room += 1;
            return Ok(());
        }
        let samples = samples(intervals);
        let Some(cycles) = self.cycles else { return self.stream.series(series, samples) };
        let samples: Vec<Sample> = samples.collect();
        match cycles.series(&mut self.stream, series, &samples)? {
            Ok(()) => Ok(()),
            Err(why) => {
                self.stream.send(&Record::Log(&format!("`{}` is left out: {why}", series.name)))
            }
        }
    }
}

/// The name of a Cortex-M exception: Arm's, or the number of the chip's interrupt.
pub(super) fn exception(number: u64) -> String {
    match number {
        2 => "NMI".to_owned(),
        3 => "HardFault".to_owned(),
        4 => "MemManage".to_owned(),
        5 => "BusFault".to_owned(),
        6 => "UsageFault".to_owned(),
        11 => "SVCall".to_owned(),
        12 => "DebugMonitor".to_owned(),
        14 => "PendSV".to_owned(),
        15 => "SysTick".to_owned(),
        number => match number.checked_sub(16) {
            Some(interrupt) => format!("interrupt {interrupt}"),
            None => format!("exception {number}"),
        },
    }
}
