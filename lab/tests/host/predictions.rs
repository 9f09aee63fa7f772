//! Predictions of the next run, from runs that a store has.

use std::{thread::sleep, time::Duration};

use crate::common::{Folder, chronoscope};

#[test]
fn the_evidence_of_the_third_run_predicts_the_next() {
    let folder = Folder::new("predictions");
    let store = folder.path("runs.sqlite");
    let run = ["run", "switch", "--target", "linux@host", "--set", "policy=other", "--repeat", "2"];
    let run = [&run[..], &["--set", "loops=1000", "--store", &store, "--evidence", "-q"]].concat();
    let predicts = |arguments: &[&str], runs: &str| {
        // A run's date has no fraction of a second, and orders the runs.
        sleep(Duration::from_millis(1_100));
        let answer = chronoscope(arguments);
        let shown = &answer.exits(0).stdout;
        let words: Vec<&str> = shown.split_whitespace().collect();
        words.join(" ").contains(&format!("the next run, by the ranks of {runs}: p50 in "))
    };
    assert!(!predicts(&run, "1") && !predicts(&run, "2"), "two runs predict nothing");
    assert!(predicts(&run, "3"), "the run itself counts");
    assert!(predicts(&["report", "3", "--store", &store, "--evidence"], "3"));
    // A run is predicted by the runs before it.
    assert!(!predicts(&["report", "2", "--store", &store, "--evidence"], "3"));
}
