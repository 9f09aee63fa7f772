//! Turns edges into values: the measures of a channel, and the latency from one edge to another.
//! The module knows edges only, not the request's texts or the answer's units.

use super::{flow::Edge, request::Measure, tally::Tally};

/// The unit of duty: millionths of a period.
pub(super) const PARTS: u128 = 1_000_000;

/// The measures of a channel.
pub(super) struct Pin {
    /// A tally for each requested measure, by [`Measure::place`].
    pub tallies: [Option<Tally>; 6],
    rise: Option<u64>,
    fall: Option<u64>,
    period: Option<u64>,
    /// The shortest period, in ticks.
    pub shortest: Option<u64>,
}

impl Pin {
    pub fn new(measures: &[Measure]) -> Self {
        let tallies = Measure::ALL.map(|measure| measures.contains(&measure).then(Tally::new));
        Self { tallies, rise: None, fall: None, period: None, shortest: None }
    }

    fn push(&mut self, measure: Measure, at: u64, value: u64) {
        if let Some(tally) = &mut self.tallies[measure.place()] {
            tally.push(at, value);
        }
    }

    pub fn edge(&mut self, at: u64, level: bool) {
        let (before, measure) =
            if level { (self.fall, Measure::Low) } else { (self.rise, Measure::Width) };
        if let Some(before) = before {
            self.push(measure, before, at - before);
            self.push(Measure::Edges, before, at - before);
        }
        if !level {
            self.fall = Some(at);
            return;
        }
        if let (Some(rise), Some(fall)) = (self.rise, self.fall) {
            let period = at - rise;
            self.push(Measure::Period, rise, period);
            if let Some(before) = self.period {
                self.push(Measure::Jitter, rise, period.abs_diff(before));
            }
            if self.tallies[Measure::Duty.place()].is_some() {
                // Rounded to the nearest millionth.
                let (high, period) = (u128::from(fall - rise), u128::from(period));
                self.push(Measure::Duty, rise, ((2 * high * PARTS + period) / (2 * period)) as u64);
            }
            self.period = Some(period);
            self.shortest = Some(self.shortest.map_or(period, |shortest| shortest.min(period)));
        }
        self.rise = Some(at);
    }
}

/// The latency from each start to the first end at or after it. A start and an end at the same time
/// may arrive in either order.
pub(super) struct Latency {
    /// The start and the end: the channel's index and the level after the edge.
    edges: [(usize, Option<bool>); 2],
    open: Option<u64>,
    /// A start at the current time while another one is open: its end may still arrive at this
    /// time.
    second: Option<u64>,
    /// The time of an end that no start has used.
    unused: Option<u64>,
    unanswered: u64,
    pub tally: Tally,
}

impl Latency {
    pub fn new(edges: [(usize, Option<bool>); 2]) -> Self {
        Self { edges, open: None, second: None, unused: None, unanswered: 0, tally: Tally::new() }
    }

    pub fn edge(&mut self, Edge { at, channel, level }: Edge) {
        let is = |(place, wanted): (usize, Option<bool>)| {
            place == channel && wanted.is_none_or(|wanted| wanted == level)
        };
        if self.second.is_some_and(|second| second < at) {
            self.second = None;
            self.unanswered += 1;
        }
        if is(self.edges[0]) {
            if self.open.is_some() {
                self.second = Some(at);
            } else if self.unused.take() == Some(at) {
                self.tally.push(at, 0);
            } else {
                self.open = Some(at);
            }
        } else if is(self.edges[1]) {
            match self.open.take() {
                Some(open) => {
                    self.tally.push(open, at - open);
                    self.open = self.second.take();
                }
                None => self.unused = Some(at),
            }
        }
    }

    /// The number of starts that came before an earlier one had its end.
    pub fn unanswered(&self) -> u64 {
        self.unanswered + u64::from(self.second.is_some())
    }
}
