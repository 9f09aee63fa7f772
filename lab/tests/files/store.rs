//! The store: its content, the commands that show it, and the errors when it cannot be written.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::common::{self, Answer, Folder, SHORT, chronoscope, program, program_path};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

fn run(store: &str, more: &[&str]) -> Answer {
    chronoscope(&[&SHORT[..], &["--store", store], more].concat())
}

/// Files beside the store that are no journals, as another user could leave them there, stop nothing
/// and are not written.
#[test]
fn what_is_no_journal_is_left_alone() {
    let folder = Folder::new("planted");
    let store = folder.path("runs.sqlite");
    let journals = folder.0.join("runs.sqlite.journals");
    let victim = folder.file("victim", "precious");
    fs::create_dir_all(journals.join("a.journal/kept")).unwrap();
    symlink(&victim, journals.join("b.journal")).unwrap();
    symlink("/dev/zero", journals.join("c.journal")).unwrap();
    symlink("nowhere", journals.join("d.journal")).unwrap();
    run(&store, &["-q"]).exits(0);
    let found = chronoscope(&["history", "--store", &store]);
    assert!(found.exits(0).stderr.contains("unfinished runs were found"), "{found:#?}");
    let recovered = chronoscope(&["recover", "--store", &store]);
    let lines: Vec<&str> = recovered.exits(1).stderr.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("chronoscope: ")), "{recovered:#?}");
    assert!(lines.iter().any(|line| line.contains("b.journal cannot be read")), "{recovered:#?}");
    // The folder cannot be discarded, which does not keep the others.
    let discarded = chronoscope(&["recover", "--discard", "--store", &store]);
    assert!(discarded.exits(1).stderr.contains("a.journal: Is a directory"), "{discarded:#?}");
    assert!(journals.join("a.journal/kept").is_dir());
    assert!(!journals.join("b.journal").is_symlink(), "{discarded:#?}");
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
}

/// A device and pipes are no store, and neither are they SQLite's journal beside one. Nothing is made
/// beside them, and no command waits for a pipe's other end.
#[test]
fn what_is_no_plain_file_is_no_store() {
    let folder = Folder::new("no-plain-file");
    let pipe = |name: &str| {
        let path = folder.path(name);
        common::run(Command::new("mkfifo").arg(&path)).exits(0);
        path
    };
    let (store, beside) = (pipe("pipe"), folder.path("runs.sqlite"));
    pipe("runs.sqlite-journal");
    for store in [&*store, &beside, "/dev/null"] {
        run(store, &["-q"]).complains("is no plain file: name another with --store");
    }
    for store in [&*store, "/dev/null"] {
        chronoscope(&["history", "--store", store]).complains("is no plain file");
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);
    assert!(!Path::new("/dev/null-journal").exists());
}

/// Others read what the umask lets them write, and nothing else.
#[test]
fn stores_journals_and_pages_are_the_user_s_own() {
    for (umask, file, of_folder) in [("022", 0o600, 0o700), ("002", 0o660, 0o770)] {
        let folder = Folder::new(&format!("modes-{umask}"));
        let store = folder.path("runs.sqlite");
        let script = format!("umask {umask}; exec \"$@\"");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script, "sh"])
            .arg(program_path())
            .args(SHORT)
            .args(["-q", "--store", &store]);
        common::run(&mut shell).exits(0);
        let mode =
            |name: &str| fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("runs.sqlite"), file, "{umask}");
        assert_eq!(mode("runs.sqlite.journals"), of_folder, "{umask}");
        assert_eq!(mode("runs.pages"), of_folder, "{umask}");
    }
}

/// The shell's limit on stacks is not the program's.
#[test]
fn a_small_stack_is_enough() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -s 64; exec \"$@\"", "sh"]).arg(program_path()).arg("list");
    common::run(&mut shell).exits(0).shows("period");
}

