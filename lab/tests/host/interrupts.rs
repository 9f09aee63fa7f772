//! Labs that are interrupted or killed while they measure this machine, many at once too.

use std::{fs, thread, time::Duration};

use rustix::process::Signal;

use crate::victim::{Place, Random, Tally, rounds, until};

/// Two cases without end, whose repetitions take milliseconds.
const ENDLESS: [&str; 11] = [
    "run",
    "switch",
    "--set",
    "policy=other",
    "--set",
    "mlock=no",
    "--set",
    "loops=50,100",
    "--repeat",
    "1000000",
    "-o",
];

fn endless(place: &Place) -> Vec<String> {
    let out = place.folder.path("table.txt");
    ENDLESS.iter().map(|&word| word.to_owned()).chain([out]).collect()
}

fn place(test: &str) -> Place {
    Place::new(test, "chronoscope-linux", &Place::built("chronoscope-linux"))
}

#[test]
fn two_signals_lose_no_repetition() {
    let place = place("two-signals");
    let words = endless(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mut random, mut tally) = (Random(1), Tally::default());
    for round in 0..rounds() {
        let mut lab = place.start(&words);
        lab.has_ended(1);
        thread::sleep(random.below(Duration::from_millis(300)));
        let journaled = place.journaled();
        let took = lab.ends_by_two_signals(round, &mut random);
        place.is_left_by_all();
        place.is_clean();
        assert_eq!(
            fs::read_dir(place.folder.path("store/runs.sqlite.journals")).unwrap().count(),
            0
        );
        let kept = place.take_stored();
        assert!(kept >= journaled, "{journaled} were in the journal");
        tally.add(place.ends(), kept, took);
    }
    tally.print("double signals on linux@host");
}

/// A soak of nine minutes is stopped after some seconds: all that it measured is stored, with its evidence.
#[test]
fn a_soak_that_is_stopped_keeps_everything() {
    // The signal must reach the port itself, so no script is in its place.
    let place = Place::new("soak", "unused", "true");
    let words = "run period -D 9m -i 500 -b 1 --set policy=other --set mlock=no";
    let mut lab = place.start(&words.split(' ').collect::<Vec<_>>());
    until("the progress shows the worst sample", || lab.said().contains("  worst "));
    lab.signal(Signal::INT);
    assert_eq!(lab.ended(), 130, "{}", lab.said());
    place.is_left_by_all();
    let run = place.ask(&["report", "1", "--format", "json"]).exits(0).json();
    let case = &run["cases"][0];
    assert_eq!((&run["context"]["interrupted"], &case["repetitions"]), (&true.into(), &1.into()));
    let figure = |name: &str| {
        let figures = case["figures"].as_array().unwrap();
        figures.iter().find(|figure| figure["name"] == name).unwrap()["value"].as_f64().unwrap()
    };
    let due = figure("due times");
    assert!(due > 100.0, "{due}");
    assert_eq!(figure("measured wake-ups") + figure("skipped periods"), due);
    // 500 µs from each due time to the next.
    assert_eq!((figure("elapsed") / 500e-6).floor() + 1.0, due);
    for evidence in case["evidence"].as_array().unwrap() {
        assert_eq!(evidence["holds"], true, "{evidence}");
    }
    let task = case["series"].as_array().unwrap().iter().find(|one| one["name"] == "task 1");
    let soak = &task.unwrap()["soak"];
    assert_eq!(task.unwrap()["count"].as_f64(), Some(due));
    assert_eq!(soak["largest"].as_array().unwrap().len() as f64, due.min(10_000.0));
    let misses = soak["misses"].as_array().unwrap();
    assert_eq!(misses.len() as f64, task.unwrap()["misses"]["misses"].as_f64().unwrap());
}

