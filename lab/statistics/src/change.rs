//! Finds changes of level in a sequence of figures, such as a case's median from run to run. The
//! module knows figures in their order, not the runs that they come from.
//!
//! The place of a change maximizes the standardized rank-sum statistic of Mann and Whitney over all
//! places (Hawkins and Deng 2010, "A nonparametric change-point control chart"). Its significance
//! comes from a permutation test of the maximum, which is exact for exchangeable figures of any
//! distribution, with ties. Further changes are found by binary segmentation (Scott and Knott
//! 1974), as E-divisive does (Matteson and James 2014).

use super::resample::{SplitMix64, median, ranks};

/// The fewest figures on each side of a change.
pub const FEWEST: usize = 5;

/// The rate of false alarms: the share of sequences without a change in which a change is found.
pub const FALSE_ALARMS: f64 = 0.01;

/// The number of permutations of a test.
const PERMUTATIONS: usize = 999;

/// A test ends early, without a change, once this number of permutations are as extreme as the
/// sequence (Besag and Clifford 1991).
const ENOUGH: usize = 20;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The index of the first figure after the change.
    pub at: usize,
    /// The median of the figures from the previous change to this change.
    pub before: f64,
    /// The median of the figures from this change to the next change.
    pub after: f64,
}

/// Returns the changes in a sequence, in its order. The same sequence gives the same changes. Empty
/// for fewer than 2 × [`FEWEST`] figures, or if a figure is NaN. A change of at most the share
/// `floor` of the level before is left out.
///
/// If the figures are exchangeable, so that no level changes, the chance of any change in the
/// result is at most [`FALSE_ALARMS`]. The chance is higher if neighbours are correlated.
///
/// The cost for n figures is about 100 n steps without a change, and 1000 n for each change.
pub fn changes(values: &[f64], floor: f64) -> Vec<Change> {
    if values.iter().any(|value| value.is_nan()) {
        return Vec::new();
    }
    let mut places = Vec::new();
    split(values, 0, &mut places);
    places.sort_unstable();
    let ends = places.iter().copied().skip(1).chain([values.len()]);
    let starts = [0].into_iter().chain(places.iter().copied());
    let found = places.iter().zip(starts).zip(ends).filter_map(|((&at, start), end)| {
        let change =
            Change { at, before: median(&values[start..at])?, after: median(&values[at..end])? };
        let reach = floor * change.before.abs();
        ((change.after - change.before).abs() > reach).then_some(change)
    });
    found.collect()
}

/// Adds the places of the changes in `values`, a part of the sequence that begins at `start`.
fn split(values: &[f64], start: usize, places: &mut Vec<usize>) {
    let mut ranks = ranks(values);
    let Some((observed, at)) = strongest(&ranks) else { return };
    // Equal figures have no change, and no permutation differs.
    if observed <= 0.0 || !is_significant(&mut ranks, observed, start) {
        return;
    }
    let (before, after) = values.split_at(at);
    places.push(start + at);
    split(before, start, places);
    split(after, start + at, places);
}

/// Returns whether at most the share [`FALSE_ALARMS`] of permutations are as extreme as the
/// sequence, whose strongest change is `observed`. Shuffles the ranks.
fn is_significant(ranks: &mut [f64], observed: f64, seed: usize) -> bool {
    let mut random = SplitMix64::new((seed as u64) << 32 | ranks.len() as u64);
    let mut extreme = 0;
    for _ in 0..PERMUTATIONS {
        for last in (1..ranks.len()).rev() {
            ranks.swap(last, random.below(last + 1));
        }
        // Sums of the same ranks in another order may differ in their last digits.
        let is_extreme =
            strongest(ranks).is_some_and(|(found, _)| found >= observed * (1.0 - 1e-9));
        extreme += usize::from(is_extreme);
        if extreme >= ENOUGH {
            return false;
        }
    }
    (extreme + 1) as f64 / (PERMUTATIONS + 1) as f64 <= FALSE_ALARMS
}

/// The largest standardized rank sum and its place. A factor that all permutations have in common
/// is omitted. `None` if the sequence is too short.
fn strongest(ranks: &[f64]) -> Option<(f64, usize)> {
    let n = ranks.len();
    let middle = (n as f64 + 1.0) / 2.0;
    let mut sum: f64 = ranks.iter().take(FEWEST - 1).map(|rank| rank - middle).sum();
    let mut best = None;
    for at in FEWEST..=n.checked_sub(FEWEST)? {
        sum += ranks[at - 1] - middle;
        let strength = sum.abs() / ((at * (n - at)) as f64).sqrt();
        if best.is_none_or(|(most, _)| strength > most) {
            best = Some((strength, at));
        }
    }
    best
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

    /// The published change is after 1898, when the first dam was begun.
    #[test]
    fn the_published_change_of_the_nile_is_found() {
        let found = changes(&NILE, 0.0);
        let years: Vec<usize> = found.iter().map(|change| 1870 + change.at).collect();
        assert_eq!(years, [1898], "{found:?}");
        assert_eq!((found[0].before, found[0].after), (1130.0, 842.5), "{found:?}");
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
        assert_eq!(found[0], Change { at: 20, before: 41.0, after: 42.0 });
        // Five and five are the fewest.
        assert_eq!(changes(&steps(&[(41.0, 5), (42.0, 5)]), 0.0).len(), 1);
        assert_eq!(changes(&steps(&[(41.0, 5), (42.0, 4)]), 0.0), []);
        // A difference within the floor is none.
        assert_eq!(changes(&steps(&[(1000.0, 20), (1004.0, 20)]), 0.005), []);
        assert_eq!(changes(&steps(&[(1000.0, 20), (1006.0, 20)]), 0.005).len(), 1);
    }

    #[test]
    fn ranks_share_ties() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }

    #[test]
    fn odd_input() {
        assert_eq!(changes(&[], 0.0), []);
        assert_eq!(changes(&[f64::NAN; 20], 0.0), []);
        assert_eq!(changes(&[f64::INFINITY; 20], 0.0), []);
        let wild: Vec<f64> = (0..20).map(|at| if at < 10 { -f64::MAX } else { f64::MAX }).collect();
        assert_eq!(changes(&wild, 0.0).len(), 1);
    }
}
