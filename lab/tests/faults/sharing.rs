//! A store that others use at the same time.

use std::{
    process::Child,
    thread,
    time::{Duration, Instant},
};

use chronoscope_store::{Place, Store};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

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
    Answer::new(child.wait_with_output().unwrap(), "the lab".to_owned())
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

/// A signal ends the wait for a store: before the measurement, and after it, when the results stay in
/// the journal.
#[test]
fn a_signal_ends_the_wait_for_a_locked_store() {
    let lab = Lab::new("locked-signal").with_port("touch \"$here/runs\"; exec sleep 1000");
    let store = lab.0.path("runs.sqlite");
    let words = [&RUN[..], &["--store", &store]].concat();
    end(start(&lab, &words)).exits(0);
    let other = Connection::open(&store).unwrap();
    let interrupted = |lab: Child| {
        let begin = Instant::now();
        kill_process(Pid::from_child(&lab), Signal::INT).unwrap();
        let answer = end(lab);
        // Without the signal it is 10 s from the begin of the wait.
        assert!(begin.elapsed() < Duration::from_secs(7), "{answer:#?}");
        answer
    };
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let waiting = start(&lab, &words);
    thread::sleep(Duration::from_secs(1));
    let answer = interrupted(waiting);
    let told = "chronoscope: interrupted: nothing was measured\n";
    assert_eq!((&*answer.exits(130).stderr, &*answer.stdout), (told, ""));
    other.execute_batch("COMMIT").unwrap();
    // The first case is complete, and the second never ends.
    let words: Vec<&str> =
        words.iter().map(|word| if *word == "tasks=5" { "tasks=5,6" } else { word }).collect();
    let measuring = start(&lab, &words);
    let begin = Instant::now();
    while !std::path::Path::new(&lab.0.path("runs")).exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the port is not started");
        thread::sleep(Duration::from_millis(10));
    }
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let answer = interrupted(measuring);
    let told = "runs.sqlite is held by another program for more than 1 s: try again";
    assert!(answer.exits(1).stderr.contains(told), "{answer:#?}");
    let promise = format!("`chronoscope recover --store {store}` stores what was measured");
    assert!(answer.stderr.contains(&promise), "{answer:#?}");
    answer.shows("switch");
    other.execute_batch("COMMIT").unwrap();
    let recovered = end(start(&lab, &["recover", "--store", &store]));
    assert!(recovered.exits(0).stderr.contains("stored as run 2"), "{recovered:#?}");
    lab.left_nobody();
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
    let store = Store::open(&Place::File(store.into())).unwrap();
    let numbers: Vec<i64> = store.runs(None, 99).unwrap().iter().map(|row| row.run).collect();
    assert_eq!(numbers, (1..=20).rev().collect::<Vec<_>>());
    for number in numbers {
        assert_eq!(store.run(number).unwrap().cases.len(), 1);
    }
    lab.left_nobody();
}
