//! Finds changes of level in a sequence of figures, such as a case's median from run to run, while
//! the sequence grows. The module knows figures in their order, not the runs that they come from.
//!
//! After each figure, the mean of the last 3 to 14 figures is compared with the level before them,
//! in units of the scatter that such means have. The scatter is learned from all earlier figures
//! with their autocorrelation, so that neighbours that are alike, or regimes of a week, widen it.
//! A mark depends on no later figure: a change that was marked stays marked.
//!
//! The bound is set by the run length, as in a control chart (Page 1954; Lai 1995, "Sequential
//! changepoint detection in quality control and dynamical systems"): see [`RUN_LENGTH`]. The
//! simulations of `chronoscope-trust` check the run length and the power.

use super::{beta::t_quantile, resample::median};

/// The mean number of figures from one false mark to the next, where the level never changes: a year
/// of nightly runs of a page with 34 series.
pub const RUN_LENGTH: usize = 365 * 34;

/// The fewest figures that show a change, unless they are exact.
pub const FEWEST: usize = 15;

/// The fewest equal figures whose end is a change at once: a figure that never varied is exact.
const EXACT: usize = 5;

/// The fewest figures of a new level, and the fewest that a level is known by.
const SHORTEST: usize = 3;

/// The most figures of a new level that are looked at together.
const WINDOW: usize = 14;

/// The longer windows, which are looked at every seventh figure.
const LONGER: [usize; 6] = [20, 28, 40, 55, 70, 100];

/// The most earlier figures from which scatter is learned: the cost is bounded, and figures from more
/// than a year ago say little.
const REMEMBERED: usize = 400;

/// How far from its level a figure counts, in robust standard deviations: one wild run is no change.
const CLIP: f64 = 3.0;

/// The fewest figures in a row, each on the same side of the level and this many robust standard
/// deviations from it, that are a change whatever else is known.
const OBVIOUS: (usize, f64) = (5, 10.0);

/// The chances with which the mean of a window is beyond its bound, upwards and downwards, where
/// nothing changed. Most false marks name a level that rises, because its reader must not wait.
/// Chosen by simulation for [`RUN_LENGTH`]: a figure has up to twelve windows, which overlap.
const BEYOND: [f64; 2] = [2.5e-5, 2.5e-6];

/// The standard deviations below which no mean is beyond its bound, whatever the scatter's source.
const LEAST_BOUND: f64 = 4.0;

/// The first correlations count from this number of standard errors on.
const CHANCE: f64 = 1.3;

/// The days of a regime that a short history is taken to have, and the correlation of neighbours in
/// it: without them, marks of histories with weekly regimes are ten times as frequent.
const WEEK: usize = 7;
const SUPPOSED: f64 = 0.5;

/// The figures that one is worth less for each unit of its correlations; the mean of figures would
/// be worth 2 less. Chosen by simulation.
const ALIKE: f64 = 4.0;

/// The number of figures from which on regimes are seen, and none is supposed.
const SEEN: f64 = 150.0;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The index of the first figure after the change, as it was estimated when it was noticed.
    pub at: usize,
    /// The index of the figure with which it was noticed.
    pub noticed: usize,
    /// The median of the figures from the previous change to this change.
    pub before: f64,
    /// The median of the figures from this change to the next change.
    pub after: f64,
}

/// Returns the changes in a sequence, in its order. The same sequence gives the same changes, and a
/// longer one begins with the same places. Empty for fewer than [`FEWEST`] figures, other than exact
/// ones, or if a figure is not finite. A change of less than the share `floor` of the level before is
/// left out, and figures that differ by less do not count as scattered.
///
/// The cost is about 10 µs for each figure, after 200 figures.
pub fn changes(values: &[f64], floor: f64) -> Vec<Change> {
    if values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut starts = vec![0];
    let mut noticed = Vec::new();
    // The distances of the figures of earlier levels from their medians.
    let mut settled: Vec<f64> = Vec::new();
    for night in 0..values.len() {
        let start = starts[starts.len() - 1];
        let Some(length) = newest(&settled, &values[start..=night], floor) else { continue };
        let at = night + 1 - length;
        let level = median(&values[start..at]).unwrap_or_default();
        settled.extend(values[start..at].iter().map(|value| value - level));
        starts.push(at);
        noticed.push(night);
    }
    let levels: Vec<f64> = (0..starts.len())
        .filter_map(|level| {
            let end = starts.get(level + 1).copied().unwrap_or(values.len());
            median(&values[starts[level]..end])
        })
        .collect();
    let found = noticed.iter().zip(&starts[1..]).zip(levels.windows(2));
    found
        .map(|((&noticed, &at), levels)| Change {
            at,
            noticed,
            before: levels[0],
            after: levels[1],
        })
        .collect()
}

