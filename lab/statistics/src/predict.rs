//! Predictions of the next run by the ranks of the runs before it. They assume no distribution, and
//! no independence of samples: only that the runs are exchangeable, so that the next one has each
//! rank with the same chance. The module knows no runs; a figure of each is given.

/// The fewest runs that allow a prediction.
pub const FEWEST_RUNS: usize = 3;

/// The range of a figure over several runs, with the chances that the next run is beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The smallest figure.
    pub low: f64,
    /// The largest figure.
    pub high: f64,
    /// The number of runs.
    pub runs: usize,
}

impl Prediction {
    /// Creates the prediction from one figure of each run, in any order. `None` with fewer than
    /// [`FEWEST_RUNS`] figures, or with a figure that is not finite.
    pub fn new(figures: &[f64]) -> Option<Self> {
        if figures.len() < FEWEST_RUNS || !figures.iter().all(|one| one.is_finite()) {
            return None;
        }
        Some(Self {
            low: figures.iter().copied().fold(f64::INFINITY, f64::min),
            high: figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            runs: figures.len(),
        })
    }

    /// The chance that the next run's figure is above the largest: 1 / (k + 1) after k runs, or
    /// less where figures can be equal.
    pub fn chance_above(&self) -> f64 {
        1.0 / (self.runs + 1) as f64
    }

    /// The chance that the next run's figure is outside of the range: 2 / (k + 1), or less where
    /// figures can be equal.
    pub fn chance_outside(&self) -> f64 {
        2.0 * self.chance_above()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_is_the_range_of_three_runs_or_more() {
        let found = Prediction::new(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(found, Prediction { low: 1.0, high: 3.0, runs: 3 });
        assert_eq!((found.chance_above(), found.chance_outside()), (0.25, 0.5));
        let nine = Prediction::new(&[5.0; 9]).unwrap();
        assert!((nine.chance_above() - 0.1).abs() < 1e-12);
        assert_eq!(Prediction::new(&[1.0, 2.0]), None);
        assert_eq!(Prediction::new(&[1.0, 2.0, f64::NAN]), None);
    }
}
