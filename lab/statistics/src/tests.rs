//! Tests the comparison on hand-made cases.

use super::{
    between::{ASSUMED, Between},
    compare::{Case, Comparison, INTERVAL, Rules, Test, alpha, compare},
    decide::{Reason, Verdict},
    needed::Unsettled,
    significance::{Difference, holm},
};

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
    let slower = times(1.03);
    let result = one(Case { a: &A, b: &slower, ..Case::default() });
    assert!(result.p.unwrap() < 1e-3 && result.interval.unwrap().low > 1.0);
    assert_eq!((result.verdict, result.settled_by), (Verdict::Pass, None));
}

/// A pass is a statement on the interval: the same ratio passes or is open by its scatter.
#[test]
fn equality_is_shown_and_not_assumed() {
    let wide: Vec<f64> = times(1.0).iter().map(|value| 100.0 + (value - 100.0) * 8.0).collect();
    let open = one(Case { a: &A, b: &wide, ..Case::default() });
    assert_eq!(open.verdict, Verdict::Open);
    assert!(open.at_most.unwrap() > 0.05 && open.at_most.unwrap() < 0.1, "{open:?}");
    let pairs = open.settled_by.unwrap();
    assert!(pairs.from < 20 && pairs.to.is_none_or(|to| to > pairs.from), "{open:?}");
    let shown = one(Case { a: &A, b: &times(1.0), ..Case::default() });
    assert_eq!(shown.verdict, Verdict::Pass);
    assert!(shown.at_most.unwrap() < 0.05);
    assert_eq!(one(Case { a: &A, b: &A, ..Case::default() }).verdict, Verdict::Pass);
}

/// A regression is more than the threshold, not only more than nothing.
#[test]
fn slower_by_about_the_threshold_is_open() {
    let wide: Vec<f64> = times(1.06).iter().map(|value| 106.0 + (value - 106.0) * 3.0).collect();
    let open = one(Case { a: &A, b: &wide, ..Case::default() });
    assert!(open.p_holm.unwrap() < 0.001 && open.ratio.unwrap() > 1.05, "{open:?}");
    let corrected = open.corrected.unwrap();
    assert!(corrected.low > 1.0 && corrected.low < 1.05 && corrected.high > 1.05);
    assert_eq!(open.verdict, Verdict::Open);
    let slower = one(Case { a: &A, b: &times(1.08), ..Case::default() });
    assert_eq!((slower.verdict, slower.corrected.unwrap().low > 1.05), (Verdict::Regression, true));
}

#[test]
fn an_unknown_scatter_between_runs_leaves_all_open() {
    let between = Some(Between::unknown());
    let (thirty, more) = (times(30.0), times(1.2));
    let case = Case { a: &A, b: &thirty, between, ..Case::default() };
    let result = one(case);
    assert_eq!((result.verdict, result.interval, result.p), (Verdict::Open, None, None));
    assert_eq!((result.at_most, result.settled_by), (None, None));
    assert!(result.ratio.unwrap() > 29.0);
    // The statistic does not count in Holm's correction of others.
    let slower = Case { a: &A, b: &more, ..Case::default() };
    assert_eq!(compare(&[slower, case], &Rules::default())[0], one(slower));
}

#[test]
fn estimate_interval_and_test_are_of_one_quantity() {
    let slower: Vec<f64> = A.iter().map(|value| value * 1.2).collect();
    let wild = [A[0] * 1.2, 119.0, 122.0, 160.0, 118.5, 121.0];
    for interleaved in [false, true] {
        let case = Case { a: &A, b: &slower, interleaved, ..Case::default() };
        let result = one(case);
        assert!((result.ratio.unwrap() - 1.2).abs() < 1e-12, "{result:?}");
        let (a, b) = (result.a.unwrap(), result.b.unwrap());
        // scipy.stats.gmean(A)
        assert!((a - 100.03122149539193).abs() < 1e-9 && (b / a - 1.2).abs() < 1e-12);
        assert_eq!(result.test, if interleaved { Test::Paired } else { Test::Welch });
        // The interval is symmetric about the estimate on the logarithmic scale.
        let result = one(Case { b: &wild, ..case });
        let (ratio, interval) = (result.ratio.unwrap(), result.interval.unwrap());
        assert!((interval.low * interval.high / ratio.powi(2) - 1.0).abs() < 1e-9);
        assert!((result.b.unwrap() / result.a.unwrap() - ratio).abs() < 1e-9);
        assert_eq!(result.p.unwrap() < 0.05, interval.low > 1.0);
    }
}

