//! The machine `cortex-m4`: kernels' images in QEMU. What it measures is exact, so tests may compare figures.

mod common;

use common::chronoscope;
use serde_json::Value;

/// The cases of a run, as JSON.
fn cases(arguments: &[&str]) -> Vec<Value> {
    let answer = chronoscope(&[&["run", "-q", "--format", "json"], arguments].concat());
    answer.json()["cases"].as_array().expect("a run has cases").clone()
}

/// The median of a case's first measured series.
fn median(case: &Value) -> f64 {
    let series = case["series"].as_array().expect("a case has series");
    let measured = series.iter().find(|series| series["role"] == "measured");
    measured.and_then(|series| series["p50"].as_f64()).unwrap_or_else(|| panic!("no median in {case:#}"))
}

const ALL: [&str; 8] = ["switch", "message", "wakeup", "interrupt", "period", "spawn", "log", "pipeline"];

#[test]
fn two_runs_give_the_same_bytes() {
    let arguments =
        [&["run", "-q", "--repeat", "2", "--target", "embassy@cortex-m4,bare@cortex-m4"], &ALL[..4]].concat();
    let csv = || chronoscope(&[&arguments[..], &["--format", "csv"]].concat()).stdout;
    let first = csv();
    assert!(first.lines().count() > 8, "{first}");
    assert_eq!(first, csv());

    let json = || {
        let mut run = chronoscope(&[&arguments[..], &["--format", "json"]].concat()).json();
        run["context"] = Value::Null;
        run
    };
    assert_eq!(json(), json());
}

#[test]
fn every_figure_has_evidence() {
    for case in cases(&[&["--repeat", "1", "--target", "embassy@cortex-m4"], &ALL[..]].concat()) {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        assert_eq!(case["clock"]["domain"], "instructions", "{case:#}");
        let evidence = case["evidence"].as_array().unwrap();
        assert!(!evidence.is_empty() && evidence.iter().all(|fact| fact["holds"] == true), "{case:#}");
    }
}

#[test]
fn a_mark_takes_a_few_instructions() {
    for target in ["embassy@cortex-m4", "bare@cortex-m4"] {
        let case = &cases(&["interrupt", "--repeat", "1", "--target", target])[0];
        let control = case["series"].as_array().unwrap().iter().find(|series| series["role"] == "control").unwrap();
        // A clock read and a store, and in some rounds what the loop around them takes.
        assert_eq!(control["p50"], 2.0, "{control:#}");
        assert!(control["max"].as_f64().unwrap() < 10.0, "{control:#}");
    }
}

#[test]
fn nothing_is_faster_than_no_kernel() {
    for experiment in ["switch", "message", "interrupt"] {
        let case = cases(&[experiment, "--repeat", "1", "--target", "embassy@cortex-m4,bare@cortex-m4"]);
        let [embassy, bare] = &case[..] else { panic!("{case:#?}") };
        assert!(median(bare) <= median(embassy), "{experiment}: {} and {}", median(bare), median(embassy));
    }
}

#[test]
fn a_delay_is_late_by_the_way_back_to_the_task_alone() {
    let delays = ["--set", "delay_us=50,5000,2000000", "--set", "loops=3", "--set", "tasks=1", "--repeat", "1"];
    let cases = cases(&[&["delay", "--target", "embassy@cortex-m4"], &delays[..]].concat());
    let excess: Vec<f64> = cases.iter().map(median).collect();
    assert_eq!(excess.len(), 3);
    // The clock's 32 bits wrap within the last case.
    assert!(excess.iter().all(|late| *late > 0.0 && *late < 1000.0), "{excess:?}");
}

#[test]
fn what_a_kernel_lacks_is_not_offered() {
    chronoscope(&["run", "inversion", "-q", "--target", "embassy@cortex-m4"]).exits(0).shows("not offered");
    let threads = ["run", "switch", "-q", "--set", "pair=thread-thread", "--target", "embassy@cortex-m4"];
    chronoscope(&threads).exits(0).shows("embassy has coroutines only");
    chronoscope(&["run", "delay", "-q", "--target", "bare@cortex-m4"]).exits(0).shows("not offered");
}

#[test]
fn a_case_too_large_for_the_chip_says_so() {
    let large = ["run", "switch", "-q", "--set", "loops=1000000", "--target", "embassy@cortex-m4"];
    chronoscope(&large).exits(4).shows("more memory than this target has");
}

#[test]
fn pairs_that_do_not_exist_are_told() {
    chronoscope(&["run", "switch", "--target", "linux@cortex-m4"]).complains("unknown target `linux@cortex-m4`");
    chronoscope(&["run", "switch", "--target", "embassy@host"]).complains("unknown target `embassy@host`");
}
