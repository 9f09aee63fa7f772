//! Matches pins to series by the widths of their pulses, and places the marks of the target's timer
//! among the edges of a pin.

use super::super::{cases::time_unit, text::joined};
use chronoscope_capture::{Capture, Channel, Pulse, Tick};
use chronoscope_run::{CaseResult, Role, SeriesResult, Unit, names::by_pin};
use chronoscope_units::show;

/// Converts ticks of a capture to the unit of the case's values.
pub struct Timebase {
    pub unit: Unit,
    tick: Tick,
    /// The rate of the target's clock in Hz, for values in its ticks.
    hertz: f64,
    /// The clock has a known rate, so that its ticks convert to time.
    has_rate: bool,
}

impl Timebase {
    pub fn new(case: &CaseResult, capture: &Capture) -> Self {
        let unit = time_unit(case);
        let hertz = case.clock.as_ref().map_or(1_000_000_000, |clock| clock.hertz.max(1));
        // Simulations without a given clock rate use ticks of 1 ns.
        let has_rate = unit != Unit::Nanoseconds && capture.tick != Tick::NANOSECOND;
        Self { unit, tick: capture.tick, hertz: hertz as f64, has_rate }
    }

    /// A duration in the unit of the case's values.
    pub fn value(&self, ticks: u64) -> f64 {
        let ns = self.tick.ns(ticks);
        if self.unit == Unit::Nanoseconds { ns } else { (ns * self.hertz / 1e9).round() }
    }

    pub fn show(&self, ticks: u64) -> String {
        show(self.value(ticks), self.unit.name())
    }

    /// A duration in units of time; `None` if [`Self::show`] gives time already or the rate is
    /// unknown.
    pub fn time(&self, ticks: u64) -> Option<String> {
        self.has_rate.then(|| show(self.tick.ns(ticks), "ns"))
    }

    /// A duration in the unit of the case's values, and in time where [`Self::time`] is known.
    pub fn full(&self, ticks: u64) -> String {
        joined(&[self.show(ticks), self.time(ticks).unwrap_or_default()])
    }

    /// The duration of a tick of the capture, as `11.9 ns each`; empty if unknown.
    pub fn rate(&self) -> String {
        self.time(1).map_or(String::new(), |time| format!("{time} each"))
    }
}

/// The pin whose samples a chart shows.
pub struct Focus<'a> {
    pub channel: &'a Channel,
    /// The series that the pin shows, if the widths of one match.
    pub series: Option<&'a SeriesResult>,
    pub samples: Vec<Pulse>,
    /// The origin of the samples, as `D0` or `irq to D0`.
    pub source: String,
    /// The channel and series of every pin that shows one.
    series_by_pin: Vec<(&'a str, &'a str)>,
}

impl<'a> Focus<'a> {
    /// Chooses the pin of the first measured series that a pin shows. Otherwise, takes the times
    /// from the bench's line to the handler's pin, or else the first pin with a pulse. `None`
    /// without pulses.
    pub fn find(case: &'a CaseResult, capture: &'a Capture) -> Option<Self> {
        let timebase = Timebase::new(case, capture);
        let own = case.series.iter().filter(|series| !series.role.is_from_pin());
        let mut found: Vec<(&SeriesResult, &Channel, Vec<Pulse>)> = Vec::new();
        for series in own {
            let name = by_pin(&series.name);
            let Some(pin_series) = case.series.iter().find(|other| other.name == name) else {
                continue;
            };
            let is_free = |channel: &&Channel| {
                !found.iter().any(|(_, taken, _)| std::ptr::eq(*taken, *channel))
            };
            let free = capture.channels.iter().filter(is_free);
            let fitting = free
                .filter_map(|channel| {
                    Some((series, channel, samples(channel, pin_series, &timebase)?))
                })
                .next();
            found.extend(fitting);
        }
        let series_by_pin = found
            .iter()
            .map(|(series, channel, _)| (channel.name.as_str(), series.name.as_str()))
            .collect();
        if let Some((series, channel, samples)) =
            found.into_iter().find(|(series, _, _)| series.role == Role::Measured)
        {
            return Some(Self {
                channel,
                series: Some(series),
                samples,
                source: channel.name.clone(),
                series_by_pin,
            });
        }
        if let Some((channel, samples)) = latencies(capture) {
            return Some(Self {
                channel,
                series: None,
                samples,
                source: format!("{STIMULUS} to {HANDLER}"),
                series_by_pin,
            });
        }
        let pulses = capture
            .channels
            .iter()
            .map(|channel| (channel, channel.pulses(true).collect::<Vec<_>>()));
        let (channel, samples) = pulses.into_iter().find(|(_, samples)| !samples.is_empty())?;
        Some(Self { channel, series: None, samples, source: channel.name.clone(), series_by_pin })
    }