/// Returns the number of figures of a new level at the end of `level`, if there is one. `settled`
/// are the distances of the figures of earlier levels from their level.
fn newest(settled: &[f64], level: &[f64], floor: f64) -> Option<usize> {
    let (&last, earlier) = level.split_last()?;
    let is_exact = earlier.len() >= EXACT && earlier.iter().all(|value| *value == earlier[0]);
    if floor == 0.0 && is_exact && settled.iter().all(|distance| *distance == 0.0) {
        return (last != earlier[0]).then_some(1);
    }
    if settled.len() + level.len() < FEWEST {
        return None;
    }
    // A change may have begun in the last figures: they do not show the usual scatter.
    let (usual, window) = level.split_at(level.len() - WINDOW.min(level.len() / 3));
    let short = strongest(settled, &[], usual, window, floor);
    if short.is_some() || !level.len().is_multiple_of(WEEK) {
        return short;
    }
    // A small change is seen late, and then its figures tell the scatter too.
    let longer = LONGER.iter().filter(|count| level.len() >= *count + FEWEST);
    longer.copied().find(|&count| {
        let (usual, window) = level.split_at(level.len() - count);
        strongest(settled, window, usual, window, floor).is_some()
    })
}
/// Returns the number of figures at the end of `window` whose mean differs most from `usual`, where
/// one is beyond its bound. The scatter comes from `settled`, `usual` and `also`, a part of
/// the window that counts as one level.
fn strongest(
    settled: &[f64],
    also: &[f64],
    usual: &[f64],
    window: &[f64],
    floor: f64,
) -> Option<usize> {
    let middle = median(usual)?;
    let around = |level: f64| move |value: &f64| value - level;
    let mut distances = settled.to_vec();
    distances.extend(usual.iter().map(around(middle)));
    distances.extend(also.iter().map(around(median(also).unwrap_or_default())));
    let reach = floor * middle.abs();
    let scatter = Scatter::new(&distances[distances.len().saturating_sub(REMEMBERED)..], reach);
    let clipped = |value: &f64| scatter.clipped(value - middle);
    let far = |value: &f64| (value - middle) / (OBVIOUS.1 * scatter.deviation);
    for side in [1.0, -1.0] {
        let obvious = window.iter().rev().take_while(|value| side * far(value) > 1.0).count();
        if obvious >= OBVIOUS.0 {
            return Some(obvious);
        }
    }
    let mean = usual.iter().map(clipped).sum::<f64>() / usual.len() as f64;
    let of_level = scatter.of_mean(usual.len());
    let mut sum = 0.0;
    let mut strongest: Option<(f64, usize)> = None;
    for (count, value) in (1..).zip(window.iter().rev()) {
        sum += clipped(value);
        let shift = sum / count as f64 - mean;
        if count < SHORTEST || shift.abs() < reach {
            continue;
        }
        let strength = shift.abs() / (scatter.of_mean(count) + of_level).sqrt();
        let is_beyond = strength > LEAST_BOUND && strength > scatter.bound(shift > 0.0);
        if is_beyond && strongest.is_none_or(|(most, _)| strength > most) {
            strongest = Some((strength, count));
        }
    }
    strongest.map(|(_, count)| count)
}

/// The scatter of figures around their level, and how alike neighbours are.
struct Scatter {
    /// A robust standard deviation.
    deviation: f64,
    /// The variance of the clipped distances.
    variance: f64,
    /// The correlation of a figure with the figures 1, 2, … places before it, none negative.
    correlation: Vec<f64>,
    /// The number of figures.
    count: usize,
}

