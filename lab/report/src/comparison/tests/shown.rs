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
    assert!((11..60).contains(&pairs.from), "{pairs:?}");
    let words = crate::comparison::numbers(pairs);
    assert!(open.sentence.ends_with(&format!("; {words} pairs would settle it")));
}

/// A side that is slower, by the threshold or less as far as is known, is no regression.
#[test]
fn slower_by_about_the_threshold_is_said_and_open() {
    let (a, b) = (case(A, 1.0, &vec![]), case(B, 1.052, &vec![]));
    let line = &judged(&a, &b, true, &[], &History::default(), &[])[0];
    assert_eq!(line.finding, Finding::NoRegressionShown, "{line:?}");
    let words =
        "at the median slower by 3.9–6.7 %: whether more than 5 % is open: no regression shown";
    assert!(line.sentence.starts_with(words), "{}", line.sentence);
    assert_eq!(crate::comparison::in_a_word(&line.statistics[0]), "slower, open");
    let json = serde_json::to_value(line).unwrap();
    assert!(json["statistics"][0]["corrected"]["low"].as_f64().unwrap() < 1.05);
    assert!(json["statistics"][0]["settled_by"]["from"].as_u64().unwrap() > 10);
}

/// The tail of runs without a history is shown, and not judged.
#[test]
fn an_unknown_scatter_leaves_the_tail_open() {
    let repetition = |one: f64| {
        let p50 = 1000.0 * one;
        json!({ "count": 2000, "min": p50, "p50": p50, "p99": 3.0 * p50, "p999": 9.0 * p50, "max": p50, "mean": p50 })
    };
    let of = |count: u64, scale: f64| {
        let mut each: Vec<Value> = A.into_iter().map(|one| repetition(one * scale)).collect();
        each.iter_mut().for_each(|one| one["count"] = json!(count));
        case(A, 1.0, &vec![("/series/0/by_repetition", each.into())])
    };
    let of_runs =
        |b: CaseResult| judged(&of(2000, 1.0), &b, false, &[], &History::default(), &[]).remove(0);
    let line = of_runs(of(2000, 30.0));
    let words = |line: &Line| -> Vec<&str> {
        line.statistics.iter().map(crate::comparison::in_a_word).collect()
    };
    assert_eq!(words(&line), ["regression", "not judged"], "{}", line.sentence);
    let line = of_runs(of(2000, 1.0));
    assert_eq!(line.finding, Finding::NoRegressionShown);
    assert!(line.sentence.contains("at p99 nothing can be said"), "{}", line.sentence);
    let json = serde_json::to_value(&line).unwrap();
    assert!(json["statistics"][1]["between_runs"]["scatter"].is_null());
    // p99.9 is information below 10,000 samples, and judged on request.
    assert!(line.information[0].starts_with("p99.9 × 1.0, not judged"), "{:?}", line.information);
    let names = |b: &CaseResult, named: &[&str]| -> Vec<&'static str> {
        let line = judged(&of(10_000, 1.0), b, true, named, &History::default(), &[]).remove(0);
        line.statistics.iter().map(|one| one.statistic).collect()
    };
    assert_eq!(names(&of(10_000, 1.0), &[]), ["p50", "p99", "p99.9"]);
    assert_eq!(names(&of(9_999, 1.0), &[]), ["p50", "p99"]);
    assert_eq!(names(&of(2_000, 1.0), &["p99.9"]), ["p99.9"]);
}

/// Three runs that differ by a factor of three each are no lack of runs.
#[test]
fn a_wild_scatter_is_said() {
    let tail = |times: f64| {
        let repetition = |one: f64| {
            let p50 = 1000.0 * one;
            json!({ "count": 2000, "min": p50, "p50": p50, "p99": 3.0 * p50 * times, "max": 9.0 * p50 * times, "mean": p50 })
        };
        let each: Vec<Value> = A.into_iter().map(repetition).collect();
        case(A, 1.0, &vec![("/series/0/by_repetition", each.into())])
    };
    let mut history = History::default();
    for times in [1.0, 3.0, 9.0] {
        history.add(&Run { cases: vec![tail(times)], ..sample::run() });
    }
    let line = &judged(&tail(1.0), &tail(1.0), false, &[], &history, &[])[0];
    let words = "at p99 nothing can be said, as 3 earlier runs differ by 200 %";
    assert!(line.sentence.contains(words), "{}", line.sentence);
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
