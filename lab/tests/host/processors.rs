//! The processors of a case: those that the kernel permits, whatever the lab's own affinity, as on a
//! machine that was booted with isolcpus.

use std::process::Command;

use crate::common::{program_path, run};

/// A lab on processor 0 alone.
fn on_the_first(arguments: &[&str]) -> crate::common::Answer {
    let mut taskset = Command::new("taskset");
    taskset.args(["-c", "0"]).arg(program_path()).args(arguments);
    run(&mut taskset)
}

const PERIOD: [&str; 10] =
    ["run", "period", "--set", "policy=other", "--set", "mlock=no", "-l", "20", "-q", "--no-store"];

#[test]
fn processors_outside_of_the_lab_s_affinity_are_measured() {
    let count = std::thread::available_parallelism().unwrap().get();
    assert!(count > 1, "this test needs two processors");
    let last = (count - 1).to_string();
    for processors in [&*last, "0+1", "all"] {
        let answer = on_the_first(&[&PERIOD[..], &["-a", processors, "--format", "json"]].concat());
        let case = answer.exits(0).json()["cases"][0].clone();
        let of_each = |cpu: usize| {
            let name = format!("cpu {cpu}");
            case["series"].as_array().unwrap().iter().any(|series| series["name"] == name)
        };
        let each = if processors == "all" { count } else { 2 };
        assert!(processors == last || (0..each).all(of_each), "{processors}: {case:#}");
    }
    let beyond = on_the_first(&[&PERIOD[..], &["-a", "0+900"]].concat());
    beyond.exits(4).shows("the case may not run on that processor");
}

/// Without `-a` a case stays where the lab is: here is no isolated processor.
#[test]
fn the_default_is_one_of_the_lab_s_own() {
    let answer = on_the_first(&[&PERIOD[..], &["--format", "json"]].concat());
    assert_eq!(answer.exits(0).json()["cases"][0]["parameters"]["cpu"], "0");
}
