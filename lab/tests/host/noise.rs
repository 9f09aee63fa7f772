//! The loop of `noise`, of any class: it needs no permission.

use serde_json::Value;

use crate::common::chronoscope;

const ORDINARY: [&str; 8] =
    ["run", "-q", "--no-store", "noise", "--set", "policy=other", "--set", "mlock=no"];

fn noise(settings: &[&str]) -> Value {
    let once = ["--repeat", "1", "--samples", "--format", "json", "--set", "loops=3"];
    chronoscope(&[&ORDINARY[..], &once, settings].concat()).exits(0).json()["cases"][0].clone()
}

fn figure(case: &Value, name: &str) -> f64 {
    let all = case["figures"].as_array().unwrap();
    all.iter().find(|figure| figure["name"] == name).unwrap()["value"].as_f64().unwrap()
}

#[test]
fn the_loop_watches_its_windows_and_keeps_its_gaps() {
    let case = noise(&["--set", "window_us=20000", "--set", "threshold_ns=2000"]);
    let gaps: Vec<f64> = case["series"][0]["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| sample[1].as_f64().unwrap())
        .collect();
    let (in_gaps, watched) = (figure(&case, "time in gaps"), figure(&case, "watched"));
    assert!(watched >= 0.06, "{watched}");
    let long: f64 = gaps.iter().filter(|gap| **gap > 2000.0).sum();
    assert!((in_gaps / 100.0 * watched * 1e9 - long).abs() < 1e3, "{in_gaps} % and {long} ns");
}

/// A window without a gap gives its longest turn, so that a quiet machine has samples too.
#[test]
fn a_quiet_window_gives_its_longest_turn() {
    let case = noise(&["--set", "window_us=100", "--set", "threshold_ns=1000000000"]);
    assert_eq!(case["series"][0]["samples"].as_array().unwrap().len(), 3);
    assert_eq!((figure(&case, "time in gaps"), figure(&case, "gaps in a second")), (0.0, 0.0));
}

/// On each of several processors a loop of its own watches at the same time, and counts all its turns.
#[test]
fn each_of_several_processors_has_a_loop() {
    let case = noise(&["--set", "cpu=all", "--set", "window_us=20000"]);
    let count = std::thread::available_parallelism().unwrap().get();
    if count == 1 {
        return;
    }
    let series = case["series"].as_array().unwrap();
    let names = |role: &str| {
        let of_role = series.iter().filter(|series| series["role"] == role);
        of_role.map(|series| series["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("measured"), (0..count).map(|cpu| format!("cpu {cpu}")).collect::<Vec<_>>());
    let turns: Vec<_> = (0..count).map(|cpu| format!("cpu {cpu}, turns by length")).collect();
    assert_eq!(names("auxiliary"), turns);
    // Three windows of 20 ms on each.
    let watched = figure(&case, "watched");
    assert!(watched >= 0.06 * count as f64, "{watched}");
    let of_one = figure(&case, "cpu 1, watched");
    assert!((0.06..watched).contains(&of_one), "{of_one} of {watched}");
    assert!(["pass", "inconclusive"].contains(&case["verdict"]["status"].as_str().unwrap()));
}
