//! The machine `rv32`: kernels' images in QEMU. The figures are exact, so tests compare numbers.

use crate::{
    common::{cases, chronoscope, gives_the_same_bytes_twice, median, series, targets},
    delays_are_late_by_less_than_1000,
};

const ALL: [&str; 9] =
    ["switch", "message", "wakeup", "interrupt", "period", "delay", "spawn", "log", "pipeline"];

#[test]
fn two_runs_give_the_same_bytes() {
    let targets = targets("rv32");
    let arguments = [&["run", "-q", "--repeat", "2", "--target", &targets], &ALL[..4]].concat();
    gives_the_same_bytes_twice(&arguments, 17);
}

#[test]
fn interrupts_are_off_for_a_constant_time_in_tandem() {
    let set = [
        "--set",
        "tasks=2,10,30",
        "--set",
        "loops=200",
        "--repeat",
        "1",
        "--target",
        "tandem@rv32",
    ];
    for case in cases(&[&["masked"], &set[..]].concat()) {
        let figures = case["figures"].as_array().expect("a case has figures");
        let masked =
            figures.iter().find(|figure| figure["name"] == "masked").expect("it has this one");
        assert!(masked["value"].as_f64().is_some_and(|masked| masked < 260.0), "{case:#}");
    }
}

#[test]
fn every_figure_has_evidence() {
    let bare = ["switch", "message", "interrupt"];
    let targets = targets("rv32");
    let timers = ["interrupt", "--set", "source=timer", "--target", &targets];
    let kinds = ["--set", "kind=coroutine", "--target", "tandem@rv32"];
    let pairs = "pair=thread-thread,coroutine-coroutine,thread-coroutine,coroutine-thread";
    let pairs =
        ["switch", "--set", pairs, "--set", "primitive=yield,semaphore", "--target", "tandem@rv32"];
    let inversion =
        ["inversion", "--set", "protocol=inheritance,ceiling", "--target", "tandem@rv32"];
    let runs = [
        [&["--target", "tandem@rv32"], &ALL[..8]].concat(),
        [&kinds, &ALL[1..8]].concat(),
        pairs.to_vec(),
        inversion.to_vec(),
        [&["--target", "embassy@rv32"], &ALL[..]].concat(),
        [&["--target", "bare@rv32"], &bare[..]].concat(),
        [&["--target", "freertos@rv32"], &ALL[..6]].concat(),
        timers.to_vec(),
    ];
    for case in
        runs.iter().flat_map(|arguments| cases(&[&["--repeat", "1"], &arguments[..]].concat()))
    {
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
fn a_mark_takes_a_few_instructions() {
    for target in targets("rv32").split(',') {
        let case = &cases(&["interrupt", "--repeat", "1", "--target", target])[0];
        // The control is a clock read and a store with the loop around them, whose counting takes
        // instructions too.
        let control = series(case, "control");
        assert!(control["max"].as_f64().unwrap() < 10.0, "{control:#}");
    }
}

#[test]
fn nothing_is_faster_than_no_kernel() {
    let case = cases(&[
        "switch",
        "message",
        "--repeat",
        "1",
        "--target",
        "tandem@rv32,embassy@rv32,bare@rv32",
    ]);
    let [switch, message] = ["switch", "message"].map(|experiment| {
        let case = case.iter().filter(|case| case["experiment"] == experiment);
        case.map(median).collect::<Vec<_>>()
    });
    for figures in [switch, message] {
        assert!(
            matches!(figures[..], [tandem, embassy, bare] if bare < embassy && bare < tandem),
            "{figures:?}"
        );
    }
}

#[test]
fn a_switch_of_tandem_costs_the_same_among_many() {
    let set = ["--set", "primitive=yield", "--set", "tasks=2,10,32"];
    let cases =
        cases(&[&["switch", "--repeat", "1", "--target", "tandem@rv32"], &set[..]].concat());
    let switches: Vec<f64> = cases.iter().map(median).collect();
    assert!(
        switches.len() == 3 && switches.iter().all(|switch| *switch == switches[0]),
        "{switches:?}"
    );
}

#[test]
fn an_alarm_goes_off_at_its_instruction() {
    let case =
        &cases(&["interrupt", "--set", "source=timer", "--repeat", "1", "--target", "bare@rv32"])
            [0];
    // A tick of the architecture's own timer is 100 instructions.
    let measured = series(case, "measured");
    assert!(
        measured["max"].as_f64().unwrap() - measured["min"].as_f64().unwrap() < 10.0,
        "{measured:#}"
    );
}

#[test]
fn a_delay_is_late_by_the_way_back_to_the_task_alone() {
    // The clock's low half wraps within the last case of each.
    delays_are_late_by_less_than_1000("tandem@rv32,embassy@rv32");
}

#[test]
fn what_a_kernel_lacks_is_not_offered() {
    chronoscope(&["run", "inversion", "-q", "--target", "embassy@rv32"])
        .exits(0)
        .shows("not offered");
    let threads =
        ["run", "switch", "-q", "--set", "pair=thread-thread", "--target", "embassy@rv32"];
    chronoscope(&threads).exits(0).shows("embassy has coroutines only");
    chronoscope(&["run", "delay", "-q", "--target", "bare@rv32"]).exits(0).shows("not offered");
    let outside = [
        "run",
        "interrupt",
        "wakeup",
        "-q",
        "--set",
        "source=external,external-idle",
        "--target",
        "tandem@rv32",
    ];
    chronoscope(&outside).exits(0).shows("no line from outside");
    chronoscope(&["run", "switch", "--target", "linux@rv32"])
        .complains("unknown target `linux@rv32`");
}

#[test]
fn a_case_too_large_for_the_chip_says_so() {
    let large = ["run", "switch", "-q", "--set", "loops=1000000", "--target", "embassy@rv32"];
    chronoscope(&large).exits(4).shows("more memory than this target has");
}
