//! Extrapolates the maximum of more samples than were taken, by a model: peaks over a threshold
//! follow a generalised Pareto distribution. The module knows values in the order of time, and
//! neither clocks nor units.
//!
//! Exceedances of p99 that are close to each other form a cluster, by the intervals estimator of
//! Ferro and Segers (2003); a cluster's maximum is a *peak*. The threshold is the 100th largest
//! peak, or p99 where there are fewer. The excesses of the peaks are fitted by the method of Zhang
//! and Stephens (2009). Consecutive blocks of the samples are resampled for the uncertainty of the
//! fit, because peaks of one block depend on each other.
//!
//! The model holds for the circumstances of the samples alone: a cause that did not occur while
//! they were taken is not in it. Each assumption that can be tested is a [`Gate`].

use std::fmt;

use super::{
    bursts::{BLOCKS, dispersion},
    pareto::{FEWEST_EXCESSES, Pareto},
    resample::SplitMix64,
};

/// The chance with which the maximum stays below the upper limit, if the model holds.
pub const CONFIDENCE: f64 = 0.95;

/// The most peaks that a fit is made of: the largest ones.
pub const PEAKS: usize = 100;

/// The numbers of largest peaks at which the shape must be the same as at [`PEAKS`].
const OTHER_PEAKS: [usize; 3] = [50, 70, 200];

/// The p-value below which a gate fails.
const LEVEL: f64 = 0.02;

/// The longest horizon, as a multiple of the samples.
pub const LONGEST: f64 = 100.0;

/// The shape that the upper limit of the shape must not reach: the variance is infinite from there.
const STEEPEST: f64 = 0.5;

/// The number of stretches of the back-test, and how many of their limits must hold.
const STRETCHES: usize = 10;
const MUST_HOLD: usize = 9;

/// Resamples for the limits, and for each fit of the back-test.
const RESAMPLES: usize = 500;
const QUICK_RESAMPLES: usize = 100;

/// Samples drawn for the test of the fit.
const ROUNDS: usize = 199;

/// An assumption of the model that the samples contradict, or that cannot be tested on them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gate {
    /// There are fewer than 30 separate peaks above p99: nothing can be fitted.
    TooFewPeaks { peaks: usize },
    /// The peaks are not spread evenly over time.
    Bursts { dispersion: f64 },
    /// The excesses of the first and of the second half differ (Kolmogorov and Smirnov).
    Halves { p: f64 },
    /// The excesses are not as the fitted distribution (Anderson and Darling).
    Fit { p: f64 },
    /// The shape depends on the threshold.
    Thresholds { peaks: usize, shape: f64, other: f64 },
    /// The tail may be too heavy: the upper limit of the shape is 1/2 or more.
    Heavy { shape_upper: f64 },
    /// The horizon is longer than 100 times the samples.
    Horizon { times: f64 },
    /// Limits from a tenth of the samples did not hold for the other nine, or could not be made.
    BackTest { held: usize },
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewPeaks { peaks } => {
                write!(f, "only {peaks} separate peaks above p99; a fit needs {FEWEST_EXCESSES}")
            }
            Self::Bursts { dispersion } => {
                write!(f, "peaks come in bursts: dispersion {dispersion:.1}, about 1 is needed")
            }
            Self::Halves { p } => {
                write!(f, "peaks of the first and of the second half differ (p = {p:.3})")
            }
            Self::Fit { p } => write!(f, "peaks do not follow the model (p = {p:.3})"),
            Self::Thresholds { peaks, shape, other } => write!(
                f,
                "the shape depends on the threshold: {shape:.2}, and {other:.2} from {peaks} peaks"
            ),
            Self::Heavy { shape_upper } => {
                write!(f, "the tail may be too heavy: shape up to {shape_upper:.2}, limit 0.5")
            }
            Self::Horizon { times } => {
                write!(f, "the horizon is {times:.0} times the measurement, limit {LONGEST:.0}")
            }
            Self::BackTest { held } => write!(
                f,
                "back-test: limits from a tenth of the run held for the rest in {held} of {STRETCHES}, \
                 limit {MUST_HOLD}"
            ),
        }
    }
}

