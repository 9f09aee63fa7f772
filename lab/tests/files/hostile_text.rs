//! Text from outside moves no cursor, hides nothing, ends no line that it stands in and starts no
//! command, whatever its way in and whatever the format of the output.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt,
    process::Command,
};

use chronoscope_suite::wire::{self, Domain, Evidence, Record, Sample, Samples, Series, Unit};
use rusqlite::Connection;
use serde_json::Value;

use crate::common::{
    Answer, Folder, SHORT, chronoscope, copy_program, frames, program, program_path, run,
};

/// Escape sequences of a terminal in C0 and C1, a lone CR, marks that turn the text around, an XML
/// noncharacter, and commands that a workflow of GitHub's would obey.
const EVIL: &str = "evil\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\rx\u{202e}\u{2066}\u{200f}\u{2028}\u{ffff}\
                    \n::error title=evil::%0A<b>&\"##[error]evil\n";

/// Returns whether a terminal would obey a character instead of showing it.
fn is_hostile(c: char) -> bool {
    let is_allowed_control = matches!(c, '\n' | '\t');
    c.is_control() && !is_allowed_control
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Checks everything that the program printed.
#[track_caller]
fn harmless(answer: &Answer) -> &Answer {
    for text in [&answer.stdout, &answer.stderr] {
        let found: String = text.chars().filter(|c| is_hostile(*c)).collect();
        assert!(found.is_empty(), "{found:?} in {answer:#?}");
        assert!(
            !text.lines().any(|line| line.trim_start().starts_with("::error title=evil")),
            "a workflow would obey {answer:#?}"
        );
        assert!(!text.contains("##[error]evil"), "a workflow would obey {answer:#?}");
    }
    assert!(answer.status.is_some_and(|status| status < 100), "{answer:#?}");
    answer
}

/// The keys of words of closed vocabularies: another word is refused.
const CLOSED: [&str; 7] =
    ["role", "unit", "domain", "status", "instrument", "p50_interval_basis", "over"];

/// Adds [`EVIL`] to every text of a run, but for words of closed vocabularies and attachments.
fn poison(value: &mut Value, key: &str) {
    match value {
        Value::String(text) if !CLOSED.contains(&key) => text.push_str(EVIL),
        Value::Array(values) => values.iter_mut().for_each(|value| poison(value, key)),
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                poison(value, key);
            }
            if ["parameters", "identity", "when"].contains(&key) {
                fields.insert(EVIL.to_owned(), EVIL.into());
            }
        }
        _ => {}
    }
}

/// A run of this computer whose texts are hostile.
fn hostile_run() -> Value {
    let mut run =
        chronoscope(&[&SHORT[..], &["-q", "--no-store", "--format", "json"]].concat()).json();
    run["notes"] = "notes".into();
    run["context"]["doctor"] = serde_json::json!(["finding"]);
    let case = &mut run["cases"][0];
    case["log"] = serde_json::json!(["line"]);
    case["identity"] = serde_json::json!({ "kernel": "fact", "emulator": "version" });
    case["verdict"] = serde_json::json!({ "status": "limit-missed", "reasons": ["reason"] });
    case["published"] = serde_json::json!([{
        "source": "source", "on": "board", "statistic": "p50", "series": null, "value": 1.0,
        "unit": "", "when": {}, "note": "note",
    }]);
    let paired = serde_json::json!({
        "ours_is": "mean", "theirs_is": "mean", "unit": "ns", "ours": [1.0], "theirs": [2.0],
        "ratio": { "median": 0.5, "min": 0.5, "max": 0.5 }, "within": 0.1,
    });
    run["peers"] = serde_json::json!([{
        "name": "peer", "command": ["tool"], "experiment": "switch", "target": "linux@host",
        "parameters": {}, "label": "", "pairs": 1, "statistics": [paired], "note": "note",
        "verdict": { "status": "limit-missed", "reasons": ["reason"] },
    }]);
    let mut second = run["cases"][0].clone();
    poison(&mut run, "");
    second["experiment"] = "delay".into();
    run["cases"].as_array_mut().unwrap().push(second);
    run
}

const FORMATS: [&str; 8] = [
    "table",
    "json",
    "csv",
    "junit",
    "github",
    "html",
    "google-benchmark",
    "google-benchmark-console",
];

