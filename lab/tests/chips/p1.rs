//! The studies P1 and P5 on the bench board and the emulators, shortened; every line is measured by
//! both instruments.

use std::{collections::BTreeMap, fs, process::Command};

use crate::common::{self, Folder, chronoscope, gives_the_same_bytes_twice, run, series};
use serde_json::Value;

const P1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../studies/p1-embassy-preempt.toml");
const P5: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../studies/p5-four-kernels.toml");

/// The sample period of an analyser at 2 MHz, in cycles at 84 MHz.
const PERIOD: f64 = 42.0;

fn number(series: &Value, name: &str) -> f64 {
    series[name].as_f64().unwrap_or_else(|| panic!("no {name} in {series:#}"))
}

/// Runs experiments of P1 with few samples of each.
fn p1(experiments: &[&str], target: &str, store: &str, more: &[&str]) -> common::Answer {
    let few = ["--repeat", "1", "--set", "loops=40", "--store", store, "--target", target];
    let run = ["run", "-q", "--study", P1];
    let answer = chronoscope(&[&run[..], experiments, &few, more].concat());
    answer.exits(0);
    answer
}

/// The times in ticks from each edge of D0 to the next, by sigrok's timing decoder.
fn sigrok_edges(file: &str) -> BTreeMap<u64, u64> {
    let decoder = ["-P", "timing:data=D0", "-A", "timing=time", "--protocol-decoder-samplenum"];
    let answer = run(Command::new("sigrok-cli").args(["-I", "vcd", "-i", file]).args(decoder));
    answer.exits(0);
    let mut found = BTreeMap::new();
    for line in answer.stdout.lines() {
        // A line of sigrok's: `15-30 timing-1: 1.500 μs (666.667 kHz)`
        let (start, end) =
            line.split_once(' ').and_then(|(numbers, _)| numbers.split_once('-')).unwrap();
        *found.entry(end.parse::<u64>().unwrap() - start.parse::<u64>().unwrap()).or_default() += 1;
    }
    found
}

fn our_edges(file: &str) -> BTreeMap<u64, u64> {
    let measure = ["capture", file, "--channel", "D0", "--measure", "edges", "--format", "json"];
    let answer = chronoscope(&measure).json();
    let histogram = answer["captures"][0]["rows"][0]["histogram"].as_array().unwrap().clone();
    let ticks = |ns: &Value| (ns.as_f64().unwrap() * 84e6 / 1e9).round() as u64;
    histogram.iter().map(|pair| (ticks(&pair[0]), pair[1].as_u64().unwrap())).collect()
}

#[test]
fn each_line_of_p1_is_told_by_both_instruments() {
    let folder = Folder::new("p1");
    let (store, file) = (folder.path("runs.db"), folder.path("run.json"));
    let with_pins = ["delay", "switch", "interrupt", "log"];
    p1(&with_pins, "tandem@ibex,tandem@cortex-m4", &store, &["--format", "json", "-o", &file]);
    let cases: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    // Cases by a model of P1's chip have no pins.
    let has_pins = |case: &&Value| case["clock"]["domain"] != "modelled";
    let cases: Vec<&Value> = cases["cases"].as_array().unwrap().iter().filter(has_pins).collect();
    // On each target 2 of delay, 4 of switch, and interrupt; log twice, since its case for embassy
    // is run on tandem too.
    assert_eq!(cases.len(), 2 * 9);
    for case in cases {
        let (marks, pin) = (series(case, "measured"), series(case, "pin"));
        assert_eq!(
            (&case["verdict"]["status"], &marks["count"]),
            (&"pass".into(), &pin["count"]),
            "{case:#}"
        );
    }
    let table = chronoscope(&["report", &file, "--full"]);
    for line in [
        "P1.delay.pin",
        "P1.delay.timer",
        "P1.switch.pin",
        "P1.switch.timer",
        "P1.interrupt",
        "P1.log", // each its own
        "task 5 by pin",
        "switch by pin at 2 MS/s",
        "50 ms + 201 µs",
        "84 cycles a µs",
    ] {
        table.shows(line);
    }
    // The captures that the study writes next to its page, as another program reads them.
    let dumps = fs::read_dir(folder.path("runs.db.pages"))
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string());
    let dumps: Vec<String> =
        dumps.filter(|path| path.ends_with(".vcd") && path.contains("ibex")).collect();
    assert_eq!(dumps.len(), 9);
    for dump in dumps {
        let ours = our_edges(&dump);
        assert!(!ours.is_empty(), "{dump}");
        assert_eq!(ours, sigrok_edges(&dump), "{dump}");
    }
}

