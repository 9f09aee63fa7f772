//! Tests of states that the program cannot be brought into from outside.

use serde_json::json;

use super::Store;
use crate::run::Run;

fn run() -> Run {
    let context = json!({ "date": "2026-01-31T12:00:00Z", "seconds": 0.1, "host": "h", "system": "Linux 7", "processor": "p",
        "processors": 1, "program": "c", "command": vec!["c".repeat(1000); 100], "interrupted": false });
    let value = json!({ "schema": 1, "context": context, "study": "", "title": "t", "notes": "", "cases": [] });
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_full_disk_changes_nothing() {
    let path = std::env::temp_dir().join(format!("chronoscope-full-{}.sqlite", std::process::id()));
    let mut store = Store::create(&path).unwrap();
    store.add(&[&run()]).unwrap();
    let pages = super::number(&store.connection, "page_count").unwrap();
    store.connection.pragma_update(None, "max_page_count", pages + 30).unwrap();
    let error = store.add(&[&run(), &run()]).unwrap_err().to_string();
    assert!(error.contains("does not fit on its disk: free some space"), "{error}");
    assert_eq!(store.runs(None, 9).unwrap().len(), 1, "both or none");
    drop(store);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_store_held_by_another_is_waited_for() {
    let path = std::env::temp_dir().join(format!("chronoscope-held-{}.sqlite", std::process::id()));
    let mut store = Store::create(&path).unwrap();
    let other = Store::create(&path).unwrap();
    other.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.connection.busy_timeout(std::time::Duration::from_millis(20)).unwrap();
    let error = store.add(&[&run()]).unwrap_err().to_string();
    assert!(error.contains("is held by another program"), "{error}");
    other.connection.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.add(&[&run()]).unwrap(), [1]);
    drop((store, other));
    std::fs::remove_file(path).unwrap();
}
