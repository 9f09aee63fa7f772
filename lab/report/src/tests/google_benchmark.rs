//! Tests that the Google Benchmark JSON holds the fields that its tools require.

use serde_json::Value;

use crate::google_benchmark::render;
use chronoscope_run::{Run, Unit, sample};

fn rendered(run: &Run) -> Value {
    serde_json::from_str(&render(run).unwrap()).unwrap()
}

fn entries(file: &Value) -> &[Value] {
    file["benchmarks"].as_array().unwrap()
}

#[test]
fn every_entry_has_what_google_benchmark_writes() {
    let file = rendered(&sample::run());
    assert_eq!(file["context"]["json_schema_version"], 1);
    for name in ["date", "host_name", "executable", "library_version", "library_build_type"] {
        assert!(file["context"][name].is_string(), "{name}");
    }
    assert!(file["context"]["num_cpus"].is_u64() && file["context"]["mhz_per_cpu"].is_i64());
    for entry in entries(&file) {
        for name in ["name", "run_name", "run_type", "time_unit"] {
            assert!(entry[name].is_string(), "{name} of {entry}");
        }
        for name in
            ["family_index", "per_family_instance_index", "repetitions", "threads", "iterations"]
        {
            assert!(entry[name].is_u64(), "{name} of {entry}");
        }
        assert!(entry["real_time"].is_f64() && entry["cpu_time"].is_f64(), "{entry}");
        match entry["run_type"].as_str().unwrap() {
            "iteration" => {
                assert!(entry["repetition_index"].is_u64() && entry["name"] == entry["run_name"])
            }
            _ => {
                let name = format!("{}_{}", text(entry, "run_name"), text(entry, "aggregate_name"));
                assert_eq!(text(entry, "name"), name);
                assert!(["time", "percentage"].contains(&text(entry, "aggregate_unit")));
            }
        }
    }
}

fn text<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry[name].as_str().unwrap()
}

#[test]
fn a_case_is_named_by_requested_parameters() {
    let file = rendered(&sample::run());
    let mut names: Vec<&str> = entries(&file).iter().map(|entry| text(entry, "run_name")).collect();
    names.dedup();
    assert_eq!(
        names,
        [
            "switch/pair:thread-thread/tasks:2",
            "switch/pair:process-process/tasks:2",
            "delay/task 1",
            "delay/task 2",
            "inversion/protocol:none/hog 0 ms",
            "inversion/protocol:none/hog 40 ms",
            "inversion/protocol:none/hog 80 ms",
            "inversion/protocol:ceiling",
            "interrupt",
        ]
    );
    let mut several = sample::run();
    several.cases[1].target = "linux-rt@vm".into();
    let file = rendered(&several);
    assert_eq!(entries(&file)[0]["name"], "switch/pair:thread-thread/tasks:2/target:linux@host");
}

#[test]
fn times_are_means_and_aggregates_are_over_repetitions() {
    let file = rendered(&sample::run());
    let of_first: Vec<&Value> = entries(&file)
        .iter()
        .filter(|entry| entry["per_family_instance_index"] == 0)
        .take(9)
        .collect();
    let means: Vec<f64> =
        of_first[..5].iter().map(|entry| entry["real_time"].as_f64().unwrap()).collect();
    assert_eq!(means, [2900.0, 2910.0, 2920.0, 2930.0, 2940.0]);
    let aggregates: Vec<&str> =
        of_first[5..].iter().map(|entry| text(entry, "aggregate_name")).collect();
    assert_eq!(aggregates, ["mean", "median", "stddev", "cv"]);
    assert_eq!(of_first[5]["real_time"], 2920.0);
    assert!((of_first[7]["real_time"].as_f64().unwrap() - 250_f64.sqrt()).abs() < 1e-9);
    assert!((of_first[8]["real_time"].as_f64().unwrap() - 250_f64.sqrt() / 2920.0).abs() < 1e-12);
    assert!(
        of_first.iter().all(|entry| entry["cpu_time"] == 0.0),
        "no processor time was measured"
    );
    assert_eq!(of_first[6]["p50"], 2900.0);
}

#[test]
fn a_case_without_figures_has_a_reason() {
    let file = rendered(&sample::run());
    let by_name = |name: &str| entries(&file).iter().find(|entry| entry["name"] == name).unwrap();
    let refused = by_name("interrupt");
    assert_eq!(
        (&refused["skipped"], refused["real_time"].as_f64()),
        (&Value::Bool(true), Some(0.0))
    );
    let unproven = by_name("inversion/protocol:ceiling");
    assert_eq!(unproven["error_occurred"], true);
    assert!(text(unproven, "error_message").contains("rounds of high"));
}

#[test]
fn a_delay_is_its_lateness_and_other_units_are_labelled() {
    let mut run = sample::run();
    let entry = |run: &Run| {
        let file = rendered(run);
        entries(&file).iter().find(|entry| entry["name"] == "delay/task 1").unwrap().clone()
    };
    let time = |entry: &Value, name: &str| entry[name].as_f64().unwrap();
    let delay = entry(&run);
    assert_eq!(delay["nominal"], 50e6);
    assert!(time(&delay, "real_time") < 1e6 && time(&delay, "p50") < 1e6, "{delay}");
    // Twice as late is twice the time.
    for case in run.cases.iter_mut().filter(|case| case.experiment.as_str() == "delay") {
        for repetition in case.series.iter_mut().flat_map(|series| &mut series.by_repetition) {
            repetition.mean *= 2.0;
        }
    }
    assert_eq!(time(&entry(&run), "real_time"), 2.0 * time(&delay, "real_time"));
    run.cases[0].series[0].unit = Unit::Cycles;
    let first = &rendered(&run)["benchmarks"][0];
    assert_eq!(
        (&first["label"], &first["time_unit"]),
        (&"1 s stands for 1 of the unit: cycles".into(), &"s".into())
    );
    assert_eq!(first["cycles"], first["real_time"]);
}
