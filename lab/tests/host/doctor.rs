//! The doctor on any machine: the form of its answer, and an exit status that agrees with its
//! findings.

use std::{fs, process::Command, thread, time::Duration};

use crate::common::{chronoscope, program_path, run};

#[test]
fn the_exit_status_is_the_worst_finding() {
    let answer = chronoscope(&["doctor", "--format", "json"]);
    let report = answer.json();
    let findings = report["findings"].as_array().unwrap();
    let bad = findings.iter().any(|finding| finding["level"] == "bad");
    answer.exits(if bad { 4 } else { 0 });
    assert_eq!(report["worst"] == "bad", bad);
    for finding in findings {
        assert!(!finding["seen"].as_str().unwrap().is_empty(), "{finding}");
        let level = finding["level"].as_str().unwrap();
        assert!(["good", "unseen", "note", "bad"].contains(&level), "{finding}");
        let advised = finding["why"].is_string() && finding["mend"].is_string();
        assert_eq!(advised, ["note", "bad"].contains(&level), "{finding}");
    }
    for check in ["clock source", "real-time scheduling", "preemption", "noise", "interrupts"] {
        assert!(findings.iter().any(|finding| finding["check"] == check), "{check}");
    }
    // The only thing the doctor waits for. `unseen` has a reason instead of an observation.
    let noise = findings.iter().find(|finding| finding["check"] == "noise").unwrap();
    let seen = noise["seen"].as_str().unwrap();
    let seconds = seen.strip_prefix("in ").and_then(|seen| seen.split(' ').next()?.parse().ok());
    let is_short = seconds.is_some_and(|seconds: f64| (0.8..2.0).contains(&seconds));
    assert!(noise["level"] == "unseen" || is_short, "{noise}");
}

#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    let doctor = format!("{} doctor >/dev/full", program_path().display());
    let answer = run(Command::new("sh").args(["-c", &doctor]));
    assert!(!answer.exits(1).stderr.contains("panicked"), "{answer:#?}");
}

#[test]
fn the_table_ends_with_a_summary() {
    let answer = chronoscope(&["doctor"]);
    let last = answer.stdout.lines().last().unwrap();
    assert!(last.contains(" good · ") && last.contains(" not seen: "), "{last}");
    assert_eq!(answer.stderr, "");
}

#[test]
fn a_task_more_urgent_than_a_case_is_named() {
    let mut hog = Command::new("chrt").args(["-f", "90", "sleep", "60"]).spawn().unwrap();
    let id = hog.id();
    let name = || fs::read_to_string(format!("/proc/{id}/comm")).unwrap();
    while name().trim() != "sleep" {
        thread::sleep(Duration::from_millis(5));
    }
    let answer = chronoscope(&["doctor", "--format", "json"]).json();
    let findings = answer["findings"].as_array().unwrap();
    let urgent = findings.iter().find(|one| one["check"] == "urgent tasks").unwrap();
    hog.kill().unwrap();
    hog.wait().unwrap();
    assert_eq!(urgent["level"], "note");
    let seen = urgent["seen"].as_str().unwrap();
    assert!(seen.contains(&format!("sleep (FIFO 90, {id})")), "{seen}");
}

#[test]
fn several_processors_are_examined_and_what_they_share_stands_once() {
    let answer = chronoscope(&["doctor", "-a", "all", "--format", "json"]).json();
    let all = answer["findings"].as_array().unwrap();
    let of = |check: &str| all.iter().filter(|one| one["check"] == check).count();
    assert_eq!(of("swap"), 1);
    assert_eq!(answer["cpus"][0], answer["cpu"]);
    let processors = answer["cpus"].as_array().unwrap().len();
    assert_eq!(of("isolation"), processors);
    for (list, reason) in [
        ("1023", "the kernel permits no processor 1023 here"),
        ("1-", "name processors as 2, 1-3, 0,2 or all"),
        ("", "name processors as 2, 1-3, 0,2 or all"),
    ] {
        chronoscope(&["doctor", "-a", list]).exits(1).complains(reason);
    }
}
