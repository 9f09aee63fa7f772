//! Simulates the upper bound of the rate of deadline misses, with and without bursts: how often a
//! bound is shown, and how often a shown bound is at or above the true rate.

use chronoscope_statistics::{
    Accumulator, MissRate, SplitMix64, samples_in_bursts, samples_to_claim,
};

use crate::{Effort, Row, recorded::RECORDINGS};

/// The number of samples of a simulated run.
const SAMPLES: usize = 20_000;

/// The true miss rates, as shares of samples above the deadline.
const RATES: [f64; 3] = [1e-2, 1e-3, 1e-4];

/// Returns the rows of all simulations of this module.
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

/// Adds a bound for each of [`RATES`] and each of `parts` stretches of a recording. The deadline is
/// the value that about this share of all samples exceeds; the truth is the exact share.
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

/// Simulates a run with misses at the mean rate `rate`. The misses come in bursts of geometric
/// length with the mean `length`; a length of 1 makes the misses independent. A miss is above the
/// deadline of 1000; the other values are scattered below it.
fn simulated(random: &mut SplitMix64, rate: f64, length: f64) -> Accumulator {
    let mut accumulator = Accumulator::with_deadline(Some(1000));
    for (at, is_miss) in misses(random, rate, length, SAMPLES).into_iter().enumerate() {
        let value = random.below(1000) as u64 + if is_miss { 1001 } else { 0 };
        accumulator.push(at as u64, value);
    }
    accumulator
}

/// Draws for each of `samples` samples whether it is a miss, in bursts as in [`simulated`].
fn misses(random: &mut SplitMix64, rate: f64, length: f64, samples: usize) -> Vec<bool> {
    // A burst starts with the chance `start` after a sample without a miss, and goes on with the
    // chance 1 − 1/length.
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

/// Plans the length of a second run, from a claimed miss rate and the dispersion of a first run.
/// The true rate is not below the claim, so a second run without a miss supports a false claim.
fn claims(rounds: usize) -> Row {
    let (claim, length) = (0.01, 5.0);
    let mut supported_wrongly = 0;
    for round in 0..rounds as u64 {
        let mut random = SplitMix64::new(round + 77);
        // The true rate is the claim itself, in place of a rate just above it.
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

/// Counts of runs by their bound.
#[derive(Default)]
struct Tally {
    /// All runs.
    bounds: usize,
    /// The runs whose bound is shown.
    shown: usize,
    /// The runs whose bound is shown and at or above the true rate.
    held: usize,
}

impl Tally {
    /// Adds a run whose true miss rate is `truth`.
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

    /// Promises that at least 95 % of the shown bounds hold.
    fn held(&self, statement: &str) -> Row {
        Row::at_least(statement, 0.95, self.held, self.shown)
    }

    /// Promises that at most the share `most` of all runs shows a bound below the true rate.
    fn wrong(&self, statement: &str, most: f64) -> Row {
        Row::at_most(statement, most, self.shown - self.held, self.bounds)
    }
}
