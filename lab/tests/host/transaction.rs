//! `transaction` on this host: every transport that needs no device.

use std::process::Command;

use crate::common::{self, chronoscope, program_path};

/// The transports with a server. `passthrough` has none: a call with few bytes takes as long as its
/// control, to within a clock tick, so its verdict depends on chance.
const SERVED: &str = "transport=unix,seqpacket,pipe,futex,eventfd,process_vm";

fn run(more: &[&str]) -> common::Answer {
    let call = ["run", "transaction", "-q", "--no-store", "--repeat", "2", "--set", "loops=200"];
    chronoscope(&[&call[..], more].concat())
}

#[test]
fn every_transport_brings_back_what_was_sent() {
    for (transports, sizes) in
        [(SERVED, "size=1,64,65536"), ("transport=passthrough", "size=65536")]
    {
        let answer = run(&["--set", transports, "--set", sizes, "--format", "json"]);
        for case in answer.exits(0).json()["cases"].as_array().expect("there are cases") {
            assert_eq!(case["evidence"][0]["name"], "answers that held what was sent", "{case:#}");
            assert_eq!(case["evidence"][0]["value"], 200.0, "{case:#}");
        }
    }
}

#[test]
fn workers_share_services() {
    run(&["--full", "--set", SERVED, "--set", "workers=3", "--set", "services=2"])
        .exits(0)
        .shows("worker 2");
}

#[test]
fn a_server_that_dies_ends_the_case_with_a_reason() {
    run(&["--set", "transport=unix,seqpacket,pipe", "--set", "fault=dead"])
        .exits(4)
        .shows("the server died while it was called");
}

#[test]
fn a_server_that_says_no_more_is_given_up() {
    run(&["--set", "transport=unix,pipe,futex", "--set", "fault=mute"])
        .exits(4)
        .shows("the server did not answer a call in time");
}

#[test]
fn without_descriptors_the_mend_is_told() {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 24; exec \"$0\" \"$@\""]).arg(program_path());
    let call =
        ["run", "transaction", "-q", "--no-store", "--repeat", "1", "--set", "transport=unix,pipe"];
    let answer = common::run(limited.args(call).args(["--set", "workers=20"]));
    answer
        .exits(4)
        .shows("no channel for each worker and service (Too many open files")
        .shows("raise `ulimit -n`");
}

#[test]
fn google_benchmark_s_names_and_processor_time() {
    let answer = run(&["--set", "size=64,4096", "--format", "google-benchmark"]);
    let json = answer.exits(0).json();
    let first = &json["benchmarks"][0];
    assert_eq!(first["name"], "BM_sendVec_unix/64", "{first:#}");
    assert!(first["cpu_time"].as_f64() < first["real_time"].as_f64(), "{first:#}");
    assert!(json.to_string().contains("BM_sendVec_unix/4k"));
}

/// A lent priority is the server's class while it serves: all calls of the real-time client, or
/// none. `guests::vm` checks the time that this saves, where other load does not change it.
#[test]
fn a_server_serves_at_the_priority_that_its_caller_lends() {
    let settings = ["work_us=2000", "hogs=3", "loops=40", "boost=no,yes"]
        .map(|setting| ["--set", setting])
        .concat();
    let answer = chronoscope(
        &[&["run", "latency", "-q", "--no-store", "--format", "json"], &settings[..]].concat(),
    );
    let cases = answer.exits(0).json()["cases"].as_array().cloned().expect("there are cases");
    let served = |case: &serde_json::Value| case["figures"][2]["value"].as_f64();
    assert_eq!(
        (served(&cases[0]), served(&cases[1])),
        (Some(40.0), Some(0.0)),
        "{:#}",
        cases[0]["figures"]
    );
}

#[test]
fn without_the_device_the_latency_commands_say_where_to_measure() {
    chronoscope(&[
        "hwbinder-latency",
        "-i",
        "10",
        "-pair",
        "2",
        "-deadline_us",
        "50",
        "--target",
        "linux@host",
    ])
    .complains("@vm");
    chronoscope(&["hwbinder-latency", "-pair", "0"]).complains("1..=32");
}

/// The newer original's -m PASSTHROUGH: the server is a function of the client, which needs no driver,
/// runs at the caller's priority and on its processor.
#[test]
fn without_a_driver_the_server_is_the_caller_itself() {
    let answer = chronoscope(&["hwbinder-latency", "-i", "20", "-m", "PASSTHROUGH"]);
    let json = answer.exits(0).json();
    assert_eq!((&json["inheritance"], &json["cfg"]["passthrough"]), (&"PASS".into(), &1.into()));
    assert_eq!((&json["P0"]["SYNC"], &json["P0"]["S"]), (&"GOOD".into(), &40.into()));
    // Milliseconds on the wall: nothing is added.
    assert!(json.get("clock").is_none() && !answer.stderr.contains("no time on the wall"));
}

/// `latency` leaves the processors of caller and server to the scheduler by default; `transaction`
/// does not.
#[test]
fn callers_and_servers_run_where_the_scheduler_puts_them() {
    let run = ["run", "-q", "--no-store", "--repeat", "1", "--format", "json", "--set", "loops=20"];
    let case = |arguments: &[&str]| {
        let answer = chronoscope(&[&run[..], arguments].concat());
        answer.exits(0).json()["cases"][0].clone()
    };
    let latency = case(&["latency"]);
    assert_eq!(latency["parameters"]["cpu"], "free", "{latency:#}");
    let pinned = case(&["latency", "--set", "cpu=0"]);
    let together = pinned["figures"].as_array().unwrap().iter();
    let on_one = |name: &str| {
        together.clone().find(|figure| figure["name"] == name).unwrap()["value"].clone()
    };
    assert_eq!(on_one("P0 calls"), on_one("P0 calls on one processor"));
    assert_ne!(case(&["transaction"])["parameters"]["cpu"], "free");
}
