//! The starts of rounds and the due times of interrupts.

/// The shares of a round in which no interrupt is due: half of them to set it, half for the last
/// one to arrive.
pub const MARGIN: u64 = 4;

/// The times of rounds and interrupts, in ticks of the clock from the start of the first round.
#[derive(Clone, Copy)]
pub struct Timetable {
    round: u64,
    /// The time from setting a round's interrupt to the start of the round.
    pub margin: u64,
    /// The part of a round in which its interrupt may be due.
    span: u64,
    step: u64,
    phase: u64,
}

impl Timetable {
    /// A timetable of rounds with `tasks` tasks, at least one, each with a share of `share` ticks. The
    /// seed selects the tick of the first interrupt.
    pub fn new(share: u64, tasks: u64, seed: u64) -> Self {
        let span = share * tasks;
        // The next step from the golden ratio on that has no common divisor with the span, so that
        // every tick has its turn.
        let step = (span * 618 / 1000..span).find(|&step| coprime(step, span)).unwrap_or(1);
        // Any odd factor spreads the seeds.
        let phase = seed.wrapping_mul(0x9E37_79B9) % span;
        Self { round: span + MARGIN * share, margin: MARGIN * share / 2, span, step, phase }
    }

    /// Adapts the timetable to a kernel with a tick of this period (0: none): a round starts
    /// shortly before a tick, with which the tasks wake, and its interrupt is set with the tick
    /// before.
    pub fn with_ticks(self, tick: u64) -> Self {
        if tick == 0 {
            self
        } else {
            Self { round: self.round.next_multiple_of(tick) + tick, margin: tick, ..self }
        }
    }

    /// Returns the start of a round.
    pub fn start(&self, round: usize) -> u64 {
        round as u64 * self.round
    }

    /// Returns the due time of a round's interrupt.
    pub fn due(&self, round: usize) -> u64 {
        // The remainder keeps the product below the span's square, which does not overflow: a span
        // is at most a second.
        self.start(round) + (self.phase + round as u64 % self.span * self.step) % self.span
    }
}

const fn coprime(a: u64, b: u64) -> bool {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_tick_of_the_span_has_its_turn() {
        for (share, tasks) in [(1, 1), (1, 2), (7, 3), (3000, 2), (20, 10)] {
            let timetable = Timetable::new(share, tasks, 7);
            let dues = (0..timetable.span as usize)
                .map(|round| timetable.due(round) - timetable.start(round));
            assert!(
                dues.collect::<BTreeSet<_>>().into_iter().eq(0..timetable.span),
                "{share} {tasks}"
            );
        }
    }

    #[test]
    fn the_longest_spans_do_not_overflow() {
        // A share of 1 ms at 1 GHz, and 1000 tasks.
        let timetable = Timetable::new(1_000_000, 1000, u64::from(u32::MAX));
        assert!(
            (0..10).all(|round| timetable.due(round) < timetable.start(round) + timetable.span)
        );
        assert!(timetable.due(1_000_000) > timetable.start(1_000_000));
    }
    #[test]
    fn with_ticks_rounds_are_in_step_and_have_a_tick_between_them() {
        for tasks in [1, 2, 30, 1000] {
            let timetable = Timetable::new(3000, tasks, 1).with_ticks(1_000_000);
            let gap = timetable.start(1) - timetable.span;
            assert!(
                timetable.start(1).is_multiple_of(1_000_000) && gap > timetable.margin,
                "{tasks}"
            );
        }
    }
}
