//! Runs, stores, baselines and journals of schema 1, which an older program wrote, are read. Runs of
//! today conform to the JSON Schema.

use std::{fs, process::Command};

use crate::common::{Folder, chronoscope, fixtures, run, runs_in, schema::faults_of_run};

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

/// Each recorded run of a study. `Answer::json` checks all other runs of the tests in the same way.
#[test]
fn every_recorded_run_conforms_to_the_schema() {
    let runs = runs_in(&fixtures());
    assert_eq!(runs.len(), 17);
    for file in &runs {
        let file = file.to_str().unwrap();
        let run = chronoscope(&["report", file, "--format", "json"]).exits(0).json();
        assert!(run["cases"].is_array() && run["schema"] == 2, "{file}");
    }
    let full = serde_json::to_value(chronoscope_run::sample::full()).unwrap();
    assert_eq!(faults_of_run(&full), Vec::<String>::new());
}

#[test]
fn the_schema_is_printed_and_finds_faults() {
    let schema = chronoscope(&["schema"]).exits(0).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(
        schema["properties"]["cases"].is_object() && schema["$defs"]["SeriesResult"].is_object()
    );
    let mut run = serde_json::to_value(chronoscope_run::sample::full()).unwrap();
    run["cases"][0]["verdict"]["status"] = "fine".into();
    run["cases"][0]["repetitions"] = "5".into();
    run["cases"][0]["colour"] = 1.into();
    run["cases"][0]["series"][0].as_object_mut().unwrap().remove("unit");
    let faults = faults_of_run(&run).join("\n");
    for fault in [
        "run.cases[0].verdict.status: \"fine\"",
        "run.cases[0].repetitions: \"5\" is not",
        "run.cases[0].colour: is not in the schema",
        "run.cases[0].series[0]: \"unit\" is missing",
    ] {
        assert!(faults.contains(fault), "no `{fault}` in {faults}");
    }
}

/// The reader in Python, without pandas, finds the figures of the long CSV.
#[test]
fn the_reader_in_python_finds_what_the_long_csv_has() {
    let file = fixture("../../../report/src/answer/fixtures/microcontrollers.json");
    let long = chronoscope(&["report", &file, "--format", "csv-long"]).exits(0).stdout.clone();
    let head: Vec<&str> = long.lines().next().unwrap().split(',').collect();
    assert!(head.contains(&"tasks") && head.contains(&"statistic"), "{head:?}");
    let medians = long.lines().filter(|line| line.contains(",p50,")).count();
    let script = "import sys, frame
rows = frame.rows(sys.argv[1])
print(sum(row['p50'] is not None for row in rows))
print(all('target' in row and 'tasks' in row for row in rows if row['experiment'] == 'switch'))";
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples");
    let mut python = Command::new("python3");
    let python = python.args(["-B", "-c", script, &file]).env("PYTHONPATH", examples);
    assert_eq!(run(python).exits(0).stdout, format!("{medians}\nTrue\n"));
}
