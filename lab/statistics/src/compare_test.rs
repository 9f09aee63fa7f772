//! Tests the verdicts on hand-made cases.

use super::compare::{Case, Comparison, Reason, Rules, Test, Verdict, compare};

fn one(case: Case) -> Comparison {
    compare(&[case], &Rules::default())[0]
}

const A: [f64; 6] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];

fn times(factor: f64) -> Vec<f64> {
    // The order is reversed so that no pair differs by exactly the factor.
    A.iter().rev().map(|value| value * factor).collect()
}

#[test]
fn the_verdict_is_symmetric() {
    let slower = times(1.2);
    let up = one(Case { a: &A, b: &slower, ..Case::default() });
    let down = one(Case { a: &slower, b: &A, ..Case::default() });
    assert_eq!((up.verdict, down.verdict), (Verdict::Regression, Verdict::Improvement));
    assert!((up.ratio.unwrap() * down.ratio.unwrap() - 1.0).abs() < 1e-12);
    assert!(up.interval.unwrap().low > 1.0 && down.interval.unwrap().high < 1.0);
    assert_eq!(up.p_holm, up.p);
}

#[test]
fn small_growth_passes_however_significant() {
    let slower = times(1.04);
    let result = one(Case { a: &A, b: &slower, ..Case::default() });
    assert!(result.p.unwrap() < 1e-4 && result.interval.unwrap().low > 1.0);
    assert_eq!(result.verdict, Verdict::Pass);
}

#[test]
fn the_ratio_is_of_b_to_a_in_pairs_too() {
    let slower: Vec<f64> = A.iter().map(|value| value * 1.2).collect();
    for interleaved in [false, true] {
        let case = Case { a: &A, b: &slower, interleaved, ..Case::default() };
        let result = one(case);
        assert!((result.ratio.unwrap() - 1.2).abs() < 1e-12, "{result:?}");
        let interval = result.interval.unwrap();
        assert!(interval.low <= 1.2 + 1e-12 && interval.high >= 1.2 - 1e-12, "{result:?}");
        assert_eq!(result.test, if interleaved { Test::Paired } else { Test::Welch });
        let medians = (result.a.unwrap(), result.b.unwrap());
        assert!((medians.0 - 100.1).abs() < 1e-9 && (medians.1 - 120.12).abs() < 1e-9);
        // An A/A run that differs by a tenth is the noise floor.
        let again: Vec<f64> = A.iter().map(|value| value * 1.1).collect();
        let floor = one(Case { a_again: Some(&again), ..case }).noise_floor.unwrap();
        assert!((floor - 0.1).abs() < 1e-9, "{floor}");
    }
}

/// An A/A run of as many repetitions is compared pair by pair, another by its median.
#[test]
fn the_noise_of_an_a_a_run_is_in_pairs_where_the_sides_are() {
    let (few, more) = ([150.0, 210.0, 330.0], [150.0, 210.0, 330.0, 330.0]);
    let table: [(bool, &[f64], f64); 3] =
        [(true, &few, 0.1), (false, &few, 0.05), (true, &more, 0.35)];
    let sides = [100.0, 200.0, 300.0];
    for (interleaved, again, floor) in table {
        let case =
            Case { a: &sides, b: &sides, a_again: Some(again), interleaved, ..Case::default() };
        let found = one(case).noise_floor.unwrap();
        assert!((found - floor).abs() < 1e-9, "{found}, not {floor}");
    }
}

#[test]
fn noise_of_equals_raises_the_bar() {
    let slower = times(1.2);
    let within = Verdict::Inconclusive(Reason::WithinNoise);
    let again = times(0.8);
    let case = Case { a: &A, b: &slower, a_again: Some(&again), ..Case::default() };
    assert_eq!(one(case).verdict, within);
    assert_eq!(one(Case { interleaved: true, ..case }).verdict, within);
    let step = Case { a_again: None, step: 25.0, ..case };
    assert_eq!(one(step).verdict, within);
    assert_eq!(one(Case { step: 5.0, ..step }).verdict, Verdict::Regression);
    // Odd and even repetitions of A differ by a third.
    let uneven = [100.0, 133.0, 101.0, 134.0, 100.5, 133.5];
    let result = one(Case { a: &uneven, b: &slower, ..Case::default() });
    assert!((0.3..0.36).contains(&result.noise_floor.unwrap()));
}

