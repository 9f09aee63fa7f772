//! The loads beside a case: each of them works while the case runs, and leaves nothing behind.

use std::{fs, thread, time::Duration};

use crate::common::{Folder, chronoscope};

const LOADS: [(&str, &str); 9] = [
    ("udp", "datagrams received"),
    ("mmap", "megabytes touched"),
    ("messages", "messages received"),
    ("cpu", "rounds of arithmetic"),
    ("cache", "megabytes written"),
    ("memory", "megabytes copied"),
    ("disk", "megabytes on the disk"),
    ("timers", "timers expired"),
    ("fork", "processes made"),
];

#[test]
fn each_load_works_beside_the_case() {
    let load = format!("load={}", LOADS.map(|(name, _)| name).join(","));
    let run = ["run", "-q", "--no-store", "period", "--repeat", "1", "--format", "json"];
    let set = ["--set", "policy=other", "--set", "mlock=no", "--set", "loops=300", "--set", &load];
    let answer = chronoscope(&[&run[..], &set].concat());
    let cases = answer.exits(0).json()["cases"].clone();
    for ((name, unit), case) in LOADS.iter().zip(cases.as_array().unwrap()) {
        let evidence = case["evidence"].as_array().unwrap().iter();
        let mut of_load = evidence.filter(|one| one["name"] == format!("load {name}: {unit}"));
        let done = of_load.next().unwrap_or_else(|| panic!("{name}: {case:#}"));
        assert!(done["value"].as_f64().unwrap() >= 1.0 && done["holds"] == true, "{done:#}");
    }
    assert_eq!(cases.as_array().unwrap().len(), LOADS.len());
    // Their files have no names.
    let names = fs::read_dir("/var/tmp").unwrap().flatten().map(|entry| entry.file_name());
    let left: Vec<_> =
        names.filter(|name| name.display().to_string().contains("chronoscope")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
#[ignore = "a guest for each load: ./chronoscope test long"]
fn each_load_works_in_a_guest() {
    let load = format!("load={}", LOADS.map(|(name, _)| name).join(","));
    let run = ["run", "-q", "--no-store", "period", "--repeat", "1", "--format", "json"];
    let set = ["--target", "linux-full@vm", "--set", "loops=100", "--set", &load];
    let answer = chronoscope(&[&run[..], &set].concat());
    for case in answer.exits(0).json()["cases"].as_array().unwrap() {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
    }
}

/// The user's command runs while the cases do, and all its processes are gone afterwards.
#[test]
fn a_command_runs_beside_the_cases() {
    let folder = Folder::new("loads-command");
    let beats = folder.path("beats");
    let command = format!("sleep 1000.5 & while :; do echo beat >> {beats}; sleep 0.05; done");
    let run =
        ["run", "-q", "--no-store", "period", "--repeat", "2", "-D", "1s", "--load", &command];
    let set = ["--set", "policy=other", "--set", "mlock=no"];
    chronoscope(&[&run[..], &set].concat()).exits(0);
    let count = || fs::read_to_string(&beats).unwrap().lines().count();
    let seen = count();
    assert!(seen >= 10, "{seen}");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(count(), seen);
    let is_left = |text: Vec<u8>| String::from_utf8_lossy(&text).starts_with("sleep\u{0}1000.5");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let left = processes
        .filter_map(|one| fs::read(one.path().join("cmdline")).ok())
        .filter(|text| is_left(text.clone()));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_load_that_ends_early_is_said() {
    let run = ["run", "-q", "--no-store", "period", "-D", "2s", "--repeat", "1"];
    let set = ["--set", "policy=other", "--set", "mlock=no", "--load"];
    let run = |load: &str| chronoscope(&[&run[..], &set, &[load]].concat());
    let answer = run("sleep 0.6");
    assert!(answer.stderr.contains("the load has ended before the run"), "{answer:#?}");
    assert_ne!(answer.status, Some(0), "{answer:#?}");
    run("exit 3").complains("`--load`: the load failed: give a command that runs until");
    run("no-such-program").complains("not found");
}
