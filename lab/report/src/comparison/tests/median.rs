//! Tests how the medians of both sides are compared: thresholds, steps of the clock, units, and
//! cases without proof.

use super::*;

#[test]
fn times_are_compared_by_their_scatter_and_the_threshold() {
    use Finding::{Improvement, Pass, Regression};
    for (scale, finding) in
        [(1.0, Pass), (1.02, Pass), (0.96, Pass), (1.1, Regression), (0.9, Improvement)]
    {
        let line = expect(scale, vec![], vec![], finding, &[]);
        assert_eq!((line.reference, line.nominal, line.unit_name()), (Some(1.0), 0.0, "ns"));
        let figures = line.figures.unwrap();
        assert!((figures.ratio.unwrap() / scale - 1.0).abs() < 0.01, "{figures:?}");
        assert_eq!(
            (line.experiment.as_str(), line.case.as_str(), line.series.as_str()),
            ("switch", "l", "switch")
        );
        assert_eq!(line.key, "switch linux@host tasks=2");
    }
}

#[test]
fn a_line_has_the_nominal_part_of_its_values() {
    let nominal = || vec![("/series/0/nominal", json!(5e7))];
    let line = expect(1.2, nominal(), nominal(), Finding::Regression, &[]);
    assert_eq!((line.nominal, line.unit_name()), (5e7, "ns"));
}

#[test]
fn the_threshold_is_the_caller_s() {
    let found = |scale: f64, threshold: f64| {
        let (a, b) = (case(A, 1.0, &vec![]), case(B, scale, &vec![]));
        let (judge, history) = (&StatisticChoice::default(), &quiet());
        let options = CompareOptions {
            interleaved: false,
            threshold,
            judge,
            history,
            conditions: &[],
            look: None,
            in_turn: &|_, _| None,
        };
        compare(&[Pair { label: String::new(), a: &a, b: &b }], &options)[0].finding
    };
    assert_eq!(found(1.2, 0.25), Finding::Pass);
    assert_eq!(found(1.2, 0.15), Finding::Regression);
    assert_eq!(found(1.06, 0.02), Finding::Regression);
    assert_eq!(found(1.025, 0.02), Finding::NoRegressionShown);
}

/// A clock's step counts as noise, whichever side has the coarser clock.
#[test]
fn the_coarser_clock_sets_the_noise() {
    let step = |resolution: u64| ("/clock/resolution", json!(resolution));
    let (fine, coarse) = (vec![step(1)], vec![step(300)]);
    for (a, b) in [(&fine, &coarse), (&coarse, &fine), (&coarse, &coarse)] {
        let line = expect(1.2, a.clone(), b.clone(), Finding::Inconclusive, &[WITHIN]);
        let floor = line.figures.unwrap().noise_floor.unwrap();
        assert!((0.295..0.305).contains(&floor), "{floor}");
    }
    let line = expect(1.2, fine.clone(), fine, Finding::Regression, &[]);
    assert!((line.figures.unwrap().noise_floor.unwrap() - 0.001).abs() < 1e-4);
    // The step is in the series' unit: ticks of the clock's rate, shared by the operations of a
    // sample.
    let slow = vec![("/clock/hertz", json!(1_000_000)), step(1)];
    expect(1.2, slow.clone(), slow, Finding::Inconclusive, &[WITHIN]);
    let blocks = vec![step(300), ("/series/0/per", json!(100.0))];
    expect(1.2, blocks.clone(), blocks, Finding::Regression, &[]);
    // A count has no step.
    let count = vec![step(300), ("/series/0/unit", json!("count"))];
    expect(1.2, count.clone(), count, Finding::Regression, &[]);
    // A series without a clock has no step either.
    let without = vec![("/clock", Value::Null)];
    expect(1.2, without.clone(), without, Finding::Regression, &[]);
}

#[test]
fn exact_clocks_are_compared_as_numbers() {
    for domain in ["instructions", "cycles"] {
        let of = |p50: f64| {
            vec![
                ("/clock/domain", json!(domain)),
                ("/series/0/unit", json!(domain)),
                medians([p50]),
            ]
        };
        for (b, finding) in
            [(1.0, Finding::Pass), (1.001, Finding::Regression), (0.999, Finding::Improvement)]
        {
            expect(1.0, of(1.0), of(b), finding, &[]);
        }
    }
    // One repetition by a wall clock is too few for any finding.
    let one = |p50: f64| vec![medians([p50])];
    let few = ["too few repetitions (1 and 1): take 5 or more"];
    expect(1.0, one(1.0), one(1.001), Finding::Inconclusive, &few);
    expect(1.0, one(1.0), one(1.0), Finding::Inconclusive, &few);
    let zeros = || vec![medians([0.0; 5])];
    expect(1.0, zeros(), zeros(), Finding::Pass, &[]);
    let reason = ["a repetition is not above zero: time longer batches"];
    expect(1.0, zeros(), vec![medians([1.0; 5])], Finding::Inconclusive, &reason);
}

