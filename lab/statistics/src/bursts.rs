//! Tests whether rare samples are spread evenly over time or come in bursts. A bound of a rate
//! assumes that they are independent; bursts break it.
//!
//! The collector takes samples one by one and keeps, in bounded memory, the deadline misses in each
//! of at most 128 consecutive blocks, and the places of the 100 largest samples.

use std::{cmp::Reverse, collections::BinaryHeap};

use serde::{Deserialize, Serialize};

use super::gamma::chi_squared_upper;

/// The number of consecutive blocks whose counts are compared.
pub const BLOCKS: usize = 20;

/// The p-value of the dispersion test below which rare samples count as dependent: of independent
/// ones, 5 % of the tests say so.
pub const LEVEL: f64 = 0.05;

/// The number of consecutive samples that keep the deadline and so end an episode of misses.
pub const CALM: u64 = 10;

/// The largest samples whose places are kept.
const LARGEST: usize = 100;

/// The fewest rare samples that a test needs: two a block.
const FEWEST: usize = 2 * BLOCKS;

/// The most blocks that are kept; when they are full, neighbours are merged.
const MOST_BLOCKS: usize = 128;

/// The result of the dispersion test, and the episodes of deadline misses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Bursts {
    /// The number of rare samples whose places in time were tested: the misses if there are at
    /// least 100; otherwise the largest samples, up to 100 and a tenth of all.
    pub tested: u64,
    /// The variance of their counts in [`BLOCKS`] consecutive blocks, divided by the variance of
    /// independent samples: about 1 if they are independent. `None` with fewer than 40.
    pub dispersion: Option<f64>,
    /// The chance of a dispersion as large or larger, if they were independent.
    pub p: Option<f64>,
    /// The number of episodes of misses. An episode ends after [`CALM`] samples without a miss, or
    /// with its repetition. 0 without a deadline.
    pub episodes: u64,
    /// The length of the longest episode in samples, from its first miss to its last.
    pub longest: u64,
}

impl Bursts {
    /// Returns whether the test allows a statement that assumes independence. `false` also where
    /// there are too few rare samples for a test.
    pub fn allow_a_bound(&self) -> bool {
        self.p.is_some_and(|p| p >= LEVEL)
    }
}

/// Collects the rare samples of a case in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct RareSamples {
    samples: u64,
    misses: u64,
    blocks: Vec<Block>,
    /// The number of samples of a full block.
    length: u64,
    /// The largest samples: value and place. The smallest is on top, of equal ones the latest.
    largest: BinaryHeap<Reverse<(u64, Reverse<u64>)>>,
    /// The largest value that was not kept.
    left_out: Option<u64>,
    episodes: u64,
    longest: u64,
    /// The places of the first and last miss of the latest episode, if it can go on.
    episode: Option<(u64, u64)>,
}

/// Consecutive samples.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    samples: u64,
    misses: u64,
}

impl RareSamples {
    pub(super) fn push(&mut self, value: u64, is_miss: bool) {
        let place = self.samples;
        self.samples += 1;
        self.length = self.length.max(1);
        if self.blocks.last().is_none_or(|block| block.samples >= self.length) {
            self.blocks.push(Block::default());
            if self.blocks.len() > MOST_BLOCKS {
                self.halve();
            }
        }
        if let Some(block) = self.blocks.last_mut() {
            block.samples += 1;
            block.misses += u64::from(is_miss);
        }
        self.keep_if_large(value, place);
        if is_miss {
            self.miss(place);
        }
    }

    /// Adds the samples of `other` as the next repetition.
    pub(super) fn merge(&mut self, other: &Self) {
        for Reverse((value, Reverse(place))) in &other.largest {
            self.keep_if_large(*value, self.samples + place);
        }
        self.left_out = self.left_out.max(other.left_out);
        self.samples = self.samples.saturating_add(other.samples);
        self.misses = self.misses.saturating_add(other.misses);
        self.blocks.extend(&other.blocks);
        self.length = self.length.max(other.length);
        while self.blocks.len() > MOST_BLOCKS {
            self.halve();
        }
        self.episodes = self.episodes.saturating_add(other.episodes);
        self.longest = self.longest.max(other.longest);
        self.episode = None;
    }

