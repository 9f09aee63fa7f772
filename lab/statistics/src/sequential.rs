//! Looks at a comparison that goes on: how often a growing set of repetitions may be tested, and at
//! which error rate.
//!
//! A test at 5 % that is repeated after each new pair ends with a false alarm almost surely. So
//! look k spends the share 1 / (k (k + 1)) of the error rate: a half, a sixth, a twelfth … The
//! shares of any number of looks sum to less than 1, so the error rates of all looks together stay
//! below the error rate of a single test (Bonferroni), however the looks depend on each other and
//! whenever the comparison ends: settled, or by a time limit. A single look must be valid for that,
//! so each allows for the dependence of neighbouring pairs ([`super::order::dependence`]). Bounds such as Pocock's need the
//! number of looks in advance, which a time limit does not give.

/// Returns the share of the error rate that a look may spend, from 0 to 1. Looks count from 1; the
/// only look of a comparison with a fixed number of repetitions is `None` and spends all of it.
pub fn share(look: Option<usize>) -> f64 {
    look.map_or(1.0, |look| {
        let look = look.max(1) as f64;
        1.0 / (look * (look + 1.0))
    })
}

/// Returns the number of repetitions at the look after one with `repetitions`: half as many again,
/// so that a hundredfold number of repetitions takes about a dozen looks.
pub fn next(repetitions: usize) -> usize {
    repetitions.saturating_add((repetitions / 2).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_no_more_than_one_test() {
        let shares: Vec<f64> = (1..=4).map(|look| share(Some(look))).collect();
        for (found, expected) in shares.iter().zip([1.0 / 2.0, 1.0 / 6.0, 1.0 / 12.0, 1.0 / 20.0]) {
            assert!((found - expected).abs() < 1e-12);
        }
        assert!((1..100_000).map(|look| share(Some(look))).sum::<f64>() < 1.0);
        assert_eq!(share(None), 1.0);
    }

    #[test]
    fn looks_are_half_as_many_again_apart() {
        let mut repetitions = 10;
        let looks: Vec<usize> = (0..6)
            .map(|_| {
                repetitions = next(repetitions);
                repetitions
            })
            .collect();
        assert_eq!(looks, [15, 22, 33, 49, 73, 109]);
        assert_eq!(next(1), 2);
    }
}