#[test]
fn exact_figures_of_two_starts_are_equal_within_what_starts_differ_by() {
    let counted = |b: f64, apart: f64| {
        one(Case { a: &[16_951.0], b: &[b], exact: true, apart, ..Case::default() }).verdict
    };
    assert_eq!(counted(16_952.0, 0.0), Verdict::Regression);
    assert_eq!(counted(17_023.0, 0.01), Verdict::Pass);
    assert_eq!(counted(16_879.0, 0.01), Verdict::Pass);
    assert_eq!(counted(17_200.0, 0.01), Verdict::Regression);
    assert_eq!(counted(16_700.0, 0.01), Verdict::Improvement);
}

#[test]
fn a_step_of_the_clock_is_noise() {
    let slower = times(1.2);
    let case = Case { a: &A, b: &slower, step: 25.0, ..Case::default() };
    let within = Verdict::Inconclusive(Reason::WithinStep);
    assert_eq!(one(case).verdict, within);
    assert_eq!(one(Case { interleaved: true, ..case }).verdict, within);
    assert_eq!(one(Case { step: 5.0, ..case }).verdict, Verdict::Regression);
    // Equality is not shown more finely than by a step.
    let equal = Case { b: &A, ..case };
    assert_eq!(one(equal).verdict, Verdict::Open);
    assert!((one(equal).noise_floor.unwrap() - 0.25).abs() < 0.001);
}

#[test]
fn scatter_is_no_regression_and_excludes_none() {
    let wild = [90.0, 130.0, 150.0, 95.0, 140.0, 80.0];
    let result = one(Case { a: &A, b: &wild, ..Case::default() });
    assert_eq!(result.verdict, Verdict::Open, "{result:?}");
    assert!(result.at_most.unwrap() > 0.3);
}

#[test]
fn stored_runs_carry_the_variance_between_runs() {
    let (slower, twice) = (times(1.2), times(2.2));
    let of = |b, between| one(Case { a: &A, b, between, ..Case::default() });
    assert_eq!(of(&slower, None).verdict, Verdict::Regression);
    let assumed = of(&slower, Some(Between::assumed(ASSUMED)));
    assert_eq!(assumed.verdict, Verdict::Open);
    // 1.96 · √2 · ln 1.15, either side of ln 1.2.
    assert!((assumed.at_most.unwrap() - 0.77).abs() < 0.02, "{assumed:?}");
    assert_eq!(assumed.settled_by, None, "no number of repetitions shows what runs differ by");
    assert_eq!(of(&twice, Some(Between::assumed(ASSUMED))).verdict, Verdict::Regression);
    let quiet = Between::learned(&[100.0, 101.0, 100.4, 99.8, 100.1]);
    assert_eq!(of(&slower, quiet).verdict, Verdict::Regression);
    let equal = of(&A, quiet);
    assert_eq!(equal.verdict, Verdict::Pass, "{equal:?}");
    assert_eq!(equal.ratio, Some(1.0));
}

#[test]
fn holm_counts_the_whole_family() {
    let wide: Vec<f64> = times(1.0).iter().map(|v| 112.0 + (v - 100.0) * 5.0).collect();
    let case = Case { a: &A, b: &wide, ..Case::default() };
    let alone = one(case);
    let crowd = compare(&[case; 50], &Rules::default());
    assert_eq!(crowd[0].p, alone.p);
    assert_eq!(crowd[0].p_holm, Some(holm(&[alone.p.unwrap(); 50])[0]));
    assert_eq!(alone.verdict, Verdict::Regression, "{alone:?}");
    assert_eq!(crowd[0].verdict, Verdict::Open);
    assert!(crowd[0].settled_by.unwrap().from > 6);
    // An exact case has no p-value, so it does not count in Holm's correction of the others.
    let exact = Case { exact: true, ..case };
    assert_eq!(compare(&[case, exact], &Rules::default())[0], alone);
}

