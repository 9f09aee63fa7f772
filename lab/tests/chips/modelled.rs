//! Time on a named chip (`docs/cycles.md`).

use chronoscope_chips::Table;
use serde_json::Value;

use crate::{
    common::{Folder, cases, chronoscope, gives_the_same_bytes_twice},
    worst::{CORTEX_M4, RV32, mark},
};

fn measured(case: &Value) -> &Value {
    let mut series = case["series"].as_array().unwrap().iter();
    series.find(|series| series["role"] == "measured").unwrap()
}

/// The median of the measured series and of its bounds, in ns.
fn bounds(case: &Value) -> [f64; 3] {
    let series = case["series"].as_array().unwrap();
    let name = measured(case)["name"].as_str().unwrap();
    [", at least", "", ", at most"].map(|words| {
        let name = format!("{name}{words}");
        let found = series.iter().find(|series| series["name"] == *name);
        found.unwrap_or_else(|| panic!("no {name} in {case:#}"))["p50"].as_f64().unwrap()
    })
}

/// Another program has computed these cycles without wait states, from traces of the same kernels.
/// Builds of a kernel differ by up to 3 %.
#[test]
fn cycles_are_within_the_bounds_of_an_independent_program() {
    let known = [
        ("switch", "tandem@cortex-m4", [198.0, 214.0, 248.0]),
        ("switch", "freertos@cortex-m4", [924.0, 1037.0, 1295.0]),
        ("switch", "embassy@cortex-m4", [298.0, 316.0, 395.0]),
        ("wakeup", "freertos@cortex-m4", [360.0, 385.0, 492.0]),
        ("wakeup", "embassy@cortex-m4", [206.0, 215.0, 272.0]),
    ];
    let targets = "tandem@cortex-m4,freertos@cortex-m4,embassy@cortex-m4";
    let chip = ["--chip", "stm32f405", "--clock", "10MHz", "--repeat", "1"];
    let all = cases(&[&["switch", "wakeup", "--target", targets], &chip[..]].concat());
    for (experiment, target, expected) in known {
        let is_it = |case: &&Value| case["experiment"] == experiment && case["target"] == target;
        let case = all.iter().find(is_it).unwrap();
        assert_eq!(case["clock"]["domain"], "modelled", "{case:#}");
        for (found, expected) in bounds(case).into_iter().zip(expected) {
            let cycles = found / 100.0;
            assert!((cycles / expected - 1.0).abs() < 0.03, "{cycles}, {expected}: {case:#}");
        }
        let [least, _, most] = bounds(case);
        let half = (most - least) / (most + least);
        let limit = if target == "tandem@cortex-m4" { 0.12 } else { 0.17 };
        assert!(half < limit, "{half}: {case:#}");
    }
}

/// The estimate is between its bounds, and wait states make nothing faster.
#[test]
fn flash_costs_time_and_keeps_the_bounds() {
    let at = |clock: &str, per: f64| {
        let target = ["switch", "--target", "tandem@cortex-m4", "--chip", "stm32f405"];
        let case = cases(&[&target[..], &["--clock", clock, "--repeat", "1"]].concat());
        bounds(&case[0]).map(|ns| ns / per)
    };
    let (slow, fast) = (at("10MHz", 100.0), at("84MHz", 1e3 / 84.0));
    for [least, estimate, most] in [slow, fast] {
        assert!(least <= estimate && estimate <= most);
    }
    assert!(slow.iter().zip(fast).all(|(slow, fast)| fast >= slow - 0.5), "{slow:?}, {fast:?}");
    assert!((fast[2] - fast[0]) / (fast[2] + fast[0]) < 0.22, "{fast:?}");
}

/// Each chip of the table, by its core: a few instructions take no less than their number of cycles, and
/// no more than six times it.
#[test]
fn each_chip_of_the_table_has_bounds() {
    let table = Table::read();
    assert!(table.parts.len() >= 10);
    for part in &table.parts {
        let on = |core: &String| table.targets().find(|chip| chip.core == *core).unwrap();
        for chip in part.runs.iter().map(on) {
            let target = format!("tandem@{}", chip.name);
            let run = ["switch", "--target", &target, "--repeat", "1"];
            let [instructions, ns] =
                [&[][..], &["--chip", &part.name]].map(|more| cases(&[&run, more].concat()));
            let per = 1e9 / part.hertz as f64;
            let [least, estimate, most] = bounds(&ns[0]).map(|ns| ns / per);
            let instructions = measured(&instructions[0])["p50"].as_f64().unwrap();
            assert!(instructions <= least && least <= estimate, "{}", part.name);
            assert!(estimate <= most && most <= 6.0 * instructions, "{}", part.name);
        }
    }
}

#[test]
fn a_run_repeats_to_the_byte() {
    let chip = ["--chip", "stm32f205", "--repeat", "1"];
    let case = ["run", "switch", "--target", "tandem@cortex-m3"];
    gives_the_same_bytes_twice(&[&case[..], &chip].concat(), 4);
}