/// A point of the return-level plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The horizon, in samples.
    pub samples: f64,
    /// The value that the model exceeds once in so many samples, on average.
    pub level: f64,
    /// The maximum of so many samples stays below it with 95 %, if the model holds; never below the
    /// maximum seen.
    pub upper: f64,
}

/// The model and its extrapolation.
#[derive(Clone, Debug, PartialEq)]
pub struct Extrapolation {
    /// The assumptions that failed. Unless it is empty, no limit may be stated.
    pub failed: Vec<Gate>,
    /// The fit; `None` with too few peaks.
    pub model: Option<Model>,
}

/// A fit, and the levels that follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub threshold: f64,
    /// The number of fitted peaks.
    pub peaks: usize,
    pub shape: f64,
    /// The one-sided 95 % upper limit of the shape, by resampling blocks.
    pub shape_upper: f64,
    pub scale: f64,
    /// The levels at the requested horizon.
    pub at_horizon: Level,
    /// The levels from one peak's return period to the horizon.
    pub curve: Vec<Level>,
    /// The fitted peaks: return period in samples, and value; rising.
    pub seen: Vec<(f64, f64)>,
}

/// Extrapolates the maximum of `horizon` further samples. `values` are in the order of time.
///
/// The cost is about 3,000 fits of 100 peaks, and two passes over the values.
pub fn extrapolate(values: &[f64], horizon: f64) -> Extrapolation {
    let tail = match Tail::of(values) {
        Ok(tail) => tail,
        Err(peaks) => {
            return Extrapolation { failed: vec![Gate::TooFewPeaks { peaks }], model: None };
        }
    };
    let spread = Spread::of(&tail, RESAMPLES);
    let mut failed = Vec::new();
    failed.extend(tail.gates());
    let shape_upper = spread.shape_upper();
    if shape_upper >= STEEPEST {
        failed.push(Gate::Heavy { shape_upper });
    }
    let times = horizon / values.len() as f64;
    if times > LONGEST {
        failed.push(Gate::Horizon { times });
    }
    let held = back_test(values);
    if held < MUST_HOLD {
        failed.push(Gate::BackTest { held });
    }
    let level = |samples: f64| Level {
        samples,
        level: tail.level(samples),
        upper: spread.upper(samples).max(tail.max),
    };
    let first = values.len() as f64 / tail.peaks.len() as f64;
    let last = horizon.max(first * 2.0);
    let steps = 40;
    let curve = (0..=steps).map(|i| level(first * (last / first).powf(f64::from(i) / 40.0)));
    let mut peaks: Vec<f64> = tail.peaks.iter().map(|(_, value)| *value).collect();
    peaks.sort_unstable_by(f64::total_cmp);
    let seen = peaks.iter().zip((1..=peaks.len()).rev());
    let model = Model {
        threshold: tail.threshold,
        peaks: tail.peaks.len(),
        shape: tail.fit.shape,
        shape_upper,
        scale: tail.fit.scale,
        at_horizon: level(horizon),
        curve: curve.collect(),
        seen: seen.map(|(peak, k)| (values.len() as f64 / (k as f64 - 0.5), *peak)).collect(),
    };
    Extrapolation { failed, model: Some(model) }
}

/// Returns the upper limit of the maximum of `horizon` further samples without testing any
/// assumption: the figure that [`extrapolate`] judges. `None` with too few peaks.
pub fn untested_limit(values: &[f64], horizon: f64) -> Option<f64> {
    let tail = Tail::of(values).ok()?;
    Some(Spread::of(&tail, QUICK_RESAMPLES).upper(horizon).max(tail.max))
}

/// Returns how many limits held, of [`STRETCHES`]: each is made from one stretch, for the maximum
/// of all others.
fn back_test(values: &[f64]) -> usize {
    let length = values.len() / STRETCHES;
    let stretches: Vec<&[f64]> = values.chunks_exact(length.max(1)).take(STRETCHES).collect();
    let max = |stretch: &[f64]| stretch.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let maxima: Vec<f64> = stretches.iter().map(|stretch| max(stretch)).collect();
    let held = stretches.iter().enumerate().filter(|(index, stretch)| {
        let others = maxima.iter().enumerate().filter(|(other, _)| other != index);
        let rest = others.map(|(_, max)| *max).fold(f64::NEG_INFINITY, f64::max);
        let horizon = (length * (STRETCHES - 1)) as f64;
        untested_limit(stretch, horizon).is_some_and(|limit| rest <= limit)
    });
    held.count()
}

