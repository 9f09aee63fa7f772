//! `switch cpu=matrix`: each processor alone, and each pair of two.

use crate::common::{Folder, chronoscope};

/// A busy machine leaves a case inconclusive now and then: the first of five runs that is not is read.
#[test]
fn each_processor_and_each_pair_is_a_case() {
    let folder = Folder::new("matrix");
    let file = folder.path("run.json");
    let run = ["run", "switch", "-q", "--no-store", "--repeat", "3", "-l", "2000"];
    let saved = ["--set=cpu=matrix", "--format", "json", "-o", &file];
    let mut runs = (0..5).map(|_| chronoscope(&[&run[..], &saved].concat()));
    let quiet = runs.find(|run| run.status != Some(4)).expect("five runs are inconclusive");
    quiet.exits(0);
    let json = chronoscope(&["report", &file, "--format", "json"]).exits(0).json();
    let cpus: Vec<&str> = json["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["parameters"]["cpu"].as_str().unwrap())
        .collect();
    assert!(cpus.starts_with(&["0", "0+1"]) && cpus.contains(&"1"), "{cpus:?}");
    let text = chronoscope(&["report", &file]).exits(0).stdout.clone();
    for words in ["Between processors 0 and 1 a switch", "; on one ", "cpu         0        1"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = chronoscope(&["report", &file, "--format", "html"]).exits(0).stdout.clone();
    assert!(page.contains("Median of a switch between two processors"));
    assert!(page.contains("title=\"0 and 1: "));
}

#[test]
fn a_matrix_of_other_cases_is_refused() {
    let refused = |words: &[&str], why: &str| {
        let answer = chronoscope(&[&["run", "-q", "--no-store"], words].concat());
        assert!(answer.exits(1).stderr.contains(why), "{answer:?}");
    };
    let only = "only `switch` between two tasks has a matrix of processors";
    refused(&["period", "--set", "cpu=matrix"], only);
    refused(&["switch", "--set", "cpu=matrix", "--set", "tasks=3"], only);
    refused(&["switch", "--set", "cpu=matrix:0+900"], "the case may not run on processor 900");
    refused(&["switch", "--set", "cpu=matrix:x"], "`cpu=matrix:x`: the list is a processor");
    refused(&["switch", "--set", "cpu=matrixes"], "`cpu=matrixes`: it is a processor");
}

/// The ratio is 1.00. A partner that does not sleep yet makes a step without a switch; a pair with too many is run
/// once more, and then inconclusive, which happens to one in twenty. So there are five pairs, and the first
/// of five runs that agrees is read: whoever counts half of a switch, or two, never agrees.
#[test]
fn a_c_program_finds_the_same_between_two_processors() {
    let folder = Folder::new("matrix-c");
    let program =
        folder.compiled(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/independent.c"));
    let study = format!(
        r#"
        name = "test"
        title = "A C program on two processors."
        [[peer]]
        name = "C"
        package = "gcc"
        command = ["{program}", "matrix"]
        reads = "perf-bench-pipe"
        experiment = "switch"
        pairs = 5
        set = {{ cpu = "0+1", loops = 4000 }}
        beside = [{{ ours = "p50", theirs = "operation", within = "30 %" }}]
        "#
    );
    let study = folder.file("study.toml", study);
    let run = ["run", "-q", "--allow-programs", "--no-store", "--study", &study];
    let mut runs = (0..5).map(|_| chronoscope(&run));
    let agreed = runs.find(|run| run.status == Some(0)).expect("no run of five agrees");
    agreed.shows("1 of 1 judged figure");
}
