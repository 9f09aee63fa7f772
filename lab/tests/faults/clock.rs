//! A host whose clock was set back, or forward and back.

use std::{
    fs::{self, File},
    time::{Duration, SystemTime},
};

use chronoscope_run::sample;
use chronoscope_store::{Place, Store};
use chronoscope_units::OneLine;

use crate::common::{self, Folder, chronoscope};

/// The newest run is the one stored last, whatever its date.
#[test]
fn runs_are_in_the_order_of_storing() {
    let folder = Folder::new("clock");
    let path = folder.path("runs.sqlite");
    let mut store = Store::create(&Place::File(path.clone().into())).unwrap();
    let dates = [
        "2026-05-01T00:00:00Z",
        "2038-01-19T03:14:08Z",
        "1970-01-01T00:00:00Z",
        "2026-05-01T00:00:00Z",
    ];
    for date in dates {
        let mut run = sample::run();
        run.context.date = date.into();
        run.context.uuid = OneLine::default();
        store.add(&[&run]).unwrap();
    }
    assert_eq!(store.newest(0).unwrap(), 4);
    assert_eq!(store.run(store.newest(1).unwrap()).unwrap().context.date, dates[2]);
    let listed = store.runs(None, 9).unwrap();
    let listed: Vec<_> = listed.iter().map(|row| (row.run, row.started.as_str())).collect();
    assert_eq!(listed, [(4, dates[3]), (3, dates[2]), (2, dates[1]), (1, dates[0])]);
    let cases = store.cases("switch", None, 9).unwrap();
    assert!(cases.is_sorted_by_key(|row| row.run) && cases.len() == 8, "{cases:?}");
    for words in
        [&["history"][..], &["history", "switch"], &["report", "last"], &["compare", "1", "last"]]
    {
        let answer = chronoscope(&[words, &["--store", &path]].concat());
        assert!(answer.status.is_some_and(|status| status != 101), "{answer:#?}");
        assert!(!answer.stdout.is_empty() && !answer.stderr.contains("panicked"), "{answer:#?}");
    }
    assert_eq!(store.keep(1).unwrap(), 3);
    assert_eq!(store.newest(0).unwrap(), 4);
}

/// A cache entry that was used in the future is listed, found and removed like any other.
#[test]
fn cache_entries_may_be_of_the_future() {
    let folder = Folder::new("clock-cache");
    let entries = ["kernels/6.1", "machines/one", "machines/two"].map(|name| {
        let path = folder.0.join("chronoscope").join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("content"), [0; 100]).unwrap();
        path
    });
    let years = Duration::from_secs(20 * 365 * 86_400);
    for (path, time) in entries.iter().zip([
        SystemTime::now() + years,
        SystemTime::now() - years,
        SystemTime::UNIX_EPOCH - Duration::from_secs(1),
    ]) {
        File::open(path).unwrap().set_modified(time).unwrap();
    }
    let cache = |words: &[&str]| {
        common::run(common::program().env("XDG_CACHE_HOME", &folder.0).arg("cache").args(words))
    };
    let listed = cache(&[]);
    for name in ["kernels/6.1", "machines/one", "machines/two"] {
        listed.exits(0).shows(name);
    }
    cache(&["--clear"]).exits(0);
    assert!(entries.iter().all(|path| !path.exists()));
}
