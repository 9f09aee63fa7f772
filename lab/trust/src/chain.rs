//! Simulated values that depend on the ones before them.

use chronoscope_statistics::SplitMix64;

/// Returns a number above 0 and up to 1, evenly distributed.
pub fn uniform(random: &mut SplitMix64) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Returns a standard normal number, by the method of Box and Muller.
pub fn normal(random: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
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
