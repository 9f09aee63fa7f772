//! A port that misbehaves: its case is inconclusive with a line that gives the reason. The other
//! cases go on, the lab's memory stays bounded, it ends in time, and no process is left behind.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::Command,
};

use chronoscope_suite::wire::{Clock, Domain, Record, Series, Unit};

use crate::{
    common::{self, frames},
    played::{Lab, WRITING, clock, evidence, good_stream, hello, samples},
};

#[test]
fn ports_that_end_badly() {
    let table = [
        ("nothing", "exit 0", "cut short after 0 bytes"),
        ("fails", "echo one >&2; echo the mend >&2; exit 1", "the port failed: the mend"),
        ("fails-late", "cat \"$here/good\"; exit 3", "the port failed"),
        ("killed", "kill -9 $$", "killed by signal 9"),
        ("killed-late", "cat \"$here/good\"; kill -11 $$", "killed by signal 11"),
        ("controls", "printf 'a\\033[2J\\rb\\n' >&2; exit 1", "a\u{fffd}[2J\u{fffd}b"),
    ];
    for (name, script, why) in table {
        Lab::new(name).with_port(script).expect(why);
    }
    Lab::new("interpreter").with_program("#!/nonexistent\n").run_is_inconclusive("cannot start");
    let lab = Lab::new("forbidden").with_program("#!/bin/sh\n");
    fs::set_permissions(lab.0.path("chronoscope-linux"), Permissions::from_mode(0o644)).unwrap();
    lab.run_is_inconclusive("Permission denied");
    let absent = Lab::new("absent");
    absent
        .run(&["run", "switch", "-q"])
        .exits(1)
        .shows("error: ")
        .shows("build the whole workspace");
}

impl Lab {
    #[track_caller]
    fn run_is_inconclusive(&self, why: &str) {
        self.run(&["run", "switch", "-q"]).exits(4).shows("inconclusive").shows(why);
    }
}

#[test]
fn ports_that_hang() {
    let table = [
        ("sleeps", "sleep 1000"),
        ("in-its-child", "sleep 1000 & wait"),
        ("deaf", "exec 2>/dev/null; trap '' TERM INT HUP; while :; do sleep 1; done"),
        ("after-the-stream", "cat \"$here/good\"; sleep 1000"),
        ("with-closed-outputs", "cat \"$here/good\"; exec >&- 2>&-; sleep 1000"),
        ("but-its-child", "cat \"$here/good\"; sleep 1000 & exit 0"),
    ];
    for (name, script) in table {
        Lab::new(name).with_port(script).expect("the watchdog ended the port after 1 s");
    }
    // A process that has closed its outputs does not delay the lab, but is killed all the same.
    let lab =
        Lab::new("silent-child").with_port("cat \"$here/good\"; sleep 1000 >&- 2>&- & exit 0");
    lab.run(&["run", "switch", "-q"]).exits(0);
    lab.left_nobody();
}

#[test]
fn ports_that_flood() {
    let start = frames(&[hello(), clock(), Record::Series(Series::measured("switch"))]);
    let many = |record: Record<'_>| frames(&[record]).repeat(2000);
    let table = [
        ("samples", many(samples(0, u64::MAX)), "the watchdog"),
        ("lines", many(Record::Log("again")), "the watchdog"),
        (
            "figures",
            many(Record::Figure { name: "f", unit: "", value: 1.0 }),
            "more than 256 times in one repetition",
        ),
        ("zeros", vec![0; 65536], "damaged at byte"),
        ("noise", vec![7; 65536], "longer than 640 bytes"),
    ];
    for (name, block, why) in table {
        let lab = Lab::new(name).with_stream("start", &start).with_stream("block", &block);
        lab.with_port("cat \"$here/start\"; while :; do cat \"$here/block\"; done").expect(why);
    }
    Lab::new("complaints").with_port("while :; do echo no >&2; done").expect("the watchdog");
}