/// A soak whose lab is killed is found up to its last checkpoint, of which there is one every ten seconds.
#[test]
fn a_soak_that_is_killed_keeps_its_last_checkpoint() {
    let place = Place::new("soak-killed", "unused", "true");
    let words = "run period -D 9m -i 500 -b 1 --set policy=other --set mlock=no";
    let mut lab = place.start(&words.split(' ').collect::<Vec<_>>());
    let journals = place.folder.path("store/runs.sqlite.journals");
    let names = || -> Vec<String> {
        let entries = fs::read_dir(&journals).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    until("a checkpoint is there", || names().iter().any(|name| name.ends_with(".checkpoint")));
    let sizes = || -> u64 {
        let sizes = names().into_iter().map(|name| fs::metadata(format!("{journals}/{name}")));
        sizes.flatten().map(|data| data.len()).sum()
    };
    assert!(sizes() < 2 << 20, "{}", sizes());
    lab.signal(Signal::KILL);
    assert_eq!(lab.ended(), -9);
    place.is_left_by_all();
    place.ask(&["recover"]).exits(0);
    assert!(names().is_empty(), "{:?}", names());
    let run = place.ask(&["report", "1", "--format", "json"]).exits(0).json();
    let case = &run["cases"][0];
    let task = case["series"].as_array().unwrap().iter().find(|one| one["name"] == "task 1");
    let count = task.unwrap()["count"].as_f64().unwrap();
    // Two thousand due times a second, but for the ones that were under way.
    assert!((10_000.0..60_000.0).contains(&count), "{count}");
    assert_eq!(case["verdict"]["status"], "inconclusive");
    let why = case["verdict"]["reasons"][0].as_str().unwrap();
    assert!(why.starts_with("its lab was killed after 0 min 1"), "{why}");
    assert_eq!(run["context"]["interrupted"], true);
}

#[test]
fn a_killed_lab_loses_only_the_repetition_it_was_in() {
    let place = place("killed");
    let words = endless(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mut random, mut tally) = (Random(2), Tally::default());
    for _ in 0..rounds() {
        let mut lab = place.start(&words);
        lab.has_ended(1);
        thread::sleep(random.below(Duration::from_millis(300)));
        let journaled = place.journaled();
        lab.signal(Signal::KILL);
        assert_eq!(lab.ended(), -9);
        let took = place.is_left_by_all();
        let recovered = place.ask(&["recover"]);
        recovered.exits(0);
        place.is_clean();
        let kept = place.take_stored();
        assert!(kept >= journaled, "{journaled} were in the journal");
        tally.add(place.ends(), kept, took);
    }
    tally.print("kills on linux@host");
}

/// A port that is killed ends its case; the other case goes on.
#[test]
fn a_killed_port_costs_one_repetition() {
    let place = place("killed-port");
    let words = endless(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mut random, mut tally) = (Random(6), Tally::default());
    let mut killed = 0;
    for _ in 0..rounds() {
        let mut lab = place.start(&words);
        lab.has_ended(2);
        thread::sleep(random.below(Duration::from_millis(100)));
        let journaled = place.journaled();
        place.kill_one();
        let ends = place.ends();
        lab.has_ended(ends + 2);
        lab.signal(Signal::TERM);
        assert_eq!(lab.ended(), 130, "{}", lab.said());
        let took = place.is_left_by_all();
        place.is_clean();
        let cases = place.killed_cases();
        assert!(cases <= 1, "{cases} cases");
        killed += cases;
        let kept = place.take_stored();
        assert!(kept >= journaled, "{journaled} were in the journal");
        tally.add_of(2, place.ends().max(kept), kept, took);
    }
    // A process that has sent all and is about to end costs nothing.
    assert!(killed * 2 > rounds() as usize, "{killed} of {} rounds", rounds());
    tally.print("kills of the port on linux@host");
}

#[test]
fn the_next_start_names_what_was_left_and_recover_stores_it() {
    let place = place("left");
    let words = endless(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut lab = place.start(&words);
    // The entry of the first is written before the third begins.
    lab.has_ended(3);
    // A living lab's journal is no unfinished run.
    let living = place.ask(&["recover"]);
    assert!(living.exits(0).stderr.contains("there is no unfinished run"), "{living:?}");
    lab.signal(Signal::KILL);
    lab.ended();
    place.is_left_by_all();
    let short = ["run", "switch", "--set", "policy=other", "--set", "mlock=no", "--repeat", "1"];
    let compare =
        ["compare", "linux@host,tasks=2", "linux@host,tasks=3", "switch", "--repeat", "1"];
    let set = ["--set", "policy=other", "--set", "mlock=no", "--set", "loops=50"];
    for words in [&short[..], &[&compare[..], &set].concat(), &["history"]] {
        let next = place.ask(words);
        let told =
            next.stderr.lines().find(|line| line.contains("an unfinished run was found (of 20"));
        let told = told.unwrap_or_else(|| panic!("{next:#?}"));
        assert!(told.contains(" repetitions of 2 cases): `chronoscope recover --store "), "{told}");
    }
    let quiet = place.ask(&[&short[..], &["-q"]].concat());
    assert_eq!(quiet.stderr, "");
    let recovered = place.ask(&["recover"]);
    assert!(recovered.exits(0).stderr.contains("stored as run 5\n"), "{recovered:#?}");
    let run = place.ask(&["report", "5", "--format", "json"]).exits(0).json();
    assert_eq!(
        (&run["context"]["interrupted"], run["cases"].as_array().unwrap().len()),
        (&true.into(), 2)
    );
    assert!(run["cases"][0]["log"].to_string().contains("interrupted after"), "{run}");
    assert!(place.ask(&["history"]).stderr.is_empty());
    assert!(place.ask(&["recover"]).stderr.contains("there is no unfinished run"));
}

#[test]
fn discarded_means_gone() {
    let place = place("discarded");
    let words = endless(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut lab = place.start(&words);
    lab.has_ended(3);
    lab.signal(Signal::KILL);
    lab.ended();
    let journals = place.folder.path("store/runs.sqlite.journals");
    fs::write(format!("{journals}/x.journal"), "none").unwrap();
    let unreadable = place.ask(&["recover"]);
    assert!(unreadable.stderr.contains("stored as run 1\n"), "{unreadable:#?}");
    assert!(unreadable.exits(1).stderr.contains("(`chronoscope recover --discard` removes it)"));
    let discarded = place.ask(&["recover", "--discard"]);
    assert!(discarded.exits(0).stderr.contains("1 unfinished run discarded\n"), "{discarded:#?}");
    assert_eq!(fs::read_dir(journals).unwrap().count(), 0);
}

#[test]
fn an_interrupted_comparison_stores_both_sides() {
    let place = place("compared");
    let words = [
        "compare",
        "linux@host,tasks=2",
        "linux@host,tasks=3",
        "switch",
        "--repeat",
        "1000000",
        "--set",
        "policy=other",
        "--set",
        "mlock=no",
        "--set",
        "loops=50",
    ];
    let mut lab = place.start(&words);
    lab.has_ended(5);
    lab.signal(Signal::INT);
    assert_eq!(lab.ended(), 130);
    let said = lab.said();
    assert!(said.contains("stored as run 1 and run 2\n"), "{said}");
    assert!(said.contains("interrupted: nothing is compared"), "{said}");
    let kept = place.take_stored();
    assert!(kept <= place.ends() && kept + 1 >= place.ends(), "{kept} of {}", place.ends());
}

#[test]
fn twenty_labs_share_a_store() {
    let place = place("twenty");
    let words = [
        "run",
        "switch",
        "--set",
        "policy=other",
        "--set",
        "mlock=no",
        "--set",
        "loops=50",
        "--repeat",
        "1000000",
    ];
    let mut labs: Vec<_> = (0..20).map(|_| place.start(&words)).collect();
    let journals = || fs::read_dir(place.folder.path("store/runs.sqlite.journals"));
    until("all measure", || {
        let journals = journals().into_iter().flatten();
        // A header takes more than 500 bytes, and an entry too.
        let long = |size: u64| size > 4000;
        journals
            .filter(|file| {
                file.as_ref().is_ok_and(|file| file.metadata().is_ok_and(|known| long(known.len())))
            })
            .count()
            == 20
    });
    for (number, lab) in labs.iter().enumerate() {
        lab.signal(if number % 2 == 0 { Signal::KILL } else { Signal::INT });
    }
    for (number, lab) in labs.iter_mut().enumerate() {
        assert_eq!(lab.ended(), if number % 2 == 0 { -9 } else { 130 }, "{}", lab.said());
    }
    place.is_left_by_all();
    // Two at once: each journal is stored by one of them.
    let recover = || place.ask(&["recover"]);
    thread::scope(|scope| {
        let other = scope.spawn(recover);
        recover().exits(0);
        other.join().unwrap().exits(0);
    });
    recover().exits(0);
    assert_eq!(journals().unwrap().count(), 0);
    place.is_clean();
    let runs = place.ask(&["history", "--limit", "100", "--format", "json"]).exits(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 20);
}