/// The peaks of a stretch of samples, and their fit.
struct Tail {
    samples: usize,
    max: f64,
    threshold: f64,
    /// The place and the value of each peak, in the order of time.
    peaks: Vec<(usize, f64)>,
    /// All peaks above p99, in falling order of value.
    falling: Vec<f64>,
    fit: Pareto,
}

impl Tail {
    /// # Errors
    /// The number of peaks, if it is too small.
    fn of(values: &[f64]) -> Result<Self, usize> {
        let mut sorted = values.to_vec();
        let rank = (values.len() * 99).div_ceil(100).saturating_sub(1);
        if sorted.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return Err(0);
        }
        let mut threshold = *sorted.select_nth_unstable_by(rank, f64::total_cmp).1;
        let mut peaks = peaks(values, threshold);
        let mut falling: Vec<f64> = peaks.iter().map(|(_, value)| *value).collect();
        falling.sort_unstable_by(|one, other| other.total_cmp(one));
        if let Some(next) = falling.get(PEAKS) {
            threshold = *next;
            peaks.retain(|(_, value)| *value > threshold);
        }
        let fit = fit(peaks.iter().map(|(_, value)| value - threshold)).ok_or(peaks.len())?;
        let max = falling.first().copied().unwrap_or(threshold);
        Ok(Self { samples: values.len(), max, threshold, peaks, falling, fit })
    }

    /// The mean number of peaks in a sample.
    fn rate(&self) -> f64 {
        self.peaks.len() as f64 / self.samples as f64
    }

    fn level(&self, samples: f64) -> f64 {
        let chance = (1.0 / (samples * self.rate())).min(1.0);
        self.threshold + self.fit.exceeded_with(chance)
    }

    /// The excesses of each of [`BLOCKS`] consecutive blocks.
    fn by_blocks(&self) -> Vec<Vec<f64>> {
        let mut blocks = vec![Vec::new(); BLOCKS];
        for (place, value) in &self.peaks {
            blocks[place * BLOCKS / self.samples].push(value - self.threshold);
        }
        blocks
    }

    /// The assumptions on the peaks that fail.
    fn gates(&self) -> Vec<Gate> {
        let blocks = self.by_blocks();
        let length = (self.samples / BLOCKS) as u64;
        let counts: Vec<(u64, u64)> =
            blocks.iter().map(|peaks| (length, peaks.len() as u64)).collect();
        let bursts = dispersion(&counts).filter(|(_, p)| *p < LEVEL);
        let mut failed: Vec<Gate> =
            bursts.map(|(dispersion, _)| Gate::Bursts { dispersion }).into_iter().collect();
        let (early, late) = blocks.split_at(BLOCKS / 2);
        let p = same_distribution(&early.concat(), &late.concat());
        if p < LEVEL {
            failed.push(Gate::Halves { p });
        }
        let mut excesses = blocks.concat();
        excesses.sort_unstable_by(f64::total_cmp);
        let p = self.fit.goodness(&excesses, ROUNDS, 1);
        if p < LEVEL {
            failed.push(Gate::Fit { p });
        }
        failed.extend(self.at_other_thresholds());
        failed
    }

    /// The number of peaks at which the shape differs most, if it differs by more than its error.
    fn at_other_thresholds(&self) -> Option<Gate> {
        // Three standard errors, for three comparisons that share most of their peaks.
        const MOST: f64 = 3.0;
        let distances = OTHER_PEAKS.iter().filter_map(|count| self.distance_at(*count));
        let (distance, peaks, other) = distances.max_by(|one, two| one.0.total_cmp(&two.0))?;
        (distance > MOST).then_some(Gate::Thresholds { peaks, shape: self.fit.shape, other })
    }
}