    /// Merges each pair of neighbouring blocks.
    fn halve(&mut self) {
        let merge = |pair: &[Block]| Block {
            samples: pair.iter().map(|block| block.samples).sum(),
            misses: pair.iter().map(|block| block.misses).sum(),
        };
        self.blocks = self.blocks.chunks(2).map(merge).collect();
        self.length = self.length.saturating_mul(2);
    }

    fn keep_if_large(&mut self, value: u64, place: u64) {
        let sample = Reverse((value, Reverse(place)));
        if self.largest.len() < LARGEST {
            return self.largest.push(sample);
        }
        // The top of the heap is the smallest that is kept; the greater of two has to go.
        let goes = match self.largest.peek() {
            Some(smallest) if sample < *smallest => {
                let Reverse((smallest, _)) = *smallest;
                self.largest.pop();
                self.largest.push(sample);
                smallest
            }
            _ => value,
        };
        self.left_out = self.left_out.max(Some(goes));
    }

    fn miss(&mut self, place: u64) {
        let goes_on = self.episode.filter(|(_, last)| place - last <= CALM);
        self.misses += 1;
        self.episodes += u64::from(goes_on.is_none());
        let first = goes_on.map_or(place, |(first, _)| first);
        self.longest = self.longest.max(place - first + 1);
        self.episode = Some((first, place));
    }

    pub(super) fn bursts(&self) -> Bursts {
        let misses = usize::try_from(self.misses).unwrap_or(usize::MAX);
        let (blocks, tested) = if misses >= LARGEST {
            (self.misses_by_block(), self.misses)
        } else {
            let places = self.rarest(misses);
            (self.places_by_block(&places), places.len() as u64)
        };
        let found = if tested >= FEWEST as u64 { dispersion(&blocks) } else { None };
        Bursts {
            tested,
            dispersion: found.map(|(dispersion, _)| dispersion),
            p: found.map(|(_, p)| p),
            episodes: self.episodes,
            longest: self.longest,
        }
    }

    /// Returns the samples and misses of each of [`BLOCKS`] blocks of about equal length.
    fn misses_by_block(&self) -> Vec<(u64, u64)> {
        let mut blocks = vec![(0, 0); BLOCKS];
        let mut before = 0;
        for block in &self.blocks {
            let (samples, misses) = &mut blocks[self.block_of(before + block.samples / 2)];
            *samples += block.samples;
            *misses += block.misses;
            before += block.samples;
        }
        blocks
    }

    /// The places of the largest samples: as many as there are misses, or else a tenth of all
    /// samples, up to 100. Where equal samples compete for the last places, none of them is rare.
    fn rarest(&self, misses: usize) -> Vec<u64> {
        let tenth = usize::try_from(self.samples / 10).unwrap_or(usize::MAX);
        let most = tenth.max(misses).min(LARGEST);
        let mut largest: Vec<(u64, u64)> =
            self.largest.iter().map(|Reverse((value, Reverse(place)))| (*value, *place)).collect();
        largest.sort_unstable_by_key(|(value, _)| Reverse(*value));
        let next = largest.get(most).map(|(value, _)| *value);
        let bar = next.max(self.left_out);
        largest.truncate(most);
        let rare = largest.iter().filter(|(value, _)| bar.is_none_or(|bar| *value > bar));
        rare.map(|(_, place)| *place).collect()
    }

    /// Returns the samples of each of [`BLOCKS`] blocks, and how many of `places` lie in it.
    fn places_by_block(&self, places: &[u64]) -> Vec<(u64, u64)> {
        let mut blocks: Vec<(u64, u64)> = (0..BLOCKS as u64)
            .map(|block| (self.start_of(block + 1) - self.start_of(block), 0))
            .collect();
        places.iter().for_each(|place| blocks[self.block_of(*place)].1 += 1);
        blocks
    }

    fn block_of(&self, place: u64) -> usize {
        let block = u128::from(place) * BLOCKS as u128 / u128::from(self.samples.max(1));
        (block as usize).min(BLOCKS - 1)
    }

