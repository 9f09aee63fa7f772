//! The machine `rv64`: kernels' images in supervisor mode, in QEMU. The figures are exact, so tests
//! compare numbers.

use crate::{
    common::{cases, chronoscope, gives_the_same_bytes_twice, median},
    delays_are_late_by_less_than_1000,
};

const ALL: [&str; 8] =
    ["switch", "message", "wakeup", "interrupt", "period", "delay", "spawn", "log"];

#[test]
fn two_runs_give_the_same_bytes() {
    let arguments = [&["run", "-q", "--repeat", "2", "--target", "tandem@rv64"], &ALL[..4]];
    gives_the_same_bytes_twice(&arguments.concat(), 5);
}

#[test]
fn every_figure_has_evidence() {
    let target = ["--repeat", "1", "--target", "tandem@rv64"];
    let pairs = "pair=thread-thread,coroutine-coroutine,thread-coroutine,coroutine-thread";
    let runs = [
        ALL.to_vec(),
        [&["--set", "kind=coroutine"], &ALL[1..]].concat(),
        vec!["switch", "--set", pairs, "--set", "primitive=yield,semaphore"],
        vec!["inversion", "--set", "protocol=inheritance,ceiling"],
        vec!["interrupt", "--set", "source=timer"],
    ];
    for case in runs.iter().flat_map(|arguments| cases(&[&target, &arguments[..]].concat())) {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        assert_eq!(case["clock"]["domain"], "instructions", "{case:#}");
        let evidence = case["evidence"].as_array().unwrap();
        assert!(
            !evidence.is_empty() && evidence.iter().all(|fact| fact["holds"] == true),
            "{case:#}"
        );
    }
}

#[test]
fn a_switch_takes_as_many_instructions_as_on_rv32() {
    let set = ["--set", "primitive=yield", "--set", "tasks=2,32", "--repeat", "1"];
    let targets = ["switch", "--target", "tandem@rv32,tandem@rv64"];
    let switches: Vec<f64> = cases(&[&targets[..], &set].concat()).iter().map(median).collect();
    assert!(
        switches.len() == 4 && switches.iter().all(|switch| *switch == switches[0]),
        "{switches:?}"
    );
}

#[test]
fn interrupts_are_off_for_a_constant_time() {
    let set = ["--set", "tasks=2,30", "--set", "loops=200", "--repeat", "1"];
    for case in cases(&[&["masked", "--target", "tandem@rv64"], &set[..]].concat()) {
        let figures = case["figures"].as_array().expect("a case has figures");
        let masked =
            figures.iter().find(|figure| figure["name"] == "masked").expect("it has this one");
        assert!(masked["value"].as_f64().is_some_and(|masked| masked < 260.0), "{case:#}");
    }
}

#[test]
fn a_delay_is_late_by_the_way_back_to_the_task_alone() {
    delays_are_late_by_less_than_1000("tandem@rv64");
}

#[test]
fn pins_and_lines_from_outside_are_not_offered() {
    let outside = ["run", "interrupt", "-q", "--set", "source=external", "--target", "tandem@rv64"];
    chronoscope(&outside).exits(0).shows("no line from outside");
    chronoscope(&["run", "switch", "--set", "pins=yes", "--target", "tandem@rv64"])
        .complains("pins");
}