/// The first screen says that no chip has run, and a case without cycles has its reason.
#[test]
fn the_answer_says_what_it_is() {
    let run = |experiment: &str| {
        let chip = ["--target", "tandem@cortex-m4", "--chip", "stm32f405", "--repeat", "1"];
        chronoscope(&[&["run", experiment], &chip[..]].concat())
    };
    run("switch").exits(0).shows("Exact paths, modelled cycles").shows("its flash was not");
    let why = "the bounds of `switch` are apart by: branches ";
    chronoscope(&["report", "--evidence"]).exits(0).shows(why).shows(", flash ");
    run("delay").shows("not offered").shows("the processor sleeps within its samples");
    run("operations").shows("not offered").shows("has no time of a chip");
}

/// A ranking says which kernel is first whatever the bounds, and in what unit; a kernel is marked only
/// then.
#[test]
fn a_ranking_has_the_estimate_and_the_longest_time() {
    let targets = ["--target", "tandem@cortex-m4,freertos@cortex-m4,embassy@cortex-m4"];
    let chip = ["--chip", "stm32f405", "--clock", "84MHz", "--repeat", "1"];
    let answer = chronoscope(&[&["run", "wakeup"], &targets[..], &chip].concat());
    answer.exits(0).shows("first of its kind whatever the bounds; estimate, longest; µs");
    // Every wake-up of FreeRTOS takes longer than every one of tandem; embassy is of another kind.
    let mut rows = answer.stdout.lines().filter(|line| line.starts_with("wakeup "));
    let row = rows.nth(1).unwrap();
    assert_eq!(row.matches('●').count(), 1, "{row}");
    let numbers: Vec<f64> = row.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers.len(), 6, "{row}");
    assert!(numbers.chunks(2).all(|pair| pair[0] <= pair[1]), "{row}");
}

/// A study's limits count instructions; in the time of a chip they judge nothing. Its bytes stay.
#[test]
fn limits_of_instructions_are_none_for_a_chip() {
    let case = ["run", "tandem", "wakeup", "image", "--target", "tandem@cortex-m4"];
    let plain = chronoscope(&[&case[..], &["--repeat", "1"]].concat());
    plain.exits(0).shows("limits hold");
    let chip = chronoscope(&[&case[..], &["--chip", "stm32f405", "--repeat", "1"]].concat());
    chip.exits(0).shows("2 of 2 limits hold");
}

/// From the instruction at which a sample starts to its next execution, an observer of the unmodified
/// image counts the cycles that the marks have.
#[test]
fn observed_cycles_are_those_of_marks() {
    let chip = ["--chip", "stm32f405", "--clock", "10MHz"];
    let case = ["switch", "--target", "tandem@cortex-m4", "--set", "tasks=2", "--repeat", "1"];
    let marked = bounds(&cases(&[&case[..], &chip].concat())[0]);
    let (image, folder) = (CORTEX_M4.image("tandem"), Folder::new("observed-cycles"));
    let mark = mark(&CORTEX_M4, &image, &folder);
    let observe = ["observe", &image, "--append", "switch tasks=2", "--from", &mark, "-q"];
    let json = chronoscope(&[&observe[..], &chip, &["--format", "json"]].concat()).json();
    assert_eq!(json["cases"][0]["clock"]["domain"], "modelled");
    assert_eq!(bounds(&json["cases"][0]), marked);
    let ask = |more: &[&str]| chronoscope(&[&["observe", &image], more].concat());
    ask(&["--chip", "z80"]).complains("no machine observes the chip `z80`: did you mean ");
    ask(&["--chip", "rp2040"]).complains("at 0x8000000, where microbit has no memory");
    ask(&["--chip", "stm32f405", "--clock", "169MHz"]).complains("1MHz to 168MHz");
    ask(&["--chip", "stm32f103", "--machine", "netduinoplus2"]).complains("has a Cortex-M3");
    ask(&[]).complains("--machine");
}

/// On RISC-V the model has no cycles between an interrupt's arrival and its handler, so a wait would be
/// shown as none.
#[test]
fn waits_of_interrupts_are_left_out_on_risc_v() {
    let image = RV32.image("tandem");
    let observe = ["observe", &image, "--append", "interrupt loops=20", "-q", "--format", "json"];
    let waits = |more: &[&str]| {
        let json = chronoscope(&[&observe[..], more].concat()).json();
        let case = &json["cases"][0];
        let series = case["series"].as_array().expect("series");
        let waits = series.iter().filter(|series| {
            series["name"].as_str().is_some_and(|name| name.ends_with("to handler"))
        });
        (waits.count(), case["log"].to_string())
    };
    let (instructions, _) = waits(&["--machine", "virt"]);
    assert!(instructions > 0);
    let (cycles, log) = waits(&["--chip", "ibex"]);
    assert!(cycles == 0 && log.contains("waits of interrupts are left out"), "{cycles} {log}");
}
