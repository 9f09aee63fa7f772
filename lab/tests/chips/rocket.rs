//! Rocket on the bench board: the price of address spaces in cycles, and the kernel's promises on a
//! core with caches. Building the board takes minutes, so all but the refusals is in the long test.

use std::process::{Command, Stdio};

use crate::{
    common::{Answer, builder, cases, chronoscope, gives_the_same_bytes_twice, median, run},
    plugin::target,
    processes::{SCENES, image},
};

#[test]
fn identifiers_that_the_core_lacks_are_refused() {
    for target in ["tandem@rocket", "tandem@rocket-small"] {
        let spaces = |set: &str| {
            let words = ["run", "switch", "--target", target, "--set", "pair=process-process"];
            chronoscope(&[&words[..], &["--set", set]].concat())
        };
        spaces("asid=on").complains("leave asid out, or set asid=off");
        spaces("asid=off,on").complains("keeps no identifiers of address spaces");
        spaces("asid=maybe").complains("one of on, off");
        spaces("pins=yes").complains("has a parameter `pins`");
    }
}

/// Runs a request of the program in user mode on the board, built before.
fn program(request: &str) -> Answer {
    run(builder().args(["bench", "rocket", "build"])).exits(0);
    let mut board = Command::new(target().join("bench/rocket/release/chronoscope-bench"));
    // Some hundred times the cycles of the longest scene: a program that hangs ends.
    board.args(["--limit", "1000000000"]).arg(image()).args(["--request", request]);
    run(board.stdin(Stdio::null()))
}

/// The most cycles that each path takes, warm, as `docs/processes.md` has them.
/// Another layout of the program moves them by up to a tenth.
const PATHS: [(&str, u64); 8] = [
    ("null call", 36),
    ("yield alone", 51),
    ("give without a waiter", 70),
    ("take of a unit", 73),
    ("yield to another process", 254),
    ("give to a higher process", 287),
    ("call and answer", 529),
    ("spawn, run, end and reap", 2513),
];

#[test]
#[ignore = "builds a core in two minutes: ./chronoscope test long"]
fn paths_take_no_more_cycles_than_documented() {
    let told = program("bench calls asid=off");
    told.exits(0);
    for (name, limit) in PATHS {
        let line = told.stdout.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        let (range, _) = line.expect(name).split_once(", first").expect("a range");
        let worst: u64 = range.split(" to ").last().unwrap().parse().unwrap();
        assert!(
            worst as f64 <= 1.15 * limit as f64,
            "{name}: {worst} cycles, documented are {limit}"
        );
    }
    let refused = program("bench calls");
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("the core has too few ASIDs"), "{refused:#?}");
}

/// All scenes but `latency`, whose bound is in instructions: this clock counts cycles.
#[test]
#[ignore = "builds a core in two minutes, and starts it thirty times: ./chronoscope test long"]
fn the_kernel_keeps_its_promises_on_a_core_with_caches() {
    for scene in SCENES.iter().filter(|scene| **scene != "latency") {
        let told = program(&format!("check {scene} asid=off"));
        told.exits(0);
        assert_eq!(told.stdout, format!("ok {scene}\n"));
    }
}

const FEW: [&str; 6] = ["--repeat", "1", "--set", "loops=30", "-j", "2"];

#[test]
#[ignore = "builds two cores in four minutes: ./chronoscope test long"]
fn fewer_translations_cost_more_cycles() {
    let words = ["switch", "--target", "tandem@rocket,tandem@rocket-small"];
    let set = ["--set", "pair=process-process", "--set", "primitive=yield"];
    let measured = cases(&[&words[..], &set, &FEW].concat());
    for case in &measured {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        assert_eq!(case["clock"]["domain"], "cycles", "{case:#}");
        let evidence = case["evidence"].as_array().expect("a case has evidence");
        assert!(evidence.iter().all(|fact| fact["holds"] == true), "{case:#}");
        assert!(case["log"].to_string().contains("no K210"), "{case:#}");
    }
    let [rocket, small] = [&measured[0], &measured[1]].map(median);
    println!("a yield between processes: {rocket} cycles, of the small core {small}");
    assert!(rocket < 350.0 && small > 1.5 * rocket, "{rocket} and {small}");
}

#[test]
#[ignore = "builds a core in two minutes: ./chronoscope test long"]
fn two_runs_give_the_same_bytes() {
    let words = ["run", "-q", "message", "switch", "--target", "tandem@rocket"];
    gives_the_same_bytes_twice(&[&words[..], &FEW].concat(), 2);
}
