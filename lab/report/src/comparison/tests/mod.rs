//! Comparisons of made-up cases: the rules of `docs/compare.md`, each with examples.

mod median;
mod pairing;
mod sentence;
mod shown;
mod speed;
mod tail;
mod whole;

use serde_json::{Value, json};

use super::{
    CompareOptions, Comparison, Finding, History, Line, Pair, Pairing, Side, StatisticChoice,
    compare, match_cases, reference, steady, whole,
};
use chronoscope_run::{CaseResult, Context, Run, SeriesResult, Status, sample};

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

/// The command of a program that knows no defaults.
fn in_turn(a: &CaseResult, b: &CaseResult) -> Option<String> {
    Some(format!("chronoscope compare {} {} {}", a.target, b.target, b.experiment))
}

fn judged(
    a: &CaseResult,
    b: &CaseResult,
    interleaved: bool,
    statistics: &[&str],
    history: &History,
    conditions: &[String],
) -> Vec<Line> {
    let judge = &StatisticChoice::read(statistics).unwrap();
    let options = CompareOptions {
        interleaved,
        threshold: 0.05,
        judge,
        history,
        conditions,
        look: None,
        in_turn: &in_turn,
    };
    compare(&[Pair { label: "l".to_owned(), a, b }], &options)
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
