//! A store that others use at the same time.

use std::{
    process::Child,
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use crate::{
    common::Answer,
    played::{Lab, WRITING},
};

const RUN: [&str; 9] =
    ["run", "switch", "--set", "tasks=5", "--repeat", "1", "-q", "--format", "csv"];

fn start(lab: &Lab, words: &[&str]) -> Child {
    let mut command = lab.command(words);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let _alone = WRITING.lock();
    command.spawn().unwrap()
}

fn end(child: Child) -> Answer {
    Answer::of(child.wait_with_output().unwrap(), "the lab".to_owned())
}

#[test]
fn a_locked_store_is_waited_for() {
    let lab = Lab::new("locked").with_port("exit 1");
    let store = lab.0.path("runs.sqlite");
    let words = [&RUN[..], &["--store", &store]].concat();
    end(start(&lab, &words)).exits(0);
    let other = Connection::open(&store).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let waiting = start(&lab, &words);
    thread::sleep(Duration::from_secs(2));
    other.execute_batch("COMMIT").unwrap();
    end(waiting).exits(0);
    // For ever: the lab says so before it measures anything.
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let begin = Instant::now();
    let refused = end(start(&lab, &words));
    assert_eq!(refused.exits(1).stdout, "");
    assert!(begin.elapsed() >= Duration::from_secs(10), "{:?}", begin.elapsed());
    let told = "runs.sqlite is held by another program for more than 10 s: try again";
    assert!(refused.stderr.contains(told) && refused.stderr.lines().count() == 1, "{refused:#?}");
    other.execute_batch("COMMIT").unwrap();
    let runs: i64 = other.query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap();
    assert_eq!(runs, 2);
}

#[test]
fn twenty_labs_at_once_store_twenty_runs() {
    let lab = Lab::new("twenty").with_port("exit 1");
    let store = lab.0.path("runs.sqlite");
    let words = [&RUN[..], &["--store", &store]].concat();
    let labs: Vec<Child> = (0..20).map(|_| start(&lab, &words)).collect();
    for answer in labs.into_iter().map(end) {
        answer.exits(0).shows("switch");
    }
    let store = chronoscope::store::Store::open(store.as_ref()).unwrap();
    let numbers: Vec<i64> = store.runs(None, 99).unwrap().iter().map(|row| row.run).collect();
    assert_eq!(numbers, (1..=20).rev().collect::<Vec<_>>());
    for number in numbers {
        assert_eq!(store.run(number).unwrap().cases.len(), 1);
    }
    lab.left_nobody();
}
