//! The generalised Pareto distribution: the limit form of excesses over a high threshold (Pickands
//! 1975), its fit and its goodness of fit. This module knows excesses only, not thresholds.

use super::resample::SplitMix64;

/// The fewest excesses that a fit is made of.
pub const FEWEST_EXCESSES: usize = 30;

/// A generalised Pareto distribution of excesses: P(X > x) = (1 + shape·x/scale)^(−1/shape).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// The shape ξ: 0 for an exponential tail, above 0 for a power law, below 0 for a tail with an
    /// end. From 1/2 on the variance is infinite, from 1 on the mean.
    pub shape: f64,
    /// The scale, in the unit of the excesses; positive.
    pub scale: f64,
}

impl Pareto {
    /// Fits excesses, sorted in rising order and all above 0, by the method of Zhang and Stephens
    /// (2009): the mean of the likelihood's profile under a weak prior, in closed form. `None` with
    /// fewer than [`FEWEST_EXCESSES`], or when a figure is not finite.
    ///
    /// The cost is 30 + √n logarithms for each excess.
    pub fn fit(excesses: &[f64]) -> Option<Self> {
        let n = excesses.len();
        let (largest, quartile) = (*excesses.last()?, excesses[(n + 2) / 4 - usize::from(n > 1)]);
        let is_usable = excesses[0] > 0.0 && largest.is_finite();
        if n < FEWEST_EXCESSES || !is_usable {
            return None;
        }
        let grid = 30 + (n as f64).sqrt() as usize;
        // The candidates for θ = −shape/scale, and the profile log-likelihood of each.
        let candidates: Vec<(f64, f64)> = (1..=grid)
            .map(|j| {
                let root = (grid as f64 / (j as f64 - 0.5)).sqrt();
                let theta = 1.0 / largest + (1.0 - root) / (3.0 * quartile);
                let shape = shape_of(theta, excesses);
                (theta, n as f64 * ((-theta / shape).ln() - shape - 1.0))
            })
            .filter(|(_, likelihood)| likelihood.is_finite())
            .collect();
        let best = candidates.iter().map(|one| one.1).fold(f64::NEG_INFINITY, f64::max);
        let weights = || candidates.iter().map(|(_, likelihood)| (likelihood - best).exp());
        let theta = candidates.iter().zip(weights()).map(|((theta, _), w)| theta * w).sum::<f64>()
            / weights().sum::<f64>();
        let shape = shape_of(theta, excesses);
        let scale = -shape / theta;
        (shape.is_finite() && scale.is_finite() && scale > 0.0).then_some(Self { shape, scale })
    }

    /// The chance of an excess above `x`, from 0 to 1; 1 for an `x` at or below 0.
    pub fn survival(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 1.0;
        }
        let stretched = self.shape * x / self.scale;
        if self.is_exponential() {
            (-x / self.scale).exp()
        } else if stretched <= -1.0 {
            0.0
        } else {
            (-stretched.ln_1p() / self.shape).exp()
        }
    }

    /// The excess that is exceeded with this chance, from 0 to 1. A chance of 0 gives the end of
    /// the tail, which is infinite unless the shape is below 0.
    pub fn exceeded_with(&self, chance: f64) -> f64 {
        if self.is_exponential() {
            return -self.scale * chance.ln();
        }
        self.scale * (-self.shape * chance.ln()).exp_m1() / self.shape
    }

    fn is_exponential(&self) -> bool {
        self.shape.abs() < 1e-9
    }

    /// The Anderson–Darling distance of sorted excesses from this distribution; it weighs the tail.
    pub fn distance(&self, excesses: &[f64]) -> f64 {
        let n = excesses.len() as f64;
        // Both tails are kept away from 0, where the logarithm would be infinite.
        let survival = |x: &f64| self.survival(*x).clamp(1e-300, 1.0 - 1e-16);
        let terms = excesses.iter().zip(excesses.iter().rev()).zip(0..).map(|((low, high), i)| {
            let weight = 2.0 * f64::from(i) + 1.0;
            weight * ((-survival(low)).ln_1p() + survival(high).ln())
        });
        -n - terms.sum::<f64>() / n
    }

    /// Returns the chance of a distance as large or larger if the excesses came from this
    /// distribution, by fits of `rounds` samples drawn from it: the parameters of each are
    /// estimated too, as those of the excesses were.
    pub fn goodness(&self, excesses: &[f64], rounds: usize, seed: u64) -> f64 {
        let seen = self.distance(excesses);
        let mut random = SplitMix64::new(seed);
        let as_far = (0..rounds).filter(|_| {
            let mut drawn: Vec<f64> =
                excesses.iter().map(|_| self.exceeded_with(random.unit())).collect();
            drawn.sort_unstable_by(f64::total_cmp);
            Self::fit(&drawn).is_none_or(|fit| fit.distance(&drawn) >= seen)
        });
        (as_far.count() + 1) as f64 / (rounds + 1) as f64
    }
}

