//! The claims of the five published reports, by recorded runs.

use crate::common::{Folder, chronoscope, program, run};

/// The studies that repeat the reports; a recorded run of each is a fixture.
const STUDIES: [&str; 5] =
    ["p1-embassy-preempt", "p2-tornado", "p3-binder", "p4-linux-rt", "p5-four-kernels"];

/// A claim, its verdict, and its reason begin lines in this order.
const SHOWN: [[&str; 3]; 5] = [
    [
        "confirmed",
        "A hand-over between kinds of task takes longer than one between threads",
        "273 cycles and 211 cycles",
    ],
    ["explained", "The time grows faster than the tasks", "the report's queue does"],
    ["confirmed", "A hwbinder call takes the same from 4 bytes to 256", "flat up to a kilobyte"],
    ["confirmed", "With real-time priority it takes as long as alone", "1.01 times as long"],
    ["confirmed", "Tracer and logic analyser agree within 2 %", "marks give 11 114 instructions"],
];

#[test]
fn every_claim_of_the_reports_has_its_verdict() {
    let folder = Folder::new("published");
    let store = ["--store", &folder.path("runs.sqlite")];
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for study in STUDIES {
        let file = root.join(format!("report/src/answer/fixtures/{study}.json"));
        chronoscope(&[&["import", "-q", file.to_str().unwrap()], &store[..]].concat()).exits(0);
    }
    let report = |arguments: &[&str]| {
        chronoscope(&[&["report", "--published"], &store[..], arguments].concat())
    };
    let answer = report(&[]);
    let text = answer.exits(0).stdout.replace(['\u{a0}', '\u{202f}'], " ");
    let first = text.lines().next().unwrap();
    assert!(first.contains(" claims of 5 reports: ") && first.contains(" confirmed, "), "{first}");
    for [ruling, says, reason] in SHOWN {
        let mut lines = text.lines().map(str::trim_start);
        let claim = format!("{ruling:<15}{says}");
        assert!(lines.any(|line| line.starts_with(&claim)), "{claim}: {text}");
        assert!(lines.any(|line| line.starts_with(reason)), "{reason}: {text}");
    }
    let page = folder.path("published.html");
    report(&["-o", &page]).exits(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(first) && page.contains("all figures"), "{first}");
    assert_eq!(page.matches("<section id=\"p").count(), 5);
}

#[test]
fn a_report_that_was_not_run_names_its_command() {
    let folder = Folder::new("published-none");
    let none = run(program().env("XDG_DATA_HOME", &folder.0).args(["report", "--published"]));
    none.exits(0).shows("not run yet: chronoscope run p1-embassy-preempt");
    let store = folder.path("runs.sqlite");
    let named = ["report", "--published", "--store", &store];
    chronoscope(&named).complains("there is no store of runs");
    chronoscope(&["report", "--published", "--history", "--store", &store]).complains("--history");
}
