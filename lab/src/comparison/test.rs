//! Comparisons of made-up cases: the rules of `docs/compare.md`, each with examples.

use serde_json::{Value, json};

use super::{
    Comparison, Finding, History, How, Judge, Line, Pair, Pairing, Side, compare, match_cases,
    reference, steady, whole,
};
use crate::run::{CaseResult, Context, Run, Status, sample};

/// Changes of a case: a JSON pointer to a field and its new value.
type Changes = Vec<(&'static str, Value)>;

/// Repetitions that scatter by a percent about 1.
const A: [f64; 10] = [1.0, 1.01, 0.99, 1.005, 0.996, 1.002, 0.994, 1.008, 1.001, 0.998];

/// The values of `A` in another order.
const B: [f64; 10] = [0.998, 0.994, 1.001, 1.01, 1.008, 0.99, 1.005, 1.0, 1.002, 0.996];

/// The change of the first series' repetitions to these medians, in units of 1000.
fn medians(of: impl IntoIterator<Item = f64>) -> (&'static str, Value) {
    let repetition = |p50: f64| {
        let p50 = 1000.0 * p50;
        json!({ "count": 9, "min": p50, "p50": p50, "p99": null, "max": p50, "mean": p50 })
    };
    ("/series/0/by_repetition", of.into_iter().map(repetition).collect())
}

/// The change of the reference loops before and after the case to these durations.
fn loops(before: f64, after: f64) -> (&'static str, Value) {
    let figure = |when: &str, value: f64| json!({ "name": format!("reference loop {when}"), "unit": "ns", "value": value, "min": 1, "max": 1e9 });
    ("/figures", json!([figure("before", before), figure("after", after)]))
}

fn case(repetitions: [f64; 10], scale: f64, changes: &Changes) -> CaseResult {
    let mut value = serde_json::to_value(sample::case("switch", "tasks=2")).unwrap();
    let medians = medians(repetitions.map(|one| scale * one));
    for (pointer, new) in [&medians, &loops(1e6, 1e6)].into_iter().chain(changes) {
        *value.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = new.clone();
    }
    serde_json::from_value(value).unwrap()
}

/// Eight earlier runs, which differ by less than a percent.
fn quiet() -> History {
    let mut history = History::default();
    for scale in [1.0, 1.002, 0.998, 1.001, 0.999, 1.003, 0.997, 1.0] {
        let cases = vec![case(A, scale, &vec![])];
        history.add(&Run { cases, ..sample::run() });
    }
    history
}

fn lines(a: &CaseResult, b: &CaseResult, interleaved: bool) -> Vec<Line> {
    judged(a, b, interleaved, &[], &quiet(), &[])
}

fn judged(
    a: &CaseResult,
    b: &CaseResult,
    interleaved: bool,
    statistics: &[&str],
    history: &History,
    conditions: &[String],
) -> Vec<Line> {
    let judge = &Judge::read(statistics).unwrap();
    let how = How { interleaved, threshold: 0.05, judge, history, conditions, look: None };
    compare(&[Pair { label: "l".to_owned(), a, b }], &how)
}

/// Compares A with a B that is `scale` times as slow, and expects one line.
#[track_caller]
fn expect(scale: f64, a: Changes, b: Changes, finding: Finding, reasons: &[&str]) -> Line {
    let found = lines(&case(A, 1.0, &a), &case(B, scale, &b), false);
    let [line] = <[Line; 1]>::try_from(found).unwrap();
    assert_eq!(
        (line.finding, &line.reasons[..]),
        (finding, &reasons.map_owned()[..]),
        "{a:?} {b:?}"
    );
    line
}

trait MapOwned {
    fn map_owned(&self) -> Vec<String>;
}

impl MapOwned for &[&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|one| (*one).to_owned()).collect()
    }
}

const WITHIN: &str =
    "slower than the threshold, but by less than one step of the clock: time longer batches";

