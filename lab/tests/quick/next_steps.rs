//! The commands that a first screen prints: each can be typed, at every width.

use std::{collections::BTreeSet, fs};

use crate::common::{Folder, fixtures, program, run, runs_in};

/// The commands in a text: each begins with the program's name, and ends before two spaces, a comma
/// that no argument has, or the line's end.
fn commands(screen: &str) -> BTreeSet<String> {
    let begins = screen.match_indices("chronoscope ").map(|(at, _)| at);
    let command = |at: usize| {
        let rest = screen[at..].lines().next().unwrap();
        let rest = rest.split("  ").next().unwrap();
        let rest = rest.split(", ").next().unwrap();
        rest.trim_end_matches(['.', ')', '`', ';']).to_owned()
    };
    begins.map(command).collect()
}

#[test]
fn every_printed_command_can_be_typed() {
    let folder = Folder::new("next-steps");
    let mut all: BTreeSet<String> = BTreeSet::new();
    for (place, path) in runs_in(&fixtures()).iter().enumerate() {
        let name = format!("{place}.json");
        fs::copy(path, folder.path(&name)).unwrap();
        for (columns, format) in
            [("60", ""), ("80", ""), ("132", ""), ("200", ""), ("80", "--explain")]
        {
            let mut report = program();
            report.current_dir(&folder.0).env("COLUMNS", columns).args(["report", &name]);
            if !format.is_empty() {
                report.arg(format);
            }
            let screen = run(&mut report).exits(0).stdout.clone();
            let steps = screen.lines().filter(|line| line.starts_with('→'));
            assert!(steps.clone().count() > 0 || !format.is_empty(), "{screen}");
            for line in steps {
                assert!(!line.contains('…'), "a command is cut at {columns}: {line}");
            }
            all.extend(commands(&screen));
        }
    }
    let kinds: BTreeSet<&str> =
        all.iter().filter_map(|command| command.split(' ').nth(1)).collect();
    assert!(kinds.contains("report") && kinds.contains("run"), "{all:?}");
    for command in &all {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let mut typed = program();
        typed.current_dir(&folder.0).args(&words);
        match words[0] {
            // A plan is made of the cases, and nothing runs.
            "run" | "show" | "worst" => typed.arg("--list"),
            "doctor" | "explain" | "report" => &mut typed,
            other => panic!("`{other}` of {command}: say how it is tried"),
        };
        let answer = run(&mut typed);
        // The doctor's 4 says that it found something.
        let is_taken = answer.status == Some(0) || words[0] == "doctor" && answer.status == Some(4);
        assert!(is_taken, "{command}: {answer:?}");
    }
}
