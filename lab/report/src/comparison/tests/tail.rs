//! Percentiles and maxima beside the median, and mixed cases.

use super::*;

/// The whole comparison of one pair.
fn compared(a: &CaseResult, b: &CaseResult, statistics: &[&str]) -> Comparison {
    let (judge, history) = (&StatisticChoice::read(statistics).unwrap(), &quiet());
    let options = CompareOptions {
        interleaved: false,
        threshold: 0.05,
        judge,
        history,
        conditions: &[],
        look: None,
        in_turn: &|_, _| None,
    };
    let side = |name: &str| Side { name: name.into(), context: Context::default(), trace: None };
    let lines = compare(&[Pair { label: "load=mmap".to_owned(), a, b }], &options);
    Comparison::new([side("A"), side("B")], &options, lines).concluded(false)
}

/// PREEMPT_RT against full preemption, in instructions of a guest: 1 repetition of 400 samples.
fn guest(p50: f64, p99: f64, max: f64) -> CaseResult {
    let repetition =
        json!([{ "count": 400, "min": 3581, "p50": p50, "p99": p99, "max": max, "mean": p50 }]);
    let domain = || json!("instructions");
    let changes = vec![
        ("/clock/domain", domain()),
        ("/series/0/unit", domain()),
        ("/series/0/by_repetition", repetition),
    ];
    case(A, 1.0, &changes)
}

/// The longest of a batch is hidden in its mean, so the tail of means says nothing of the samples'.
#[test]
fn means_of_batches_are_judged_by_their_median_alone() {
    let of_batches = |mut case: CaseResult| {
        case.series[0].per = 64.0;
        case
    };
    let (a, b) = (guest(100.0, 200.0, 300.0), guest(100.0, 400.0, 900.0));
    let names = |found: Comparison| -> Vec<&str> {
        found.lines[0].statistics.iter().map(|one| one.statistic).collect()
    };
    assert_eq!(names(compared(&a, &b, &[])), ["p50", "p99", "max"]);
    let (a, b) = (of_batches(a), of_batches(b));
    assert_eq!(names(compared(&a, &b, &[])), ["p50"]);
    assert_eq!(names(compared(&a, &b, &["p99"])), ["p99"]);
}

#[test]
fn a_case_with_a_better_tail_and_a_worse_median_is_mixed() {
    let (full, rt) = (guest(3843.0, 204_159.0, 242_545.0), guest(4419.0, 4_815.0, 4_850.0));
    let found = compared(&full, &rt, &[]);
    let sentence = "slower at the median (× 1.15), 42 × shorter at p99, 50 × at worst: mixed";
    assert_eq!((found.answer.as_str(), found.lines[0].sentence.as_str()), (sentence, sentence));
    assert_eq!((found.finding, found.verdict), (Finding::Mixed, Status::Mixed));
    assert_eq!((found.verdict.exit_code(), found.words()), (3, "mixed"));
    let findings: Vec<Finding> =
        found.lines[0].statistics.iter().map(|statistic| statistic.finding).collect();
    assert_eq!(findings, [Finding::Regression, Finding::Improvement, Finding::Improvement]);
    // The other way round, the median is the gain.
    let back = compared(&rt, &full, &[]);
    assert_eq!(
        back.answer,
        "faster at the median (× 0.87), 42 × longer at p99, 50 × at worst: mixed"
    );
    // Each statistic alone has one sign.
    for (judge, answer, code) in [
        (&["p99"][..], "42 × shorter at p99: improvement", 0),
        (&["p99", "max"], "42 × shorter at p99, 50 × at worst: improvement", 0),
        (&["p50"], "slower at the median (× 1.15): regression", 3),
    ] {
        let found = compared(&full, &rt, judge);
        assert_eq!((found.answer.as_str(), found.verdict.exit_code()), (answer, code));
    }
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["verdict"], "mixed");
    assert_eq!(json["lines"][0]["figures"]["a"], 3843.0, "the key of the median is kept");
    assert_eq!(json["lines"][0]["statistics"][2]["statistic"], "max");
    assert_eq!(json["lines"][0]["statistics"][1]["finding"], "improvement");
}