#[test]
fn scatter_is_not_a_regression() {
    let wild = [90.0, 130.0, 150.0, 95.0, 140.0, 80.0];
    let result = one(Case { a: &A, b: &wild, ..Case::default() });
    assert!(matches!(result.verdict, Verdict::Inconclusive(_)), "{result:?}");
}

#[test]
fn holm_counts_all_cases() {
    let wide: Vec<f64> = times(1.0).iter().map(|v| 107.0 + (v - 100.0) * 5.0).collect();
    let case = Case { a: &A, b: &wide, ..Case::default() };
    let alone = one(case);
    let crowd = compare(&[case; 50], &Rules::default());
    assert_eq!(crowd[0].p, alone.p);
    assert_eq!(crowd[0].p_holm, Some((50.0 * alone.p.unwrap()).min(1.0)));
    assert_eq!(alone.verdict, Verdict::Regression, "{alone:?}");
    assert_eq!(crowd[0].verdict, Verdict::Inconclusive(Reason::NotSignificant));
    // An exact case has no p-value, so it does not count in Holm's correction of the others.
    let exact = Case { exact: true, ..case };
    assert_eq!(compare(&[case, exact], &Rules::default())[0], alone);
}

#[test]
fn exact_clocks_compare_as_numbers() {
    let exact = |a, b| one(Case { a, b, exact: true, ..Case::default() });
    assert_eq!(exact(&[100.0], &[100.0]).verdict, Verdict::Pass);
    assert_eq!(exact(&[100.0], &[100.1]).verdict, Verdict::Regression);
    assert_eq!(exact(&[100.0], &[99.0]).verdict, Verdict::Improvement);
    assert_eq!(exact(&[0.0], &[0.0]).verdict, Verdict::Pass);
    assert_eq!(exact(&[0.0], &[1.0]).verdict, Verdict::Regression);
    assert_eq!(exact(&[0.0], &[1.0]).ratio, None);
    assert_eq!(exact(&[100.0], &[250.0]).ratio, Some(2.5));
    assert_eq!(exact(&[100.0], &[100.0]).test, Test::Exact);
}

#[test]
fn odd_input_is_inconclusive() {
    let few = one(Case { a: &A, b: &[1.0, 2.0], ..Case::default() });
    let reason = Reason::TooFewRepetitions { a: 6, b: 2 };
    assert_eq!(few.verdict, Verdict::Inconclusive(reason));
    assert_eq!(reason.to_string(), "too few repetitions (6 and 2): take 3 or more");
    let none = one(Case { exact: true, ..Case::default() });
    assert!(matches!(none.verdict, Verdict::Inconclusive(_)));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let result = one(Case { a: &[bad, 1.0, 1.0], b: &[1.0; 3], ..Case::default() });
        assert_eq!(result.verdict, Verdict::Inconclusive(Reason::NotPositive));
    }
    // Sides of different length cannot be paired.
    let unpaired = one(Case { a: &A, b: &A[1..], interleaved: true, ..Case::default() });
    assert_eq!((unpaired.test, unpaired.verdict), (Test::Welch, Verdict::Pass));
    assert!(compare(&[], &Rules::default()).is_empty());
    let rules = Rules { threshold: f64::NAN, resamples: 0, seed: 0 };
    let result = compare(&[Case { a: &A, b: &A, ..Case::default() }], &rules)[0];
    assert!(matches!(result.verdict, Verdict::Inconclusive(_)));
    assert_eq!(one(Case { a: &[7.0; 3], b: &[7.0; 3], ..Case::default() }).verdict, Verdict::Pass);
}
