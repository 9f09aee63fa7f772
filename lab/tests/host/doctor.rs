//! The doctor on any machine: the form of its answer, and an exit status that agrees with its
//! findings.

use std::time::{Duration, Instant};

use crate::common::chronoscope;

#[test]
fn the_exit_status_is_the_worst_finding() {
    let start = Instant::now();
    let answer = chronoscope(&["doctor", "--format", "json"]);
    // The doctor observes noise for 0.8 s; the rest is slack for a busy machine.
    assert!(start.elapsed() < Duration::from_secs(8));
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
}

#[test]
fn the_table_ends_with_a_summary() {
    let answer = chronoscope(&["doctor"]);
    let last = answer.stdout.lines().last().unwrap();
    assert!(last.contains(" good · ") && last.contains(" not seen: "), "{last}");
    assert_eq!(answer.stderr, "");
}
