//! The form of a run: limits on statistics of a made-up case, published figures beside them, ratios
//! to peers, and the status of the whole.

use serde_json::{Value, from_value, json};

use crate::{
    CaseResult, FigureResult, Limit, Published, Quantity, Run, SCHEMA, SeriesResult, Statistic,
    Status, Unit, answer::Condition, history::CaseRow, sample, statistics,
};

fn limit(statistic: &str, most: Option<f64>, least: Option<f64>) -> Limit {
    let (at_most, at_least) = (most.map(Quantity), least.map(Quantity));
    Limit { statistic: statistic.into(), series: None, at_most, at_least, exhaustive: false }
}

/// A measured series with these fields instead of the sample's.
fn series(name: &str, p50: f64, fields: Value) -> SeriesResult {
    let mut value = serde_json::to_value(sample::series(name, p50)).unwrap();
    for (name, field) in fields.as_object().unwrap() {
        value[name] = field.clone();
    }
    from_value(value).unwrap()
}

fn case(series: Vec<SeriesResult>) -> CaseResult {
    CaseResult { series, ..sample::case("period", "") }
}

#[test]
fn one_bad_repetition_breaks_a_limit_on_a_figure() {
    let mut case = sample::case("period", "");
    // Three repetitions with 0, 0 and 3.
    case.figures = vec![FigureResult { max: 3.0, ..sample::figure("skipped periods", "", 0.0) }];
    let missed = |most, least| limit("skipped periods", most, least).missed(&case);
    assert_eq!(missed(Some(0.0), Some(0.0)), ["in one repetition skipped periods is 3, above 0"]);
    assert_eq!(missed(Some(3.0), Some(1.0)), ["in one repetition skipped periods is 0, below 1"]);
    assert!(missed(Some(3.0), Some(0.0)).is_empty());
    assert_eq!(
        missed(Some(2.0), Some(1.0)),
        [
            "in one repetition skipped periods is 3, above 2",
            "in one repetition skipped periods is 0, below 1"
        ]
    );
}

#[test]
fn samples_of_several_processors_are_counted_once() {
    let names = |case: &CaseResult| -> Vec<String> {
        case.counted().map(|series| series.name.to_string()).collect()
    };
    let mut case = case(["cpu 0", "cpu 1"].map(|name| sample::series(name, 1000.0)).to_vec());
    assert_eq!(names(&case), ["cpu 0", "cpu 1"]);
    case.series.insert(0, sample::series("all processors", 1000.0));
    assert_eq!(names(&case), ["all processors"]);
}

#[test]
fn every_statistic_is_found_by_its_name() {
    let misses = json!({ "misses": 7, "samples": 5000, "rate": 0.0014, "upper": 0.003, "rule_of_three": null });
    let mut case =
        case(vec![series("s", 1000.0, json!({ "misses": misses, "nominal": 5e6, "p9999": 3e3 }))]);
    case.slope =
        from_value(json!({ "slope": 0.5, "intercept": 9.0, "standard_error": null })).unwrap();
    case.figures = vec![FigureResult { min: 1.0, max: 3.0, ..sample::figure("steal", "ms", 2.0) }];
    // A time includes the nominal part; a spread or a count does not.
    for (name, of, value, unit) in [
        ("min", "s", 5_000_900.0, "ns"),
        ("p50", "s", 5_001_000.0, "ns"),
        ("p90", "s", 5_001_200.0, "ns"),
        ("p99", "s", 5_001_500.0, "ns"),
        ("p99.9", "s", 5_002_000.0, "ns"),
        ("p99.99", "s", 5_003_000.0, "ns"),
        ("max", "s", 5_024_000.0, "ns"),
        ("mean", "s", 5_001_020.0, "ns"),
        ("sigma", "s", 100.0, "ns"),
        ("misses", "s", 7.0, ""),
        ("slope", "", 0.5, ""),
        ("steal", "", 2.0, "ms"),
    ] {
        let found: Vec<_> = statistics(&case, name, None)
            .into_iter()
            .map(|(series, value, unit)| (series, value, unit.to_string()))
            .collect();
        assert_eq!(found, [(of.into(), value, unit.into())], "{name}");
        assert!(limit(name, Some(value), None).applies(&case));
    }
    for name in ["p95", "heat", ""] {
        assert!(
            statistics(&case, name, None).is_empty()
                && !limit(name, Some(0.0), None).applies(&case)
        );
    }
    // Nothing is known of a series without samples, a deadline or points to fit.
    let absent = ["min", "p50", "p90", "p99", "p999", "p9999", "max", "mean", "sigma", "misses"];
    let nulls: Value = absent.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
    case.series = vec![series("s", 1000.0, nulls)];
    (case.slope, case.figures) = (None, Vec::new());
    for name in [
        "min", "p50", "p90", "p99", "p99.9", "p99.99", "max", "mean", "sigma", "misses", "slope",
        "steal",
    ] {
        assert!(statistics(&case, name, None).is_empty(), "{name}");
    }
}