impl Scatter {
    /// Learns the scatter from the distances of figures from their level. The deviation is at least
    /// a quarter of `reach`.
    fn new(distances: &[f64], reach: f64) -> Self {
        let count = distances.len();
        let mut far: Vec<f64> = distances.iter().map(|distance| distance.abs()).collect();
        far.sort_unstable_by(f64::total_cmp);
        let mean_far = far.iter().sum::<f64>() / count as f64;
        // The factors make both the standard deviation of normal figures. Where most figures are
        // equal, the median distance is zero, and half of the mean one takes its place.
        let middle = 1.4826 * far[count / 2];
        let typical = if middle > 0.0 { middle } else { 0.5 * 1.2533 * mean_far };
        let deviation = typical.max(reach / 4.0);
        let clipped: Vec<f64> = distances
            .iter()
            .map(|distance| distance.clamp(-CLIP * deviation, CLIP * deviation))
            .collect();
        let mean = clipped.iter().sum::<f64>() / count as f64;
        let product = |lag: usize| {
            let pairs = clipped.iter().zip(&clipped[lag..]);
            pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (count - lag) as f64
        };
        let seen = product(0);
        let variance = (seen * count as f64 / (count as f64 - 1.0)).max((reach / 4.0).powi(2));
        let lags = (WINDOW - 1).min(count / 4);
        let mut correlation: Vec<f64> =
            (1..=lags).map(|lag| if seen > 0.0 { product(lag) / seen } else { 0.0 }).collect();
        // The same figures give the mean, which makes every correlation too small.
        let taper = |lag: usize| 1.0 - lag as f64 / (lags + 1) as f64;
        let sum: f64 = (1..).zip(&correlation).map(|(lag, one)| taper(lag) * one).sum();
        let bias = (1.0 + 2.0 * sum).max(1.0) / count as f64;
        correlation.iter_mut().for_each(|one| *one += bias);
        let first = &correlation[..lags.min(3)];
        let chance = CHANCE * (first.len() as f64 / count as f64).sqrt();
        let known = match first.iter().sum::<f64>() > chance {
            true => correlation.iter().take_while(|one| **one > 0.0).count(),
            false => 0,
        };
        correlation.truncate(known);
        correlation.resize(known.max(WEEK - 1), 0.0);
        let supposed = SUPPOSED * (1.0 - count as f64 / SEEN).max(0.0);
        for (lag, one) in (1..WEEK).zip(&mut correlation) {
            *one += supposed * (1.0 - lag as f64 / WEEK as f64);
        }
        Self { deviation, variance, correlation, count }
    }

    /// A distance, as far as it counts.
    fn clipped(&self, distance: f64) -> f64 {
        distance.clamp(-CLIP * self.deviation, CLIP * self.deviation)
    }

    /// The variance of the mean of this number of neighbours.
    fn of_mean(&self, count: usize) -> f64 {
        let taper = |lag: usize| (1.0 - lag as f64 / count as f64).max(0.0);
        let sum: f64 = (1..).zip(&self.correlation).map(|(lag, one)| taper(lag) * one).sum();
        self.variance / count as f64 * (1.0 + 2.0 * sum)
    }

