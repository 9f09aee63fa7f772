//! The upper tail of the chi-squared distribution, by the incomplete gamma function. This module
//! knows nothing of samples or verdicts.

use std::f64::consts::TAU;

use super::beta::{deviance, stirling_error};

/// Returns the chance that a chi-squared variable with `freedom` degrees of freedom exceeds `x`.
/// `freedom` must be positive. An `x` at or below 0 gives 1, an infinite one 0. The cost grows with
/// the square root of the larger argument.
pub fn chi_squared_upper(x: f64, freedom: f64) -> f64 {
    incomplete_gamma_upper(freedom / 2.0, x / 2.0)
}

/// Returns Q(a, x), the regularised upper incomplete gamma function.
fn incomplete_gamma_upper(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        1.0
    } else if x.is_infinite() {
        0.0
    } else if x < a + 1.0 {
        1.0 - density(a, x) * series(a, x)
    } else {
        density(a, x) * a * fraction(a, x)
    }
}

/// Returns x^a e^−x / Γ(a + 1), by Loader's form of the Poisson probability (2000).
fn density(a: f64, x: f64) -> f64 {
    (-stirling_error(a) - deviance(a, x)).exp() / (TAU * a).sqrt()
}

/// Returns the sum of x^k / ((a + 1) … (a + k)) over k from 0.
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..100_000 {
        term *= x / (a + f64::from(k));
        sum += term;
        if term <= sum * f64::EPSILON {
            break;
        }
    }
    sum
}

/// Evaluates the continued fraction 1/(x + 1 − a − 1·(1 − a)/(x + 3 − a − …)) by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut under = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / away_from_zero(under);
    let mut result = d;
    for step in 1..100_000 {
        let k = f64::from(step);
        let over = -k * (k - a);
        under += 2.0;
        d = 1.0 / away_from_zero(under + over * d);
        c = away_from_zero(under + over / c);
        result *= c * d;
        if (c * d - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found:e} is not {expected:e}");
    }

    #[test]
    fn even_freedom_has_a_closed_form() {
        for x in [0.1_f64, 2.0, 30.0, 200.0] {
            near(chi_squared_upper(x, 2.0), (-x / 2.0).exp());
            near(chi_squared_upper(x, 4.0), (-x / 2.0).exp() * (1.0 + x / 2.0));
            near(chi_squared_upper(x, 6.0), (-x / 2.0).exp() * (1.0 + x / 2.0 + x * x / 8.0));
        }
    }

    #[test]
    fn odd_input() {
        assert_eq!(chi_squared_upper(0.0, 19.0), 1.0);
        assert_eq!(chi_squared_upper(-1.0, 19.0), 1.0);
        assert_eq!(chi_squared_upper(f64::INFINITY, 19.0), 0.0);
    }
}