#[test]
fn a_run_file_is_harmless_in_every_format() {
    let folder = Folder::new("hostile-run");
    let file = folder.file("run.json", hostile_run().to_string());
    for format in FORMATS {
        let answer = chronoscope(&["report", &file, "--format", format]);
        harmless(answer.exits(0)).shows("evil");
        match format {
            "junit" => drop(roxmltree::Document::parse(&answer.stdout).expect("it is XML")),
            "github" => {
                assert!(answer.stdout.lines().all(|line| line.starts_with("::")), "{answer:#?}");
            }
            "html" => assert!(!answer.stdout.contains("<b>&"), "markup"),
            // A line of CSV has as many fields as the head; texts hold no line breaks.
            "csv" => assert!(answer.stdout.lines().count() < 40, "{answer:#?}"),
            _ => {}
        }
    }
    let mut other = hostile_run();
    other["context"]["host"] = "another".into();
    let other = folder.file("other.json", other.to_string());
    for format in ["table", "json", "junit", "github", "html"] {
        harmless(&chronoscope(&["compare", &file, &other, "--format", format]));
    }
    for words in [
        &["trace", &file, "--format", "vcd"][..],
        &["trace", &file, "--case", EVIL],
        &["baseline", "write", &file],
        &["report", &file, &other, "--format", "html"],
    ] {
        harmless(&chronoscope(words));
    }
}

#[test]
fn a_store_is_harmless() {
    let folder = Folder::new("hostile-store");
    let store = folder.path("runs.sqlite");
    let kept = ["--store", &store];
    chronoscope(&[&SHORT[..], &["-q"], &kept].concat()).exits(0);
    let theirs = Connection::open(&store).unwrap();
    for (table, columns) in [
        ("runs", &["started", "study", "host", "system", "status"][..]),
        ("cases", &["key", "label", "series", "unit", "status"]),
    ] {
        for column in columns {
            theirs.execute(&format!("UPDATE {table} SET {column} = ?"), [EVIL]).unwrap();
        }
    }
    theirs.execute("UPDATE runs SET document = ?", [hostile_run().to_string()]).unwrap();
    drop(theirs);
    for words in [&["history"][..], &["history", "switch"], &["report"], &["compare", "1", "1"]] {
        harmless(&chronoscope(&[words, &kept].concat())).shows("evil");
    }
    for words in [&["history", "--format", "json"][..], &["history", "switch", "--format", "json"]]
    {
        harmless(&chronoscope(&[words, &kept].concat()));
    }
    let page = folder.path("page.html");
    harmless(&chronoscope(&[&["compare", "1", "1", "-o", &page][..], &kept].concat()));
    assert!(!fs::read_to_string(page).unwrap().chars().any(is_hostile));
}

/// [`EVIL`] as a string of TOML.
fn quoted() -> String {
    // TOML has JSON's escapes, but for the noncharacter, which stands for itself.
    serde_json::to_string(EVIL).unwrap()
}

#[test]
fn a_study_is_harmless() {
    let folder = Folder::new("hostile-study");
    let evil = quoted();
    let study = format!(
        "name = {evil}\ntitle = {evil}\nnotes = {evil}\nrepeat = 1\n[[case]]\nexperiment = \"switch\"\n\
         set = {{ policy = \"other\", mlock = \"no\", loops = 100 }}\n[[case.published]]\nsource = {evil}\n\
         on = {evil}\nstatistic = \"p50\"\nvalue = \"1 us\"\nnote = {evil}\n[[peer]]\nname = {evil}\n\
         tool = \"pi_stress\"\nexperiment = \"switch\"\nset = {{ policy = \"other\", mlock = \"no\", loops = 100 }}\n\
         pairs = 1\nbeside = [{{ ours = \"mean\" }}]\nnote = {evil}\n"
    );
    let file = folder.file("study.toml", &study);
    for format in FORMATS {
        let words = ["run", "--no-store", "--study", &file, "--format", format];
        // Without pi_stress the peer has no figures.
        let mut command = program();
        let answer = run(command.args(words).env("PATH", "/nonexistent"));
        harmless(&answer);
        // A peer without figures has no rows, and one of these formats no title.
        let has_no_names = ["csv", "google-benchmark-console"].contains(&format);
        assert!(has_no_names || answer.stdout.contains("evil"), "{answer:#?}");
    }
    // Error messages quote the text that is wrong.
    for (from, to) in [
        ("\"switch\"", evil.as_str()),
        ("\"1 us\"", &evil),
        ("\"pi_stress\"", &evil),
        ("loops = 100", &format!("loops = {evil}")),
        ("loops = 100", &format!("{evil} = 1")),
        ("policy = \"other\"", &format!("policy = {evil}")),
        ("repeat", &evil),
        ("ours = \"mean\"", &format!("theirs = {evil}")),
        ("experiment = \"switch\"", &format!("experiment = \"switch\"\ntarget = {evil}")),
        ("pairs = 1", &format!("pairs = 1\ncommand = [{evil}]")),
    ] {
        assert!(study.contains(from), "{from}");
        let file = folder.file("wrong.toml", study.replacen(from, to, 1));
        let answer = chronoscope(&["run", "--no-store", "--study", &file]);
        harmless(answer.exits(1));
        assert_eq!(answer.stderr.lines().count(), 1, "{answer:#?}");
    }
}

