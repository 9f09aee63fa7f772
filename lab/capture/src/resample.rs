//! The virtual analyser: resamples exact edges at a fixed rate, as a real analyser would have seen
//! them. The module knows edges, and no measures.
//!
//! The analyser samples all channels at once, once a period, first `phase` periods after the
//! capture's start.
//! An edge appears at the first sample at or after it, so it is up to one period late, and a width
//! is off by less than one period either way. A pulse between two samples is not seen; such pulses
//! are counted.

use super::{
    flow::{Edge, Header, Sampling, Settle, Sink, Source},
    tick::{Tick, gcd},
};
use crate::error::{Result, bail, ensure, fault};

/// The greatest phase, in 65,536ths of a period: exact, and finer than any analyser's clock is
/// stable.
const PARTS: u16 = u16::MAX;

/// A virtual analyser: its sampling rate and phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Analyser {
    hertz: u64,
    /// The time of the first sample, in 65,536ths of a period.
    phase: u16,
}

impl Analyser {
    /// Creates an analyser that samples at `hertz`; its first sample is `phase` periods after the
    /// start.
    ///
    /// # Errors
    /// If `phase` is not from 0 to below 1.
    pub fn new(hertz: u64, phase: f64) -> Result<Self> {
        ensure!((0.0..1.0).contains(&phase), "a phase of {phase} is none: it is from 0 to below 1");
        Ok(Self {
            hertz,
            phase: ((phase * (f64::from(PARTS) + 1.0)) as u64).min(PARTS.into()) as u16,
        })
    }
}

/// A source seen through an analyser. Its ticks are sample periods.
pub struct Resampled {
    inner: Box<dyn Source>,
    header: Header,
    grid: Grid,
    unseen: u64,
}

impl Resampled {
    /// Wraps a source with exact edges.
    ///
    /// # Errors
    /// If the source was sampled already, if the rate is 0, or if a tick is too long for the rate.
    pub fn new(inner: Box<dyn Source>, analyser: Analyser) -> Result<Self> {
        let exact = inner.header();
        match exact.sampling {
            Sampling::Exact => {}
            Sampling::At(hertz) => {
                bail!("it was sampled already, at {hertz} Hz: only exact edges can be resampled")
            }
            Sampling::Unknown => bail!("it was sampled already: only exact edges can be resampled"),
        }
        let tick = Tick::from_hertz(analyser.hertz)
            .ok_or_else(|| fault!("a rate of 0 samples nothing"))?;
        let grid = Grid::new(exact.tick, analyser)?;
        let header = Header { tick, sampling: Sampling::At(analyser.hertz), ..exact.clone() };
        Ok(Self { inner, header, grid, unseen: 0 })
    }
}

impl Source for Resampled {
    fn header(&self) -> &Header {
        &self.header
    }

    fn read(&mut self, wanted: &[usize], sink: &mut dyn Sink) -> Result<()> {
        let mut samples = Samples {
            grid: self.grid,
            start: 0,
            settle: Settle::new(0, vec![false; wanted.len()], sink),
        };
        self.inner.read(wanted, &mut samples)?;
        self.unseen = samples.settle.unseen();
        Ok(())
    }

    fn unseen(&self) -> u64 {
        self.unseen
    }
}

/// The conversion from ticks to samples: `above / below` samples in a tick, less `phase`.
#[derive(Clone, Copy)]
struct Grid {
    above: u128,
    below: u128,
    phase: u128,
}

impl Grid {
    fn new(tick: Tick, Analyser { hertz, phase }: Analyser) -> Result<Self> {
        let (numerator, denominator) = tick.fraction();
        let (one, two) = (gcd(numerator, denominator), gcd(hertz, denominator));
        let samples = (numerator / one).checked_mul(hertz / two);
        let samples = samples
            .ok_or_else(|| fault!("its ticks of {tick} are too long for samples at {hertz} Hz"))?;
        let below = u128::from(denominator / two);
        let parts = u128::from(PARTS) + 1;
        Ok(Self {
            above: u128::from(samples) * parts,
            below: below * parts,
            phase: u128::from(phase) * below,
        })
    }

    /// The distance from the first sample, in units of 1/`below` samples; `None` before the first
    /// sample.
    fn place(self, ticks: u64) -> Result<Option<u128>> {
        let since = u128::from(ticks).checked_mul(self.above).ok_or_else(too_long)?;
        Ok(since.checked_sub(self.phase))
    }

    /// The index of the first sample at or after a time.
    fn first(self, ticks: u64) -> Result<u64> {
        let place = self.place(ticks)?.unwrap_or(0);
        u64::try_from(div_ceil(place, self.below)).map_err(|_| too_long())
    }

    /// The index of the last sample at or before a time.
    fn last(self, ticks: u64) -> Result<u64> {
        let place = self.place(ticks)?.ok_or_else(|| fault!("it is shorter than one sample"))?;
        u64::try_from(place / self.below).map_err(|_| too_long())
    }
}

fn too_long() -> crate::Error {
    fault!("it is too long to be resampled at that rate")
}

/// Divides in 64 bits where the numbers fit, since division of 128 bits is slow.
fn div_ceil(above: u128, below: u128) -> u128 {
    match (u64::try_from(above), u64::try_from(below)) {
        (Ok(above), Ok(below)) => above.div_ceil(below).into(),
        _ => above.div_ceil(below),
    }
}

struct Samples<'a> {
    grid: Grid,
    start: u64,
    settle: Settle<'a>,
}

impl Sink for Samples<'_> {
    fn begin(&mut self, start: u64, levels: &[bool]) -> Result<()> {
        self.start = start;
        levels.iter().enumerate().for_each(|(channel, level)| self.settle.set(channel, *level));
        Ok(())
    }

    fn edge(&mut self, edge: Edge) -> Result<()> {
        self.settle.advance(self.grid.first(edge.at - self.start)?)?;
        self.settle.set(edge.channel, edge.level);
        Ok(())
    }

    fn end(&mut self, end: u64) -> Result<()> {
        let last = self.grid.last(end - self.start)?;
        // No edge follows the last sample.
        self.settle.end_at(last)
    }
}