    /// The first place of a block: the smallest that [`Self::block_of`] assigns to it.
    fn start_of(&self, block: u64) -> u64 {
        (u128::from(self.samples) * u128::from(block)).div_ceil(BLOCKS as u128) as u64
    }
}

/// Tests whether events are spread evenly over blocks of samples, given as (samples, events):
/// returns the dispersion, chi-squared by its degrees of freedom, and its p-value (the test of
/// homogeneity). `None` with fewer than two blocks that have samples, or when none or all of the
/// samples are events.
///
/// The p-value is taken from the chi-squared distribution, which needs about two events a block.
pub fn dispersion(blocks: &[(u64, u64)]) -> Option<(f64, f64)> {
    let blocks: Vec<(f64, f64)> = blocks
        .iter()
        .filter(|(samples, _)| *samples > 0)
        .map(|(samples, events)| (*samples as f64, *events as f64))
        .collect();
    let samples: f64 = blocks.iter().map(|block| block.0).sum();
    let share = blocks.iter().map(|block| block.1).sum::<f64>() / samples;
    let freedom = blocks.len() as f64 - 1.0;
    if freedom < 1.0 || share <= 0.0 || share >= 1.0 {
        return None;
    }
    let squares = blocks.iter().map(|(samples, events)| {
        (events - samples * share).powi(2) / (samples * share * (1.0 - share))
    });
    let chi_squared: f64 = squares.sum();
    Some((chi_squared / freedom, chi_squared_upper(chi_squared, freedom)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resample::SplitMix64;

    /// The order of samples below 1000, of which those above `deadline` are misses.
    fn order(values: impl IntoIterator<Item = u64>, deadline: u64) -> RareSamples {
        let mut order = RareSamples::default();
        values.into_iter().for_each(|value| order.push(value, value > deadline));
        order
    }

    fn scattered(count: usize) -> Vec<u64> {
        let mut random = SplitMix64::new(5);
        (0..count).map(|_| random.below(1_000_000) as u64).collect()
    }

    #[test]
    fn scattered_misses_allow_a_bound_and_sorted_ones_do_not() {
        let mut values = scattered(20_000);
        for deadline in [999_990_u64, 990_000, 700_000] {
            let bursts = order(values.clone(), deadline).bursts();
            assert!(bursts.allow_a_bound(), "{deadline}: {bursts:?}");
            assert!((0.2..2.0).contains(&bursts.dispersion.unwrap()), "{bursts:?}");
        }
        values.sort_unstable();
        for deadline in [999_990_u64, 990_000, 700_000] {
            let bursts = order(values.clone(), deadline).bursts();
            assert!(!bursts.allow_a_bound(), "{deadline}: {bursts:?}");
            assert!(bursts.dispersion.unwrap() > 3.0, "{bursts:?}");
        }
    }

    #[test]
    fn the_largest_samples_stand_in_for_rare_misses() {
        let without = order(scattered(20_000), u64::MAX).bursts();
        assert_eq!((without.tested, without.episodes, without.longest), (100, 0, 0));
        assert!(without.allow_a_bound());
        // A tenth of a short run, and nothing of a shorter one.
        assert_eq!(order(scattered(500), u64::MAX).bursts().tested, 50);
        let short = order(scattered(300), u64::MAX).bursts();
        assert_eq!((short.tested, short.p, short.allow_a_bound()), (30, None, false));
        // Equal samples are not rare, however many of them were kept.
        let equal = order((0..5_000).map(|i| if i < 40 { 9 } else { 5 }), u64::MAX).bursts();
        assert!(equal.tested == 40 && equal.dispersion.is_some(), "{equal:?}");
        assert_eq!(order([5; 5_000], u64::MAX).bursts().tested, 0);
        // Nor if the equal samples came with another order, or were the first to be kept.
        let mut merged = RareSamples::default();
        merged.merge(&order([5; 5_000], u64::MAX));
        assert_eq!(merged.bursts().tested, 0);
        let falling = order((0..5_000).rev(), u64::MAX).bursts();
        assert!(falling.tested == 100 && falling.dispersion.unwrap() > 50.0, "{falling:?}");
        // A short repetition of misses alone.
        assert_eq!(order([9; 50], 0).bursts().tested, 50);
        assert_eq!(RareSamples::default().bursts().tested, 0);
    }

    #[test]
    fn repetitions_follow_each_other() {
        let values = scattered(7_000);
        let whole = order(values.clone(), 990_000).bursts();
        let mut parts = RareSamples::default();
        values.chunks(1_400).for_each(|part| parts.merge(&order(part.to_vec(), 990_000)));
        let parts = parts.bursts();
        assert_eq!(parts.tested, whole.tested);
        // With fewer than 100 misses the places are exact, with more the blocks are approximate.
        assert_eq!(parts.dispersion, whole.dispersion, "{parts:?} {whole:?}");
        let whole = order(values.clone(), 700_000).bursts();
        let mut parts = RareSamples::default();
        values.chunks(1_400).for_each(|part| parts.merge(&order(part.to_vec(), 700_000)));
        assert_eq!(parts.bursts().tested, whole.tested);
        assert!(parts.blocks.len() <= MOST_BLOCKS);
        assert_eq!(parts.blocks.iter().map(|block| block.samples).sum::<u64>(), 7_000);
        let misses: u64 = parts.blocks.iter().map(|block| block.misses).sum();
        assert_eq!(misses, parts.misses);
        assert!(parts.bursts().allow_a_bound());
    }

    #[test]
    fn blocks_are_of_one_length_and_few() {
        let lengths = |order: &RareSamples| -> Vec<u64> {
            order.blocks.iter().map(|block| block.samples).collect()
        };
        let of = |count: u64| order((0..count).map(|_| 0), 0);
        assert_eq!(lengths(&of(128)), [1; 128]);
        assert_eq!(lengths(&of(129)), [&[2; 64][..], &[1]].concat());
        let mut thousand = of(1_000);
        assert_eq!(lengths(&thousand), [8; 125]);
        let twentieths = thousand.misses_by_block();
        assert!(twentieths.iter().all(|(samples, _)| [48, 56].contains(samples)), "{twentieths:?}");
        let mut half = of(64);
        half.merge(&of(64));
        assert_eq!(lengths(&half), [1; 128]);
        // Samples after a merge form blocks of the merged length.
        let mut merged = RareSamples::default();
        merged.merge(&thousand);
        [&mut merged, &mut thousand]
            .into_iter()
            .for_each(|order| (0..16).for_each(|_| order.push(0, false)));
        assert_eq!((lengths(&merged), lengths(&thousand)), (vec![8; 127], vec![8; 127]));
    }

    #[test]
    fn an_episode_ends_after_calm_samples() {
        let late = |places: &[u64]| {
            order((0..200).map(|place| u64::from(places.contains(&place))), 0).bursts()
        };
        let bursts = late(&[10, 11, 20, 31, 100]);
        assert_eq!((bursts.episodes, bursts.longest), (3, 11));
        let bursts = late(&[10, 20]);
        assert_eq!((bursts.episodes, bursts.longest), (1, 11), "nine calm samples end none");
        let bursts = late(&[0]);
        assert_eq!((bursts.episodes, bursts.longest), (1, 1));
        let mut twice = order([9], 0);
        twice.merge(&order([9], 0));
        assert_eq!(twice.bursts().episodes, 2, "a repetition ends an episode");
        let mut longer = order([9, 9, 9], 0);
        longer.merge(&twice);
        assert_eq!((longer.bursts().episodes, longer.bursts().longest), (3, 3));
    }

    #[test]
    fn dispersion_by_hand() {
        // Expected 2 in each of two blocks of 100: 2·(1²/(2·0.98)).
        let (found, p) = dispersion(&[(100, 3), (100, 1)]).unwrap();
        assert!((found - 2.0 / 1.96).abs() < 1e-12);
        assert!((0.3..0.32).contains(&p), "{p}");
        assert_eq!(dispersion(&[(100, 3), (0, 0)]), None);
        assert_eq!(dispersion(&[(100, 0), (100, 0)]), None);
        assert_eq!(dispersion(&[(1, 1), (1, 1)]), None);
    }
}
