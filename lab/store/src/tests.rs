//! Tests of states that no call of the program reaches.

use std::{
    cell::RefCell,
    ffi::OsStr,
    path::{Path, PathBuf},
    process,
};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use super::{
    Place, RunFilter, Store,
    insert::{insert, unnamed},
    reference::{Reference, is_run, load_file},
    schema,
    sqlite::{Sqlite, number},
};
use chronoscope_run::Run;

fn run() -> Run {
    let context = json!({ "date": "2026-01-31T12:00:00Z", "seconds": 0.1, "host": "h", "system": "Linux 7", "processor": "p",
        "processors": 1, "program": "c", "command": vec!["c".repeat(1000); 100], "interrupted": false });
    let value = json!({ "schema": 1, "context": context, "study": "", "title": "t", "notes": "", "cases": [] });
    serde_json::from_value(value).unwrap()
}

fn file(name: &str) -> (PathBuf, Sqlite) {
    let path = std::env::temp_dir().join(format!("chronoscope-{name}-{}.sqlite", process::id()));
    let session = Sqlite::open(&path, true).unwrap();
    (path, session)
}

fn store(path: &Path, session: Sqlite) -> Store {
    Store { session: RefCell::new(Box::new(session)), place: Place::File(path.to_owned()) }
}

#[test]
fn a_full_disk_changes_nothing() {
    let (path, mut session) = file("full");
    insert(&mut session, &run(), &serde_json::to_string(&run()).unwrap()).unwrap();
    let pages = number(&session.connection, "page_count").unwrap();
    session.connection.pragma_update(None, "max_page_count", pages + 30).unwrap();
    let mut store = store(&path, session);
    let error = store.add(&[&run(), &run()]).unwrap_err().to_string();
    assert!(error.contains("does not fit on its disk: free some space"), "{error}");
    assert_eq!(store.runs(None, 9).unwrap().len(), 1, "both or none");
    drop(store);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_store_held_by_another_is_waited_for() {
    let (path, session) = file("held");
    let (_, other) = file("held");
    other.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    session.connection.busy_timeout(std::time::Duration::from_millis(20)).unwrap();
    let mut store = store(&path, session);
    let error = store.add(&[&run()]).unwrap_err().to_string();
    assert!(error.contains("is held by another program"), "{error}");
    other.connection.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.add(&[&run()]).unwrap(), [1]);
    drop((store, other));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn words_name_runs_or_targets() {
    const UUID: &str = "0190a2b4-7c1d-7e3f-8a55-0123456789ab";
    let is_run = |word: &str| is_run(OsStr::new(word));
    assert!(["7", "last", "last-3", UUID, "run.json"].iter().all(|word| is_run(word)));
    assert!(["linux@host", "7@host", "last@host"].iter().all(|word| !is_run(word)));
    let path = std::env::temp_dir().join(format!("chronoscope-a@b-{}", process::id()));
    let file = path.to_str().unwrap();
    std::fs::write(file, "").unwrap();
    assert!(is_run(file));
    let named = |word: &str| word.parse::<Reference>().map(|run| (run.word(), run.is_in_store()));
    for word in ["7", "last", "last-3", UUID] {
        assert_eq!(named(word).unwrap(), (word.to_owned(), true));
    }
    assert_eq!(named(file).unwrap(), (file.to_owned(), false));
    let none = |word: &str| named(word).unwrap_err().to_string().contains("no such file");
    for word in ["0", "-1", "last-", "last3", &UUID.to_uppercase(), &UUID.replace('f', "g")] {
        assert!(none(word), "{word}");
    }
    assert!(none(&UUID[1..]) && none(&UUID[..35]) && none(&UUID.replacen('-', "a", 1)));
    assert!(load_file(&path).unwrap_err().to_string().contains("is empty, or larger"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_place_is_a_server_or_a_file() {
    let is_server = |word: &str| matches!(Place::read(Path::new(word)).unwrap(), Place::Server(_));
    assert!(is_server("postgres://ann@host/lab"));
    assert!(!is_server("runs.sqlite") && !is_server("of postgres://"));
    let refused = |path: &Path| Sqlite::open(path, true).map(drop).unwrap_err().to_string();
    assert!(refused(Path::new("/dev/null")).contains("is no plain file"));
    assert!(!refused(&std::env::temp_dir()).contains("is no plain file"));
}

#[test]
fn stores_of_one_folder_have_pages_of_their_own() {
    let folder = std::env::temp_dir().join(format!("chronoscope-pages-{}", process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let open = |name: &str| {
        let path = folder.join(name);
        let session = Sqlite::open(&path, true).unwrap();
        store(&path, session)
    };
    let names = ["runs.sqlite", "bench", "bench.a", "bench.b"];
    let pages = ["runs.pages", "bench.pages", "bench.a.pages", "bench.b.pages"];
    for (name, pages) in names.into_iter().zip(pages) {
        let page = open(name).page(7);
        assert_eq!(page, folder.join(pages).join("7.html"));
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        std::fs::write(page, "").unwrap();
    }
    assert!(!open("bench.a").forget(7).unwrap());
    let left = pages.map(|pages| folder.join(pages).join("7.html").exists());
    assert_eq!(left, [true, true, false, true]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A run of an older program has no UUID: its date and its results tell it.
#[test]
fn an_unnamed_run_is_found_by_its_results() {
    let (path, mut session) = file("unnamed");
    assert_eq!(unnamed(&mut session, &run()).unwrap(), None);
    insert(&mut session, &run(), &serde_json::to_string(&run()).unwrap()).unwrap();
    assert_eq!(unnamed(&mut session, &run()).unwrap(), Some(1));
    let mut other = run();
    other.title = "other".into();
    assert_eq!(unnamed(&mut session, &other).unwrap(), None);
    drop(session);
    std::fs::remove_file(path).unwrap();
}

/// A run with a UUID is stored once; other results under its UUID are refused.
#[test]
fn a_uuid_is_stored_once() {
    let (path, session) = file("uuid");
    let mut store = store(&path, session);
    let mut first = run();
    first.context.uuid = "a".into();
    assert_eq!(store.add(&[&first]).unwrap(), [1]);
    // The context may differ, as a recovered run's does.
    first.context.seconds = 7.0;
    assert_eq!(store.add(&[&run(), &first]).unwrap(), [2, 1]);
    assert_eq!(store.find("a").unwrap(), Some(1));
    assert_eq!(store.find("b").unwrap(), None);
    first.title = "other".into();
    let error = store.add(&[&run(), &first]).unwrap_err().to_string();
    assert!(error.contains("has other results under the UUID a of this run, as run 1"), "{error}");
    assert_eq!(store.runs(None, 9).unwrap().len(), 2, "both or none");
    drop(store);
    std::fs::remove_file(path).unwrap();
}

/// A store of version 1 has its runs, with the properties in their documents, after migration, also
/// where it cannot be written.
#[test]
fn an_older_store_is_migrated() {
    let (path, session) = file("older");
    drop(session);
    std::fs::remove_file(&path).unwrap();
    let old = Connection::open(&path).unwrap();
    old.execute_batch(&schema::first()).unwrap();
    old.pragma_update(None, "application_id", 0x6368_726f).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    let document = |uuid: &str| {
        let labels = r#"{"commit":"1","odd":7}"#;
        format!(r#"{{"context":{{"uuid":"{uuid}","machine":"desk","labels":{labels}}}}}"#)
    };
    // One of these was stored twice, and one is damaged.
    for text in [document("u"), document("u"), document(""), "{".to_owned()] {
        let insert = "INSERT INTO runs (schema, started, study, host, system, seconds, interrupted, status, document)
                      VALUES (1, '', '', '', '', 0, 0, '', ?)";
        old.execute(insert, [text]).unwrap();
    }
    drop(old);
    let check = |store: &Store| {
        let numbers = |filter: RunFilter<'_>| store.numbers_of(&filter).unwrap();
        assert_eq!(numbers(RunFilter::default()), [1, 2, 3, 4]);
        assert_eq!(numbers(RunFilter { machine: Some("desk"), ..RunFilter::default() }), [1, 2, 3]);
        assert_eq!(
            numbers(RunFilter { label: Some(("commit", "1")), ..RunFilter::default() }),
            [1, 2, 3]
        );
        assert_eq!(
            numbers(RunFilter { label: Some(("odd", "7")), ..RunFilter::default() }),
            [0; 0]
        );
        assert_eq!(store.find("u").unwrap(), Some(1));
    };
    // SQLite's flag for a medium that cannot be written; root may write any file.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(&path, flags).unwrap();
    let mut session = Sqlite { connection, path: path.clone(), is_copy: false };
    session.prepare().unwrap();
    let mut copy = store(&path, session);
    check(&copy);
    for error in [copy.check_writable(), copy.add(&[&run()]).map(drop), copy.keep(0).map(drop)] {
        assert!(error.unwrap_err().to_string().contains("may not be written"));
    }
    check(&store(&path, Sqlite::open(&path, false).unwrap()));
    let session = Sqlite::open(&path, false).unwrap();
    assert_eq!(number(&session.connection, "user_version").unwrap(), schema::VERSION);
    std::fs::remove_file(path).unwrap();
}