/// Replaces the repetitions by the ones of `A`, with a tail `scale` times as long.
fn tail(scale: f64) -> Changes {
    let repetition = |one: f64| {
        let p50 = 1000.0 * one;
        json!({ "count": 1000, "min": p50, "p50": p50, "p99": 3.0 * p50 * scale, "max": 30.0 * p50 * scale, "mean": p50 })
    };
    vec![("/series/0/by_repetition", A.into_iter().map(repetition).collect())]
}

#[test]
fn a_tail_is_judged_beside_the_median() {
    let (a, longer) = (case(A, 1.0, &tail(1.0)), case(A, 1.0, &tail(20.0)));
    // Whether in turn or with a history; without one, the tail of two runs is not judged.
    for (interleaved, history) in [(true, History::default()), (false, tails())] {
        let line = &judged(&a, &longer, interleaved, &[], &history, &[])[0];
        assert_eq!(line.finding, Finding::Regression, "{interleaved}: {}", line.sentence);
        assert!(line.sentence.contains("20 × longer at p99"), "{}", line.sentence);
        let names: Vec<&str> = line.statistics.iter().map(|one| one.statistic).collect();
        assert_eq!(names, ["p50", "p99"], "a wall clock's maximum is judged on request");
    }
    let line = &judged(&a, &longer, true, &["p50"], &History::default(), &[])[0];
    assert_eq!((line.finding, line.sentence.as_str()), (Finding::Pass, "same at the median: pass"));
    let line = &judged(&a, &longer, true, &["max"], &History::default(), &[])[0];
    assert_eq!(line.sentence, "20 × longer at worst: regression");
    // Few repetitions that are the same by accident are no proof.
    let two = |count: usize| {
        let mut two = case([7.0; 10], 1.0, &vec![]);
        two.series.iter_mut().for_each(|series| series.by_repetition.truncate(count));
        two
    };
    for (count, interleaved, expected) in [
        (1, true, Finding::Inconclusive),
        (4, true, Finding::Inconclusive),
        (5, true, Finding::Pass),
        (1, false, Finding::Inconclusive),
        (5, false, Finding::NoRegressionShown),
    ] {
        let line = &judged(&two(count), &two(count), interleaved, &[], &History::default(), &[])[0];
        assert_eq!(line.finding, expected, "{count} {interleaved}: {}", line.sentence);
    }
    // A study's statistics count unless the command line names others.
    let named = |names: &[&str]| CaseResult {
        judge: names.iter().map(|name| (*name).into()).collect(),
        ..longer.clone()
    };
    for (of_study, of_user, expected) in
        [(&["max"][..], &[][..], &["max"][..]), (&["max"], &["p50", "p99"], &["p50", "p99"])]
    {
        let line = &judged(&a, &named(of_study), true, of_user, &History::default(), &[])[0];
        let names: Vec<&str> = line.statistics.iter().map(|one| one.statistic).collect();
        assert_eq!(names, expected);
    }
    let line = &judged(&a, &named(&["p98"]), true, &[], &History::default(), &[])[0];
    assert!(line.reasons[0].contains("no statistic `p98` can be judged"), "{:?}", line.reasons);
    // A statistic that is asked for must be there.
    let line =
        &judged(&case(A, 1.0, &vec![]), &longer, true, &["p99"], &History::default(), &[])[0];
    assert_eq!(line.finding, Finding::Inconclusive);
    assert!(line.reasons[0].contains("a repetition of A has no p99"), "{:?}", line.reasons);
}

fn tails() -> History {
    let mut history = History::default();
    for scale in [1.0, 1.02, 0.98, 1.01] {
        let cases = vec![case(A, 1.0, &tail(scale))];
        history.add(&Run { cases, ..sample::run() });
    }
    history
}
