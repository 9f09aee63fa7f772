//! Kernels under other options of their compilers: the dated table is what they measure.

use std::{fs, path::Path};

use chronoscope_report::answer::builds;
use chronoscope_run::Run;
use serde_json::Value;

use crate::common::{Folder, cases, chronoscope, median};

/// The file of the dated table.
const TABLE: &str = "lab/report/src/answer/builds.toml";

/// The studies with figures of kernels that are ranked, and the words that choose the cases with rows
/// on targets with builds.
const STUDIES: [&[&str]; 2] = [
    &["microcontrollers"],
    &[
        "p5-four-kernels",
        "wakeup",
        "period",
        "--target",
        "freertos@cortex-m4,freertos-checked@cortex-m4,freertos-notify@cortex-m4,tandem@cortex-m4",
    ],
];

/// The full test holds a kernel in C and one in Rust to cargo's own defaults; the long one all.
#[test]
fn kernels_under_cargo_s_defaults_are_as_the_table_says() {
    for (kernel, label) in [("freertos", "thread-thread"), ("embassy", "coroutine-coroutine")] {
        let target = format!("{kernel}@cortex-m4");
        let pair = format!("pair={label}");
        let words = ["switch", "--target", &target, "--set", &pair, "--set", "primitive=yield"];
        let build =
            ["--set", "tasks=10", "--set", "build=fat,cargo", "--vary", "4", "--repeat", "4"];
        let measured: Vec<f64> =
            cases(&[&words[..], &build].concat()).iter().map(|case| median(case)).collect();
        let case = format!("switch {target} pair={label} primitive=yield tasks=10");
        assert_eq!(measured, builds::kept(&case).unwrap()[..2], "{kernel}");
    }
}

#[test]
fn what_has_one_build_is_measured_in_it_alone() {
    let labels = |arguments: &[&str]| -> Vec<String> {
        let cases = cases(&[arguments, &["--builds", "--repeat", "1"]].concat());
        cases.iter().map(|case| case["label"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels(&["image", "--target", "tandem@cortex-m4"]).len(), 1);
    let run = ["run", "switch", "-q", "--no-store", "--target", "tandem@cortex-m4"];
    let complains = |set: &[&str], words| {
        chronoscope(&[&run[..], set].concat()).complains(words);
    };
    complains(&["--set", "build=c-o3"], "build");
    complains(&["--set", "build=size", "--set", "trace=yes"], "`build=` is of the plain image");
    complains(&["--builds", "--set", "build=size"], "`build` is set twice");
    let host = ["run", "switch", "-q", "--no-store", "--target", "linux@host", "--builds"];
    chronoscope(&host).complains("no target here has other builds");
    let image = ["run", "image", "-q", "--no-store", "--target", "tandem@cortex-m4"];
    chronoscope(&[&image[..], &["--set", "build=size"]].concat())
        .complains("measures images of its own");
}

/// All builds of all kernels of the two rankings. With CHRONOSCOPE_BLESS, the table is written anew.
#[test]
#[ignore = "builds forty images: ./chronoscope test long"]
fn all_builds_are_as_the_table_says() {
    let folder = Folder::new("builds");
    let runs = STUDIES.map(|words| -> Run {
        let file = folder.path(words[0]);
        let options = ["--builds", "-q", "--no-store", "--format", "json", "-o", &file];
        chronoscope(&[&["run"], words, &options].concat());
        let text = fs::read_to_string(file).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        serde_json::from_value(value).unwrap()
    });
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let path = root.join(TABLE);
    let kept = fs::read_to_string(&path).unwrap();
    let date = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    if std::env::var_os("CHRONOSCOPE_BLESS").is_some() {
        let today = &runs[0].context.date.to_string()[..10];
        return fs::write(path, builds::table(&runs, today)).unwrap();
    }
    let today = date(&kept);
    let today = today.trim_start_matches("date = ").trim_matches('"');
    assert_eq!(builds::table(&runs, today), kept);
}
