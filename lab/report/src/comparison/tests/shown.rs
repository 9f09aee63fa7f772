//! Equality that is shown, and findings in doubt.

use super::*;

#[test]
fn equality_is_shown_or_left_open() {
    let (a, b) = (case(A, 1.0, &vec![]), case(B, 1.0, &vec![]));
    let in_turn = &judged(&a, &b, true, &[], &History::default(), &[])[0];
    assert_eq!(in_turn.sentence, "same at the median: pass");
    assert_eq!(in_turn.statistics[0].between_runs, None);
    let shown = &judged(&a, &b, false, &[], &quiet(), &[])[0];
    assert_eq!(shown.finding, Finding::Pass);
    assert_eq!(shown.statistics[0].between_runs.unwrap().runs, Some(8));
    // Without a history, the assumed scatter between runs is part of the interval.
    let open = &judged(&a, &b, false, &[], &History::default(), &[])[0];
    assert_eq!(open.finding, Finding::NoRegressionShown);
    assert_eq!(
        open.sentence,
        "at the median up to + 49 % cannot be excluded: no regression shown; \
         no number of repetitions of each side would settle it"
    );
    assert_eq!(open.statistics[0].between_runs.unwrap().runs, None);
    // Scatter leaves it open in turn too, and the number of pairs that settles it is named.
    let wild = B.map(|value| value.powi(12));
    let open = &judged(&a, &case(wild, 1.0, &vec![]), true, &[], &History::default(), &[])[0];
    assert_eq!(open.finding, Finding::NoRegressionShown);
    let pairs = open.statistics[0].settled_by.unwrap();
    assert!((11..60).contains(&pairs), "{pairs}");
    assert!(open.sentence.ends_with(&format!("; {pairs} pairs would settle it")));
}

#[test]
fn conditions_that_differ_put_a_finding_in_doubt() {
    let load = ["the load was 0 beside A and 4 beside B, on 2 processors".to_owned()];
    let doubted = |scale: f64, b: &Changes| {
        let (a, b) = (case(A, 1.0, &vec![]), case(B, scale, b));
        let [line] = <[Line; 1]>::try_from(judged(&a, &b, false, &[], &quiet(), &load)).unwrap();
        (line.finding, line.reasons)
    };
    let reasons = [format!("in doubt: {}", load[0]), IN_TURN.to_owned()];
    assert_eq!(doubted(1.2, &vec![]), (Finding::Inconclusive, reasons.to_vec()));
    assert_eq!(doubted(1.0, &vec![]), (Finding::NoRegressionShown, reasons.to_vec()));
    // Counts do not depend on the conditions.
    let count = vec![("/series/0/unit", json!("count"))];
    let (a, b) = (case(A, 1.0, &count), case(B, 1.2, &count));
    let line = &judged(&a, &b, false, &[], &quiet(), &load)[0];
    assert_eq!((line.finding, line.reasons.len()), (Finding::Regression, 0));
    // Time that the hypervisor took from one side only is a condition of the case.
    let stolen = |ms: f64| {
        let figure = json!([{ "name": "steal", "unit": "ms", "value": ms, "min": 0, "max": ms }]);
        case(A, 1.0 + ms / 100.0, &vec![("/figures", figure)])
    };
    let line = &lines(&stolen(0.0), &stolen(20.0), false)[0];
    assert_eq!(line.finding, Finding::Inconclusive);
    assert!(line.reasons[0].contains("20 ms of B"), "{:?}", line.reasons);
    assert_eq!(lines(&stolen(0.0), &stolen(20.0), true)[0].finding, Finding::Regression);
}

/// A few equal repetitions can agree by accident, whichever side has them.
#[test]
fn equality_needs_five_repetitions_of_each_side() {
    let of = |count: usize| case(A, 1.0, &vec![medians(vec![1.0; count])]);
    let history = History::default();
    let finding = |a, b| judged(&of(a), &of(b), true, &[], &history, &[])[0].finding;
    assert_eq!(finding(5, 5), Finding::Pass);
    for (a, b) in [(4, 6), (6, 4)] {
        assert_eq!(finding(a, b), Finding::Inconclusive);
    }
}

/// Two different cases are compared by the scatter of the one that scatters more.
#[test]
fn of_two_scatters_the_greater_counts() {
    let other = |scale: f64| {
        let mut other = case(A, scale, &vec![]);
        other.parameters.insert("pad".into(), "50".into());
        other
    };
    let mut history = quiet();
    for scale in [1.0, 1.1, 0.9, 1.05] {
        history.add(&Run { cases: vec![other(scale)], ..sample::run() });
    }
    let (calm, wild) = (case(A, 1.0, &vec![]), other(1.0));
    let runs = |a: &CaseResult, b: &CaseResult| {
        let statistic = &judged(a, b, false, &[], &history, &[])[0].statistics[0];
        statistic.between_runs.unwrap().runs
    };
    assert_eq!((runs(&calm, &calm), runs(&wild, &wild)), (Some(8), Some(4)));
    assert_eq!((runs(&calm, &wild), runs(&wild, &calm)), (Some(4), Some(4)));
}
