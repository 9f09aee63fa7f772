//! Documentation that is made from tables must agree with them.

use std::fs;

use crate::common::chronoscope;
use chronoscope_machine::Machines;

#[test]
fn the_page_of_experiments_is_up_to_date() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/experiments.md");
    let made = chronoscope(&["list", "--markdown"]).stdout;
    assert!(
        fs::read_to_string(page).is_ok_and(|written| written == made),
        "run `./chronoscope list --markdown >docs/experiments.md`"
    );
}

#[test]
fn studies_are_listed_and_named_by_their_first_part() {
    let list = chronoscope(&["list"]).exits(0).stdout.clone();
    let studies = list.split("Experiments").next().unwrap();
    for (short, name) in
        [("p1", "p1-embassy-preempt"), ("p3", "p3-binder"), ("rt", "rt-acceptance")]
    {
        let line = studies.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        assert!(line.contains("(up to ") || line.contains(" last time)"), "{line}");
        let plan = |study: &str| chronoscope(&["run", study, "--list"]).exits(0).stdout.clone();
        assert_eq!(plan(short), plan(name));
    }
    // Two begin with `vm`.
    chronoscope(&["run", "vm", "--list"]).complains("unknown experiment `vm`");
}

#[test]
fn every_study_makes_cases() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../studies");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let study =
            chronoscope_engine::study::load(&path).unwrap_or_else(|error| panic!("{error:#}"));
        let name = path.file_stem().unwrap();
        let named = chronoscope_engine::study::find(name.as_ref()).unwrap();
        assert_eq!(named.title, study.title, "{} has its row in study.rs", path.display());
        let plan = study.plan(&Machines::default(), &Default::default());
        let (cases, _) = plan.unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        // A published figure that belongs to no case would silently not be shown.
        for published in study.published().unwrap() {
            assert!(
                cases.iter().any(|case| case.has(&published)),
                "{}: {published:?} fits no case",
                path.display()
            );
        }
    }
}
