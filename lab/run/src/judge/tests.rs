//! The rules of `docs/method.md`, each with examples on both sides of its bound.

use serde_json::{Value, json};

use super::{judge, judge_peer};
use crate::{CaseResult, Status, sample, sample::paired};

/// Changes of a case: a JSON pointer and the new value.
type Changes = Vec<(&'static str, Value)>;

/// A row of the table of rules, with examples: changes of a passing case, and the reasons that the
/// verdict must give.
struct Rule {
    text: &'static str,
    status: Status,
    examples: Vec<(Changes, Vec<&'static str>)>,
}

/// A passing case: a measured series with p50 2900 ns, p99 4350 ns and no p99.99, a control with
/// p50 10.5 ns, 5004 switches of at least 4954, and no stolen time.
fn case(changes: &Changes) -> CaseResult {
    let mut value = serde_json::to_value(sample::case("switch", "")).unwrap();
    for (pointer, new) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = value.pointer_mut(parent).unwrap_or_else(|| panic!("no {pointer}"));
        match parent {
            Value::Object(fields) => drop(fields.insert(key.to_owned(), new.clone())),
            Value::Array(items) => items.push(new.clone()),
            other => panic!("{pointer}: {other} has no parts"),
        }
    }
    serde_json::from_value(value).unwrap()
}

fn limit(statistic: &str, bound: &str, value: f64) -> Value {
    json!({ "statistic": statistic, bound: value })
}

/// A series like the sample's, with another name, role and median.
fn series(name: &str, role: &str, p50: f64) -> Value {
    let mut series = serde_json::to_value(sample::series(name, p50)).unwrap();
    series["role"] = role.into();
    series
}

fn evidence(value: f64, low: f64, high: Option<f64>) -> Value {
    serde_json::to_value(sample::evidence("rounds", value, low, high)).unwrap()
}

fn stolen(min: f64, median: f64, max: f64) -> Value {
    json!({ "name": "steal", "unit": "ms", "value": median, "min": min, "max": max })
}

const NO_EVIDENCE: &str = "no evidence that the mechanism happened";
const NO_SAMPLE: &str = "no sample was taken";
const P99_ABOVE: &str = "switch p99 is 4.35 µs, above 4.34 µs";

#[rustfmt::skip]
fn rules() -> Vec<Rule> {
    use Status::{Inconclusive, LimitMissed, Pass};
    let missed = || ("/limits/0", limit("p99", "at-most", 4340.0));
    vec![
        Rule { text: "No count proves that the mechanism happened.", status: Inconclusive, examples: vec![
            (vec![("/evidence", json!([]))], vec![NO_EVIDENCE]),
            // A missed limit says nothing about a case that is not proven.
            (vec![("/evidence", json!([])), missed()], vec![NO_EVIDENCE]),
            (vec![("/evidence", json!([])), ("/series/0/count", json!(0))], vec![NO_EVIDENCE, NO_SAMPLE]),
        ] },
        Rule { text: "A count is outside its range.", status: Inconclusive, examples: vec![
            (vec![("/evidence/1", evidence(11.0, 12.0, Some(12.0)))], vec!["rounds: 11, not 12"]),
            (vec![("/evidence/1", evidence(13.0, 12.0, Some(12.0)))], vec!["rounds: 13, not 12"]),
            (vec![("/evidence/1", evidence(1.0, 12.0, Some(14.0)))], vec!["rounds: 1, not 12 to 14"]),
            (vec![("/evidence/1", evidence(499.0, 500.0, None))], vec!["rounds: 499, not at least 500"]),
            (vec![("/evidence/1", evidence(499.0, 499.5, None))], vec!["rounds: 499, not at least 500"]),
            (vec![("/evidence/1", evidence(501.0, 400.2, Some(500.9)))], vec!["rounds: 501, not 401 to 500"]),
            // One of several counts is enough, also the first.
            (vec![("/evidence/0/holds", json!(false)), ("/evidence/1", evidence(1.0, 1.0, None))],
                vec!["switches: 5004, not at least 4954"]),
            (vec![("/evidence/1", evidence(499.0, 500.0, None)), missed()], vec!["rounds: 499, not at least 500"]),
        ] },
        Rule { text: "No measured series has a sample.", status: Inconclusive, examples: vec![
            (vec![("/series/0/count", json!(0))], vec![NO_SAMPLE]),
            (vec![("/series", json!([]))], vec![NO_SAMPLE]),
            (vec![("/series", json!([series("only", "control", 10.0)]))], vec![NO_SAMPLE]),
        ] },
        Rule { text: "A limit is on a statistic that the case does not have.", status: Inconclusive, examples: vec![
            (vec![("/limits/0", limit("p99.99", "at-most", 1e9))], vec!["there is no `p99.99` to hold against its limit"]),
            (vec![("/limits/0", limit("misses", "at-most", 1e9))], vec!["there is no `misses` to hold against its limit"]),
            (vec![("/limits/0", limit("slope", "at-most", 1e9))], vec!["there is no `slope` to hold against its limit"]),
            (vec![("/limits/0", limit("heat", "at-most", 1e9))], vec!["there is no `heat` to hold against its limit"]),
            (vec![("/limits/0", json!({ "statistic": "p50", "series": "other", "at-most": 1e9 }))],
                vec!["there is no `p50` to hold against its limit"]),
            // The limit before it is missed.
            (vec![missed(), ("/limits/1", limit("p99.99", "at-most", 1e9))],
                vec!["there is no `p99.99` to hold against its limit"]),
        ] },
        Rule { text: "The median of a series is not above the median of its control.", status: Inconclusive, examples: vec![
            (vec![("/series/0/p50", json!(10.5))], vec!["switch: the control alone takes 10.5 ns, as much as the signal"]),
            (vec![("/series/0/p50", json!(3.0)), missed()],
                vec!["switch: the control alone takes 10.5 ns, as much as the signal"]),
            (vec![("/series/2", series("late", "measured", 10.0))],
                vec!["late: the control alone takes 10.5 ns, as much as the signal"]),
            (vec![("/series/2", series("p", "pin", 40.0)), ("/series/3", series("c", "pin-control", 40.0))],
                vec!["p: the control alone takes 40 ns, as much as the signal"]),
        ] },
        Rule { text: "A limit is missed, and the hypervisor stole time in a repetition.", status: Inconclusive, examples: vec![
            (vec![missed(), ("/figures", json!([stolen(0.0, 0.0, 20.0)]))],
                vec![P99_ABOVE, "the hypervisor stole 20 ms in one repetition, so the machine may be to blame"]),
            (vec![missed(), ("/figures", json!([stolen(0.0, 0.0, 0.01)]))],
                vec![P99_ABOVE, "the hypervisor stole 0.01 ms in one repetition, so the machine may be to blame"]),
        ] },
        Rule { text: "A limit is missed, and no time was stolen.", status: LimitMissed, examples: vec![
            (vec![missed()], vec![P99_ABOVE]),
            // A machine that does not count stolen time has no such figure.
            (vec![missed(), ("/figures", json!([]))], vec![P99_ABOVE]),
            (vec![("/limits/0", limit("p99", "at-least", 4360.0))], vec!["switch p99 is 4.35 µs, below 4.36 µs"]),
            (vec![("/limits/0", limit("p50", "at-most", 1e4)), ("/limits/1", limit("p99", "at-most", 4340.0)),
                ("/limits/2", limit("p50", "at-least", 3e3))],
                vec![P99_ABOVE, "switch p50 is 2.90 µs, below 3 µs"]),
            (vec![("/limits/0", limit("p50", "at-most", 2950.0)), ("/series/2", series("late", "measured", 3e3))],
                vec!["late p50 is 3 µs, above 2.95 µs"]),
            (vec![("/limits/0", limit("heat", "at-most", 1.0)),
                ("/figures", json!([{ "name": "heat", "unit": "", "value": 0.0, "min": 0.0, "max": 2.0 }]))],
                vec!["in one repetition heat is 2, above 1"]),
            // A figure that is null in the file keeps no limit.
            (vec![("/limits/0", limit("heat", "at-most", 1.0)),
                ("/figures", json!([{ "name": "heat", "unit": "", "value": 0.0, "min": 0.0, "max": null }]))],
                vec!["in one repetition heat is no number"]),
            // The bound has the digits that decide.
            (vec![("/limits/0", limit("p99", "at-most", 4349.6))], vec!["switch p99 is 4.3500 µs, above 4.3496 µs"]),
        ] },
        Rule { text: "Every limit is kept, or there is none.", status: Pass, examples: vec![
            (vec![], vec![]),
            (vec![("/limits/0", limit("p99", "at-most", 4350.0))], vec![]),
            (vec![("/limits/0", limit("p99", "at-least", 4350.0))], vec![]),
            (vec![("/limits/0", limit("p99", "at-most", 4350.0)), ("/figures", json!([stolen(0.0, 0.0, 20.0)]))], vec![]),
            (vec![("/evidence/1", evidence(12.0, 12.0, Some(12.0)))], vec![]),
            (vec![("/series/0/p50", json!(10.6))], vec![]),
            // A series of few samples has no median.
            (vec![("/series/0/p50", json!(null))], vec![]),
            // Another series has samples.
            (vec![("/series/0/count", json!(0)), ("/series/2", series("late", "measured", 3e3))], vec![]),
            // A control in another unit is another instrument, and an auxiliary series has none.
            (vec![("/series/0/p50", json!(1.0)), ("/series/1/unit", json!("count"))], vec![]),
            (vec![("/series/2", series("beside", "auxiliary", 1.0))], vec![]),
            (vec![("/series/2", series("p", "pin", 5.0)), ("/series/3", series("c", "pin-control", 4.0))], vec![]),
            // Limits are on measured series only, unless they name one.
            (vec![("/limits/0", limit("p50", "at-least", 2900.0)), ("/series/2", series("beside", "auxiliary", 1.0))], vec![]),
        ] },
    ]
}

#[test]
fn every_rule_gives_its_verdict() {
    for rule in rules() {
        for (changes, reasons) in &rule.examples {
            let verdict = judge(&case(changes));
            assert_eq!(
                (
                    verdict.status,
                    verdict.reasons.iter().map(|reason| reason.as_str()).collect::<Vec<_>>()
                ),
                (rule.status, reasons.clone()),
                "{}: {changes:?}",
                rule.text
            );
        }
    }
}

#[test]
fn the_rules_are_those_of_the_method() {
    let head = "| a case that ran to its end | verdict |\n|---|---|\n";
    let method = include_str!("../../../../docs/method.md");
    let (_, table) = method.split_once(head).expect("docs/method.md has the table of rules");
    let documented: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    let tested: Vec<String> =
        rules().iter().map(|rule| format!("| {} | {} |", rule.text, rule.status.words())).collect();
    assert_eq!(documented, tested);
    assert!(rules().iter().all(|rule| !rule.examples.is_empty()));
}

#[test]
fn the_median_ratio_is_judged() {
    let theirs = [100.0; 5];
    let ours = [100.0, 104.0, 109.0, 150.0, 160.0];
    assert_eq!(judge_peer(&[paired(&ours, &theirs, Some(0.1))]).status, Status::Pass);
    let missed = judge_peer(&[paired(&ours, &theirs, Some(0.05))]);
    assert_eq!(missed.status, Status::LimitMissed);
    assert_eq!(missed.reasons, ["p50 is 1.090 of theirs (1.000 to 1.600), not within 5 %"]);
    // A ratio that equals its tolerance is within it, on both sides of 1.
    for (ours, status) in [
        (125.0, Status::Pass),
        (75.0, Status::Pass),
        (126.0, Status::LimitMissed),
        (74.0, Status::LimitMissed),
    ] {
        assert_eq!(judge_peer(&[paired(&[ours; 3], &[100.0; 3], Some(0.25))]).status, status);
    }
    let shown = [paired(&ours, &theirs, None), paired(&ours, &[], None)];
    assert_eq!(judge_peer(&shown).status, Status::Pass);
}

#[test]
fn a_tolerance_without_a_value_is_no_pass() {
    let near = paired(&[100.0; 3], &[100.0; 3], Some(0.1));
    let far = paired(&[200.0; 3], &[100.0; 3], Some(0.1));
    let none = paired(&[], &[], Some(0.1));
    let verdict = judge_peer(&[near, none.clone()]);
    assert_eq!(verdict.status, Status::Inconclusive);
    assert_eq!(verdict.reasons, ["no pair has p50"]);
    assert_eq!(judge_peer(&[far, none]).status, Status::LimitMissed);
}
