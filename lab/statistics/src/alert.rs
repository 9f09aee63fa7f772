//! The band in which the next run of a case is expected, learned from earlier runs. The module
//! knows positive figures in the order of runs, and no store.

use super::resample::{Interval, median};

/// The fewest earlier runs that give a band.
pub const FEWEST_RUNS: usize = 5;

/// Returns the band in which the next run's figure is expected, from the figures of earlier runs:
/// the median and a robust scatter of their logarithms. The band reaches at least the share `floor`
/// around the median; 0 suits exact figures. `None` with fewer than [`FEWEST_RUNS`] or with a
/// figure that is not positive and finite.
///
/// Where nothing has changed, 1 to 3 % of runs lie outside; with heavy-tailed figures up to 5 %.
/// One wild run among the earlier ones does not widen the band.
pub fn expected(earlier: &[f64], floor: f64) -> Option<Interval> {
    let is_usable = |value: &f64| *value > 0.0 && value.is_finite();
    if earlier.len() < FEWEST_RUNS || !earlier.iter().all(is_usable) {
        return None;
    }
    let logs: Vec<f64> = earlier.iter().map(|value| value.ln()).collect();
    let middle = median(&logs)?;
    let mut distances: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    // The farthest is left out, so that one wild run cannot hide the next.
    let n = distances.len() as f64;
    let scatter = distances[..distances.len() - 1].iter().sum::<f64>() / (n - 1.0);
    // Fitted to the 99th percentile of the next normal value's distance, for 5 to 100 runs.
    let reach = (3.1 * (1.0 + 7.0 / (n - 2.2)) * scatter).max(floor.ln_1p());
    if reach == 0.0 {
        // The logarithm and its inverse would not give back an exact figure.
        return median(earlier).map(|exact| Interval { low: exact, high: exact });
    }
    Some(Interval { low: (middle - reach).exp(), high: (middle + reach).exp() })
}

/// Returns for each run whether its figure is outside of the band that the runs before it give;
/// `false` where there is no band or no figure.
pub fn outside(values: &[Option<f64>], floor: f64) -> Vec<bool> {
    let mut earlier = Vec::new();
    let is_outside = values.iter().map(|value| {
        let Some(value) = *value else { return false };
        let band = expected(&earlier, floor);
        earlier.push(value);
        band.is_some_and(|band| value < band.low || band.high < value)
    });
    is_outside.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_holds_what_is_usual() {
        let earlier = [100.0, 102.0, 99.0, 101.0, 98.0, 100.5];
        let band = expected(&earlier, 0.0).unwrap();
        assert!(earlier.iter().all(|value| (band.low..=band.high).contains(value)), "{band:?}");
        assert!(band.high < 115.0 && band.low > 87.0, "{band:?}");
        // Logarithms of 0, ±1, ±2 %: without the farthest, the mean distance is 1 %.
        let even = [0.0, 0.01, -0.01, 0.02, -0.02].map(f64::exp);
        let reach = 3.1 * (1.0 + 7.0 / 2.8) * 0.01;
        let band = expected(&even, 0.0).unwrap();
        assert!((band.high.ln() - reach).abs() < 1e-12, "{band:?}");
        assert!((band.low.ln() + reach).abs() < 1e-12, "{band:?}");
        // One wild run does not hide the next.
        let wild = expected(&[100.0, 102.0, 99.0, 101.0, 500.0, 100.5], 0.0).unwrap();
        assert!(wild.high < 120.0, "{wild:?}");
    }

    #[test]
    fn exact_figures_have_an_exact_band_and_others_a_floor() {
        let same = [41.0; 5];
        assert_eq!(expected(&same, 0.0), Some(Interval { low: 41.0, high: 41.0 }));
        let floor = expected(&same, 0.01).unwrap();
        assert!((floor.high / 41.41 - 1.0).abs() < 1e-9, "{floor:?}");
        let mut values = vec![Some(41.0); 6];
        values.extend([Some(42.0), None, Some(41.0)]);
        let alerts = outside(&values, 0.0);
        assert_eq!(alerts.iter().filter(|alert| **alert).count(), 1);
        assert!(alerts[6]);
        assert!(!outside(&values, 0.05)[6]);
    }

    #[test]
    fn odd_input() {
        assert_eq!(expected(&[1.0; 4], 0.0), None);
        assert_eq!(expected(&[0.0; 6], 0.0), None);
        assert_eq!(expected(&[1.0, 1.0, 1.0, 1.0, f64::NAN], 0.0), None);
        assert_eq!(outside(&[], 0.0), Vec::<bool>::new());
    }
}