#[test]
fn a_case_without_proof_is_not_compared() {
    use Finding::{Inconclusive, NotOffered, Regression};
    let verdict = |status: &str, reasons: &[&str]| {
        vec![("/verdict", json!({ "status": status, "reasons": reasons }))]
    };
    let (open, absent) =
        (|| verdict("inconclusive", &["why", "too"]), || verdict("not-offered", &["gone"]));
    let without = ["A: why", "A: too"];
    let table: [(Changes, Changes, Finding, &[&str]); 9] = [
        (open(), vec![], Inconclusive, &without),
        (vec![], open(), Inconclusive, &["B: why", "B: too"]),
        (open(), open(), Inconclusive, &["A: why", "A: too", "B: why", "B: too"]),
        (verdict("inconclusive", &[]), vec![], Inconclusive, &["A: inconclusive"]),
        (absent(), vec![], NotOffered, &["A: gone"]),
        (vec![], verdict("not-offered", &[]), NotOffered, &["B: not offered"]),
        // Not offered on one side does not hide that the other side is inconclusive.
        (absent(), open(), Inconclusive, &["B: why", "B: too"]),
        (verdict("limit-missed", &["late"]), vec![], Regression, &[]),
        (vec![], verdict("limit-missed", &["late"]), Regression, &[]),
    ];
    for (a, b, finding, reasons) in table {
        let line = expect(1.2, a, b, finding, reasons);
        assert_eq!(line.figures.is_some(), finding == Regression);
    }
}

#[test]
fn values_of_different_kinds_are_not_ranked() {
    let domain = |domain: &str| vec![("/clock/domain", json!(domain))];
    let told = |a: &str, b: &str| {
        format!("A is told in {a} and B in {b}: such clocks are not ranked against each other")
    };
    for (a, b, reason) in [
        (domain("wall"), domain("cycles"), told("wall", "cycles")),
        (domain("instructions"), domain("cycles"), told("instructions", "cycles")),
        (vec![("/clock", Value::Null)], domain("wall"), told("no clock", "wall")),
        (vec![("/series/0/unit", json!("count"))], vec![], "A is in count and B in ns".to_owned()),
    ] {
        let line = expect(1.2, a, b, Finding::Inconclusive, &[&reason]);
        assert!(line.figures.is_none());
    }
}

#[test]
fn a_series_of_one_side_only_is_inconclusive() {
    let renamed = vec![("/series/0/name", json!("other"))];
    let found = lines(&case(A, 1.0, &vec![]), &case(B, 1.0, &renamed), false);
    let told: Vec<_> = found
        .iter()
        .map(|line| (line.series.as_str(), line.finding, line.reasons.join(";")))
        .collect();
    assert_eq!(
        told,
        [
            ("switch", Finding::Inconclusive, "only A has it".to_owned()),
            ("other", Finding::Inconclusive, "only B has `other`".to_owned()),
        ]
    );
    // Controls and auxiliary series are not compared.
    let beside = vec![("/series/1/name", json!("other control"))];
    expect(1.0, vec![], beside, Finding::Pass, &[]);
}

#[test]
fn each_further_series_of_b_is_named_once() {
    let series = |names: &[&str]| {
        let mut case = case(A, 1.0, &vec![]);
        let first = case.series[0].clone();
        let named = |name: &&str| SeriesResult { name: (*name).into(), ..first.clone() };
        case.series = names.iter().map(named).collect();
        case
    };
    let found = lines(&series(&["x", "y"]), &series(&["x", "y", "z"]), true);
    let named: Vec<(&str, &[String])> =
        found.iter().map(|line| (line.series.as_str(), &line.reasons[..])).collect();
    assert_eq!(named, [("x", &[][..]), ("y", &[]), ("z", &["only B has `z`".to_owned()])]);
}

/// A missing clock is not taken for an exact one, and counts get no scatter between runs.
#[test]
fn repetitions_without_a_clock_are_judged_by_their_scatter() {
    let unknown = || vec![("/clock", Value::Null)];
    let found = lines(&case(A, 1.0, &unknown()), &case(B, 1.0, &unknown()), false);
    let statistic = &found[0].statistics[0];
    assert!(statistic.figures.interval.is_some() && statistic.between_runs.is_some());
    let counts = || vec![("/series/0/unit", json!("count"))];
    let found = lines(&case(A, 1.0, &counts()), &case(B, 1.0, &counts()), false);
    let statistic = &found[0].statistics[0];
    assert!(statistic.figures.interval.is_some() && statistic.between_runs.is_none());
}