/// The remark on a finding in doubt.
const IN_TURN: &str = "in turn decides: chronoscope compare linux@host linux@host switch";

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
        let (judge, history) = (&Judge::default(), &quiet());
        let how =
            How { interleaved: false, threshold, judge, history, conditions: &[], look: None };
        compare(&[Pair { label: String::new(), a: &a, b: &b }], &how)[0].finding
    };
    assert_eq!(found(1.2, 0.25), Finding::Pass);
    assert_eq!(found(1.2, 0.15), Finding::Regression);
    assert_eq!(found(1.04, 0.02), Finding::Regression);
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
    // A series without a clock has none either.
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
    // A single repetition by a wall clock proves nothing.
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
fn a_machine_at_another_speed_explains_a_difference() {
    use Finding::{Inconclusive, Pass, Regression};
    let at = |speed: f64| vec![loops(1e6 * speed, 1e6 * speed)];
    let told = |percent: &str, verdict: &str| {
        format!(
            "the reference loop took {percent} beside B, so the machine ran at another speed; without that p50 would be: {verdict}"
        )
    };
    let doubt = |told: String| format!("in doubt: {told}");
    // B's scale, B's reference loop, and the outcome.
    let table = [
        (1.2, 1.2, Inconclusive, Some(doubt(told("20.0 % longer", "pass")))),
        (1.2, 1.1, Regression, None),
        (1.0, 0.8, Inconclusive, Some(doubt(told("20.0 % shorter", "regression")))),
        (1.0, 1.2, Pass, Some(told("20.0 % longer", "improvement"))),
        (0.8, 0.8, Pass, Some(told("20.0 % shorter", "pass"))),
        // Loops within a percent are of one speed.
        (1.058, 1.0095, Regression, None),
    ];
    for (scale, speed, finding, reason) in table {
        let in_turn = (finding == Inconclusive).then_some(IN_TURN);
        let reasons: Vec<&str> = reason.as_deref().into_iter().chain(in_turn).collect();
        let line = expect(scale, vec![], at(speed), finding, &reasons);
        assert!((line.reference.unwrap() - speed).abs() < 1e-9);
        // In turns, both sides ran at the same speed.
        let in_turns = lines(&case(A, 1.0, &vec![]), &case(B, scale, &at(speed)), true);
        assert!(in_turns[0].reasons.is_empty(), "{:?}", in_turns[0]);
    }
    // Counts do not depend on the machine's speed.
    let count =
        |speed: f64| vec![("/series/0/unit", json!("count")), loops(1e6 * speed, 1e6 * speed)];
    expect(1.2, count(1.0), count(1.2), Regression, &[]);
    // Without a loop on both sides, the values stand as measured.
    let line = expect(1.2, vec![("/figures", json!([]))], at(1.2), Regression, &[]);
    assert_eq!(line.reference, None);
}

#[test]
fn the_reference_is_the_geometric_mean_of_both_loops() {
    let of = |before, after| reference(&case(A, 1.0, &vec![loops(before, after)]));
    assert_eq!(of(4e6, 9e6), Some(6e6));
    assert_eq!(of(0.0, 9e6), None);
    assert_eq!(of(-1.0, 9e6), None);
    for (ratio, is_steady) in
        [(1.0, true), (1.0099, true), (1.0102, false), (0.9901, true), (0.99, false)]
    {
        assert_eq!(steady(ratio), is_steady, "{ratio}");
    }
}

#[test]
fn the_whole_is_its_worst_line() {
    use Finding::{
        Improvement, Inconclusive, Mixed, NoRegressionShown, NotOffered, Pass, Regression,
    };
    let line = |finding: Finding| {
        let [line] =
            <[Line; 1]>::try_from(lines(&case(A, 1.0, &vec![]), &case(B, 1.0, &vec![]), false))
                .unwrap();
        Line { finding, ..line }
    };
    // The findings of the lines, whether a case vanished, and the whole with its exit statuses:
    // usually, and with --strict.
    let table: [(&[Finding], bool, Finding, [u8; 2]); 14] = [
        (&[], false, Inconclusive, [4, 4]),
        (&[Pass], false, Pass, [0, 0]),
        (&[Improvement], false, Improvement, [0, 0]),
        (&[Pass, Improvement], false, Pass, [0, 0]),
        (&[NotOffered, Pass], false, NotOffered, [0, 0]),
        (&[NoRegressionShown, Pass], false, NoRegressionShown, [0, 4]),
        (&[Inconclusive, NoRegressionShown], false, Inconclusive, [4, 4]),
        (&[Inconclusive, Regression, Pass], false, Regression, [3, 3]),
        (&[Inconclusive, Mixed], false, Mixed, [3, 3]),
        (&[Mixed, Regression], false, Regression, [3, 3]),
        // A case that only A has was not measured again.
        (&[Pass], true, Inconclusive, [4, 4]),
        (&[Regression], true, Regression, [3, 3]),
        (&[Mixed], true, Mixed, [3, 3]),
        (&[], true, Inconclusive, [4, 4]),
    ];
    for (findings, vanished, finding, codes) in table {
        let lines: Vec<Line> = findings.iter().copied().map(line).collect();
        let only_in_a = if vanished { vec!["gone".to_owned()] } else { Vec::new() };
        assert_eq!(whole(&lines, &only_in_a), finding, "{findings:?} {vanished}");
        let found = [false, true].map(|strict| finding.status(strict).exit_code());
        assert_eq!(found, codes, "{findings:?} {vanished}");
    }
    let words = [Pass, Improvement, NotOffered, NoRegressionShown, Inconclusive, Mixed, Regression];
    assert_eq!(
        words.map(Finding::words),
        [
            "pass",
            "improvement",
            "not offered",
            "no regression shown",
            "inconclusive",
            "mixed",
            "regression"
        ]
    );
}