#[test]
fn a_limit_holds_for_the_series_named_or_all_measured_ones() {
    let case = case(vec![
        series("one", 1000.0, json!({})),
        series("two", 2000.0, json!({ "nominal": 50.0 })),
        series("beside", 9000.0, json!({ "role": "auxiliary" })),
    ]);
    let of = |name: &str| Limit {
        series: Some(name.into()),
        ..limit("p50", Some(2040.0), Some(1100.0))
    };
    let all = Limit { series: None, ..of("") };
    assert_eq!(
        all.missed(&case),
        ["one p50 is 1 µs, below 1.10 µs", "two p50 is 2.05 µs, above 2.04 µs"]
    );
    assert_eq!(of("one").missed(&case).len(), 1);
    assert_eq!(of("beside").missed(&case), ["beside p50 is 9 µs, above 2.04 µs"]);
    assert!(!of("three").applies(&case) && of("three").missed(&case).is_empty());
    // A value that equals its limit keeps it.
    assert!(limit("p50", Some(2050.0), Some(1000.0)).missed(&case).is_empty());
    assert_eq!(
        limit("sigma", Some(100.0), None).missed(&case),
        ["two sigma is 200 ns, above 100 ns"]
    );
}

/// A published figure is shown with the series of its instrument.
#[test]
fn a_published_figure_has_a_sister() {
    let pins = |role: &str, name: &str, p50: f64| series(name, p50, json!({ "role": role }));
    let with_pins = case(vec![
        series("one", 1000.0, json!({})),
        series("two", 2000.0, json!({ "nominal": 50.0 })),
        pins("pin", "one by pin", 1010.0),
        pins("pin", "two by pin", 2010.0),
        pins("pin-analyser", "two by pin at 2 MHz", 2500.0),
    ]);
    let without = case(with_pins.series[..2].to_vec());
    let published = |instrument: &str, series: Option<&str>| {
        let mut value = serde_json::to_value(sample::published("p50", 7.0)).unwrap();
        (value["instrument"], value["series"]) = (json!(instrument), json!(series));
        from_value::<Published>(value).unwrap()
    };
    // The instrument, the requested series, and the series and value of the counterpart.
    for (case, instrument, of, sister) in [
        (&with_pins, "timer", None, Some(("one", 1000.0))),
        (&with_pins, "timer", Some("two"), Some(("two", 2050.0))),
        (&with_pins, "pin", None, Some(("one by pin", 1010.0))),
        (&with_pins, "pin", Some("two"), Some(("two by pin", 2010.0))),
        (&with_pins, "analyser", None, Some(("two by pin at 2 MHz", 2500.0))),
        (&with_pins, "analyser", Some("two"), Some(("two by pin at 2 MHz", 2500.0))),
        (&with_pins, "analyser", Some("one"), None),
        (&with_pins, "timer", Some("three"), None),
        // Without pins, the timer is the only instrument.
        (&without, "pin", None, Some(("one", 1000.0))),
        (&without, "pin", Some("two"), Some(("two", 2050.0))),
        (&without, "analyser", None, None),
    ] {
        let published = published(instrument, of);
        let found = published.sister(case).map(|(name, value, _)| (name, value));
        assert_eq!(found, sister.map(|(name, value)| (name.into(), value)), "{instrument} {of:?}");
        for series in &case.series {
            let is_sister = sister.is_some_and(|(name, _)| name == series.name);
            assert_eq!(
                published.is_of(case, series),
                is_sister,
                "{instrument} {of:?} {}",
                series.name
            );
        }
        let readable = instrument != "analyser" || case.series.len() == 5;
        assert_eq!(published.is_readable(&case.series), readable);
    }
}

#[test]
fn pairs_are_compared_one_by_one() {
    // The machine was ten times slower in the second pair, for both.
    let (ours, theirs) = ([100.0, 1000.0, 120.0], [100.0, 1100.0, 100.0]);
    let ratio = sample::paired(&ours, &theirs, None).ratio.unwrap();
    assert_eq!((ratio.median, ratio.max), (1.0, 1.2));
}

/// All statuses in the order of `docs/method.md`, from good to bad.
const ALL: [(Status, &str, u8); 7] = [
    (Status::Pass, "pass", 0),
    (Status::NotOffered, "not offered", 0),
    (Status::Inconclusive, "inconclusive", 4),
    (Status::Mixed, "mixed", 3),
    (Status::Regression, "regression", 3),
    (Status::LimitMissed, "limit missed", 2),
    (Status::Error, "error", 1),
];

#[test]
fn every_status_has_its_words_and_exit_status() {
    for (status, words, code) in ALL {
        assert_eq!((status.words(), status.exit_code()), (words, code));
        let json = serde_json::to_value(status).unwrap();
        assert_eq!(json, words.replace(' ', "-"));
    }
    assert!(ALL.is_sorted_by_key(|(status, ..)| *status));
}