/// The shape with the highest likelihood for a given θ = −shape/scale.
fn shape_of(theta: f64, excesses: &[f64]) -> f64 {
    excesses.iter().map(|x| (-theta * x).ln_1p()).sum::<f64>() / excesses.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs(),
            "{found:e} is not {expected:e}"
        );
    }

    /// Excesses at even steps of probability.
    fn even(pareto: Pareto, n: usize) -> Vec<f64> {
        (0..n).rev().map(|i| pareto.exceeded_with((i as f64 + 0.5) / n as f64)).collect()
    }

    #[test]
    fn survival_and_its_inverse() {
        for shape in [-0.4, 0.0, 0.3, 1.2] {
            let pareto = Pareto { shape, scale: 7.0 };
            for chance in [1e-6, 0.01, 0.5, 0.999] {
                near(pareto.survival(pareto.exceeded_with(chance)), chance, 1e-9);
            }
            assert_eq!(pareto.survival(0.0), 1.0);
            assert_eq!(pareto.survival(-1.0), 1.0);
        }
        let ends = Pareto { shape: -0.5, scale: 1.0 };
        assert_eq!((ends.exceeded_with(0.0), ends.survival(2.0)), (2.0, 0.0));
        assert_eq!(Pareto { shape: 0.5, scale: 1.0 }.exceeded_with(0.0), f64::INFINITY);
    }

    #[test]
    fn fit_finds_the_parameters() {
        for shape in [-0.3, 0.0, 0.25, 0.8] {
            let fit = Pareto::fit(&even(Pareto { shape, scale: 50.0 }, 2_000)).unwrap();
            assert!((fit.shape - shape).abs() < 0.03, "{fit:?}, {shape}");
            near(fit.scale, 50.0, 0.03);
        }
    }

    #[test]
    fn goodness_separates() {
        let pareto = Pareto { shape: 0.2, scale: 3.0 };
        let right = even(pareto, 100);
        let fit = Pareto::fit(&right).unwrap();
        assert!(fit.goodness(&right, 60, 1) > 0.5);
        // Two groups of values far apart are no tail.
        let mut wrong: Vec<f64> = (0..100)
            .map(|i| if i < 50 { 1.0 + f64::from(i) / 1e3 } else { 900.0 + f64::from(i) })
            .collect();
        wrong.sort_unstable_by(f64::total_cmp);
        let fit = Pareto::fit(&wrong).unwrap();
        // None of the sixty is as far: the p-value is never 0.
        assert_eq!(fit.goodness(&wrong, 60, 1), 1.0 / 61.0);
    }

    #[test]
    fn odd_input() {
        assert_eq!(Pareto::fit(&[]), None);
        assert_eq!(Pareto::fit(&[1.0]), None);
        assert_eq!(Pareto::fit(&[0.0; 50]), None);
        assert_eq!(Pareto::fit(&[f64::NAN; 50]), None);
        let mut infinite = even(Pareto { shape: 0.1, scale: 1.0 }, 50);
        infinite[49] = f64::INFINITY;
        assert_eq!(Pareto::fit(&infinite), None);
    }
}
