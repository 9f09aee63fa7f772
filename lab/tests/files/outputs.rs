//! The outputs of `run` and their places: every format from a real run, and the errors of places
//! that cannot be written.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio, id},
};

use crate::common::{Answer, chronoscope, program, run};
use serde_json::Value;

/// A short case that needs no permission. Its verdict is not tested here.
const SHORT: [&str; 9] =
    ["run", "switch", "-l", "600", "--repeat", "3", "--set", "policy=other", "-q"];

fn short(more: &[&str]) -> Answer {
    let answer = chronoscope(&[&SHORT, more].concat());
    assert!([Some(0), Some(4)].contains(&answer.status), "{answer:#?}");
    answer
}

/// An empty folder, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("chronoscope-outputs-{}-{name}", id()));
        fs::create_dir_all(&folder).expect("the folder for temporary files can be written to");
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder is there");
        entries
            .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
            .collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Collects all keys except names of parameters.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                found.insert(name.clone());
                if name != "parameters" {
                    keys(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_json_is_documented() {
    let run = short(&["--format", "json", "--samples", "-b", "100"]).json();
    assert_eq!(run["schema"], 2);
    let mut found = BTreeSet::new();
    keys(&run, &mut found);
    let document = include_str!("../../../docs/run-file.md");
    let missing: Vec<_> =
        found.iter().filter(|key| !document.contains(&format!("| `{key}` |"))).collect();
    assert!(missing.is_empty(), "docs/run-file.md does not tell of {missing:?}");
}

#[test]
fn raw_samples_are_kept_on_request() {
    let series = |run: &Value| run["cases"][0]["series"][0].clone();
    assert_eq!(series(&short(&["--format", "json"]).json())["samples"], Value::Null);
    let kept = series(&short(&["--format", "json", "--samples"]).json());
    let samples = kept["samples"].as_array().expect("the samples are there");
    assert_eq!(samples.len() as u64, kept["count"].as_u64().unwrap());
}

#[test]
fn google_benchmark_s_flag_gives_its_json() {
    let run =
        short(&["--benchmark_format=json", "--set", "pair=thread-thread,coroutine-coroutine"])
            .json();
    assert_eq!(run["context"]["json_schema_version"], 1);
    let entries = run["benchmarks"].as_array().expect("there are benchmarks");
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    for name in
        ["switch/pair:thread-thread/policy:other", "switch/pair:coroutine-coroutine/policy:other"]
    {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    chronoscope(&[&SHORT[..], &["--benchmark_format=json", "--format", "csv"]].concat())
        .complains("cannot be used with");
}

/// The rows of compare.py's table for two files: name, changes of time and of processor time.
fn compared(old: &Path, new: &Path) -> Vec<(String, f64, f64)> {
    let python = env::var_os("CHRONOSCOPE_TEST_PYTHON").expect("./chronoscope test names SciPy's");
    let mut command = Command::new(python);
    command.args(["-B", "-W", "ignore", "/usr/share/benchmark/compare.py", "--no-color"]);
    let answer = run(command.arg("benchmarks").args([old, new]));
    let table = &answer.exits(0).stdout;
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, time, processor, _, _, _, _] = words[..] else { return None };
        Some((name.to_owned(), time.parse().ok()?, processor.parse().ok()?))
    };
    table.lines().filter_map(row).collect()
}

/// Writes a copy of a file in Google Benchmark's form, with its times doubled.
fn doubled(file: &Path, to: &Path) {
    let mut run: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    for entry in run["benchmarks"].as_array_mut().expect("a list") {
        entry["real_time"] = (2.0 * entry["real_time"].as_f64().expect("a time")).into();
    }
    fs::write(to, run.to_string()).unwrap();
}

#[test]
fn compare_py_reads_times_and_instructions() {
    let scratch = Scratch::new("compare-py");
    let (old, new) = (scratch.0.join("old.json"), scratch.0.join("new.json"));
    let emulated = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/schema_1/emulated.json");
    let host = ["run", "switch", "-l", "1800", "--set", "policy=other"];
    for command in [&host[..], &["report", emulated]] {
        let path = old.to_str().expect("a plain path");
        let format = ["--format", "google-benchmark", "-o", path];
        let answer = chronoscope(&[command, &format].concat());
        assert!([Some(0), Some(4)].contains(&answer.status), "{answer:#?}");
        doubled(&old, &new);
        let rows = compared(&old, &new);
        let is_aggregate = |name: &str| AGGREGATES.iter().any(|end| name.ends_with(end));
        let changes: Vec<_> = rows.iter().filter(|(name, ..)| !is_aggregate(name)).collect();
        assert!(!changes.is_empty(), "{rows:?}");
        if command == host {
            assert_eq!(changes.len(), 9, "9 repetitions are the default: {rows:?}");
        }
        for (name, time, processor) in changes {
            assert_eq!((*time, *processor), (1.0, 0.0), "{name}");
        }
        let same = compared(&old, &old);
        assert!(same.iter().all(|(_, time, _)| *time == 0.0), "{same:?}");
    }
}

/// The ends of names that are no repetitions in compare.py's table.
const AGGREGATES: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_pvalue", "_GEOMEAN"];

#[test]
fn ci_systems_are_told_of_each_case() {
    let more = ["--set", "tasks=2,3", "--format"];
    let junit = short(&[&more[..], &["junit"]].concat()).stdout;
    let document =
        roxmltree::Document::parse(&junit).unwrap_or_else(|error| panic!("{error}: {junit}"));
    let names = document
        .descendants()
        .filter(|node| node.has_tag_name("testcase"))
        .map(|case| case.attribute("name"));
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["2", "3"]
            .map(|tasks| Some(format!("linux@host tasks={tasks} policy=other")))
            .each_ref()
            .map(Option::as_deref)
    );
    let github = short(&[&more[..], &["github"]].concat()).stdout;
    assert!(github.starts_with("::notice title=chronoscope%3A experiments::"), "{github}");
}

