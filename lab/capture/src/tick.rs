//! The exact length of a tick, as a fraction of a second: a cycle at 84 MHz is not a whole number
//! of any unit of time. The module knows nothing else about a clock.

use std::fmt;

/// The length of a tick in seconds, as a fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    numerator: u64,
    denominator: u64,
}

impl Tick {
    /// One picosecond, the tick of Saleae's files: their times are seconds, and no analyser samples
    /// faster.
    pub const PICOSECOND: Self = Self { numerator: 1, denominator: 1_000_000_000_000 };
    /// One nanosecond.
    pub const NANOSECOND: Self = Self { numerator: 1, denominator: 1_000_000_000 };

    /// Creates a tick of `numerator / denominator` seconds; `None` if either is zero.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        let common = gcd(numerator, denominator);
        (numerator > 0 && denominator > 0)
            .then(|| Self { numerator: numerator / common, denominator: denominator / common })
    }

    /// Creates the period of a clock; `None` for 0 Hz.
    pub fn from_hertz(hertz: u64) -> Option<Self> {
        Self::new(1, hertz)
    }

    /// The numerator and the denominator of the tick in seconds.
    pub fn fraction(self) -> (u64, u64) {
        (self.numerator, self.denominator)
    }

    /// Converts a number of ticks to ns, rounded once. Captures with different ticks give the same
    /// number for the same time.
    pub fn ns(self, ticks: u64) -> f64 {
        let denominator = u128::from(self.denominator);
        let seconds = u128::from(ticks) * u128::from(self.numerator);
        let Some(scaled) = seconds.checked_mul(1_000_000_000) else {
            return seconds as f64 / denominator as f64 * 1e9;
        };
        (scaled / denominator) as f64 + (scaled % denominator) as f64 / denominator as f64
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} s", self.numerator, self.denominator)
    }
}

pub(super) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_time_is_the_same_number() {
        let cycle = Tick::from_hertz(84_000_000).unwrap();
        assert_eq!(cycle.ns(84), 1_000.0);
        assert_eq!(
            (Tick::from_hertz(2_000_000).unwrap().ns(13), Tick::PICOSECOND.ns(6_500_000)),
            (6_500.0, 6_500.0)
        );
        assert_eq!(Tick::PICOSECOND.ns(1_500), 1.5);
        assert_eq!(Tick::new(2, 4), Tick::new(1, 2));
        assert_eq!(Tick::from_hertz(0), None);
        assert!(Tick::new(u64::MAX, 1).unwrap().ns(u64::MAX) > 1e46, "nothing overflows");
    }
}
