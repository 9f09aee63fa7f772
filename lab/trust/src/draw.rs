//! Random numbers, and repetitions drawn from the recordings.

use chronoscope_statistics::SplitMix64;

use crate::recorded::RECORDINGS;

/// Samples of a repetition that is cut from a recording.
const SAMPLES: usize = 2_000;

/// Returns a standard normal number, by the method of Box and Muller.
pub fn normal(random: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * random.unit().ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// Returns Student's t with three degrees of freedom.
pub fn heavy(random: &mut SplitMix64) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / 3.0).sqrt()
}

/// Returns a number around 1 whose logarithm has the standard deviation `noise`.
pub fn lognormal(random: &mut SplitMix64, noise: f64) -> f64 {
    (noise * normal(random)).exp()
}

/// Returns standard normal numbers, each with this correlation to the one before: a stationary
/// autoregressive process of order 1. `correlation` must lie between −1 and 1.
pub fn correlated(random: &mut SplitMix64, correlation: f64, count: usize) -> Vec<f64> {
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut last = normal(random);
    let mut next = || {
        let this = last;
        last = correlation * last + fresh * normal(random);
        this
    };
    (0..count).map(|_| next()).collect()
}

/// The p50, the p99 and the p99.9 of consecutive repetitions, for each recording.
pub struct Repetitions(Vec<Vec<[f64; 3]>>);

/// A statistic of both sides.
type Sides = (Vec<f64>, Vec<f64>);

impl Repetitions {
    /// Cuts all recordings into repetitions of 2,000 samples.
    pub fn recorded() -> Self {
        Self::of_samples(SAMPLES)
    }

    /// Cuts all recordings into repetitions of `count` samples, a thousand at least.
    pub fn of_samples(count: usize) -> Self {
        let cut = |samples: Vec<f64>| {
            let repetition = |samples: &[f64]| {
                let mut sorted = samples.to_vec();
                sorted.sort_unstable_by(f64::total_cmp);
                [0.5, 0.99, 0.999].map(|share| sorted[(share * count as f64) as usize - 1])
            };
            samples.chunks_exact(count).map(repetition).collect()
        };
        Self(RECORDINGS.iter().map(|recording| cut(recording.samples())).collect())
    }

    /// The p50 and the p99 of a case whose sides took turns: A B, B A, … over neighbouring
    /// repetitions of one recording, from a random one. B's p99 is multiplied by `tail`.
    pub fn case(&self, random: &mut SplitMix64, pairs: usize, tail: f64) -> Vec<Sides> {
        let recording = self.any(random, 2 * pairs);
        let first = random.below(recording.len() - 2 * pairs + 1);
        Self::sides((0..pairs).map(|pair| &recording[first + 2 * pair..][..2]), tail)
    }

    /// The statistics of a study: for each case a p50 and a p99. The repetitions of all cases take
    /// turns, so the pairs of one case are far apart. Only the first case's p99 is multiplied by
    /// `tail`.
    pub fn study(
        &self,
        random: &mut SplitMix64,
        cases: usize,
        pairs: usize,
        tail: f64,
    ) -> Vec<Sides> {
        let all = (0..cases).flat_map(|case| {
            let recording = self.any(random, 2);
            let pairs: Vec<&[[f64; 3]]> =
                (0..pairs).map(|_| &recording[random.below(recording.len() - 1)..][..2]).collect();
            Self::sides(pairs.into_iter(), if case == 0 { tail } else { 1.0 })
        });
        all.collect()
    }

    /// The repetitions of a stored run: `count` consecutive ones of the recording, from `first`.
    pub fn run(&self, recording: usize, first: usize, count: usize) -> [Vec<f64>; 3] {
        let run = &self.0[recording][first..first + count];
        [0, 1, 2].map(|statistic| run.iter().map(|one| one[statistic]).collect())
    }

    /// The number of repetitions of each recording.
    pub fn counts(&self) -> Vec<usize> {
        self.0.iter().map(Vec::len).collect()
    }

    /// Draws a recording with at least `repetitions` repetitions.
    fn any(&self, random: &mut SplitMix64, repetitions: usize) -> &[[f64; 3]] {
        let long: Vec<&Vec<[f64; 3]>> =
            self.0.iter().filter(|one| one.len() >= repetitions).collect();
        long[random.below(long.len())]
    }

    fn sides<'a>(pairs: impl Iterator<Item = &'a [[f64; 3]]>, tail: f64) -> Vec<Sides> {
        let mut sides = vec![Sides::default(), Sides::default()];
        for (index, pair) in pairs.enumerate() {
            let (a, b) = if index % 2 == 0 { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
            for (statistic, (of_a, of_b)) in sides.iter_mut().enumerate() {
                of_a.push(a[statistic]);
                of_b.push(b[statistic] * if statistic == 1 { tail } else { 1.0 });
            }
        }
        sides
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_standard_and_correlated() {
        let mut random = SplitMix64::new(1);
        let values = correlated(&mut random, 0.6, 200_000);
        let mean = |of: &dyn Fn(usize) -> f64| (0..199_999).map(of).sum::<f64>() / 199_999.0;
        assert!(mean(&|i| values[i]).abs() < 0.02);
        assert!((mean(&|i| values[i] * values[i]) - 1.0).abs() < 0.02);
        assert!((mean(&|i| values[i] * values[i + 1]) - 0.6).abs() < 0.02);
    }
}