#[test]
fn csv_has_a_row_for_each_series() {
    let text = short(&["--format", "csv"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("experiment,target,release,parameters,clock,repetitions,series,role,")
    );
    assert_eq!(lines.len(), 3, "a header, the series and its control: {text}");
    let other = short(&["--benchmark_format=csv"]).stdout;
    assert_eq!(other.lines().next(), Some(lines[0]), "the other name of the format");
}

#[test]
fn the_table_shows_evidence_and_is_plain_in_a_pipe() {
    let text = short(&["--full"]).stdout;
    assert!(text.contains("Evidence\nswitch\n  start: ") && text.contains("✓ switches "), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn a_file_is_whole_or_not_there() {
    let scratch = Scratch::new("whole");
    let file = scratch.path("run.json");
    fs::write(&file, "what was there before").unwrap();
    assert_eq!(short(&["--format", "json", "-o", &file]).stdout, "");
    serde_json::from_str::<Value>(&fs::read_to_string(&file).unwrap()).expect("it is JSON");
    assert_eq!(scratch.names(), ["run.json"]);
}

#[test]
fn without_a_place_to_write_to_nothing_is_run() {
    let scratch = Scratch::new("nowhere");
    let long = |file: &str| chronoscope(&["run", "switch", "-D", "1h", "-o", file]);
    long(&scratch.path("no/such/file")).complains("there is no folder");
    long(&scratch.path("")).complains("it is a folder");
    // A folder that root may write by its mode, and where no file can be made.
    long("/sys/x.json").complains("cannot write /sys/x.json");
    assert!(scratch.names().is_empty());
}

#[test]
fn a_full_disk_is_told_in_one_line() {
    assert!(Path::new("/dev/full").exists());
    let answer = chronoscope(&[&SHORT[..], &["-o", "/dev/full"]].concat());
    answer.complains("cannot write /dev/full: No space left on device");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut command = program();
    let mut child =
        command.args(SHORT).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let answer = Answer::new(child.wait_with_output().unwrap(), "run | head".to_owned());
    assert!([Some(0), Some(4)].contains(&answer.status), "{answer:#?}");
    assert_eq!(answer.stderr, "");
}

/// The most tasks that are documented, each with a series of its own for every way of counting.
#[test]
fn the_most_tasks_of_a_periodic_case_are_reported() {
    let set = ["tasks=28,32", "policy=other", "mlock=no", "loops=20"];
    let set = set.iter().flat_map(|set| ["--set", set]);
    let words: Vec<&str> =
        ["period", "--repeat", "1", "--no-store"].into_iter().chain(set).collect();
    for case in crate::common::cases(&words) {
        let reasons = case["verdict"]["reasons"].to_string();
        assert!(!reasons.contains("series"), "{reasons}");
        let tasks: usize = case["parameters"]["tasks"].as_str().unwrap().parse().unwrap();
        assert!(case["series"].as_array().unwrap().len() > 2 * tasks, "{case:#}");
    }
}
