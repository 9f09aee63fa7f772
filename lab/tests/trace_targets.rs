//! Traces of targets that give the same one every time: a guest's binder, and tandem.

mod common;
#[path = "common/timeline.rs"]
mod timeline;

use std::fs;

use common::{Folder, chronoscope};
use timeline::{Shown, read};

/// Runs a case with its trace, and reads it as a timeline, with what its arrows leave from.
fn traced(name: &str, arguments: &[&str]) -> (Vec<Shown>, Vec<usize>) {
    let folder = Folder::new(name);
    let (file, output) = (folder.path("run.json"), folder.path("run.pftrace"));
    let run = ["run", "-q", "--no-store", "--repeat", "1", "--set", "trace=yes", "--format", "json", "-o", &file];
    chronoscope(&[&run, arguments].concat()).exits(0);
    chronoscope(&["trace", &file, "-o", &output]).exits(0);
    read(&fs::read(&output).expect("the timeline is there"))
}

fn named<'a>(tracks: &'a [Shown], start: &'a str) -> impl Iterator<Item = &'a Shown> {
    tracks.iter().filter(move |track| track.name.starts_with(start))
}

#[test]
fn a_guest_s_calls_go_from_client_through_driver_to_server() {
    let arguments = ["transaction", "--target", "linux-full@vm", "--set", "transport=binder", "--set", "loops=20"];
    let (tracks, flows) = traced("trace-guest", &arguments);
    let carried: Vec<_> = named(&tracks, "driver").flat_map(|track| &track.slices).collect();
    let count = |what: &str| carried.iter().filter(|(name, ..)| name.starts_with(what)).count();
    assert!(count("call") >= 20 && count("reply") >= 20, "{carried:?}");
    let through = flows.iter().filter(|&&leaves| leaves == 2).count();
    assert!(through >= 40 && through <= carried.len(), "{flows:?}");
    // Every call wakes the server, unless it still runs.
    assert!(flows.iter().filter(|&&leaves| leaves == 1).count() >= 20, "{flows:?}");
}

#[test]
fn tandem_s_handler_wakes_a_thread() {
    let (tracks, flows) = traced("trace-tandem", &["wakeup", "--target", "tandem@cortex-m4", "--set", "loops=50"]);
    let threads: Vec<_> = named(&tracks, "thread-").collect();
    assert!(!threads.is_empty() && threads.iter().all(|thread| thread.slices.len() >= 50), "{threads:?}");
    assert!(named(&tracks, "handlers").all(|track| track.slices.len() >= 50));
    assert!(flows.len() >= 50, "{flows:?}");
}

/// The image without a trace is the one that figures come from; with it, every switch has three events more to record.
#[test]
fn tandem_s_figures_know_nothing_of_the_trace() {
    let median = |trace: &str| {
        let trace = format!("trace={trace}");
        let arguments = ["switch", "--target", "tandem@cortex-m4", "--repeat", "1", "--no-store", "--set", &trace];
        common::median(&common::cases(&arguments)[0])
    };
    assert!(median("no") * 1.5 < median("yes"));
}
