//! Compares a capture of the pins with the marks: a second instrument for the same samples.

use anyhow::{Context, Result, bail};
use chronoscope_suite::wire::{Pin, Sample};

use super::{MAX_SERIES, Observation, Series};
use chronoscope_capture::{Capture, Pulse, Tick};
use chronoscope_run::{EvidenceResult, names::CAPTURE, names::by_pin};

/// A series that a pin shows.
#[derive(Clone)]
pub(super) struct PinnedSeries {
    /// The index among all series.
    pub(super) index: usize,
    pub(super) pin: Pin,
    /// The number of samples by the marks, in the repetition that has just ended.
    pub(super) samples: u64,
}

impl Observation {
    /// Takes in a capture of the repetition that has just ended. Each series that a pin shows gets
    /// a series of the pin's samples, and evidence that both instruments saw the same number.
    pub(super) fn compare(&mut self, dump: &[u8]) -> Result<()> {
        let capture = Capture::from_vcd(CAPTURE, dump)?;
        let hertz = self.clock.as_ref().map_or(1, |clock| clock.hertz);
        let shown = std::mem::take(&mut self.shown);
        for &PinnedSeries { index, pin, samples } in &shown {
            let seen = seen(&capture, pin)?;
            let (found, expected) = (seen.len() as f64, samples as f64);
            self.add_evidence(EvidenceResult {
                name: format!("samples of {}", by_pin(&self.series[index].name)).into(),
                value: found,
                low: expected,
                high: Some(expected),
                holds: found == expected,
            })?;
            let beside = Series::by_pin(&self.series[index]);
            let samples = in_ticks(&seen, beside.nominal, capture.tick, hertz);
            let samples = samples.with_context(|| format!("{CAPTURE}: `{}`", beside.name))?;
            self.add_beside(beside, &samples)?;
        }
        self.read_slowly(&capture, &shown)
    }

    /// Adds a repetition's samples to the series that has the name of `beside`; `beside` itself is
    /// added if there is none.
    pub(super) fn add_beside(&mut self, beside: Series, samples: &[Sample]) -> Result<()> {
        let (tick, per) = (self.tick().0, beside.per);
        let known = self.series.iter().position(|series| series.name == beside.name);
        let place = known.unwrap_or(self.series.len());
        if known.is_none() {
            if place == MAX_SERIES {
                bail!("more than {MAX_SERIES} series");
            }
            self.series.push(beside);
        }
        let series = &mut self.series[place];
        series.per = per;
        series.push(samples, self.keep_samples);
        series.end_repetition(tick);
        Ok(())
    }
}

/// The samples that a pin shows.
pub(super) fn seen(capture: &Capture, pin: Pin) -> Result<Vec<Pulse>> {
    let (Pin::Pulse(number) | Pin::Edges(number)) = pin;
    let channel = capture.channel(&format!("D{number}"))?;
    Ok(match pin {
        Pin::Pulse(_) => channel.pulses(true).collect(),
        Pin::Edges(_) => channel
            .edges
            .windows(2)
            .map(|pair| Pulse { at: pair[0], width: pair[1] - pair[0] })
            .collect(),
    })
}

/// Converts pulses to samples: ticks of the target's clock, without the nominal part.
pub(super) fn in_ticks(
    pulses: &[Pulse],
    nominal: u64,
    tick: Tick,
    hertz: u64,
) -> Result<Vec<Sample>> {
    let (numerator, denominator) = tick.fraction();
    let ticks = |time: u64| -> Result<u64> {
        let scaled = u128::from(time).checked_mul(u128::from(numerator) * u128::from(hertz));
        let scaled = scaled.context("it is longer than can be told")?;
        Ok(u64::try_from(
            scaled.saturating_add(u128::from(denominator / 2)) / u128::from(denominator),
        )?)
    };
    let mut before = None;
    let sample = |pulse: &Pulse| {
        let (at, width) = (ticks(pulse.at)?, ticks(pulse.width)?);
        let Some(value) = width.checked_sub(nominal) else {
            bail!("a sample of {width} ticks is shorter than the {nominal} that it must have");
        };
        let gap = at - before.replace(at).unwrap_or(at);
        Ok(Sample { gap: i64::try_from(gap)?, value })
    };
    pulses.iter().map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulses_are_told_in_the_target_s_ticks() {
        let pulses = [Pulse { at: 1000, width: 600 }, Pulse { at: 2000, width: 612 }];
        let nanoseconds = in_ticks(&pulses, 20, Tick::NANOSECOND, 84_000_000).unwrap();
        assert_eq!(nanoseconds, [Sample { gap: 0, value: 30 }, Sample { gap: 84, value: 31 }]);
        // 603 ns are 50.65 ticks, which is nearer to 51.
        let rounded =
            in_ticks(&[Pulse { at: 0, width: 603 }], 20, Tick::NANOSECOND, 84_000_000).unwrap();
        assert_eq!(rounded, [Sample { gap: 0, value: 31 }]);
        let cycles =
            in_ticks(&pulses, 600, Tick::from_hertz(84_000_000).unwrap(), 84_000_000).unwrap();
        assert_eq!(cycles, [Sample { gap: 0, value: 0 }, Sample { gap: 1000, value: 12 }]);
        assert!(in_ticks(&pulses, 601, Tick::NANOSECOND, 1_000_000_000).is_err());
        assert!(
            in_ticks(
                &[Pulse { at: u64::MAX, width: 1 }],
                0,
                Tick::new(u64::MAX, 1).unwrap(),
                u64::MAX
            )
            .is_err()
        );
    }
}
