//! The bench board: kernels' images on simulated cores. The figures are exact, so tests compare
//! numbers.

use std::{fs, path::Path};

use crate::common::{
    Folder, cases, chronoscope, gives_the_same_bytes_twice, median, series, targets,
};
use serde_json::Value;

const IBEX: [&str; 2] = ["--target", "tandem@ibex,embassy@ibex,bare@ibex"];
const FEW: [&str; 4] = ["--repeat", "1", "--set", "loops=200"];

fn has_evidence(case: &Value) {
    assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
    assert_eq!(case["clock"]["domain"], "cycles", "{case:#}");
    let evidence = case["evidence"].as_array().expect("a case has evidence");
    assert!(!evidence.is_empty() && evidence.iter().all(|fact| fact["holds"] == true), "{case:#}");
}

#[test]
fn every_target_switches_and_takes_interrupts() {
    for core in ["ibex", "ibex-wb", "cv32e40p"] {
        let targets = targets(core);
        let cases = cases(&[&["switch", "interrupt"], &["--target", &targets][..], &FEW].concat());
        assert_eq!(cases.len(), 2 * targets.split(',').count());
        cases.iter().for_each(has_evidence);
        for case in &cases {
            let identity = case["identity"].as_object().expect("figures follow from something");
            for fact in [
                "core",
                "core's source",
                "simulator",
                "board",
                "image",
                "build",
                "wait states",
                "clock",
            ] {
                assert!(identity.contains_key(fact), "{fact} in {identity:?}");
            }
        }
    }
}

#[test]
fn two_runs_give_the_same_bytes() {
    let run = [
        &["run", "-q", "switch", "interrupt", "--set", "pins=yes", "--set", "trace=yes"],
        &IBEX[..],
        &FEW,
    ]
    .concat();
    gives_the_same_bytes_twice(&run, 24);
}

#[test]
fn pins_show_what_marks_tell_and_their_own_cost() {
    let set = ["--set", "pins=yes", "--set", "source=software"];
    for case in cases(&[&["interrupt"], &set[..], &IBEX, &FEW].concat()) {
        has_evidence(&case);
        let (marks, pin) = (series(&case, "measured"), series(&case, "pin"));
        assert_eq!(marks["count"], pin["count"], "{case:#}");
        let ends = |series: &Value| {
            ["min", "p50", "max"].map(|name| series[name].as_f64().expect("it has samples"))
        };
        let costs: Vec<f64> =
            ends(pin).iter().zip(ends(marks)).map(|(pin, marks)| pin - marks).collect();
        assert!(
            costs[0] > 0.0 && costs.iter().all(|cost| *cost == costs[0]),
            "{costs:?} in {case:#}"
        );
        series(&case, "pin-control");
    }
}

#[test]
fn cycles_are_told_by_function_to_the_last_one() {
    let case = &cases(
        &[
            &["interrupt", "--set", "pins=yes", "--set", "trace=yes", "--target", "tandem@ibex"],
            &FEW[..],
        ]
        .concat(),
    )[0];
    let cycles = &case["cycles"];
    let rows = cycles["rows"].as_array().expect("cycles have rows");
    let sum: u64 = rows.iter().map(|row| row["cycles"].as_u64().expect("a number")).sum();
    assert_eq!(Some(sum), cycles["total"].as_u64());
    for name in ["interrupt entry (hardware)", "tandem_trap_MachineSoft", "suite::mark::mark"] {
        assert!(rows.iter().any(|row| row["name"] == name), "no {name} in {rows:#?}");
    }
    let samples = series(case, "pin");
    let mean = samples["mean"].as_f64().expect("it has samples");
    assert_eq!(cycles["windows"], samples["count"]);
    assert!(
        (sum as f64 / cycles["windows"].as_f64().expect("a number") - mean).abs() < 3.0,
        "{sum} of {cycles:#}"
    );
    let trace = case["attachments"]["retired.txt"].as_str().expect("the trace is kept");
    let mut last = None;
    for run in trace.lines() {
        let fields: Vec<&str> = run.splitn(3, ' ').collect();
        let [start, end] = [0, 1].map(|field| fields[field].parse::<u64>().expect("a cycle"));
        // Every cycle belongs to a function, except while the core sleeps until an interrupt.
        let wakes = fields[2] == "interrupt entry (hardware)" && last < Some(start);
        assert!(
            start <= end && (wakes || last.is_none_or(|last| last == start)),
            "{run} after {last:?}"
        );
        last = Some(end);
    }
    for name in ["interrupt entry (hardware)", "tandem_trap_MachineSoft"] {
        assert!(trace.contains(&format!(" {name}\n")), "no {name}");
    }
}

