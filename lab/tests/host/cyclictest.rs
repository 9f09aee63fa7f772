//! `chronoscope cyclictest` beside rt-tests' own: the same command lines give the same lines, but for
//! their numbers, and JSON with the same keys. In the ordinary class, which needs no permission.

use std::{fs, process::Command};

use serde_json::Value;

use crate::common::{Answer, Folder, chronoscope, run};

fn ours(arguments: &str) -> Answer {
    let words: Vec<&str> = arguments.split(' ').collect();
    chronoscope(&[&["cyclictest", "--no-store"][..], &words].concat())
}

fn theirs(arguments: &str) -> Answer {
    run(Command::new("cyclictest").args(arguments.split(' ')))
}

/// The lines of an output, each number as `#`, blanks as one. A list of overflows is as long as they
/// are many.
pub fn form(output: &str) -> Vec<String> {
    let line = |line: &str| {
        let mut form = String::new();
        for letter in
            line.split('#').next().filter(|_| line.starts_with("# Thread ")).unwrap_or(line).chars()
        {
            match letter {
                '0'..='9' if form.ends_with('#') => {}
                '0'..='9' => form.push('#'),
                ' ' if form.ends_with([' ', '(', ':']) => {}
                letter => form.push(letter),
            }
        }
        form.trim_end().to_owned()
    };
    let is_listed = |line: &&str| !line.starts_with("# Thread ");
    output.lines().filter(is_listed).map(line).collect()
}

#[test]
fn lines_and_histograms_have_the_form_of_the_tool() {
    for arguments in [
        "-q -l 50",
        "-q -m -i 500 -l 50 -N",
        "-q -t 2 -d 200 -l 50",
        "-q -S -l 50 -m",
        "-q -a 0 -l 50 --policy=other",
        "-q -a 0-1 -l 50",
        "-q -a 1 -t 3 -l 50",
        "-q -l 50 -h 30",
        "-q -t 2 -l 50 -H 20 -i 2000",
        "-q --loops=20 --interval=2000 --latency=5",
    ] {
        let (ours, theirs) = (ours(arguments), theirs(arguments));
        ours.exits(0);
        assert_eq!(form(&ours.stdout), form(&theirs.stdout), "{arguments}: {ours:#?} {theirs:#?}");
    }
}

/// The starts of the first thread that an answer counts.
fn starts(answer: &Answer) -> u32 {
    let line = answer.stdout.lines().find(|line| line.starts_with("T: 0")).unwrap();
    line.split("C:").nth(1).unwrap().trim().split(' ').next().unwrap().parse().unwrap()
}

/// Their thread may have any number of starts until one is later than 1 µs.
#[test]
fn a_late_start_ends_the_run() {
    let answer = ours("-q -b 1 -l 100000 -i 1000");
    let shown = form(&answer.exits(0).stdout);
    assert_eq!(shown, form(&theirs("-q -b 1 -l 100000 -i 1000").stdout));
    assert!(starts(&answer) < 1000, "{answer:#?}");
    ours("-q -l 10 --tracemark").complains("--breaktrace");
}

/// The paths of all keys of a value, but for the rows of histograms: a thread that had no start has none.
pub fn keys(value: &Value, path: &str, all: &mut Vec<String>) {
    if let Value::Object(map) = value
        && !path.ends_with("histogram")
    {
        for (key, value) in map {
            let path = format!("{path}/{key}");
            if !all.contains(&path) {
                all.push(path.clone());
            }
            keys(value, &path, all);
        }
    }
}

#[test]
fn files_have_the_form_of_the_tool() {
    let folder = Folder::new("cyclictest-files");
    let both = [ours as fn(&str) -> Answer, theirs].map(|tool| {
        let (json, rows) = (folder.path("result.json"), folder.path("rows"));
        tool(&format!("-q -t 2 -l 200 -h 2000 --histfile={rows} --json={json}")).exits(0);
        // On a busy machine their second thread may have no start, and a mean that is no number.
        let text = fs::read_to_string(json).unwrap().replace("-nan", "0").replace("nan", "0");
        let json: Value = serde_json::from_str(&text).unwrap();
        let mut all = Vec::new();
        keys(&json, "", &mut all);
        assert_eq!(json["num_threads"], 2, "{json:#}");
        (all, form(&fs::read_to_string(rows).unwrap()))
    });
    assert_eq!(both[0], both[1]);
}

#[test]
fn what_is_not_offered_has_its_reason() {
    for (arguments, reason) in [
        ("-x -l 5", "`-x` is not offered: each thread sleeps to absolute times"),
        ("--smi -l 5", "`--smi` is not offered: the experiment noise"),
        ("-c 1 -l 5", "`-c 1`: CLOCK_MONOTONIC (0) alone is measured"),
        ("-p 98 -l 5", "`-p 98`: write 91 or less"),
        ("--policy=batch -l 5", "`--policy=batch`: other, fifo and rr are measured"),
        ("-l 5 --json=/no/such/folder/x", "cannot write /no/such/folder/x"),
        ("-a 0-1 -t 5 -l 5", "5 threads on 2 processors"),
        ("-a 3- -l 5", "`-a 3-`: write processors as 2, 0-3 or 0,2"),
        ("--bogus", "unexpected argument '--bogus'"),
    ] {
        ours(arguments).complains(reason);
    }
}

/// The last of an option that is given twice holds, as with the tool. On a busy machine a thread may
/// sleep through some of its starts.
#[test]
fn an_option_may_be_given_twice() {
    let answer = ours("--nsecs -N -l 900 -l 5 -q");
    assert!((1..=5).contains(&starts(answer.exits(0))), "{answer:#?}");
}

/// `run` names the command, and asks for no help by `-h400`.
#[test]
fn run_refuses_the_flags_that_it_does_not_have() {
    let run = |arguments: &[&str]| chronoscope(&[&["run", "period"][..], arguments].concat());
    for arguments in
        [&["-m", "-h400", "-l", "9"][..], &["-h", "400"], &["-S"], &["--policy=rr"], &["-x"]]
    {
        run(arguments).complains("`chronoscope cyclictest` takes cyclictest's whole command line");
    }
    let long = ["--priority=90", "--interval=500", "--loops=9", "--mlockall", "--list"];
    run(&long).exits(0).shows("interval_us=500");
}