#[test]
fn a_run_is_kept_and_shown_again() {
    let folder = Folder::new("kept");
    let store = folder.path("new/folder/runs.sqlite");
    let first = run(&store, &["--format", "json"]);
    assert!(first.stderr.contains("stored as run 1\n"), "{first:#?}");
    let second = run(&store, &["-q"]);
    assert_eq!(second.stderr, "");

    let again = chronoscope(&["report", "1", "--store", &store, "--format", "json"]);
    assert_eq!(again.exits(0).stdout, first.stdout, "nothing is lost");
    for last in ["last", "2"] {
        assert_eq!(
            chronoscope(&["report", last, "--store", &store]).exits(0).stdout,
            second.stdout
        );
    }
    let file = folder.file("run.json", &first.stdout);
    assert_eq!(chronoscope(&["report", &file, "--format", "json"]).exits(0).stdout, first.stdout);
    assert_eq!(
        chronoscope(&["report", "last-1", "--store", &store, "--format", "json"]).stdout,
        first.stdout
    );

    let runs = chronoscope(&["history", "--store", &store, "--format", "json"]).exits(0).json();
    assert_eq!((&runs[0]["run"], &runs[1]["run"]), (&2.into(), &1.into()));
    let cases = chronoscope(&["history", "switch", "--store", &store]);
    cases.exits(0).shows("1–2");
    assert!("▁▂▃▄▅▆▇█?".chars().any(|bar| cases.stdout.contains(bar)), "{cases:#?}");
    chronoscope(&["history", "switch", "--study", "quick", "--store", &store])
        .complains("no run in the store");

    chronoscope(&["history", "--keep", "1", "--store", &store]).exits(0);
    chronoscope(&["report", "1", "--store", &store]).complains("there is no run 1");
    chronoscope(&["report", "2", "--store", &store]).exits(0);
    chronoscope(&["history", "--forget", "2", "--store", &store]).exits(0);
    chronoscope(&["history", "--store", &store]).complains("there is no run in the store");
    run(&store, &[]);
    chronoscope(&["report", "3", "--store", &store]).exits(0);
}

#[test]
fn nothing_is_stored_when_told_so() {
    let folder = Folder::new("not-kept");
    let run = common::run(program().args(SHORT).arg("--no-store").env("XDG_DATA_HOME", &folder.0));
    assert!(run.stdout.contains("switch") && !run.stderr.contains("stored"), "{run:#?}");
    assert_eq!(folder.0.read_dir().unwrap().count(), 0);
    common::run(program().arg("history").env("XDG_DATA_HOME", &folder.0))
        .complains("there is no store of runs at");
}

#[test]
fn a_store_that_cannot_be_written_is_told_before_anything_is_measured() {
    let folder = Folder::new("broken");
    let good = folder.path("good.sqlite");
    run(&good, &["-q"]);
    run(&good, &["-q"]);
    let bytes = fs::read(&good).unwrap();
    let newer = folder.file("newer.sqlite", &bytes);
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let foreign = folder.path("foreign.sqlite");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE notes (text)").unwrap();
    let cases = [
        (folder.file("garbage.sqlite", [b'x'; 5000]), "is not a store of runs"),
        (folder.file("cut.sqlite", &bytes[..bytes.len() / 2]), "is damaged"),
        (newer, "has version 7 and this program knows 2"),
        (foreign, "is not a store of runs"),
        (folder.path(""), "cannot be opened"),
        ("/proc/runs.sqlite".to_owned(), "cannot be opened"),
        ("/dev/null/runs.sqlite".to_owned(), "cannot make the folder /dev/null"),
    ];
    for (store, text) in cases {
        let run = run(&store, &["-q"]);
        run.complains(text).complains(store.trim_end_matches("/runs.sqlite"));
        chronoscope(&["history", "--store", &store]).exits(1);
        chronoscope(&["report", "--store", &store]).exits(1);
    }
    chronoscope(&["report", "2", "--store", &good]).exits(0);
}

/// Runs a command line with files limited to `blocks` blocks of 512 bytes.
fn limited(blocks: u32, arguments: &[&str]) -> Answer {
    let mut shell = std::process::Command::new("sh");
    let script = format!("ulimit -f {blocks}; exec \"$@\"");
    common::run(shell.args(["-c", &script, "sh"]).arg(program_path()).args(arguments))
}

#[test]
fn a_file_that_may_grow_no_more_is_an_error_and_not_a_crash() {
    let folder = Folder::new("limited");
    let store = folder.path("runs.sqlite");
    let arguments = [&SHORT[..], &["-q", "--format", "json", "--store", &store]].concat();
    limited(8, &arguments).complains("runs.sqlite cannot be read or written");
    // A store that becomes full while the run goes on: its results are shown, and stay in the
    // journal.
    run(&store, &["-q"]);
    let full = u32::try_from(fs::metadata(&store).unwrap().len() / 512).unwrap();
    let shown = limited(full, &arguments);
    let promise = format!("`chronoscope recover --store {store}` stores what was measured");
    assert!(shown.stderr.contains(&promise), "{shown:#?}");
    let recovered = chronoscope(&["recover", "--store", &store]);
    assert!(recovered.exits(0).stderr.contains("stored as run 2\n"), "{recovered:#?}");
    let stored = chronoscope(&["report", "2", "--store", &store, "--format", "json"]);
    assert_eq!(stored.exits(0).json()["cases"], shown.exits(1).json()["cases"]);
    assert_eq!(stored.json()["context"]["interrupted"], false);
}

