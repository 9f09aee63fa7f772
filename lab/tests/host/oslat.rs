//! `chronoscope oslat` beside rt-tests' own: the same command lines give the same lines, but for their
//! numbers, and JSON with the same keys. In the ordinary class, which needs no permission.

use std::{fs, process::Command};

use serde_json::Value;

use super::cyclictest::{form, keys};
use crate::common::{Answer, Folder, chronoscope, run};

fn ours(arguments: &str) -> Answer {
    let words: Vec<&str> = arguments.split(' ').collect();
    chronoscope(&[&["oslat", "--no-store"][..], &words].concat())
}

fn theirs(arguments: &str) -> Answer {
    run(Command::new("oslat").args(arguments.split(' ')))
}

#[test]
fn tables_have_the_form_of_the_tool() {
    for arguments in ["-D 1 -c 0-1", "-q -D 1 -c 0 -b 8 -w memmove -m 4K"] {
        let (ours, theirs) = (ours(arguments), theirs(arguments));
        ours.exits(0);
        assert_eq!(form(&ours.stdout), form(&theirs.stdout), "{arguments}: {ours:#?} {theirs:#?}");
    }
}

/// A bias moves all buckets by the shortest turn; its size is the machine's.
#[test]
fn files_have_the_form_of_the_tool() {
    let folder = Folder::new("oslat-files");
    let both = [ours as fn(&str) -> Answer, theirs].map(|tool| {
        let file = folder.path("result.json");
        let answer = tool(&format!("-q -D 1 -c 1 -B -z --json={file}"));
        answer.exits(0).shows("Global bias set to ");
        let json: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let mut all = Vec::new();
        keys(&json, "", &mut all);
        let thread = &json["thread"]["0"];
        assert_eq!((&json["num_threads"], &thread["cpu"]), (&1.into(), &1.into()), "{json:#}");
        // Buckets begin above the bias, and their last has all longer turns.
        let bias = thread["min"].as_u64().unwrap();
        let lengths = thread["histogram"].as_object().unwrap().keys();
        let lengths: Vec<u64> = lengths.map(|length| length.parse().unwrap()).collect();
        assert!(lengths.iter().all(|length| (bias + 1..=bias + 32).contains(length)), "{json:#}");
        // Empty rows are left out.
        let row =
            |line: &str| line.contains("(us):").then(|| line.split('\t').nth(1)?.chars().nth(1))?;
        let rows: Vec<char> = answer.stdout.lines().filter_map(row).collect();
        assert!(rows.len() == lengths.len() && !rows.contains(&'0'), "{answer:#?}");
        all
    });
    assert_eq!(both[0], both[1]);
}

/// The turns above the threshold are the gaps, which took another way through the program.
#[test]
fn the_table_has_all_gaps_of_the_run() {
    let folder = Folder::new("oslat-gaps");
    let store = format!("--store={}", folder.path("runs.db"));
    let (json, limit) = (format!("--json={}", folder.path("r.json")), 1000.0);
    chronoscope(&["oslat", "-q", "-D", "1", "-c", "0-1", "-b", "1024", &store, &json]).exits(0);
    let run = chronoscope(&["report", "last", "--format", "json", &store]).exits(0).json();
    let json: Value =
        serde_json::from_str(&fs::read_to_string(folder.path("r.json")).unwrap()).unwrap();
    let series = run["cases"][0]["series"].as_array().unwrap();
    for number in 0..2 {
        let name = format!("cpu {number}");
        let series = series.iter().find(|series| series["name"] == *name).unwrap();
        let histogram = series["histogram"].as_array().unwrap();
        let gaps_from = |ns: f64| -> u64 {
            let rows = histogram.iter().filter(|row| row[0].as_f64().unwrap() >= ns);
            rows.map(|row| row[1].as_u64().unwrap()).sum()
        };
        let thread = &json["thread"][number.to_string()];
        let turns_from = |us: u64| -> u64 {
            let turns = thread["histogram"].as_object().unwrap().iter();
            let turns = turns.filter(|(length, _)| length.parse::<u64>().unwrap() >= us);
            turns.map(|(_, count)| count.as_u64().unwrap()).sum()
        };
        // The row 3 has turns from 2 µs on, all of which are gaps. The row 2 has turns of exactly 1 µs,
        // too, which are none: a gap is longer. Their share follows from the step of the machine's clock.
        assert_eq!(gaps_from(2.0 * limit), turns_from(3), "{thread:#}");
        let (gaps, turns) = (gaps_from(limit), turns_from(2));
        assert!(gaps > 0 && gaps <= turns, "{gaps} gaps, {turns} turns");
        let longest_ns = series["max"].as_f64().unwrap();
        assert_eq!(thread["max"], (longest_ns / 1000.0) as u64 + 1, "{thread:#}");
        // A loop ends with the first turn that is over after its second. On a busy machine it begins late.
        let duration = thread["duration"].as_f64().unwrap();
        assert!(duration > 0.0 && duration < 1.001 + longest_ns / 1e9, "{thread:#}");
    }
}

/// Such a run has the status 1 and no table, here and with the tool.
#[test]
fn a_long_gap_ends_the_run() {
    let [ours, theirs] = [ours as fn(&str) -> Answer, theirs].map(|tool| {
        let answer = tool("-q -D 60 -c 0 -T 2");
        answer.exits(1).shows("oslat V 2.40\n");
        assert!(!answer.stdout.contains("Maximum"), "{answer:#?}");
        let at = answer.stderr.find("Trace threshold").unwrap_or_else(|| panic!("{answer:#?}"));
        form(&answer.stderr[at..].replace('\n', " "))
    });
    assert_eq!(ours, theirs);
}

#[test]
fn a_file_that_cannot_be_written_is_said_first() {
    ours("-D 60 --json=/no/such/folder/x").complains("cannot write /no/such/folder/x");
    assert_eq!(ours("-v").exits(0).stdout, theirs("-v").stdout);
}
