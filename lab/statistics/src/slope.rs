//! Straight lines through points, such as blocked time against the length of the blocking section.
//! The module knows only numbers.

use serde::{Deserialize, Serialize};

/// A straight line through points, fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Slope {
    /// The slope, in units of y per unit of x.
    pub slope: f64,
    /// The value of y at x = 0.
    pub intercept: f64,
    /// The standard error of the slope; `None` with two points, which every line fits exactly.
    pub standard_error: Option<f64>,
}

/// Fits y = intercept + slope·x to the points (x, y) by ordinary least squares, which takes x as
/// exact. `None` with fewer than two different x, or when a figure is not finite.
pub fn slope(points: &[(f64, f64)]) -> Option<Slope> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let sum = |term: fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|p| term(p.0 - mean_x, p.1 - mean_y)).sum()
    };
    let xx = sum(|x, _| x * x);
    // Equal x can differ from their mean by rounding, so the spread is tested on x itself.
    let spread = points.iter().any(|p| p.0 != points[0].0);
    let slope = sum(|x, y| x * y) / xx;
    let intercept = mean_y - slope * mean_x;
    if !spread || !slope.is_finite() || !intercept.is_finite() {
        return None;
    }
    let residuals: f64 =
        points.iter().map(|p| (p.1 - mean_y - slope * (p.0 - mean_x)).powi(2)).sum();
    let error = (residuals / (n - 2.0) / xx).sqrt();
    let standard_error = (points.len() > 2).then_some(error).filter(|error| error.is_finite());
    Some(Slope { slope, intercept, standard_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found:e} is not {expected:e}");
    }

    // Literals from `lab/statistics/tests/scipy_figures.py` (SciPy 1.17.1).

    #[test]
    fn slope_as_scipy() {
        // stats.linregress(x, y): slope, intercept, stderr. Blocked time in ms against the hog's,
        // without and with priority inheritance.
        let open = [(0.0, 2.07), (5.0, 7.09), (20.0, 22.10), (80.0, 82.10)];
        let fit = slope(&open).unwrap();
        near(fit.slope, 1.0002457757296466);
        near(fit.intercept, 2.0835483870967764);
        near(fit.standard_error.unwrap(), 0.0002086381180015214);
        let flat = [(0.0, 2.03), (5.0, 2.05), (20.0, 2.02), (40.0, 2.06), (80.0, 2.03)];
        let fit = slope(&flat).unwrap();
        near(fit.slope, -1.4218009478672894e-05);
        near(fit.standard_error.unwrap(), 0.00029196005367320316);
    }

    #[test]
    fn points_without_a_line_have_none() {
        assert_eq!(slope(&[]), None);
        assert_eq!(slope(&[(1.0, 2.0)]), None);
        assert_eq!(slope(&[(0.1, 2.0), (0.1, 3.0), (0.1, 4.0)]), None);
        assert_eq!(slope(&[(0.0, f64::NAN), (1.0, 3.0)]), None);
        assert_eq!(slope(&[(0.0, 1.0), (1.0, 3.0)]).unwrap().standard_error, None);
    }
}
