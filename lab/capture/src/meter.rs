//! Edges become values: of one channel, and from one edge to another.

use super::{flow::Edge, request::Measure, tally::Tally};

/// Parts of a period that duty is told in: millionths.
pub(super) const PARTS: u128 = 1_000_000;

/// One channel.
pub(super) struct Pin {
    /// Those that are asked for.
    pub tallies: [Option<Tally>; 6],
    rise: Option<u64>,
    fall: Option<u64>,
    period: Option<u64>,
    /// The shortest period.
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
                // To the nearest millionth.
                let (high, period) = (u128::from(fall - rise), u128::from(period));
                self.push(Measure::Duty, rise, ((2 * high * PARTS + period) / (2 * period)) as u64);
            }
            self.period = Some(period);
            self.shortest = Some(self.shortest.map_or(period, |shortest| shortest.min(period)));
        }
        self.rise = Some(at);
    }
}

/// From each start to the first end at or after it. Starts and ends at one time may come in any order.
pub(super) struct Latency {
    /// Start and end: the channel's place, and the level that it takes.
    edges: [(usize, Option<bool>); 2],
    open: Option<u64>,
    /// A start while another one was open, at this very time: an end may still come.
    second: Option<u64>,
    /// An end that no start has used.
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

    /// Starts that came while an earlier one had no end yet.
    pub fn unanswered(&self) -> u64 {
        self.unanswered + u64::from(self.second.is_some())
    }
}
