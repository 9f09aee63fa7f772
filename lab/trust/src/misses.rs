//! Bounds of the miss rate, with and without bursts.

use chronoscope_statistics::{
    Accumulator, MissRate, SplitMix64, samples_in_bursts, samples_to_claim,
};

use crate::{Effort, Row, recorded::RECORDINGS};

/// Samples of a simulated run.
const SAMPLES: usize = 20_000;

/// The shares of samples above the deadline.
const RATES: [f64; 3] = [1e-2, 1e-3, 1e-4];

pub fn rows(effort: Effort) -> Vec<Row> {
    let rounds = effort.choose(40, 2_000);
    let mut rows = Vec::new();
    let mut independent = Tally::default();
    for rate in RATES {
        for round in 0..rounds as u64 {
            let mut random = SplitMix64::new(round);
            independent.add(&simulated(&mut random, rate, 1.0), rate);
        }
    }
    rows.push(independent.shown_at_least("independent misses: a bound is shown", 0.94));
    rows.push(independent.held("independent misses: the bound that is shown holds"));
    let mut bursts = Tally::default();
    for round in 0..rounds as u64 {
        let mut random = SplitMix64::new(round);
        bursts.add(&simulated(&mut random, 1e-2, 10.0), 1e-2);
    }
    rows.push(bursts.shown_at_most("misses in bursts of ten: a bound is shown", 0.02));

    let (mut recorded, mut shuffled) = (Tally::default(), Tally::default());
    let recordings = effort.choose(1, RECORDINGS.len());
    for recording in RECORDINGS.iter().rev().take(recordings) {
        let mut samples = recording.samples();
        let parts = effort.choose(4, 26);
        stretches(&samples, parts, &mut recorded);
        let mut random = SplitMix64::new(9);
        for last in (1..samples.len()).rev() {
            samples.swap(last, random.below(last + 1));
        }
        stretches(&samples, parts, &mut shuffled);
    }
    rows.push(recorded.wrong("recorded: a bound is shown and wrong", 0.02));
    rows.push(shuffled.shown_at_least("recorded, shuffled: a bound is shown", 0.90));
    rows.push(shuffled.held("recorded, shuffled: the bound that is shown holds"));
    rows.push(claims(effort.choose(60, 2_000)));
    rows
}

/// Bounds from each of `parts` stretches, with a deadline at each rate of the whole recording.
fn stretches(samples: &[f64], parts: usize, tally: &mut Tally) {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    for rate in RATES {
        let deadline = sorted[((1.0 - rate) * sorted.len() as f64) as usize];
        let over = samples.iter().filter(|value| **value > deadline).count();
        let truth = over as f64 / samples.len() as f64;
        for stretch in samples.chunks_exact(samples.len() / parts) {
            let mut accumulator = Accumulator::with_deadline(Some(deadline as u64));
            stretch.iter().zip(0..).for_each(|(value, at)| accumulator.push(at, *value as u64));
            tally.add(&accumulator, truth);
        }
    }
}

/// A run with misses at a mean rate, in bursts of geometric length with this mean; a length of 1
/// makes them independent. A miss is above a deadline of 1000; the other values are scattered
/// below.
fn simulated(random: &mut SplitMix64, rate: f64, length: f64) -> Accumulator {
    let mut accumulator = Accumulator::with_deadline(Some(1000));
    for (at, is_miss) in misses(random, rate, length, SAMPLES).into_iter().enumerate() {
        let value = random.below(1000) as u64 + if is_miss { 1001 } else { 0 };
        accumulator.push(at as u64, value);
    }
    accumulator
}

fn misses(random: &mut SplitMix64, rate: f64, length: f64, samples: usize) -> Vec<bool> {
    // A burst starts after a sample without a miss, and goes on with the chance 1 − 1/length.
    let (start, goes_on) = match length {
        1.0 => (rate, rate),
        length => (rate / (length * (1.0 - rate)), 1.0 - 1.0 / length),
    };
    let mut is_miss = false;
    let next = (0..samples).map(|_| {
        is_miss = random.unit() < if is_miss { goes_on } else { start };
        is_miss
    });
    next.collect()
}

/// Plans for a claim with a first run's dispersion: a claim that a second run of the planned length
/// supports must be true.
fn claims(rounds: usize) -> Row {
    let (claim, length) = (0.01, 5.0);
    let mut supported_wrongly = 0;
    for round in 0..rounds as u64 {
        let mut random = SplitMix64::new(round + 77);
        // The true rate is just above the claim.
        let first = simulated(&mut random, claim, length);
        let planned = samples_to_claim(claim, 0).unwrap_or(u64::MAX);
        let dispersion = first.bursts().dispersion.unwrap_or(f64::INFINITY);
        let planned = samples_in_bursts(planned, dispersion).min(1_000_000) as usize;
        let second = misses(&mut random, claim, length, planned);
        supported_wrongly += usize::from(!second.contains(&true));
    }
    let statement = "plan with bursts of five: a clean run supports a claim that is false";
    Row::at_most(statement, 0.05, supported_wrongly, rounds)
}

/// Counts of bounds.
#[derive(Default)]
struct Tally {
    bounds: usize,
    shown: usize,
    held: usize,
}

impl Tally {
    fn add(&mut self, samples: &Accumulator, truth: f64) {
        let upper = samples.miss_rate().and_then(|rate: MissRate| rate.upper);
        self.bounds += 1;
        self.shown += usize::from(upper.is_some());
        self.held += usize::from(upper.is_some_and(|upper| truth <= upper));
    }

    fn shown_at_least(&self, statement: &str, least: f64) -> Row {
        Row::at_least(statement, least, self.shown, self.bounds)
    }

    fn shown_at_most(&self, statement: &str, most: f64) -> Row {
        Row::at_most(statement, most, self.shown, self.bounds)
    }

    fn held(&self, statement: &str) -> Row {
        Row::at_least(statement, 0.95, self.held, self.shown)
    }

    fn wrong(&self, statement: &str, most: f64) -> Row {
        Row::at_most(statement, most, self.shown - self.held, self.bounds)
    }
}
