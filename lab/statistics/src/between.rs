//! The variance between runs. Two runs of the same case on the same machine differ by more than
//! their repetitions scatter: heat, memory layout, neighbours and the state of the system change
//! from run to run. Sides that took turns share that state; stored runs do not.

use super::significance::Difference;

/// The relative scatter between runs (one standard deviation) that is assumed of the median by a
/// wall clock without a known history: 0.15 is 15 %. Source: measurements on shared virtual
/// machines. No scatter is assumed of percentiles in the tail, and of extremes: there it reached
/// 100 % and more.
pub const ASSUMED: f64 = 0.15;

/// The share from which a scatter learned from fewer than [`MANY_RUNS`] allows no verdict.
const WILD: f64 = 1.0;

/// The number of runs from which any learned scatter allows a verdict.
const MANY_RUNS: usize = 5;

/// The fewest earlier runs whose scatter is learned.
pub const FEWEST_RUNS: usize = 3;

/// The scatter between runs of the same case on the same machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// The standard deviation of the logarithm of a run's figure; infinite if it is unknown.
    pub deviation: f64,
    /// The number of runs from which it was learned; `None` if it is assumed or unknown.
    pub runs: Option<usize>,
}

impl Between {
    /// A scatter that is assumed, such as [`ASSUMED`].
    pub fn assumed(share: f64) -> Self {
        Self { deviation: share.ln_1p(), runs: None }
    }

    /// A scatter that is unknown.
    pub fn unknown() -> Self {
        Self { deviation: f64::INFINITY, runs: None }
    }

    /// Returns whether two runs with this scatter may be judged: not if it is unknown, and not if
    /// fewer than five runs taught a scatter of 100 % or more, whose own error is a factor of ten.
    pub fn allows_verdict(&self) -> bool {
        let is_wild = self.share() >= WILD && self.runs.is_some_and(|runs| runs < MANY_RUNS);
        self.deviation.is_finite() && !is_wild
    }

    /// Learns the scatter from the figure of each earlier run. `None` with fewer than
    /// [`FEWEST_RUNS`] figures, or with a figure that is not a number above zero.
    pub fn learned(figures: &[f64]) -> Option<Self> {
        if figures.len() < FEWEST_RUNS || !figures.iter().all(|one| *one > 0.0 && one.is_finite()) {
            return None;
        }
        let logs: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
        let runs = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / runs;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        Some(Self { deviation: (squares / (runs - 1.0)).sqrt(), runs: Some(logs.len()) })
    }

    /// The scatter as a share: 0.15 is 15 %.
    pub fn share(&self) -> f64 {
        self.deviation.exp_m1()
    }

    /// Adds the scatter of both sides to a difference of logarithms. A learned scatter counts with
    /// the precision that its number of runs gives it, so three runs widen an interval more than
    /// ten of the same scatter.
    ///
    /// The sum has no more degrees of freedom than the scatter. Satterthwaite's formula would give
    /// it more where the learned scatter is small by chance, and false alarms come from such cases.
    pub fn widen(&self, difference: Difference) -> Difference {
        let sum = difference.with(self.variance(), self.freedom());
        Difference { freedom: sum.freedom.min(self.freedom()), ..sum }
    }

    /// The variance of a difference of two runs' logarithms.
    pub fn variance(&self) -> f64 {
        2.0 * self.deviation.powi(2)
    }

    fn freedom(&self) -> f64 {
        self.runs.map_or(f64::INFINITY, |runs| runs as f64 - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scatter_is_learned_from_three_runs_on() {
        assert_eq!(Between::learned(&[100.0, 101.0]), None);
        assert_eq!(Between::learned(&[100.0, 101.0, 0.0]), None);
        assert_eq!(Between::learned(&[100.0, f64::NAN, 1.0]), None);
        // np.std(np.log([100, 110, 121]), ddof=1) is ln 1.1.
        let learned = Between::learned(&[100.0, 110.0, 121.0]).unwrap();
        assert!((learned.deviation - 1.1_f64.ln()).abs() < 1e-12);
        assert!((learned.share() - 0.1).abs() < 1e-12);
        assert_eq!(learned.runs, Some(3));
        assert!((Between::assumed(ASSUMED).share() - ASSUMED).abs() < 1e-12);
    }

    #[test]
    fn an_unknown_or_wild_scatter_allows_no_verdict() {
        assert!(Between::assumed(ASSUMED).allows_verdict());
        assert!(!Between::unknown().allows_verdict());
        let learned = |runs, share: f64| Between { deviation: share.ln_1p(), runs: Some(runs) };
        assert!(learned(3, 0.99).allows_verdict() && learned(5, 3.0).allows_verdict());
        assert!(!learned(4, 1.01).allows_verdict());
    }

    #[test]
    fn fewer_runs_widen_more() {
        let none = Difference { value: 0.0, variance: 1e-6, freedom: 1e5 };
        let width = |between: Between| between.widen(none).interval(0.05).1;
        let scatter = |runs| Between { deviation: 0.1, runs };
        let widths = [scatter(Some(3)), scatter(Some(10)), scatter(None)].map(width);
        assert!(widths.is_sorted_by(|a, b| a > b), "{widths:?}");
        // 4.30, 2.26 and 1.96 times √2 · 0.1.
        for (width, expected) in widths.iter().zip([0.608, 0.320, 0.277]) {
            assert!((width - expected).abs() < 0.001, "{width}");
        }
    }
}