#[test]
fn a_journal_that_cannot_be_written_ends_no_run() {
    let folder = Folder::new("full");
    let store = folder.path("runs.sqlite");
    // Each of eight repetitions sends a quarter of a megabyte, and a file may have one.
    let case = ["run", "switch", "--set", "policy=other", "--set", "mlock=no"];
    let long = ["--set", "loops=100000", "--repeat", "8", "--store", &store, "--format", "json"];
    let run = limited(2048, &[&case[..], &long].concat());
    assert_eq!(run.exits(0).json()["cases"][0]["repetitions"], 8);
    let told = run.stderr.lines().filter(|line| line.contains("cannot be written"));
    let told: Vec<_> = told.collect();
    assert!(matches!(told[..], [line] if line.contains("the run goes on")), "{run:#?}");
    assert!(run.stderr.contains("stored as run 1\n"), "{run:#?}");
    let journals = fs::read_dir(folder.path("runs.sqlite.journals")).unwrap();
    assert_eq!(journals.count(), 0);
}

#[test]
fn forgotten_runs_give_their_room_back() {
    let folder = Folder::new("shrunk");
    let store = folder.path("runs.sqlite");
    for _ in 0..6 {
        run(&store, &["-q", "--samples"]).exits(0);
    }
    let size = || fs::metadata(&store).unwrap().len();
    let before = size();
    chronoscope(&["history", "--keep", "1", "--store", &store]).exits(0);
    assert!(size() < before / 2, "{} of {before} bytes are left", size());
    chronoscope(&["report", "6", "--store", &store]).exits(0);
}

#[test]
fn a_path_that_is_not_text_is_written_and_read() {
    let folder = Folder::new("bytes");
    let file = folder.0.join(OsStr::from_bytes(b"run-\xff.json"));
    // A verdict takes five repetitions.
    let short = ["--repeat=5", "--no-store", "-q", "--format", "json"];
    common::run(program().args(&SHORT[..8]).args(short).arg("-o").arg(&file)).exits(0);
    common::run(program().arg("report").arg(&file)).exits(0).shows("switch");
    common::run(program().arg("compare").args([&file, &file])).exits(0);
    common::run(program().args(["baseline", "write"]).arg(&file)).shows("series");
    common::run(program().arg("trace").arg(&file)).complains("nothing to show");
    let missing = OsStr::from_bytes(b"no-\xff.json");
    common::run(program().arg("report").arg(missing)).complains("no such file: no-");
}