#[test]
fn a_run_is_as_good_as_its_worst_case_or_peer() {
    let mut run = sample::run();
    run.cases.truncate(2);
    let peer = sample::full().peers.remove(0);
    for (first, ..) in ALL {
        for (second, ..) in ALL {
            run.cases[0].verdict.status = first;
            run.cases[1].verdict.status = second;
            run.peers.clear();
            assert_eq!(run.status(), first.max(second));
            run.peers.push(peer.clone());
            run.cases[0].verdict.status = Status::Pass;
            run.peers[0].verdict.status = first;
            assert_eq!(run.status(), first.max(second));
        }
    }
    (run.cases, run.peers) = (Vec::new(), Vec::new());
    assert_eq!(run.status(), Status::Pass);
}

#[test]
fn a_case_is_proven_by_evidence_that_all_holds() {
    let mut case = case(vec![sample::series("a", 100.0)]);
    assert!(!case.evidence.is_empty() && case.is_proven());
    case.evidence.push(sample::evidence("rounds", 1.0, 2.0, None));
    assert!(!case.is_proven());
    case.evidence.clear();
    assert!(!case.is_proven());
    case.limits.clear();
    case.verdict.status = Status::Pass;
    assert_eq!(case.outcome(), "measured");
    case.limits.push(limit("p99", Some(1.0), None));
    assert_eq!(case.outcome(), "pass");
}

#[test]
fn a_target_without_a_clock_is_not_deterministic() {
    let mut case = case(Vec::new());
    case.clock = None;
    case.target = "tandem@cortex-m4".into();
    assert!(!case.is_deterministic());
}

/// An older run has no intervals; a run of this version keeps its own.
#[test]
fn an_older_run_gets_its_intervals() {
    let mut run = sample::run();
    let of = |run: &Run| run.cases[0].series[0].p50_interval;
    let known = of(&run);
    assert!(known.is_some());
    run.upgrade();
    assert_eq!(of(&run), known);
    run.cases[0].series[0].p50_interval = None;
    run.upgrade();
    assert_eq!(of(&run), None);
    run.schema = 1;
    run.upgrade();
    assert_eq!(run.schema, SCHEMA);
    assert!(of(&run).is_some());
}

#[test]
fn a_median_of_one_of_several_values_is_told() {
    let mut series = sample::series("a", 100.0);
    series.unit = Unit::Cycles;
    series.by_repetition.iter_mut().for_each(|one| one.p50 = 100.0);
    assert!(!series.is_many_valued());
    series.by_repetition[1].p50 = 101.0;
    assert!(series.is_many_valued());
    series.by_repetition[1].p50 = 100.0;
    series.histogram = vec![(100.0, 3000), (104.0, 2000)];
    assert!(series.is_many_valued());
    series.unit = Unit::Nanoseconds;
    assert!(!series.is_many_valued());
}

#[test]
fn short_lists_have_a_few_statistics() {
    let names: Vec<&str> = Statistic::headlines().map(|statistic| statistic.name).collect();
    assert_eq!(names, ["p50", "p99", "max"]);
}

#[test]
fn a_row_of_a_case_that_says_nothing_has_no_figure() {
    let row = |status: Status| CaseRow {
        run: 1,
        started: "".into(),
        host: "".into(),
        key: "".into(),
        label: sample::case("period", "").label,
        series: "task 1".into(),
        unit: "ns".into(),
        nominal: 0.0,
        p50: Some(7.0),
        status: status.words().into(),
        machine: "".into(),
        experiment: "period".into(),
    };
    assert_eq!(row(Status::Pass).figure(), Some(7.0));
    assert_eq!(row(Status::LimitMissed).figure(), Some(7.0));
    assert_eq!(row(Status::Inconclusive).figure(), None);
    assert_eq!(row(Status::Error).figure(), None);
}

/// Bounds count as they are written: values on them are on neither side.
#[test]
fn conditions_hold_for_all_values_between() {
    let holds = |text: &str, values: (f64, f64), bounds: (f64, f64)| {
        Condition::parse(text).unwrap().holds(values, bounds)
    };
    assert!(holds("a > b", (6.0, 9.0), (1.0, 5.0)));
    assert!(!holds("a > b", (5.0, 9.0), (1.0, 5.0)));
    assert!(holds("a < b", (1.0, 4.0), (5.0, 6.0)));
    assert!(!holds("a < b", (1.0, 5.0), (5.0, 6.0)));
    let equal = "a = b within 25 %";
    assert!(holds(equal, (8.0, 10.0), (9.0, 9.0)));
    assert!(!holds(equal, (8.0, 10.1), (9.0, 9.0)));
    assert!(holds(equal, (9.0, 9.0), (8.0, 10.0)));
    assert!(!holds(equal, (8.0, 8.0), (9.0, 10.1)));
    assert!(!holds(equal, (9.0, 10.1), (8.0, 8.0)));
    assert!(holds("a = b", (100.0, 100.0), (109.0, 109.0)));
    assert!(!holds("a = b", (100.0, 100.0), (112.0, 112.0)));
}
