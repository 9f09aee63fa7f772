//! `fault` and `chain`: what only a system with virtual memory and POSIX's locks has.

use serde_json::Value;

use crate::common::chronoscope;

fn case(words: &[&str]) -> Value {
    let run = ["run", "-q", "--no-store", "--repeat", "1", "--format", "json"];
    chronoscope(&[&run[..], words].concat()).exits(0).json()["cases"][0].clone()
}

/// The median of a series.
fn median(case: &Value, name: &str) -> f64 {
    let series = case["series"].as_array().unwrap().iter().find(|series| series["name"] == name);
    series.and_then(|series| series["p50"].as_f64()).unwrap_or_else(|| panic!("{name}: {case:#}"))
}

#[test]
fn each_kind_of_page_costs_a_fault_and_only_once() {
    for page in ["anonymous", "shared", "copied"] {
        for lock in ["yes", "no"] {
            let sets = [format!("page={page}"), format!("mlock={lock}")];
            let case = case(&["fault", "--set", &sets[0], "--set", &sets[1], "-l", "500"]);
            let holds = |one: &Value| one["holds"] == true;
            assert!(case["evidence"].as_array().unwrap().iter().all(holds), "{case:#}");
            assert!(
                median(&case, "fault") > 2.0 * median(&case, "second touch"),
                "{page}: {case:#}"
            );
        }
    }
}

#[test]
fn a_chain_takes_longer_with_each_lock() {
    let case = case(&["chain", "--set", "depth=6", "-l", "100"]);
    let holds = |one: &Value| one["holds"] == true;
    assert!(case["evidence"].as_array().unwrap().iter().all(holds), "{case:#}");
    let (one, six) = (median(&case, "1 lock"), median(&case, "6 locks"));
    assert!(six > 2.0 * one && median(&case, "6 locks, priority lent") < six, "{case:#}");
}

#[test]
fn a_chain_needs_priorities_and_one_processor() {
    let told = |words: &[&str], status: i32, why: &str| {
        let run = ["run", "-q", "--no-store", "--repeat", "1", "chain"];
        chronoscope(&[&run[..], words].concat()).exits(status).shows(why);
    };
    told(&["--set", "policy=other"], 0, "without real-time priorities there is none to lend");
    told(&["-a", "0+1"], 4, "a chain is built on one processor");
}