#[test]
fn programs_at_once_share_a_store() {
    let folder = Folder::new("shared");
    let store = folder.path("runs.sqlite");
    let start = |_| {
        let mut program = program();
        program.args(SHORT).args(["--store", &store]);
        program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut children: Vec<Child> = (0..8).map(start).collect();
    for child in &mut children {
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(text.contains("stored as run"), "{text}");
        child.wait().unwrap();
    }
    let runs = chronoscope(&["history", "--store", &store, "--format", "json"]).exits(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 8);
}

#[test]
fn an_interrupted_run_keeps_what_is_complete() {
    let folder = Folder::new("interrupted");
    let store = folder.path("runs.sqlite");
    let study = "name = 'long'\ntitle = 'Two cases, one without end'
        [[case]]\nexperiment = 'switch'\nrepeat = 1\nset = { loops = 100, policy = 'other', mlock = 'no' }
        [[case]]\nexperiment = 'switch'\nrepeat = 1000000\nset = { loops = 200, policy = 'other', mlock = 'no' }";
    let study = folder.file("long.toml", study);
    let mut child = program()
        .args([
            "run",
            "--study",
            &study,
            "--store",
            &store,
            "--format",
            "json",
            "-o",
            &folder.path("run.json"),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The second line of progress comes seconds after the first case; the doctor's lines may come
    // before it.
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    for _ in 0..2 {
        line.clear();
        while !line.contains(" left  switch") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "the run ended early");
        }
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    let answer = Answer::new(child.wait_with_output().unwrap(), "run".to_owned());
    answer.exits(130);
    assert!(
        said.contains("stored as run 1") && said.contains("interrupted: 1 of 2 cases are complete"),
        "{said}"
    );
    let written = fs::read_to_string(folder.path("run.json")).unwrap();
    let run: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        (run["cases"].as_array().unwrap().len(), &run["context"]["interrupted"]),
        (2, &true.into())
    );
    assert_eq!(run["cases"][0]["repetitions"], 1);
    assert!(run["cases"][1]["log"].to_string().contains("interrupted after"), "{run}");
    assert_eq!(
        chronoscope(&["report", "--store", &store, "--format", "json"]).exits(0).stdout,
        written
    );
    chronoscope(&["history", "--store", &store]).exits(0).shows("interrupted");
}

#[test]
fn what_is_no_run_is_told_in_a_line() {
    let folder = Folder::new("files");
    let store = folder.path("runs.sqlite");
    let good = run(&store, &["-q", "--format", "json"]).stdout;
    let file = |name: &str, text: &str| folder.file(name, text);
    let seven = good.replacen("\"schema\": 2", "\"schema\": 7", 1);
    let (cut, _) = good.split_once("\"cases\"").unwrap();
    chronoscope(&["report", &file("7.json", &seven)])
        .complains("this file has schema 7; this program reads 1 and 2");
    let place = format!("line {} column", cut.lines().count());
    chronoscope(&["report", &file("cut.json", cut)]).complains(&place);
    chronoscope(&["report", &file("other.json", "{}")]).complains("this is not a run");
    chronoscope(&["report", &file("binary", "\0\u{1}")]).complains("is not JSON");
    chronoscope(&["report", &folder.path("")]).complains("cannot read");
    chronoscope(&["report", "lost", "--store", &store]).complains("no such file: lost");
    chronoscope(&["report", "last-7", "--store", &store]).complains("does not hold 8 runs");
    chronoscope(&["history", "swich", "--store", &store]).complains("did you mean `switch`?");
    let huge = folder.path("huge.json");
    fs::File::create(&huge).unwrap().set_len(257 << 20).unwrap();
    chronoscope(&["report", &huge]).complains("larger than 256 MiB");
}

/// The recorded runs: a store, two pages, a history and an answer, without measuring.
#[test]
fn a_demonstration_needs_no_measurement() {
    let folder = Folder::new("demo");
    let place = folder.path("shown");
    let words = ["report".to_owned(), format!("--demo={place}")];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let shown = chronoscope(&words);
    shown.exits(0).shows("A periodic task starts").shows("history period").shows("compare 5 6");
    let page = fs::read_to_string(format!("{place}/page.html")).unwrap();
    assert!(page.contains("<h1>A periodic task starts") && page.len() < 300_000, "{}", page.len());
    let comparison = fs::read_to_string(format!("{place}/compare.html")).unwrap();
    assert!(comparison.contains("<h1>policy=other takes 4.1"), "{comparison}");
    let store = format!("{place}/runs.sqlite");
    let list = chronoscope(&["history", "--store", &store]);
    assert_eq!(list.exits(0).stdout.matches(" demo ").count(), 6, "{list:#?}");
    chronoscope(&words).complains("is there already");
}

#[test]
fn a_history_is_of_one_machine_or_label() {
    let folder = Folder::new("machines");
    let store = folder.path("runs.sqlite");
    for (machine, label) in [("desk", "commit=1"), ("bench-3", "commit=2"), ("desk", "commit=2")] {
        let more = ["--as", machine, "--label", label, "--store", &store, "-q"];
        chronoscope(&[&SHORT[..], &more].concat());
    }
    let numbers = |more: &[&str]| -> Vec<u64> {
        let words = ["history", "--store", &store, "--format", "json"];
        let runs = chronoscope(&[&words[..], more].concat()).exits(0).json();
        let runs = runs.as_array().unwrap().iter().map(|run| run["run"].as_u64().unwrap());
        runs.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    };
    assert_eq!(numbers(&[]), [1, 2, 3]);
    assert_eq!(numbers(&["--machine", "desk"]), [1, 3]);
    assert_eq!(numbers(&["--label", "commit=2"]), [2, 3]);
    assert_eq!(numbers(&["switch", "--machine", "desk", "--label", "commit=2"]), [3]);
    let none = ["history", "--store", &store, "--machine", "x", "--label", "a=b"];
    chronoscope(&none).complains("of the machine `x` with the label `a=b`");
    chronoscope(&["history", "--store", &store, "--label", "a"]).complains("write NAME=VALUE");
}