impl Tail {
    /// The distance of the shape at so many largest peaks in standard errors, their number, and that
    /// shape. `None` with too few peaks.
    fn distance_at(&self, count: usize) -> Option<(f64, usize, f64)> {
        let threshold = *self.falling.get(count)?;
        let excesses = self.falling[..count].iter().map(|value| value - threshold);
        let other = fit(excesses.filter(|excess| *excess > 0.0))?.shape;
        // Of nested samples, the variance of a difference is the difference of the variances; each
        // is about (1 + shape)²/n.
        let own = self.peaks.len() as f64;
        let error = (1.0 + self.fit.shape.max(0.0)) * (1.0 / count as f64 - 1.0 / own).abs().sqrt();
        Some(((other - self.fit.shape).abs() / error, count, other))
    }
}

/// The fits of resampled blocks: their rate of peaks in a sample, and their distribution.
struct Spread {
    threshold: f64,
    fits: Vec<(f64, Pareto)>,
}

impl Spread {
    fn of(tail: &Tail, resamples: usize) -> Self {
        let blocks = tail.by_blocks();
        let mut random = SplitMix64::new(1);
        let mut fits: Vec<(f64, Pareto)> = (0..resamples)
            .filter_map(|_| {
                let drawn = (0..BLOCKS).flat_map(|_| &blocks[random.below(BLOCKS)]);
                let drawn: Vec<f64> = drawn.copied().collect();
                let rate = drawn.len() as f64 / tail.samples as f64;
                Some((rate, fit(drawn.into_iter())?))
            })
            .collect();
        // Where peaks fill few blocks, resamples can have too few of them.
        if fits.is_empty() {
            fits.push((tail.rate(), tail.fit));
        }
        Self { threshold: tail.threshold, fits }
    }

    fn shape_upper(&self) -> f64 {
        let mut shapes: Vec<f64> = self.fits.iter().map(|(_, fit)| fit.shape).collect();
        shapes.sort_unstable_by(f64::total_cmp);
        quantile(&shapes, CONFIDENCE)
    }

    /// The value below which the maximum of so many samples stays with [`CONFIDENCE`] by 95 % of
    /// the fits. The mean over the fits, or nine tenths of them, would hold in 89 to 92 % of runs
    /// only: the fits scatter around one that may itself be too short.
    fn upper(&self, samples: f64) -> f64 {
        let excess = |(rate, fit): &(f64, Pareto)| {
            // The chance that a peak is below, to the power of the number of peaks.
            let chance = -CONFIDENCE.ln() / (samples * rate);
            fit.exceeded_with(chance.min(1.0))
        };
        let mut excesses: Vec<f64> = self.fits.iter().map(excess).collect();
        excesses.sort_unstable_by(f64::total_cmp);
        self.threshold + quantile(&excesses, CONFIDENCE)
    }
}

/// The quantile of sorted values, which must not be empty.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[((sorted.len() as f64 * q) as usize).min(sorted.len() - 1)]
}

fn fit(excesses: impl Iterator<Item = f64>) -> Option<Pareto> {
    let mut sorted: Vec<f64> = excesses.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    Pareto::fit(&sorted)
}

/// The maximum of each cluster of values above the threshold, with its place.
fn peaks(values: &[f64], threshold: f64) -> Vec<(usize, f64)> {
    let above: Vec<(usize, f64)> =
        values.iter().copied().enumerate().filter(|(_, value)| *value > threshold).collect();
    let longest = longest_gap_within(&above);
    let mut peaks: Vec<(usize, f64)> = Vec::new();
    let mut last = None;
    for (place, value) in above {
        let goes_on = last.is_some_and(|last| place - last <= longest);
        match peaks.last_mut().filter(|_| goes_on) {
            Some(peak) if value > peak.1 => *peak = (place, value),
            Some(_) => {}
            None => peaks.push((place, value)),
        }
        last = Some(place);
    }
    peaks
}

/// The longest gap within a cluster: by the intervals estimator, exceedances form θ·N clusters, and
/// the longest gaps lie between these.
fn longest_gap_within(above: &[(usize, f64)]) -> usize {
    let mut gaps: Vec<usize> = above.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    gaps.sort_unstable_by(|one, other| other.cmp(one));
    let Some(largest) = gaps.first() else { return 0 };
    // Gaps of 1 say nothing about clusters; the estimator subtracts them unless all are short.
    let (minus, minus_2) = if *largest <= 2 { (0.0, 0.0) } else { (1.0, 2.0) };
    let sum: f64 = gaps.iter().map(|gap| *gap as f64 - minus).sum();
    let squares: f64 = gaps.iter().map(|gap| (*gap as f64 - minus) * (*gap as f64 - minus_2)).sum();
    let index = (2.0 * sum * sum / (gaps.len() as f64 * squares)).min(1.0);
    let clusters = (index * above.len() as f64) as usize + 1;
    // The `clusters` − 1 longest gaps separate; the next is within a cluster.
    gaps.get(clusters - 1).copied().unwrap_or(0)
}

