//! Compares this crate's figures with SciPy's and NumPy's.
//!
//! `tests/scipy_figures.py` writes the figures; the environment variable
//! `CHRONOSCOPE_SCIPY_FIGURES` is the path of that file. `./chronoscope test` does both. The unit
//! tests hold a few of the figures as literals.

use chronoscope_statistics::beta::{incomplete_beta, t_quantile};
use chronoscope_statistics::bursts::dispersion;
use chronoscope_statistics::gamma::chi_squared_upper;
use chronoscope_statistics::significance::{Difference, holm};
use chronoscope_statistics::{Accumulator, MissRate, median, samples_to_claim, slope};
use serde::Deserialize;

#[derive(Deserialize)]
struct Figures {
    percentiles: Vec<Percentiles>,
    t_tests: Vec<TTest>,
    t_quantiles: Vec<TQuantile>,
    clopper_pearson: Vec<Bound>,
    samples_to_claim: Vec<Claim>,
    slopes: Vec<Fit>,
    holm: Vec<Holm>,
    incomplete_beta: Vec<Beta>,
    chi_squared: Vec<ChiSquared>,
    dispersions: Vec<Dispersion>,
    medians: Vec<Median>,
}

#[derive(Deserialize)]
struct Percentiles {
    values: Vec<u64>,
    quantiles: Vec<Quantile>,
    mean: f64,
    sigma: Option<f64>,
}

#[derive(Deserialize)]
struct Quantile {
    q: f64,
    value: u64,
}

#[derive(Deserialize)]
struct TTest {
    test: String,
    a: Vec<f64>,
    b: Vec<f64>,
    t: f64,
    freedom: f64,
    p: f64,
    /// The ends of the 95 % interval of the difference.
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct TQuantile {
    p: f64,
    freedom: f64,
    t: f64,
}

#[derive(Deserialize)]
struct Bound {
    misses: u64,
    samples: u64,
    upper: f64,
}

#[derive(Deserialize)]
struct Claim {
    rate: f64,
    misses: u64,
    samples: u64,
}

#[derive(Deserialize)]
struct Fit {
    points: Vec<(f64, f64)>,
    slope: f64,
    intercept: f64,
    standard_error: f64,
}

#[derive(Deserialize)]
struct Holm {
    p: Vec<f64>,
    corrected: Vec<f64>,
}

#[derive(Deserialize)]
struct Beta {
    a: f64,
    b: f64,
    x: f64,
    value: f64,
}

#[derive(Deserialize)]
struct ChiSquared {
    x: f64,
    freedom: f64,
    upper: f64,
}

#[derive(Deserialize)]
struct Dispersion {
    blocks: Vec<(u64, u64)>,
    dispersion: f64,
    p: f64,
}

#[derive(Deserialize)]
struct Median {
    values: Vec<f64>,
    median: f64,
}

#[track_caller]
fn near(found: f64, expected: f64) {
    let tolerance = 1e-9 * expected.abs().max(1e-300);
    assert!((found - expected).abs() <= tolerance, "found {found:e}, expected {expected:e}");
}

#[test]
#[ignore = "needs SciPy's figures, which ./chronoscope test makes"]
fn scipy_agrees() {
    let path = std::env::var_os("CHRONOSCOPE_SCIPY_FIGURES")
        .expect("CHRONOSCOPE_SCIPY_FIGURES is the path of the figures");
    let text = std::fs::read_to_string(path).expect("the file of figures is readable");
    let figures: Figures = serde_json::from_str(&text).expect("the figures are as we expect");

    for case in &figures.percentiles {
        let mut accumulator = Accumulator::new();
        case.values.iter().zip(0..).for_each(|(&value, at)| accumulator.push(at, value));
        for Quantile { q, value: expected } in &case.quantiles {
            let found = accumulator.quantile(*q).unwrap();
            let slack = if *expected <= 2047 { 0 } else { expected / 1000 };
            assert!(
                (*expected..=expected + slack).contains(&found),
                "q {q}: {found}, expected {expected}"
            );
        }
        let summary = accumulator.summary(1.0);
        near(summary.mean.unwrap(), case.mean);
        assert_eq!(summary.sigma.is_some(), case.sigma.is_some());
        near(summary.sigma.unwrap_or(0.0), case.sigma.unwrap_or(0.0));
    }
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    for case in &figures.t_tests {
        let difference =
            if case.test == "paired" { Difference::paired } else { Difference::independent };
        let difference = difference(&logs(&case.a), &logs(&case.b)).unwrap();
        let (low, high) = difference.interval(0.05);
        near(low, case.low);
        near(high, case.high);
        let found = difference.test().unwrap();
        near(found.t, case.t);
        near(found.freedom, case.freedom);
        near(found.p, case.p);
    }
    for case in &figures.t_quantiles {
        near(t_quantile(case.p, case.freedom), case.t);
    }
    for case in &figures.clopper_pearson {
        near(MissRate::new(case.misses, case.samples).upper.unwrap(), case.upper);
    }
    for case in &figures.samples_to_claim {
        assert_eq!(samples_to_claim(case.rate, case.misses), Some(case.samples));
    }
    for case in &figures.slopes {
        let found = slope(&case.points).unwrap();
        near(found.slope, case.slope);
        near(found.intercept, case.intercept);
        near(found.standard_error.unwrap(), case.standard_error);
    }
    for case in &figures.holm {
        assert_eq!(case.p.len(), case.corrected.len());
        holm(&case.p)
            .iter()
            .zip(&case.corrected)
            .for_each(|(found, expected)| near(*found, *expected));
    }
    for case in &figures.incomplete_beta {
        near(incomplete_beta(case.a, case.b, case.x, 1.0 - case.x), case.value);
    }
    for case in &figures.chi_squared {
        near(chi_squared_upper(case.x, case.freedom), case.upper);
    }
    for case in &figures.dispersions {
        let (found, p) = dispersion(&case.blocks).unwrap();
        near(found, case.dispersion);
        near(p, case.p);
    }
    for case in &figures.medians {
        near(median(&case.values).unwrap(), case.median);
    }
}
