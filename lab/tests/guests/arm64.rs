//! Guests with a 64-bit Arm, which every host emulates: the same experiments, and the same bytes.

use crate::{
    cached_kernel,
    common::{Folder, chronoscope},
};
use serde_json::Value;

const TARGETS: &str = "linux-voluntary@vm-arm64,linux-rt@vm-arm64";

const EXPERIMENTS: [&str; 5] = ["period", "switch", "transaction", "--set", "loops=100"];

fn run(arguments: &[&str], format: &str) -> crate::common::Answer {
    let run = ["run", "-q", "--no-store", "--repeat", "1", "--format", format];
    chronoscope(&[&run, arguments].concat())
}

fn evidence<'a>(case: &'a Value, name: &str) -> Option<&'a Value> {
    case["evidence"].as_array()?.iter().find(|fact| fact["name"] == name)
}

#[test]
fn both_kernels_give_the_same_bytes_twice() {
    let arguments = [&EXPERIMENTS[..], &["--target", TARGETS]].concat();
    let csv = || run(&arguments, "csv").exits(0).stdout.clone();
    let first = csv();
    assert!(first.lines().count() > 12, "{first}");
    assert_eq!(first, csv());
    let json = run(&arguments, "json").exits(0).json();
    let cases = json["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 6, "{json:#}");
    for case in cases {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        assert_eq!(case["clock"]["domain"], "instructions", "{case:#}");
        assert!(case["release"].as_str().is_some_and(|text| text.contains("arm64")), "{case:#}");
        let model = if case["target"] == "linux-rt@vm-arm64" { "rt" } else { "none or voluntary" };
        let read = evidence(case, &format!("preemption model read back: {model}"));
        assert_eq!(read.expect("the model is read back")["holds"], true, "{case:#}");
    }
}

#[test]
fn the_binder_driver_counts_the_transactions() {
    let set = ["transport=binder,hwbinder", "loops=20"].map(|set| ["--set", set]).concat();
    let arguments = [&["transaction", "--target", TARGETS], &set[..]].concat();
    let json = run(&arguments, "json").exits(0).json();
    let cases = json["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4, "{json:#}");
    for case in cases {
        let counted = evidence(case, "transactions counted by the driver").expect("evidence");
        assert_eq!(
            (&counted["value"], &counted["holds"]),
            (&20.0.into(), &true.into()),
            "{case:#}"
        );
    }
}

#[test]
fn a_kernel_of_ones_own_is_measured() {
    let case = ["interrupt", "--set", "loops=10", "--target"];
    run(&[&case[..], &["linux-voluntary@vm-arm64"]].concat(), "json").exits(0);
    let kernel = cached_kernel("6.1-arm64").expect("the case has fetched it");
    let image = kernel.join("vmlinuz").to_str().unwrap().to_owned();
    let own = [&case[..], &["linux@vm-arm64", "--kernel-image", &image]].concat();
    let json = run(&own, "json").exits(0).json();
    assert_eq!(json["cases"][0]["verdict"]["status"], "pass", "{json:#}");
    let folder = Folder::new("vm-arm64-kernel");
    let file = folder.file("Image", "no kernel");
    run(&[&case[..], &["linux@vm-arm64", "--kernel-image", &file]].concat(), "table")
        .exits(1)
        .shows("neither an Image of a 64-bit Arm");
}

#[test]
fn what_these_guests_lack_is_refused_by_name() {
    run(&["switch", "--target", "linux-full@vm-arm64"], "table")
        .complains("linux-voluntary@vm-arm64 or linux-rt@vm-arm64");
    run(&["switch", "--target", "linux-rt@vm-arm64", "--set", "mode=kvm"], "table")
        .exits(1)
        .shows("mode=kvm is not offered on vm-arm64");
}