    /// The bound on the mean of a window, in standard deviations: the quantile of Student's t with
    /// the number of figures that are worth as much as independent ones.
    fn bound(&self, is_upwards: bool) -> f64 {
        let alike = 1.0 + ALIKE * self.correlation.iter().sum::<f64>();
        let independent = (self.count as f64 / alike).max(2.0);
        t_quantile(2.0 * BEYOND[usize::from(!is_upwards)], independent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The yearly flow of the Nile at Aswan from 1871 to 1970, in 10^8 m³ (Cobb 1978).
    const NILE: [f64; 100] = [
        1120.0, 1160.0, 963.0, 1210.0, 1160.0, 1160.0, 813.0, 1230.0, 1370.0, 1140.0, 995.0, 935.0,
        1110.0, 994.0, 1020.0, 960.0, 1180.0, 799.0, 958.0, 1140.0, 1100.0, 1210.0, 1150.0, 1250.0,
        1260.0, 1220.0, 1030.0, 1100.0, 774.0, 840.0, 874.0, 694.0, 940.0, 833.0, 701.0, 916.0,
        692.0, 1020.0, 1050.0, 969.0, 831.0, 726.0, 456.0, 824.0, 702.0, 1120.0, 1100.0, 832.0,
        764.0, 821.0, 768.0, 845.0, 864.0, 862.0, 698.0, 845.0, 744.0, 796.0, 1040.0, 759.0, 781.0,
        865.0, 845.0, 944.0, 984.0, 897.0, 822.0, 1010.0, 771.0, 676.0, 649.0, 846.0, 812.0, 742.0,
        801.0, 1040.0, 860.0, 874.0, 848.0, 890.0, 744.0, 749.0, 838.0, 1050.0, 918.0, 986.0,
        797.0, 923.0, 975.0, 815.0, 1020.0, 906.0, 901.0, 1170.0, 912.0, 746.0, 919.0, 718.0,
        714.0, 740.0,
    ];

    /// The published change is after 1898, when the first dam was begun. A history that begins
    /// shortly before a change of its own scatter shows it late.
    #[test]
    fn the_published_change_of_the_nile_is_noticed() {
        let found = changes(&NILE, 0.0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((1871 + found[0].at).abs_diff(1899) <= 3, "{found:?}");
        assert!(found[0].before > 1_090.0 && found[0].after < 860.0, "{found:?}");
    }

    /// By NumPy and SciPy, from the description of each step.
    #[test]
    fn the_scatter_is_as_computed_elsewhere() {
        let near = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        };
        let of = |years: &[f64], reach: f64| {
            let level = median(years).unwrap();
            let distances: Vec<f64> = years.iter().map(|flow| flow - level).collect();
            Scatter::new(&distances, reach)
        };
        // Neighbours are alike.
        let scatter = of(&NILE[..60], 0.0);
        near(scatter.deviation, 237.216);
        near(scatter.variance, 35934.40988700565);
        assert_eq!(scatter.correlation.len(), 13);
        near(scatter.correlation[0], 0.857308037555);
        near(scatter.correlation[12], 0.37873709867);
        near(scatter.of_mean(3), 31558.154563504322);
        near(scatter.of_mean(14), 19727.641329174505);
        near(scatter.bound(true), 55.34235154713313);
        near(scatter.bound(false), 135.49053767232684);
        // They are not: a week is supposed.
        let scatter = of(&NILE[28..90], 40.0);
        near(scatter.variance, 14261.478832458473);
        assert_eq!(scatter.correlation.len(), 6);
        near(scatter.correlation[5], 0.04190476190476);
        near(scatter.of_mean(14), 2470.049327036685);
        near(scatter.bound(true), 5.799061170087872);
    }

    #[test]
    fn exact_figures_change_when_they_change() {
        let steps = |counts: &[(f64, usize)]| -> Vec<f64> {
            counts.iter().flat_map(|(value, count)| vec![*value; *count]).collect()
        };
        assert_eq!(changes(&steps(&[(41.0, 40)]), 0.0), []);
        let found = changes(&steps(&[(41.0, 20), (42.0, 20), (40.0, 20)]), 0.0);
        let places: Vec<usize> = found.iter().map(|change| change.at).collect();
        assert_eq!(places, [20, 40], "{found:?}");
        assert_eq!(found[0], Change { at: 20, noticed: 20, before: 41.0, after: 42.0 });
        assert_eq!(changes(&steps(&[(41.0, 5), (42.0, 1)]), 0.0).len(), 1);
        assert_eq!(changes(&steps(&[(41.0, 4), (42.0, 1)]), 0.0), []);
    }

    #[test]
    fn a_mark_stays_and_the_wild_and_the_small_have_none() {
        let noise = [0.0, 3.0, -2.0, 1.0, -3.0, 2.0, -1.0];
        let figure = |at: usize| if at < 40 { 1000.0 } else { 1200.0 } + noise[at * 3 % 7];
        let mut values: Vec<f64> = (0..90).map(figure).collect();
        values[20] = 5000.0;
        let found = changes(&values, 0.02);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].at, found[0].noticed), (40, 44), "{found:?}");
        assert!((found[0].after / found[0].before - 1.2).abs() < 0.01, "{found:?}");
        for end in 45..90 {
            assert_eq!(changes(&values[..end], 0.02)[0].at, 40);
        }
        assert_eq!(changes(&values[..44], 0.02), []);
        assert_eq!(changes(&values, 0.25), []);
    }

    #[test]
    fn odd_input() {
        assert_eq!(changes(&[], 0.0), []);
        assert_eq!(changes(&[f64::NAN; 30], 0.0), []);
        assert_eq!(changes(&[f64::INFINITY; 30], 0.0), []);
        assert_eq!(changes(&[0.0; 30], 0.02), []);
        let wild: Vec<f64> = (0..30).map(|at| if at < 15 { -f64::MAX } else { f64::MAX }).collect();
        assert_eq!(changes(&wild, 0.0).len(), 1);
        assert!(changes(&wild, 0.02).len() < 2);
    }
}