/// The p-value of the hypothesis that two lists come from one distribution (Kolmogorov and Smirnov,
/// with the approximation of Stephens 1970). 0 if one of them is empty.
fn same_distribution(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let below = |side: &[f64], value: f64| {
        side.iter().filter(|other| **other <= value).count() as f64 / side.len() as f64
    };
    let distances = a.iter().chain(b).map(|value| (below(a, *value) - below(b, *value)).abs());
    let distance = distances.fold(0.0, f64::max);
    let n = (a.len() * b.len()) as f64 / (a.len() + b.len()) as f64;
    let scaled = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * distance;
    // The series alternates; its terms fall fast unless the distance is tiny.
    if scaled < 0.3 {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(k).powi(2) * scaled.powi(2)).exp()
    };
    (1..100).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponential(count: usize, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        (0..count).map(|_| -1000.0 * random.unit().ln()).collect()
    }

    #[test]
    fn an_exponential_tail_passes_all_gates_and_its_level_is_known() {
        let values = exponential(50_000, 3);
        let result = extrapolate(&values, 500_000.0);
        assert_eq!(result.failed, []);
        let model = result.model.unwrap();
        assert_eq!(model.peaks, PEAKS);
        // The level exceeded once in n samples of mean 1000 is 1000 ln n.
        let truth = 1000.0 * 500_000.0_f64.ln();
        assert!((0.8..1.25).contains(&(model.at_horizon.level / truth)), "{model:?}");
        assert!(model.at_horizon.upper > truth && model.at_horizon.upper < 5.0 * truth);
        assert!(model.curve.is_sorted_by(|one, two| one.level <= two.level));
        assert!(model.curve.is_sorted_by(|one, two| one.upper <= two.upper));
        let max = values.iter().copied().fold(0.0, f64::max);
        assert_eq!(model.seen.last(), Some(&(100_000.0, max)));
        assert!(model.curve.iter().all(|level| level.upper >= max));
        // The curve goes from one peak's return period to the horizon in equal ratios.
        let at = |place: usize| model.curve[place].samples;
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert!(model.curve.len() == 41 && near(at(0), 500.0) && near(at(40), 500_000.0));
        assert!(near(at(20), (500.0_f64 * 500_000.0).sqrt()), "{}", at(20));
        // The level is exceeded once in the horizon: 1 in 1,000 of 100 peaks in 50,000 samples.
        let fit = Pareto { shape: model.shape, scale: model.scale };
        let chance = fit.survival(model.at_horizon.level - model.threshold);
        assert!(near(chance, 0.001), "{chance}");
        // A horizon shorter than that is shown from one period to two.
        let model = extrapolate(&values, 10.0).model.unwrap();
        assert!(near(model.curve[40].samples, 1_000.0) && model.at_horizon.samples == 10.0);
    }

    #[test]
    fn each_gate_closes() {
        let gates = |values: &[f64], horizon: f64| extrapolate(values, horizon).failed;
        let values = exponential(50_000, 3);
        assert_eq!(gates(&values, 5_000_000.0), []);
        assert_eq!(gates(&values, 5_000_001.0), [Gate::Horizon { times: 5_000_001.0 / 50_000.0 }]);
        assert_eq!(gates(&values[..500], 1_000.0), [Gate::TooFewPeaks { peaks: 5 }]);
        assert_eq!(gates(&[], 1.0), [Gate::TooFewPeaks { peaks: 0 }]);
        assert_eq!(gates(&[5.0; 10_000], 1.0), [Gate::TooFewPeaks { peaks: 0 }]);
        let mut infinite = values.clone();
        infinite[7] = f64::INFINITY;
        assert_eq!(gates(&infinite, 1.0), [Gate::TooFewPeaks { peaks: 0 }]);
        // A tenth of these samples has no 30 peaks.
        assert_eq!(gates(&values[..12_000], 1_000.0), [Gate::BackTest { held: 0 }]);
        let has = |values: &[f64], gate: fn(&Gate) -> bool| {
            let failed = gates(values, 500_000.0);
            assert!(failed.iter().any(gate), "{failed:?}");
        };
        // Most peaks are in the second half.
        let mut late = values.clone();
        late[25_000..].iter_mut().for_each(|value| *value *= 1.4);
        let tail = Tail::of(&late).unwrap();
        let counts: Vec<(u64, u64)> =
            tail.by_blocks().iter().map(|peaks| (2_500, peaks.len() as u64)).collect();
        let (dispersion, _) = dispersion(&counts).unwrap();
        assert_eq!(tail.gates().first(), Some(&Gate::Bursts { dispersion }));
        // The second half has the same number of peaks, but of larger excess.
        let bar = 1000.0 * 1000_f64.ln() / 2.0;
        let mut grows = values.clone();
        let stretch = |value: &mut f64| {
            *value = if *value > bar { bar + (*value - bar) * 9.0 } else { *value }
        };
        grows[25_000..].iter_mut().for_each(stretch);
        has(&grows, |gate| matches!(gate, Gate::Halves { .. } | Gate::Bursts { .. }));
        let heavy: Vec<f64> = values.iter().map(|value| (value / 1250.0).exp()).collect();
        has(&heavy, |gate| matches!(gate, Gate::Heavy { .. }));
        // Two groups of values, far apart.
        let mut groups = values.clone();
        groups.iter_mut().step_by(1_000).for_each(|value| *value += 1e6);
        has(&groups, |gate| matches!(gate, Gate::Fit { .. }));
        // The 100 largest peaks lie much further apart than the next 100, some of which are equal.
        let mut bent = values.clone();
        for value in &mut bent {
            match *value {
                6_215.0.. => *value = 6_215.0 + (*value - 6_215.0) * 20.0,
                5_480.0..5_560.0 => *value = 5_520.0,
                _ => {}
            }
        }
        has(&bent, |gate| matches!(gate, Gate::Thresholds { peaks: 200, .. }));
        // A single value beyond all others breaks the back-test.
        let mut one = values;
        one[31_000] = 1e9;
        has(&one, |gate| matches!(gate, Gate::BackTest { .. }));
    }

    /// A limit is made for as many samples as the other nine stretches have.
    #[test]
    fn a_back_test_has_the_horizon_of_the_other_stretches() {
        let mut values = exponential(60_000, 8);
        let limit = |values: &[f64], horizon: f64| untested_limit(values, horizon).unwrap();
        let [nine, ten] = [54_000.0, 60_000.0].map(|horizon| limit(&values[..6_000], horizon));
        assert!(nine < ten);
        // Above the limit of the first stretch, but not above that of a longer horizon.
        values[8_000] = (nine + ten) / 2.0;
        let max = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let held = (0..10).filter(|stretch| {
            let (from, to) = (stretch * 6_000, (stretch + 1) * 6_000);
            max(&values[..from]).max(max(&values[to..])) <= limit(&values[from..to], 54_000.0)
        });
        assert_eq!(back_test(&values), held.count());
    }

    #[test]
    fn clusters_have_one_peak() {
        let mut values = vec![0.0; 100_000];
        let mut random = SplitMix64::new(6);
        for _ in 0..200 {
            let start = random.below(99_990);
            for (offset, value) in [(0, 5.0), (1, 8.0), (3, 6.0)] {
                values[start + offset] = value;
            }
        }
        let peaks = peaks(&values, 1.0);
        assert!((185..=200).contains(&peaks.len()), "{}", peaks.len());
        assert!(peaks.iter().all(|(place, value)| *value == 8.0 && values[place - 1] > 1.0));
        assert_eq!(super::peaks(&[1.0, 9.0, 1.0], 5.0), [(1, 9.0)]);
        assert_eq!(super::peaks(&[1.0], 5.0), []);
        // Of equal values in a cluster, the first is the peak.
        let mut twins = [0.0; 60];
        for place in [0, 1, 6, 9, 18, 38, 39, 43, 46, 51, 53, 56] {
            twins[place] = 9.0;
        }
        let places: Vec<usize> =
            super::peaks(&twins, 5.0).iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [0, 6, 9, 18, 38, 43, 46, 51, 53, 56]);
    }

    #[test]
    fn the_longest_gaps_are_between_clusters() {
        let gap = |gaps: &[usize]| {
            let mut places = vec![(0, 1.0)];
            let mut place = 0;
            places.extend(gaps.iter().map(|gap| {
                place += gap;
                (place, 1.0)
            }));
            longest_gap_within(&places)
        };
        // Sum of gap − 1: 45. Sum of (gap − 1)(gap − 2): 444. Index 2 · 45² / (11 · 444): 0.83. Nine
        // of twelve are separate, so that the tenth longest gap is within a cluster.
        assert_eq!(gap(&[1, 5, 3, 9, 20, 1, 4, 3, 5, 2, 3]), 1);
        assert_eq!((gap(&[]), gap(&[1, 1, 1]), gap(&[2, 1, 2])), (0, 0, 0));
    }

    #[test]
    fn shapes_are_compared_by_their_error() {
        let tail = Tail::of(&exponential(50_000, 3)).unwrap();
        for (count, share) in [(50, 0.01_f64), (200, 0.005)] {
            let (distance, peaks, other) = tail.distance_at(count).unwrap();
            let error = share.sqrt() * (1.0 + tail.fit.shape.max(0.0));
            let expected = (other - tail.fit.shape).abs() / error;
            assert!(peaks == count && (distance / expected - 1.0).abs() < 1e-9, "{distance}");
        }
        let heavy = Tail { fit: Pareto { shape: 0.5, scale: 1.0 }, ..tail };
        let (distance, _, other) = heavy.distance_at(50).unwrap();
        assert!((distance / ((other - 0.5).abs() / 0.15) - 1.0).abs() < 1e-9, "{distance}");
    }

    #[test]
    fn a_limit_is_a_quantile_of_the_fits() {
        assert_eq!(
            [0.0, 0.5, 0.95, 1.0].map(|q| quantile(&[1.0, 2.0, 3.0, 4.0], q)),
            [1.0, 3.0, 4.0, 4.0]
        );
        assert_eq!(quantile(&[7.0], 0.95), 7.0);
        let spread =
            Spread { threshold: 10.0, fits: vec![(0.002, Pareto { shape: 0.0, scale: 5.0 })] };
        // All of the two peaks expected in 1,000 samples stay below with 95 %.
        let upper = 10.0 - 5.0 * (-(0.95_f64.ln()) / 2.0).ln();
        assert!((spread.upper(1_000.0) - upper).abs() < 1e-9, "{}", spread.upper(1_000.0));
        let tail = Tail::of(&exponential(50_000, 3)).unwrap();
        let spread = Spread::of(&tail, 50);
        assert_eq!((spread.fits.len(), spread.threshold), (50, tail.threshold));
        let mean = spread.fits.iter().map(|(rate, _)| rate).sum::<f64>() / 50.0;
        assert!((0.9..1.1).contains(&(mean / tail.rate())), "{mean}");
        assert_eq!(Spread::of(&tail, 0).fits, [(0.002, tail.fit)]);
    }

    #[test]
    fn distributions_differ() {
        let values = exponential(200, 4);
        assert!(same_distribution(&values[..100], &values[100..]) > 0.02);
        let longer: Vec<f64> = values.iter().map(|value| value * 3.0).collect();
        assert!(same_distribution(&values, &longer) < 1e-3);
        assert_eq!(same_distribution(&values, &values), 1.0);
        // Five and five values that overlap by two: the distance is 3/5, n is 5/2.
        let root = 2.5_f64.sqrt();
        let scaled = 0.6 * (root + 0.12 + 0.11 / root);
        let term = |k: f64| (-2.0 * (k * scaled).powi(2)).exp();
        let p = 2.0 * (term(1.0) - term(2.0) + term(3.0) - term(4.0));
        let found = same_distribution(&[1.0, 2.0, 3.0, 4.0, 5.0], &[4.0, 5.0, 6.0, 7.0, 8.0]);
        assert!((found / p - 1.0).abs() < 1e-9, "{found} is not {p}");
        assert_eq!(same_distribution(&[], &values), 0.0);
    }
}