#[test]
fn a_family_of_one_series_has_its_own_rate() {
    assert_eq!([1, 3, 4, 50].map(alpha), [0.03, 0.03, 0.02, 0.02]);
}

/// The number of repetitions starts from the smaller side and uses the error rate of one test of
/// the family.
#[test]
fn an_open_case_names_the_number_for_its_own_data() {
    let wide: Vec<f64> = (0..9).map(|i| 107.0 + 3.0 * (f64::from(i * 5 % 9) - 4.0)).collect();
    let case = Case { a: &A, b: &wide, ..Case::default() };
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let expected = |family: usize| {
        let unsettled = Unsettled {
            difference: Difference::independent(&logs(&A), &logs(&wide)).unwrap(),
            repetitions: A.len(),
            fixed: 0.0,
            threshold: 1.05_f64.ln(),
            interval_rate: INTERVAL,
            test_rate: alpha(family) / family as f64,
        };
        unsettled.settled()
    };
    let [few, many] = [40, 400].map(|family| {
        let first = compare(&vec![case; family], &Rules::default())[0];
        assert_eq!((first.verdict, first.settled_by), (Verdict::Open, expected(family)));
        first.settled_by.unwrap().from
    });
    assert!(A.len() < few && few < many, "{few} {many}");
}

#[test]
fn the_noise_floor_is_a_share_of_the_smaller_side() {
    let twice = times(2.0);
    for (a, b) in [(&A[..], &twice[..]), (&twice, &A)] {
        let result = one(Case { a, b, step: 5.0, ..Case::default() });
        assert!((result.noise_floor.unwrap() - 0.05).abs() < 1e-4, "{result:?}");
    }
}

#[test]
fn a_look_spends_its_share() {
    let slower = times(1.2);
    let case = Case { a: &A, b: &slower, ..Case::default() };
    let at = |look| compare(&[case], &Rules { look, ..Rules::default() })[0];
    let width = |result: Comparison| result.interval.unwrap().high / result.interval.unwrap().low;
    assert!(width(at(None)) < width(at(Some(1))) && width(at(Some(1))) < width(at(Some(5))));
    let p = at(None).p.unwrap();
    let late = (p.recip().sqrt() * 2.0) as usize;
    assert_eq!((at(Some(1)).verdict, at(Some(late)).verdict), (Verdict::Regression, Verdict::Open));
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
    assert_eq!(exact(&[100.0, 1.0, 300.0], &[100.0]).a, Some(100.0));
    assert_eq!(exact(&[100.0], &[100.0]).test, Test::Exact);
}

#[test]
fn odd_input_is_inconclusive() {
    let few = one(Case { a: &A, b: &[1.0; 4], ..Case::default() });
    let reason = Reason::TooFewRepetitions { a: 6, b: 4 };
    assert_eq!(few.verdict, Verdict::Inconclusive(reason));
    assert_eq!(reason.to_string(), "too few repetitions (6 and 4): take 5 or more");
    let none = one(Case { exact: true, ..Case::default() });
    assert!(matches!(none.verdict, Verdict::Inconclusive(_)));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let result = one(Case { a: &[bad, 1.0, 1.0, 1.0, 1.0], b: &[1.0; 5], ..Case::default() });
        assert_eq!(result.verdict, Verdict::Inconclusive(Reason::NotPositive));
    }
    // Sides of different length form no pairs.
    let unpaired = one(Case { a: &A, b: &A[1..], interleaved: true, ..Case::default() });
    let reason = Reason::Unpaired { a: 6, b: 5 };
    assert_eq!((unpaired.test, unpaired.verdict), (Test::Paired, Verdict::Inconclusive(reason)));
    assert!(reason.to_string().contains("6 and 5 repetitions"));
    assert!(compare(&[], &Rules::default()).is_empty());
    let rules = Rules { threshold: f64::NAN, look: None };
    let result = compare(&[Case { a: &A, b: &A, ..Case::default() }], &rules)[0];
    assert_eq!(result.verdict, Verdict::Open);
    assert_eq!(one(Case { a: &[7.0; 5], b: &[7.0; 5], ..Case::default() }).verdict, Verdict::Pass);
}
