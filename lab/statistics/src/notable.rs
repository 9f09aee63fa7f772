//! The samples of a long series that are worth keeping one by one, in bounded memory: the largest,
//! and the deadline misses.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::summary::Stamped;

/// The number of largest samples that are kept.
pub const LARGEST_KEPT: usize = 10_000;

/// The number of misses that are kept, the first ones.
pub const MISSES_KEPT: usize = 100_000;

/// The largest samples and the misses of a series. Takes less than 2 MiB.
#[derive(Clone, Debug, Default)]
pub struct Notable {
    deadline: Option<u64>,
    /// The smallest of the largest is on top; of equal samples the latest.
    largest: BinaryHeap<Reverse<(u64, Reverse<u64>)>>,
    misses: Vec<Stamped>,
    misses_left_out: u64,
}

impl Notable {
    /// Creates an empty keeper; samples above `deadline` (ticks) are misses.
    pub fn new(deadline: Option<u64>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// Considers a sample of `value` ticks that started at tick `at`.
    pub fn push(&mut self, at: u64, value: u64) {
        self.keep_if_large(at, value);
        if self.deadline.is_some_and(|deadline| value > deadline) {
            self.keep_miss(Stamped { at, value });
        }
    }

    /// Adds the samples of the next repetition.
    pub fn merge(&mut self, next: Self) {
        for Reverse((value, Reverse(at))) in next.largest {
            self.keep_if_large(at, value);
        }
        next.misses.into_iter().for_each(|miss| self.keep_miss(miss));
        self.misses_left_out += next.misses_left_out;
    }

    /// The largest samples, at most [`LARGEST_KEPT`], in falling order; equal samples in order of
    /// time.
    pub fn largest(&self) -> Vec<Stamped> {
        let mut largest: Vec<_> = self.largest.iter().map(|Reverse(sample)| *sample).collect();
        largest.sort_unstable_by(|one, other| other.cmp(one));
        largest.into_iter().map(|(value, Reverse(at))| Stamped { at, value }).collect()
    }

    /// The first misses in order of time, at most [`MISSES_KEPT`].
    pub fn misses(&self) -> &[Stamped] {
        &self.misses
    }

    /// The number of misses after those that are kept.
    pub fn misses_left_out(&self) -> u64 {
        self.misses_left_out
    }

    fn keep_if_large(&mut self, at: u64, value: u64) {
        let sample = Reverse((value, Reverse(at)));
        if self.largest.len() < LARGEST_KEPT {
            self.largest.push(sample);
        } else if self.largest.peek().is_some_and(|smallest| sample < *smallest) {
            self.largest.pop();
            self.largest.push(sample);
        }
    }

    fn keep_miss(&mut self, miss: Stamped) {
        if self.misses.len() < MISSES_KEPT {
            self.misses.push(miss);
        } else {
            self.misses_left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_kept_with_their_times() {
        let mut notable = Notable::new(None);
        // Every value twice; the factor is coprime to the count, so each place is visited once.
        let count = 2 * LARGEST_KEPT as u64;
        for at in 0..2 * count {
            notable.push(at, (at * 7919) % count);
        }
        let largest = notable.largest();
        assert_eq!(largest.len(), LARGEST_KEPT);
        for (place, sample) in largest.iter().enumerate() {
            assert_eq!(sample.value, count - 1 - place as u64 / 2);
            assert_eq!((sample.at * 7919) % count, sample.value);
            assert_eq!(sample.at >= count, place % 2 == 1, "the earlier comes first");
        }
        assert!(notable.misses().is_empty());
    }

    #[test]
    fn misses_are_kept_in_order_and_counted_beyond() {
        let mut notable = Notable::new(Some(5));
        let count = 2 * (MISSES_KEPT as u64 + 10);
        (0..count).for_each(|at| notable.push(at, 5 + at % 2));
        let expected = (0..MISSES_KEPT as u64).map(|place| Stamped { at: 2 * place + 1, value: 6 });
        assert!(notable.misses().iter().copied().eq(expected));
        assert_eq!(notable.misses_left_out(), 10);
    }

    #[test]
    fn repetitions_are_merged() {
        let [mut first, mut second, mut whole] = [(); 3].map(|()| Notable::new(Some(90)));
        for at in 0..100 {
            first.push(at, at);
            second.push(at, 100 - at);
        }
        (0..100).for_each(|at| whole.push(at, at));
        (0..100).for_each(|at| whole.push(at, 100 - at));
        first.merge(second);
        assert_eq!(first.largest(), whole.largest());
        assert_eq!(first.misses(), whole.misses());
    }
}