#[test]
fn two_million_samples_a_second_read_in_halves_of_a_microsecond() {
    let folder = Folder::new("p1-analyser");
    let run = p1(
        &["switch"],
        "tandem@ibex",
        &folder.path("runs.db"),
        &["--set", "pair=thread-thread", "--format", "json"],
    )
    .json();
    let cases = run["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["experiment"] == "switch").unwrap();
    let (pin, slow) = (series(case, "pin"), series(case, "pin-analyser"));
    assert_eq!((&slow["name"], &slow["count"]), (&"switch by pin at 2 MS/s".into(), &pin["count"]));
    let readings = slow["histogram"].as_array().unwrap();
    let samples = |pair: &Value| pair[0].as_f64().unwrap() * number(slow, "per") / PERIOD;
    assert!(readings.iter().all(|pair| samples(pair).fract() == 0.0), "{readings:?}");
    // The same switch is read as two numbers that differ by a sample period; their mean is close to
    // it.
    assert!(readings.len() >= 2, "{readings:?}");
    assert!((number(slow, "mean") - number(pin, "mean")).abs() < PERIOD / 4.0, "{case:#}");
    let published = case["published"].as_array().unwrap();
    assert!(
        published
            .iter()
            .any(|figure| figure["instrument"] == "analyser" && figure["value"] == 7503.0)
    );
}

#[test]
fn p5_is_the_same_bytes_twice_and_stands_beside_instructions() {
    let targets = "tandem@rv32,tandem@ibex,tandem@ibex-wb,tandem@cv32e40p";
    let study = [
        "run",
        "-q",
        "--no-store",
        "--study",
        P5,
        "--target",
        targets,
        "--repeat",
        "1",
        "--set",
        "loops=40",
    ];
    let switch = [&study[..], &["switch", "wakeup", "--set", "tasks=2"]].concat();
    gives_the_same_bytes_twice(&switch, 1 + 4 * 4);
    let pipeline =
        [&study[..9], &["pipeline", "--set", "kind=thread", "--format", "json"]].concat();
    for case in chronoscope(&pipeline).json()["cases"].as_array().unwrap() {
        let (tracer, analyser) =
            (number(series(case, "measured"), "mean"), number(series(case, "pin"), "mean"));
        assert!(analyser > tracer && analyser < 1.02 * tracer, "{case:#}");
    }
}

#[test]
fn a_study_with_a_bad_analyser_is_told_in_one_line() {
    let folder = Folder::new("p1-bad");
    for (set, analyser, why) in [
        ("pins = \"yes\"", "{ rate = \"fast\" }", "`fast` is not a rate"),
        ("pins = \"yes\"", "{ rate = \"2MHz\", phase = 1.5 }", "a phase of 1.5 is none"),
        ("pins = \"yes\"", "{ rate = \"2MHz\", fase = 0 }", "did you mean `phase`?"),
        ("tasks = 2", "{ rate = \"2MHz\" }", "the analyser has no pins to look at"),
        ("pints = \"yes\"", "{ rate = \"2MHz\" }", "has no parameter `pints`"),
    ] {
        let study = format!(
            "name = \"bad\"\ntitle = \"bad\"\n[[case]]\nexperiment = \"switch\"\ntarget = [\"linux@host\", \"tandem@ibex\"]\nset = {{ {set} }}\n\
             analyser = {analyser}\n"
        );
        chronoscope(&["run", "--study", &folder.file("bad.toml", study)]).complains(why);
    }
}
