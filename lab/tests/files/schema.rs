//! Runs, stores, baselines and journals of schema 1, which an older program wrote, are read.

use std::fs;

use crate::common::{Folder, chronoscope};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/schema_1");

fn fixture(name: &str) -> String {
    format!("{FIXTURES}/{name}")
}

#[test]
fn a_file_is_reported_in_each_format() {
    for file in ["host.json", "emulated.json"].map(fixture) {
        assert!(fs::read_to_string(&file).unwrap().contains("\"schema\": 1"));
        for format in [
            "table",
            "json",
            "csv",
            "html",
            "google-benchmark",
            "google-benchmark-console",
            "junit",
        ] {
            chronoscope(&["report", &file, "--format", format]).exits(0).shows("switch");
        }
    }
}

#[test]
fn a_file_becomes_one_of_the_new_schema() {
    let json =
        |name: &str| chronoscope(&["report", &fixture(name), "--format", "json"]).exits(0).json();
    let host = json("host.json");
    assert_eq!(host["schema"], 2);
    let series = &host["cases"][0]["series"][0];
    let of = |key: &str| {
        let each = series["by_repetition"].as_array().unwrap().iter();
        each.map(|one| one[key].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let (low, high) = (f64::min as fn(f64, f64) -> f64, f64::max as fn(f64, f64) -> f64);
    let end = |key: &str, of_two: fn(f64, f64) -> f64| of(key).into_iter().reduce(of_two).unwrap();
    assert_eq!(of("p50").len(), 5);
    assert_eq!(series["p50_interval_basis"], "range");
    assert_eq!(series["p50_interval"]["low"].as_f64().unwrap(), end("p50", low));
    assert_eq!(series["p50_interval"]["high"].as_f64().unwrap(), end("p50", high));
    assert_eq!(series["upper_limits"]["over"], "repetitions");
    assert_eq!(series["upper_limits"]["p99"].as_f64().unwrap(), end("p99", high));

    let emulated = json("emulated.json");
    let series = &emulated["cases"][0]["series"][0];
    assert_eq!(series["p50_interval_basis"], "exact");
    assert_eq!(series["p50_interval"]["low"], series["p50"]);
    assert!(series["upper_limits"].is_null());
}

#[test]
fn a_file_is_compared_with_a_new_one() {
    let folder = Folder::new("schema-compared");
    // Nothing is known of the scatter between runs by the host's clock.
    for (name, words) in [("host.json", "no regression shown"), ("emulated.json", "pass: 1 pass")] {
        let old = fixture(name);
        let new = chronoscope(&["report", &old, "--format", "json"]);
        let new = folder.file(name, &new.exits(0).stdout);
        chronoscope(&["compare", &old, &new]).exits(0).shows(words);
        let slower = fs::read_to_string(&old).unwrap().replace("\"p50\": ", "\"p50\": 9");
        let slower = folder.file(&format!("slower-{name}"), slower);
        chronoscope(&["compare", &new, &slower]).exits(3).shows("regression");
    }
}

#[test]
fn a_baseline_is_checked() {
    let emulated = fixture("emulated.json");
    chronoscope(&["baseline", "check", &fixture("baseline.toml"), &emulated]).exits(0);
}

#[test]
fn a_store_and_a_journal_are_read() {
    let folder = Folder::new("schema-stored");
    let store = folder.path("runs.sqlite");
    fs::copy(fixture("runs.sqlite"), &store).unwrap();
    chronoscope(&["report", "1", "--store", &store]).exits(0).shows("switch");
    chronoscope(&["history", "--store", &store]).exits(0).shows("2026");
    let journals = format!("{store}.journals");
    fs::create_dir(&journals).unwrap();
    fs::copy(fixture("killed.journal"), format!("{journals}/killed.journal")).unwrap();
    let recovered = chronoscope(&["recover", "--store", &store]);
    assert!(recovered.exits(0).stderr.contains("stored as run 2"), "{recovered:#?}");
    let run = chronoscope(&["report", "2", "--store", &store, "--format", "json"]).exits(0).json();
    assert_eq!(run["schema"], 2);
    assert!(run["cases"][0]["repetitions"].as_u64().unwrap() >= 2, "{run}");
}