#[test]
fn streams_that_make_no_sense() {
    let series = |series: Series<'static>| Record::Series(series);
    let ordinary = || series(Series::measured("switch"));
    let figure = |value| Record::Figure { name: "f", unit: "", value };
    let good = good_stream();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 0x10;
    let table = [
        (
            "garbage",
            (0..100_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect(),
            "the stream is damaged at byte",
        ),
        ("flipped", flipped, "damaged at byte"),
        ("truncated", good[..good.len() - 1].to_vec(), "cut short"),
        ("half", good[..good.len() / 2].to_vec(), "cut short"),
        ("twice", good.repeat(2), "goes on after its end"),
        ("reset", frames(&[hello(), clock(), hello()]), "the target was reset"),
        (
            "no-hello",
            good[good.iter().position(|byte| *byte == 0).unwrap() + 1..].to_vec(),
            "start with a hello",
        ),
        (
            "lost",
            frames(&[hello(), clock(), Record::End { records: 9 }]),
            "9 were sent and 2 arrived",
        ),
        (
            "stopped",
            frames(&[hello(), Record::Clock(Clock { hertz: 0, ..CLOCK })]),
            "does not tick",
        ),
        ("no-clock", frames(&[hello(), ordinary()]), "before the clock"),
        (
            "two-clocks",
            frames(&[hello(), clock(), Record::Clock(Clock { hertz: 5, ..CLOCK })]),
            "clock changed",
        ),
        (
            "unknown",
            frames(&[hello(), clock(), samples(3, 1)]),
            "series 3, which was not announced",
        ),
        ("no-figure", frames(&[hello(), clock(), figure(f64::NAN)]), "figure `f` is no number"),
        ("no-end", frames(&[hello(), clock(), figure(f64::INFINITY)]), "figure `f` is no number"),
        (
            "no-evidence",
            frames(&[hello(), clock(), evidence(f64::NAN)]),
            "evidence `switches` is no number",
        ),
        (
            "by-nothing",
            with_series(Series { per: f64::NAN, ..Series::measured("s") }),
            "NaN operations",
        ),
        ("by-zero", with_series(Series { per: 0.0, ..Series::measured("s") }), "0 operations"),
        (
            "by-almost-zero",
            with_series(Series { per: 1e-300, ..Series::measured("s") }),
            "operations a sample",
        ),
        (
            "nowhere",
            with_series(Series { x: Some(f64::NAN), ..Series::measured("s") }),
            "stands at no number",
        ),
        (
            "other-number",
            with_series(Series { id: 9, ..Series::measured("s") }),
            "announced out of order",
        ),
        (
            "lines",
            with_series(Series { id: 9, ..Series::measured("a\nb") }),
            "`a\u{fffd}b` is announced",
        ),
        (
            "empty",
            frames(&[hello(), clock(), ordinary(), evidence(5.0), Record::End { records: 4 }]),
            "no sample",
        ),
        (
            "unproved",
            frames(&[hello(), clock(), ordinary(), samples(0, 9), Record::End { records: 4 }]),
            "no evidence",
        ),
    ];
    for (name, stream, why) in table {
        Lab::new(name).with_stream("bad", &stream).with_port("cat \"$here/bad\"").expect(why);
    }
}

const CLOCK: Clock = Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 1 };

fn with_series(series: Series<'_>) -> Vec<u8> {
    assert_eq!(series.unit, Unit::Ticks);
    frames(&[hello(), clock(), Record::Series(series)])
}

/// Only the port can determine whether it may run on a processor.
#[test]
fn a_processor_that_is_not_there() {
    let answer = common::chronoscope(&["run", "switch", "-a", "999", "--repeat", "1", "-q"]);
    answer.exits(4).shows("the case may not run on that processor").shows("choose another with -a");
}

/// An ordinary user may lack real-time priority: those cases name the permission, and the others
/// run.
#[test]
fn without_permission_for_real_time() {
    let port = common::program_path().with_file_name("chronoscope-linux");
    assert!(port.exists(), "build the whole workspace first");
    let lab = Lab::new("user");
    {
        let _alone = WRITING.lock();
        fs::copy(port, lab.0.path("chronoscope-linux")).unwrap();
        fs::set_permissions(lab.0.path("chronoscope-linux"), Permissions::from_mode(0o755))
            .unwrap();
    }
    let words = [
        "run",
        "switch",
        "--set",
        "policy=fifo,other",
        "--set",
        "mlock=no",
        "--repeat",
        "1",
        "-q",
        "--format",
        "json",
    ];
    let mut command = Command::new(lab.0.path("chronoscope"));
    command.args(words).arg("--no-store").current_dir("/");
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let _alone = WRITING.lock();
    let answer = common::run(&mut command);
    let run = answer.json();
    let [fifo, other] = run["cases"].as_array().unwrap().as_slice() else { panic!("{run}") };
    assert!(other["series"][0]["count"].as_u64() > Some(100), "{other}");
    if fifo["verdict"]["status"] == "pass" {
        // This user has the permission after all, by `ulimit -r` or similar.
        return;
    }
    answer.exits(4);
    let reason = fifo["verdict"]["reasons"][0].as_str().unwrap();
    assert!(
        reason.contains("SCHED_FIFO) is not permitted") && reason.contains("cap_sys_nice"),
        "{reason}"
    );
}
