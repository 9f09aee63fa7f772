//! Peers, replaced by small programs that print a peer's output: judged, reported and refused
//! results.

use std::{fs, process::Command};

use crate::common::{self, Answer, Folder, chronoscope, program_path};

/// A study of a peer that takes an operation of `ns`, or runs `script`.
fn study(script: &str, rest: &str) -> String {
    format!(
        r#"
        name = "test"
        title = "A peer."
        [[peer]]
        name = "peer"
        package = "peer-tools"
        command = ["sh", "-c", "{script}", "-", "{{loops/2}}"]
        reads = "perf-bench-pipe"
        experiment = "switch"
        set = {{ policy = "other", mlock = "no", loops = 200 }}
        pairs = 5
        {rest}
        "#
    )
}

fn run(name: &str, study: &str, flags: &[&str]) -> Answer {
    let folder = Folder::new(name);
    let study = folder.file("study.toml", study);
    chronoscope(&[&["run", "--allow-programs", "--study", &study, "-q"], flags].concat())
}

/// A peer slower than Chronoscope can ever be, an hour for an operation; and a faster one.
const SLOW: &str = "echo 3600000000 usecs/op";
const QUICK: &str = "echo 0.000001 usecs/op";
const JUDGED: &str = r#"beside = [{ ours = "mean", theirs = "operation", within = "10 %" }]"#;
const SHOWN: &str =
    r#"beside = [{ ours = "mean", theirs = "operation", scale = 0.5 }, { theirs = "operation" }]"#;

#[test]
fn every_pair_is_kept_with_its_ratio() {
    let answer = run("pairs", &study(SLOW, SHOWN), &["--format", "json"]);
    let run = answer.exits(0).json();
    let peer = &run["peers"][0];
    assert_eq!(peer["pairs"], 5);
    assert_eq!(peer["command"][4], "100", "the placeholder is half of our loops");
    let paired = &peer["statistics"][0];
    assert_eq!(paired["ours"].as_array().unwrap().len(), 5);
    assert_eq!(paired["theirs"], serde_json::json!([1.8e12, 1.8e12, 1.8e12, 1.8e12, 1.8e12]));
    assert_eq!(paired["unit"], "ns");
    let ratio = |which: &str| paired["ratio"][which].as_f64().unwrap();
    assert!(
        0.0 < ratio("min") && ratio("min") <= ratio("median") && ratio("median") <= ratio("max")
    );
    assert!(peer["statistics"][1]["ratio"].is_null(), "one side makes no ratio");
}

#[test]
fn a_median_ratio_beyond_its_tolerance_is_a_limit_missed() {
    for script in [SLOW, QUICK] {
        run("judged", &study(script, JUDGED), &[])
            .exits(2)
            .shows("limit missed: mean is")
            .shows("not within 10 %");
        run("shown", &study(script, SHOWN), &["--full"]).exits(0).shows("mean / operation");
    }
}

#[test]
fn ours_and_theirs_take_turns_in_going_first() {
    let folder = Folder::new("turns");
    let (turns, port) = (folder.path("turns"), program_path().with_file_name("chronoscope-linux"));
    // The lab runs the port next to itself: here one that first writes down its turn. Other
    // programs write both files: this process's other tests start children, which would hold a file
    // of its own open for writing, and then Linux does not run it.
    let words = format!("#!/bin/sh\necho ours >>{turns}\nexec {} \"$@\"\n", port.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", "cp \"$1\" chronoscope && printf %s \"$2\" >$3 && chmod +x $3", "sh"]);
    shell.arg(program_path()).args([&words, "chronoscope-linux"]).current_dir(&folder.0);
    common::run(&mut shell).exits(0);
    let study = folder.file("study.toml", study(&format!("echo theirs >>{turns}; {SLOW}"), SHOWN));
    let mut lab = Command::new(folder.path("chronoscope"));
    lab.args(["run", "--no-store", "-q", "--allow-programs", "--repeat", "4", "--study", &study]);
    common::run(&mut lab).exits(0);
    let turns = fs::read_to_string(turns).unwrap();
    let turns: Vec<&str> = turns.lines().collect();
    let [ours, theirs] = ["ours", "theirs"];
    assert_eq!(turns, [ours, theirs, theirs, ours, ours, theirs, theirs, ours]);
}

#[test]
fn a_tool_that_is_missing_is_told_with_its_mend() {
    let missing = study(SLOW, SHOWN).replace("package", "tool = \"no-such-tool\"\n        package");
    let both =
        missing.clone() + &study(SLOW, SHOWN)[study(SLOW, SHOWN).find("[[peer]]").unwrap()..];
    let mend = "error: no-such-tool is not installed: apt-get install peer-tools";
    run("missing", &missing, &[]).exits(1).shows(mend);
    let run = run("rest", &both, &["--format", "json"]);
    let run = run.exits(1).json();
    assert_eq!(run["peers"][0]["pairs"], 0);
    assert_eq!(run["peers"][1]["verdict"]["status"], "pass", "the rest runs");
}

#[test]
fn a_tool_that_fails_is_inconclusive_in_its_own_words() {
    for (script, told) in [
        ("echo no permission >&2; exit 3", "theirs: peer failed: no permission"),
        ("kill -9 $$", "theirs: peer was killed by signal 9"),
        ("echo 0 usecs/op", "which makes no ratio"),
        ("echo nothing of use", "cannot be read: there is no `usecs/op` in it"),
        ("yes", "writes more than"),
    ] {
        run("fails", &study(script, SHOWN), &[]).exits(4).shows(told);
    }
}

#[test]
fn a_pair_that_fails_once_is_run_again_and_told() {
    let folder = Folder::new("once");
    let mark = folder.path("failed");
    let script = format!("if ! [ -e {mark} ]; then touch {mark}; exit 3; fi; {SLOW}");
    let answer = run("again", &study(&script, SHOWN), &["--format", "json"]);
    let peer = &answer.exits(0).json()["peers"][0];
    assert_eq!(peer["statistics"][0]["ours"].as_array().unwrap().len(), 5);
    assert!(
        peer["note"]
            .as_str()
            .unwrap()
            .starts_with("A pair failed and was run again: theirs: peer failed"),
        "{peer}"
    );
}

#[test]
fn what_is_left_out_does_not_run() {
    run("other", &study(SLOW, SHOWN), &["spawn"]).complains("nothing to run");
    let study = study(SLOW, SHOWN).replace("switch", "swich");
    run("unknown", &study, &[])
        .complains("peer 1 of `test`: unknown experiment `swich`; did you mean `switch`?");
}