#[test]
fn a_stream_is_harmless() {
    let folder = Folder::new("hostile-stream");
    copy_program(program_path(), folder.path("chronoscope"));
    let clock = wire::Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 1 };
    let trace = format!(
        "# tracer: nop\n{EVIL} {EVIL}-0 [000] d..2. 1.234567: sched_switch: prev_comm={EVIL} \
         prev_pid=0 prev_prio=120 prev_state=R ==> next_comm={EVIL} next_pid=12 next_prio=19\n"
    );
    let sample = Sample { gap: 0, value: 1 };
    let stream = frames(&[
        Record::Hello { version: wire::VERSION, kernel: EVIL, release: EVIL, request: EVIL },
        Record::Clock(clock),
        Record::Series(Series { name: EVIL, unit: Unit::Ticks, ..Series::measured(EVIL) }),
        Record::Samples(Samples { series: 0, block: [sample].into() }),
        Record::Figure { name: EVIL, unit: EVIL, value: 1.0 },
        Record::Log(EVIL),
        Record::Attachment { name: EVIL, bytes: EVIL.as_bytes() },
        Record::Attachment { name: "trace", bytes: trace.as_bytes() },
        Record::Evidence(Evidence { name: EVIL, value: 2.0, low: 1.0, high: 1.0 }),
        Record::End { records: 9 },
    ]);
    folder.file("good", stream);
    folder.file("words", EVIL);
    let refused = Record::Refused {
        reason: chronoscope_suite::Reason::NotOffered,
        what: EVIL,
        mend: EVIL,
        code: 1,
    };
    folder.file("refusal", frames(&[refused]));
    for script in [
        "cat \"$here/good\"",
        "cat \"$here/refusal\"",
        "cat \"$here/words\"",
        "cat \"$here/words\" >&2; exit 1",
    ] {
        let port = folder.file("port", format!("#!/bin/sh\nhere=${{0%/*}}\n{script}\n"));
        copy_program(port, folder.path("chronoscope-linux"));
        for format in FORMATS {
            let mut lab = Command::new(folder.path("chronoscope"));
            lab.args(["run", "switch", "--repeat", "1", "--no-store", "--format", format]);
            harmless(&run(lab.env("HOME", folder.path("home"))));
        }
    }
}

#[test]
fn a_capture_is_harmless() {
    let folder = Folder::new("hostile-capture");
    // Words of a dump end at spaces.
    let name = EVIL.replace(['\n', '\r', ' '], "");
    let dump = format!(
        "$timescale 1 ns $end $scope module {name} $end $var wire 1 ! {name} $end $var wire 1 ? {name} $end \
         $upscope $end $enddefinitions $end #0 0! 0? #5 1! 1? #9 0! 0? #20\n"
    );
    let file = folder.0.join(OsStr::from_bytes(EVIL.replace('/', "").as_bytes()));
    fs::write(&file, dump).unwrap();
    let flags: [&[&str]; 6] = [
        &[],
        &["--format", "json"],
        &["--format", "csv"],
        &["--channel", EVIL],
        &["--start", "rise:x", "--end", EVIL],
        &["--rate", EVIL],
    ];
    for flags in flags {
        harmless(&run(program().arg("capture").arg(&file).args(flags)));
    }
    let made = folder.path("made.vcd");
    harmless(&run(program().arg("capture").arg(&file).args(["-o", &made]))).exits(0);
    assert!(!fs::read_to_string(made).unwrap().chars().any(is_hostile));
}

#[test]
fn words_of_the_command_line_and_the_environment_are_harmless() {
    let folder = Folder::new("hostile-words");
    let missing = OsString::from(EVIL);
    for words in [
        &["report"][..],
        &["compare", "last"],
        &["trace"],
        &["capture"],
        &["run"],
        &["run", "--study"],
        &["run", "--target"],
        &["run", "--machine"],
        &["run", "switch", "--set"],
        &["run", "switch", "-D"],
        &["run", "switch", "--target", "linux@vm", "--kernel-image"],
        &["history", "--store"],
        &["history"],
        &["baseline", "check"],
        &["list"],
        &[],
    ] {
        let answer = run(program().args(words).arg(&missing));
        harmless(answer.exits(1));
        assert_eq!(answer.stderr.lines().count(), 1, "{answer:#?}");
    }
    // The command line is part of a run.
    let store = folder.path(&EVIL.replace('/', ""));
    for format in FORMATS {
        let mut command = program();
        command.args(SHORT).args(["--format", format, "--store", &store]);
        harmless(&run(&mut command)).exits(0);
    }
    for home in ["XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        for words in [&["history"][..], &["cache"], &["report"]] {
            let place = folder.path(&EVIL.replace('/', "_"));
            harmless(&run(program().args(words).env(home, place)));
        }
    }
    harmless(&run(program().arg("doctor").env("PATH", EVIL)));
}