    /// The pins with their series, as `D0: switch, D7: mark to mark`.
    pub fn names(&self) -> String {
        let names: Vec<String> = self
            .series_by_pin
            .iter()
            .map(|(channel, series)| format!("{channel}: {series}"))
            .collect();
        names.join(", ")
    }

    /// The index of the widest sample, the first of equal ones.
    pub fn widest(&self) -> usize {
        let widths = self.samples.iter().enumerate().rev();
        widths.max_by_key(|(_, sample)| sample.width).map_or(0, |(place, _)| place)
    }

    /// The timer's marks on the time axis of the capture. `None` unless the samples of the first
    /// repetition were kept and each fits within its pulse.
    pub fn marks(&self, timebase: &Timebase) -> Option<Marks> {
        let series = self.series?;
        let is_whole = series
            .by_repetition
            .first()
            .is_some_and(|first| first.count == self.samples.len() as u64);
        let samples = series.samples.get(..self.samples.len()).filter(|_| is_whole)?;
        Marks::place(samples, series, &self.samples, timebase)
    }
}

/// The channel of the bench's interrupt line, and the pin set by the interrupt's handler.
const STIMULUS: &str = "irq";
const HANDLER: &str = "D0";

/// The time from each rise of the bench's line to the handler's rise, if that comes before the next
/// rise of the line. `None` if there is no such pair.
fn latencies(capture: &Capture) -> Option<(&Channel, Vec<Pulse>)> {
    let rises = |channel: &Channel| -> Vec<u64> {
        channel.edges().filter_map(|(at, level)| level.then_some(at)).collect()
    };
    let line = capture.channel(STIMULUS).ok()?;
    let (requests, responses) = (rises(line), rises(capture.channel(HANDLER).ok()?));
    let samples = requests.iter().enumerate().filter_map(|(place, at)| {
        let response = responses.get(responses.partition_point(|response| response < at))?;
        let is_before_next = requests.get(place + 1).is_none_or(|next| response < next);
        is_before_next.then(|| Pulse { at: *at, width: response - at })
    });
    let samples: Vec<Pulse> = samples.collect();
    (!samples.is_empty()).then_some((line, samples))
}

/// The samples of a series' first repetition on a channel, as high pulses or from each edge to the
/// next. `None` unless number, minimum and maximum match the repetition.
fn samples(channel: &Channel, series: &SeriesResult, timebase: &Timebase) -> Option<Vec<Pulse>> {
    let first = series.by_repetition.first()?;
    let matches_summary = |samples: &Vec<Pulse>| {
        let values = || {
            samples
                .iter()
                .map(|sample| (timebase.value(sample.width) - series.nominal) / series.per)
        };
        let (min, max) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        // Distributions are stored with an error of up to 0.1 %.
        let is_near =
            |one: f64, other: f64| (one - other).abs() <= 0.002 * one.abs().max(other.abs()) + 1e-6;
        first.count == samples.len() as u64
            && first.count > 0
            && is_near(min, first.min)
            && is_near(max, first.max)
    };
    let between = |pair: &[u64]| Pulse { at: pair[0], width: pair[1] - pair[0] };
    let pulses = Some(channel.pulses(true).collect()).filter(matches_summary);
    pulses.or_else(|| Some(channel.edges.windows(2).map(between).collect()).filter(matches_summary))
}

/// The timer's samples on the time axis of the capture, in the unit of the case's values.
pub struct Marks {
    pub spans: Vec<(f64, f64)>,
    /// The bound by which all spans together may be shifted.
    pub uncertainty: f64,
}

impl Marks {
    /// Finds the offset of the timer's time axis. A pin is set before the first mark of a sample
    /// and cleared after the last, so the offset must place every sample within its pulse. Returns
    /// the middle of the possible offsets, or `None` if there are none.
    fn place(
        samples: &[(f64, f64)],
        series: &SeriesResult,
        pulses: &[Pulse],
        timebase: &Timebase,
    ) -> Option<Self> {
        let length = |value: f64| value * series.per + series.nominal;
        let (mut earliest, mut latest) = (f64::NEG_INFINITY, f64::INFINITY);
        let first = samples.first()?.0;
        for ((start, value), pulse) in samples.iter().zip(pulses) {
            let since = start - first;
            earliest = earliest.max(timebase.value(pulse.at) - since);
            latest = latest
                .min(timebase.value(pulse.at.saturating_add(pulse.width)) - since - length(*value));
        }
        let slack = latest - earliest;
        let middle = f64::midpoint(earliest, latest);
        let span = |(start, value): &(f64, f64)| {
            (middle + start - first, middle + start - first + length(*value))
        };
        let marks = || Self { spans: samples.iter().map(span).collect(), uncertainty: slack / 2.0 };
        (slack >= 0.0 && slack.is_finite()).then(marks)
    }
}