#[test]
fn flash_that_waits_makes_all_slower() {
    let cases = cases(
        &[&["switch", "--set", "wait_states=0,2,5", "--target", "bare@ibex"], &FEW[..]].concat(),
    );
    let switches: Vec<f64> = cases.iter().map(median).collect();
    assert!(switches.len() == 3 && switches.is_sorted_by(|one, next| one < next), "{switches:?}");
}

#[test]
fn the_clock_s_rate_makes_times_cycles() {
    let delays = [
        "delay",
        "--set",
        "clock=84MHz",
        "--set",
        "delay_us=50000",
        "--set",
        "tasks=1",
        "--set",
        "loops=5",
    ];
    let case = &cases(&[&delays[..], &["--repeat", "1", "--target", "tandem@ibex"]].concat())[0];
    has_evidence(case);
    assert_eq!(case["clock"]["hertz"], 84_000_000);
    let measured = series(case, "measured");
    assert_eq!(measured["nominal"], 4_200_000.0);
    assert!(median(case) < 2_000.0, "{measured:#}");
}

#[test]
fn captures_lie_beside_the_page() {
    let folder = Folder::new("captures");
    let store = folder.path("runs.sqlite");
    let run =
        ["run", "interrupt", "--set", "pins=yes,no", "--target", "bare@ibex", "--store", &store];
    let answer = chronoscope(&[&run[..], &FEW].concat());
    let name = "runs.pages/1-interrupt-bare-ibex-loops-200-pins-yes.vcd";
    assert!(answer.exits(0).stderr.contains(name), "{answer:#?}");
    let capture = fs::read_to_string(Path::new(&folder.path(name))).expect("the capture is there");
    assert!(capture.contains("$comment chronoscope hertz 100000000 $end"), "{capture:.500}");
    chronoscope(&["history", "--forget", "1", "--store", &store]).exits(0);
    assert!(!Path::new(&folder.path(name)).exists());
}

#[test]
fn bad_values_are_told_in_a_line() {
    let bad = |set: &str, why: &str| {
        chronoscope(&["run", "switch", "--set", set, "--target", "tandem@ibex"]).complains(why);
    };
    bad("clock=fast", "`fast` is not a rate");
    bad("clock=", "a rate, as 84MHz");
    bad("clock=10kHz", "1MHz to 4GHz");
    bad("wait_states=6", "from 0 to 5");
    bad("pins=maybe", "one of no, yes");
    bad("trace=yes", "goes with `pins=yes`");
    chronoscope(&["run", "switch", "--target", "lilos@ibex"])
        .complains("unknown target `lilos@ibex`");
    chronoscope(&["run", "switch", "--set", "seed=1", "--target", "tandem@rv32"])
        .complains("has a parameter `seed`");
}

/// A yield between two processes on CVA6, in each case of `asid`. A start takes a minute.
fn yields_between_processes(asid: &str) -> Vec<Value> {
    let set = ["pair=process-process", "primitive=yield", asid, "loops=30"];
    let set = set.iter().flat_map(|word| ["--set", word]);
    let words = ["switch", "--target", "tandem@cva6", "--repeat", "1", "-j", "2"];
    let cases = cases(&words.into_iter().chain(set).collect::<Vec<_>>());
    cases.iter().for_each(has_evidence);
    cases
}

/// CVA6 has address spaces: their price in cycles, with identifiers and with fences.
#[test]
#[ignore = "builds and starts the largest core, which takes minutes: ./chronoscope test long"]
fn a_core_with_an_mmu_tells_what_address_spaces_cost() {
    let [with, without] = <[Value; 2]>::try_from(yields_between_processes("asid=on,off")).unwrap();
    let [with, without] = [&with, &without].map(median);
    println!("a yield between processes: {with} cycles, with fences {without}");
    // The goal of processes, and what a fence makes worse.
    assert!(with <= 200.0 && with + 10.0 < without && without < 300.0, "{with} and {without}");
}

#[test]
#[ignore = "starts the largest core twice: ./chronoscope test long"]
fn a_core_with_an_mmu_gives_the_same_twice() {
    let first = yields_between_processes("asid=on");
    assert_eq!(first, yields_between_processes("asid=on"));
}