/// The whole comparison of one pair.
fn compared(a: &CaseResult, b: &CaseResult, statistics: &[&str]) -> Comparison {
    let (judge, history) = (&Judge::read(statistics).unwrap(), &quiet());
    let how =
        How { interleaved: false, threshold: 0.05, judge, history, conditions: &[], look: None };
    let side = |name: &str| Side { name: name.into(), context: Context::default() };
    let lines = compare(&[Pair { label: "load=mmap".to_owned(), a, b }], &how);
    Comparison::new([side("A"), side("B")], &how, lines).concluded(false)
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

/// The change of the repetitions to those of `A`, with a tail of this length.
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
    // Whether in turn, with a history, or with the scatter that is assumed.
    for (interleaved, history) in
        [(true, History::default()), (false, tails()), (false, History::default())]
    {
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

#[test]
fn equality_is_shown_or_left_open() {
    let (a, b) = (case(A, 1.0, &vec![]), case(B, 1.0, &vec![]));
    let in_turn = &judged(&a, &b, true, &[], &History::default(), &[])[0];
    assert_eq!(in_turn.sentence, "same at the median: pass");
    assert_eq!(in_turn.statistics[0].between_runs, None);
    let shown = &judged(&a, &b, false, &[], &quiet(), &[])[0];
    assert_eq!(shown.finding, Finding::Pass);
    assert_eq!(shown.statistics[0].between_runs.unwrap().runs, Some(8));
    // Without a history, two runs may differ by what runs differ by.
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

#[test]
fn cases_of_two_targets_or_of_two_values_can_be_paired() {
    let case = |label: &str, target: &str| {
        let mut case = sample::case("period", label);
        case.target = target.into();
        case
    };
    let run = |target: &str, label: &str| Run {
        cases: vec![case(label, target), case("load=none", target)],
        ..sample::run()
    };
    let (full, rt) = (run("linux-full@vm", "load=mmap"), run("linux-rt@vm", "load=mmap"));
    let pairing = Pairing::of(None, &full, &rt).unwrap();
    let (pairs, only_in_a, only_in_b) = match_cases(&full, &rt, &pairing, |_| true);
    assert_eq!(pairing.note(&pairs).unwrap(), "A is linux-full@vm, B is linux-rt@vm");
    let labels: Vec<&str> = pairs.iter().map(|pair| pair.label.as_str()).collect();
    assert_eq!(labels, ["load=mmap", "load=none"]);
    assert!(only_in_a.is_empty() && only_in_b.is_empty());
    assert_eq!(Pairing::of(None, &full, &full).unwrap(), Pairing::Alike);
    // A parameter is ignored on request only, and its value is left out of the label.
    let other = run("linux-full@vm", "load=udp");
    let of = |asked: Option<&str>| Pairing::of(asked, &full, &other).unwrap();
    assert_eq!(match_cases(&full, &other, &of(None), |_| true).0.len(), 1);
    let (pairs, ..) = match_cases(&full, &other, &of(Some("load")), |_| true);
    let met: Vec<_> =
        pairs.iter().map(|pair| (pair.label.as_str(), &pair.b.parameters["load"])).collect();
    assert_eq!(met, [("", &"udp".into()), ("", &"none".into())]);
    assert_eq!(of(Some("load")).note(&pairs), None, "the pairs differ in different values");
    assert_eq!(of(Some("load")).note(&pairs[..1]).unwrap(), "A is load=mmap, B is load=udp");
    let error = Pairing::of(Some("lode"), &full, &other).unwrap_err().to_string();
    assert!(error.starts_with("`--pair lode`: no case has such a parameter"), "{error}");
    assert!(error.contains("load"), "{error}");
}

#[test]
fn cases_meet_by_everything_that_was_asked_for() {
    let case = |label: &str, target: &str| {
        let mut case = sample::case("switch", label);
        case.target = target.into();
        case
    };
    let run = |cases: Vec<CaseResult>| Run { cases, ..sample::run() };
    let a = run(vec![
        case("tasks=2", "x@host"),
        case("tasks=2", "x@host"),
        case("tasks=3", "x@host"),
        case("tasks=9", "x@host"),
    ]);
    let b = run(vec![
        case("tasks=2", "x@host"),
        case("tasks=4", "x@host"),
        case("tasks=2", "x@host"),
        case("tasks=9", "x@host"),
    ]);
    let (pairs, only_in_a, only_in_b) =
        match_cases(&a, &b, &Pairing::Alike, |case| case.label != "tasks=9");
    let place = |all: &Run, one: &CaseResult| {
        all.cases.iter().position(|case| std::ptr::eq(case, one)).unwrap()
    };
    let met: Vec<_> = pairs
        .iter()
        .map(|pair| (pair.label.as_str(), place(&a, pair.a), place(&b, pair.b)))
        .collect();
    assert_eq!(met, [("tasks=2", 0, 0), ("tasks=2", 1, 2)]);
    assert_eq!(only_in_a, ["switch x@host tasks=3"]);
    assert_eq!(only_in_b, ["switch x@host tasks=4"]);
    // With several targets, the label names the target; without a label in A, B's serves.
    let two = run(vec![case("tasks=2", "x@host"), case("tasks=2", "y@host")]);
    let (pairs, ..) = match_cases(&two, &two, &Pairing::Alike, |_| true);
    let labels: Vec<_> = pairs.iter().map(|pair| pair.label.as_str()).collect();
    assert_eq!(labels, ["x@host tasks=2", "y@host tasks=2"]);
}
