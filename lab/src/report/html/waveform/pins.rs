//! Which pin shows which samples, and where the marks of the target's own timer lie among its
//! edges.

use super::super::{cases::Unit, text::joined};
use crate::{
    capture::{Capture, Channel, Pulse, Tick},
    run::{CaseResult, SeriesResult, names::by_pin},
    units::show,
};

/// From ticks of a capture to what the case's values are told in.
pub struct Timebase<'a> {
    pub unit: Unit<'a>,
    tick: Tick,
    /// Ticks of the target's clock in a second, where values are such ticks.
    hertz: f64,
    /// The clock was given a rate, so that its ticks are times too.
    has_rate: bool,
}

impl<'a> Timebase<'a> {
    pub fn of(case: &'a CaseResult, capture: &Capture) -> Self {
        let unit = Unit::of(case);
        let hertz = case.clock.as_ref().map_or(1_000_000_000, |clock| clock.hertz.max(1));
        // A simulation's tick is a nanosecond as long as nobody says more.
        let has_rate = !unit.is_time() && capture.tick != Tick::NANOSECOND;
        Self { unit, tick: capture.tick, hertz: hertz as f64, has_rate }
    }

    pub fn value(&self, ticks: u64) -> f64 {
        let ns = self.tick.ns(ticks);
        if self.unit.is_time() { ns } else { (ns * self.hertz / 1e9).round() }
    }

    pub fn show(&self, ticks: u64) -> String {
        self.unit.show(self.value(ticks))
    }

    /// In units of time, where that says more.
    pub fn time(&self, ticks: u64) -> Option<String> {
        self.has_rate.then(|| show(self.tick.ns(ticks), "ns"))
    }

    /// Both.
    pub fn full(&self, ticks: u64) -> String {
        joined(&[self.show(ticks), self.time(ticks).unwrap_or_default()])
    }

    /// How long a tick is: `11.9 ns each`.
    pub fn rate(&self) -> String {
        self.time(1).map_or(String::new(), |time| format!("{time} each"))
    }
}

/// The pin that is looked at.
pub struct Focus<'a> {
    pub channel: &'a Channel,
    /// What it shows, where a series says the same widths.
    pub series: Option<&'a SeriesResult>,
    pub samples: Vec<Pulse>,
    /// What they are read from: `D0`, `irq to D0`.
    pub source: String,
    /// Of all pins, which series each shows.
    series_by_pin: Vec<(&'a str, &'a str)>,
}

impl<'a> Focus<'a> {
    /// The pin of the first measured series that one shows; or else the bench's line, until the
    /// handler's pin rises; or else the first pin that has a pulse. `None` where none has.
    pub fn find(case: &'a CaseResult, capture: &'a Capture) -> Option<Self> {
        let timebase = Timebase::of(case, capture);
        let own = case.series.iter().filter(|series| !series.role.starts_with("pin"));
        let mut found: Vec<(&SeriesResult, &Channel, Vec<Pulse>)> = Vec::new();
        for series in own {
            let name = by_pin(&series.name);
            let Some(beside) = case.series.iter().find(|other| other.name == name) else {
                continue;
            };
            let is_free = |channel: &&Channel| {
                !found.iter().any(|(_, taken, _)| std::ptr::eq(*taken, *channel))
            };
            let free = capture.channels.iter().filter(is_free);
            let fitting = free
                .filter_map(|channel| Some((series, channel, samples(channel, beside, &timebase)?)))
                .next();
            found.extend(fitting);
        }
        let series_by_pin = found
            .iter()
            .map(|(series, channel, _)| (channel.name.as_str(), series.name.as_str()))
            .collect();
        if let Some((series, channel, samples)) =
            found.into_iter().find(|(series, _, _)| series.role == "measured")
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

    /// `D0: switch, D7: mark to mark`.
    pub fn names(&self) -> String {
        let names: Vec<String> = self
            .series_by_pin
            .iter()
            .map(|(channel, series)| format!("{channel}: {series}"))
            .collect();
        names.join(", ")
    }

    /// The widest sample's place.
    pub fn widest(&self) -> usize {
        let widths = self.samples.iter().enumerate().rev();
        widths.max_by_key(|(_, sample)| sample.width).map_or(0, |(place, _)| place)
    }

    /// Where the timer's marks lie, if its samples were kept and each lies within one of the pin's.
    pub fn marks(&self, timebase: &Timebase<'_>) -> Option<Marks> {
        let series = self.series?;
        let is_whole = series
            .by_repetition
            .first()
            .is_some_and(|first| first.count == self.samples.len() as u64);
        let samples = series.samples.get(..self.samples.len()).filter(|_| is_whole)?;
        Marks::place(samples, series, &self.samples, timebase)
    }
}

/// The line that a bench raises, and the pin that its handler does.
const STIMULUS: &str = "irq";
const HANDLER: &str = "D0";

/// From each rise of the bench's line to that of the handler's pin, before the next.
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

/// The samples of a series' first repetition, if that is what the channel shows: as pulses, or from
/// each edge to the next.
fn samples(
    channel: &Channel,
    series: &SeriesResult,
    timebase: &Timebase<'_>,
) -> Option<Vec<Pulse>> {
    let first = series.by_repetition.first()?;
    let matches_summary = |samples: &Vec<Pulse>| {
        let values = || {
            samples
                .iter()
                .map(|sample| (timebase.value(sample.width) - series.nominal) / series.per)
        };
        let (min, max) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        // Values of a distribution are kept within 0.1 %.
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

/// The timer's samples among the edges: starts and ends in the case's unit, from the time at which
/// ticks begin.
pub struct Marks {
    pub spans: Vec<(f64, f64)>,
    /// By so much they may lie earlier or later, all of them together.
    pub uncertainty: f64,
}

impl Marks {
    /// A pin is set before the first mark of a sample, and cleared after the last. The timer's
    /// starts are counted from its first; that lies where every sample fits into its pulse.
    fn place(
        samples: &[(f64, f64)],
        series: &SeriesResult,
        pulses: &[Pulse],
        timebase: &Timebase<'_>,
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
