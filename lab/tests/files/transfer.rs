//! `export` and `import`: runs as lines of JSON.

use std::fs;

use crate::common::{Folder, SHORT, chronoscope};
use rusqlite::Connection;

/// Runs of a program without UUIDs are known again in the store that they came from, and stored
/// once in another.
#[test]
fn runs_without_a_uuid_are_stored_once() {
    let folder = Folder::new("transfer-old");
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/schema_1/runs.sqlite");
    let (store, other) = (folder.path("runs.sqlite"), folder.path("other.sqlite"));
    fs::copy(old, &store).unwrap();
    let file = folder.path("runs.jsonl");
    chronoscope(&["export", "--store", &store, "-o", &file, "-q"]).exits(0);
    let count = fs::read_to_string(&file).unwrap().lines().count();
    assert!(count >= 1);
    for (store, stored) in [(&store, 0), (&other, count), (&other, 0)] {
        let known = count - stored;
        let answer = chronoscope(&["import", &file, "--store", store]);
        let told = &answer.exits(0).stderr;
        assert!(told.contains(&format!("imported {stored} run")), "{told}");
        assert!(told.contains(&format!("the store had {known} run")), "{told}");
    }
}

/// A refused run is named, the others are stored, and the exit status is 1.
#[test]
fn a_refused_run_does_not_keep_the_others() {
    let folder = Folder::new("transfer-refused");
    let (store, other) = (folder.path("runs.sqlite"), folder.path("other.sqlite"));
    for _ in 0..3 {
        chronoscope(&[&SHORT[..], &["-q", "--store", &store]].concat()).exits(0);
    }
    let lines = chronoscope(&["export", "--store", &store]).exits(0).stdout.clone();
    let lines: Vec<&str> = lines.lines().collect();
    let newer = lines[1].replacen("\"schema\":2", "\"schema\":99", 1);
    assert_ne!(newer, lines[1]);
    let text = [lines[0], &newer, "{}", lines[2], "{\"schema\":", lines[1]].join("\n");
    let file = folder.file("runs.jsonl", text);
    let missing = folder.path("missing.jsonl");
    let second = folder.file("second.jsonl", lines[0]);
    let answer = chronoscope(&["import", &file, &missing, &second, "--store", &other]);
    let told: Vec<&str> = answer.exits(1).stderr.lines().collect();
    assert_eq!(told.len(), 5, "{told:#?}");
    for (line, words) in told.iter().zip([
        "runs.jsonl: run 2: ",
        "runs.jsonl: run 3: ",
        "runs.jsonl: run 5: the rest of the file is not read: ",
        "missing.jsonl",
        "4 runs were refused; imported 2 runs, and the store had 1 run",
    ]) {
        assert!(line.starts_with("chronoscope: ") && line.contains(words), "{words} in {line}");
    }

    // A damaged run of the store does not keep the others either.
    let database = Connection::open(&store).unwrap();
    database.execute("UPDATE runs SET document = '{' WHERE id = 2", []).unwrap();
    drop(database);
    let exported = chronoscope(&["export", "--store", &store]);
    assert_eq!(exported.exits(1).stdout.lines().count(), 2);
    assert!(exported.stderr.contains("run 2 in ") && exported.stderr.contains("is damaged"));
    assert!(exported.stderr.ends_with("1 run was refused; exported 2 runs\n"), "{exported:#?}");
}

/// Two machines of one name are reported when the second stores its run.
#[test]
fn two_machines_of_one_name_are_told() {
    let folder = Folder::new("namesakes");
    let store = folder.path("runs.sqlite");
    let words = [&SHORT[..], &["--as", "bench", "--store", &store]].concat();
    let told = |words: &[&str]| chronoscope(words).exits(0).stderr.contains("two machines");
    assert!(!told(&words) && !told(&words));
    let line = chronoscope(&["export", "1", "--store", &store]).exits(0).stdout.clone();
    let mut run: serde_json::Value = serde_json::from_str(&line).unwrap();
    for (name, value) in [("uuid", ""), ("host", "far"), ("processor", "another")] {
        run["context"][name] = value.into();
    }
    let file = folder.file("far.json", run.to_string());
    chronoscope(&["import", &file, "--store", &store]).exits(0);
    assert!(told(&words));
    assert!(!told(&words));
}

/// The folder with files that other tools have made.
const OF_TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/engine/src/import/fixtures");

/// A file of another tool makes one run, once, which is reported, compared and exported like any other,
/// and which says where it comes from.
#[test]
fn results_of_other_tools_are_runs() {
    let folder = Folder::new("import-tools");
    let store = folder.path("runs.sqlite");
    let answer = |words: &[&str]| chronoscope(&[words, &["--store", &store]].concat());
    for (file, trust) in [
        ("hyperfine.json", "As hyperfine says: measured "),
        ("google_benchmark.json", "As google-benchmark says: measured 2026-11-28T17:06:45Z"),
        ("criterion_sample.json", "As criterion says"),
        ("cargo_criterion.json", "As cargo-criterion says"),
        ("rtla_timerlat.txt", "As rtla says"),
        ("systemview.SVDat", "As systemview says"),
    ] {
        let path = format!("{OF_TOOLS}/{file}");
        let told = answer(&["import", &path]).exits(0).stderr.clone();
        assert!(told.contains("imported 1 run, and the store had 0 runs"), "{told}");
        let told = answer(&["import", &path]).exits(0).stderr.clone();
        assert!(told.contains("imported 0 runs, and the store had 1 run"), "{told}");
        let shown = answer(&["report", "last"]);
        assert!(shown.stdout.contains(trust), "{file}: {shown:#?}");
        assert!(answer(&["report", "last", "--format", "html"]).stdout.contains("</html>"));
        let json = answer(&["report", "last", "--format", "json"]).stdout.clone();
        let run: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(run["context"]["imported"]["file"], file);
    }
    // The same commands, measured again and half as slow.
    let later = fs::read_to_string(format!("{OF_TOOLS}/hyperfine.json")).unwrap();
    let mut later: serde_json::Value = serde_json::from_str(&later).unwrap();
    for time in later["results"][0]["times"].as_array_mut().unwrap() {
        *time = (time.as_f64().unwrap() * 1.9).into();
    }
    let file = folder.file("later.json", later.to_string());
    answer(&["import", &file]).exits(0);
    let compared = answer(&["compare", "1", "7"]);
    assert!(compared.stdout.contains("× 1.900"), "{compared:#?}");
    assert!(compared.stdout.contains("B is as hyperfine says."), "{compared:#?}");
    // A damaged file is named in one line, and nothing of it is stored.
    later["results"][1]["times"][3] = "x".into();
    let file = folder.file("damaged.json", later.to_string());
    let told = answer(&["import", &file]).exits(1).stderr.clone();
    assert!(told.contains("damaged.json: result 2: "), "{told}");
    assert!(
        told.ends_with("1 run was refused; imported 0 runs, and the store had 0 runs\n"),
        "{told}"
    );
    assert!(answer(&["history"]).stdout.lines().count() < 12);
}
