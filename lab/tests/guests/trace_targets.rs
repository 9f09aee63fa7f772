//! Traces of targets, read back with this crate's classes and with Perfetto's. On every track time
//! goes forward and slices nest; every arrow has both ends and points forward. Each target must
//! also show its own events.

use std::{path::Path, process::Command};

use crate::common::{self, Folder, chronoscope, program, run};
use crate::timeline::{TrackContent, read_twice};
use serde_json::Value;

struct Traced {
    case: Value,
    tracks: Vec<TrackContent>,
    /// For each arrow, the number of events that it leaves.
    flows: Vec<usize>,
}

impl Traced {
    fn named<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a TrackContent> {
        self.tracks.iter().filter(move |track| track.name.starts_with(start))
    }

    /// Checks that every sample of every measured series is a slice, and no other.
    #[track_caller]
    fn has_all_samples(&self) {
        let series = self.case["series"].as_array().expect("a case has series");
        for series in
            series.iter().filter(|series| series["role"] == "measured" && series["unit"] != "count")
        {
            let name = series["name"].as_str().expect("a series has a name");
            let is_its = |track: &&TrackContent| {
                track.name == name || track.name.starts_with(&format!("{name} ("))
            };
            let slices: usize =
                self.tracks.iter().filter(is_its).map(|track| track.slices.len()).sum();
            let samples = series["samples"].as_array().map_or(0, Vec::len);
            assert!(
                samples > 0 && slices == samples,
                "{name}: {slices} slices of {samples} samples"
            );
        }
    }

    /// Checks the tasks that a handler or another task woke: each as often as given, and each then
    /// ran.
    #[track_caller]
    fn has_wake_ups(&self, of: &str, least: usize) {
        let ran = |track: &&TrackContent| {
            track.slices.iter().filter(|slice| slice.0.starts_with("runs on")).count() >= least
        };
        assert!(self.named(of).any(|track| ran(&track)), "{:#?}", self.tracks);
        assert!(
            self.flows.iter().filter(|&&leaves| leaves == 1).count() >= least,
            "{:?}",
            self.flows
        );
    }
}

/// The settings of every run here: a single repetition whose samples are kept.
const ONCE: [&str; 7] = ["run", "-q", "--no-store", "--repeat", "1", "--samples", "--format=json"];

/// A stored run as a timeline.
fn timeline_of(folder: &Folder, run: &str) -> Traced {
    whole_timeline_of(folder, run).expect("the trace has its beginning")
}

/// A stored run as a timeline; `None` if the program says that the trace lacks its beginning.
fn whole_timeline_of(folder: &Folder, run: &str) -> Option<Traced> {
    let (file, output) = (folder.file("run.json", run), folder.path("run.pftrace"));
    let answer = chronoscope(&["trace", &file, "-o", &output]);
    answer.exits(0);
    if answer.stderr.contains("of the trace's ") {
        return None;
    }
    let (tracks, flows) = read_twice(&output);
    let run: Value = serde_json::from_str(run).expect("it was just read");
    Some(Traced { case: run["cases"][0].clone(), tracks, flows })
}

/// Runs a case with its trace.
fn traced(name: &str, arguments: &[&str]) -> Traced {
    let folder = Folder::new(name);
    let answer = chronoscope(&[&ONCE[..], &["--set", "trace=yes"], arguments].concat());
    answer.exits(0);
    timeline_of(&folder, &answer.stdout)
}

/// ftrace on this machine. If tracefs is not mounted, it is mounted for the case alone, which takes
/// root. A machine with other busy tasks fills the kernel's buffers, which then lack the beginning of
/// the case: the first whole trace of five is read.
#[test]
fn this_machine_s_tasks_wake_each_other() {
    let folder = Folder::new("trace-host");
    let short = ["wakeup", "--set", "loops=20", "--set", "policy=other", "--set", "mlock=no"];
    let arguments = [&ONCE[..], &short[..], &["--set", "trace=yes"]].concat();
    let mut command = program();
    // Root in a container may lack the permission.
    let may_mount = || {
        Command::new("unshare")
            .args(["--mount", "true"])
            .status()
            .is_ok_and(|status| status.success())
    };
    let is_root = rustix::process::geteuid().is_root();
    if is_root && !Path::new("/sys/kernel/tracing/instances").exists() && may_mount() {
        let path = command.get_program().to_owned();
        // A mount namespace of its own leaves the machine unchanged.
        command = Command::new("unshare");
        let mount = "mount -t tracefs none /sys/kernel/tracing; exec \"$@\"";
        command.args(["--mount", "sh", "-c", mount, "sh"]).arg(path);
    }
    command.args(arguments);
    let whole = |_| {
        let answer = run(&mut command);
        (answer.status == Some(0)).then(|| whole_timeline_of(&folder, &answer.stdout)).flatten()
    };
    if let Some(host) = (0..5).find_map(whole) {
        host.has_all_samples();
        host.has_wake_ups("chronoscope-lin", 20);
        let marks: Vec<&str> =
            host.tracks.iter().flat_map(|track| &track.marks).map(|mark| mark.0.as_str()).collect();
        assert!(
            marks.contains(&"the case begins") && marks.contains(&"the case ends"),
            "{marks:?}"
        );
        return;
    }
    // Without ftrace or permission the case says so with the remedy; the suite's own marks are
    // present all the same.
    let answer = run(&mut command);
    let refusal = answer.exits(4).json()["cases"][0]["verdict"]["reasons"].to_string();
    println!("not traced: {refusal}");
    assert!(
        refusal.contains("the kernel's trace cannot be had: run as root, where tracefs is mounted"),
        "{refusal}"
    );
    let answer = chronoscope(&[&ONCE[..], &short].concat());
    timeline_of(&folder, &answer.exits(0).stdout).has_all_samples();
}

#[test]
fn a_guest_s_calls_go_from_client_through_driver_to_server() {
    let arguments = [
        "transaction",
        "--target",
        "linux-full@vm",
        "--set",
        "transport=binder",
        "--set",
        "loops=20",
    ];
    let guest = traced("trace-guest", &arguments);
    guest.has_all_samples();
    let carried: Vec<_> = guest.named("driver").flat_map(|track| &track.slices).collect();
    let count = |what: &str| carried.iter().filter(|(name, ..)| name.starts_with(what)).count();
    assert!(count("call") >= 20 && count("reply") >= 20, "{carried:?}");
    let through = guest.flows.iter().filter(|&&leaves| leaves == 2).count();
    assert!(through >= 40 && through <= carried.len(), "{:?}", guest.flows);
    // Both ends of a call are tasks: the client calls and receives the answer, the server receives
    // the call and answers.
    let both = |one: &str, other: &str| {
        let has = |track: &&TrackContent, word: &str| {
            track.marks.iter().filter(|mark| mark.0.starts_with(word)).count() >= 20
        };
        guest.named("").filter(|track| has(track, one) && has(track, other)).count()
    };
    assert_eq!(
        (both("call", "receives"), both("reply", "receives")),
        (1, 1),
        "{:#?}",
        guest.tracks
    );
    // Every call wakes the server, unless it still runs.
    assert!(guest.flows.iter().filter(|&&leaves| leaves == 1).count() >= 20, "{:?}", guest.flows);
}

#[test]
fn a_real_time_guest_s_handler_wakes_a_task() {
    let guest = traced("trace-rt", &["wakeup", "--target", "linux-rt@vm", "--set", "loops=50"]);
    guest.has_all_samples();
    guest.has_wake_ups("init-", 50);
    // PREEMPT_RT runs soft interrupts, such as the timers', in threads.
    assert!(guest.named("ktimers/").count() > 0, "{:#?}", guest.tracks);
}

#[test]
fn tandem_s_handler_wakes_a_thread() {
    for target in ["tandem@cortex-m4", "tandem@rv32"] {
        let tandem = traced(
            &format!("trace-{target}"),
            &["wakeup", "--target", target, "--set", "loops=50"],
        );
        tandem.has_all_samples();
        tandem.has_wake_ups("thread-", 50);
        assert!(
            tandem.named("handlers").any(|track| track.slices.len() >= 50),
            "{target}: {:#?}",
            tandem.tracks
        );
    }
}

/// Figures come from the image without a trace; the image with a trace records three more events
/// for each switch.
#[test]
fn tandem_s_figures_know_nothing_of_the_trace() {
    let median = |trace: &str| {
        let trace = format!("trace={trace}");
        let arguments = [
            "switch",
            "--target",
            "tandem@cortex-m4",
            "--repeat",
            "1",
            "--no-store",
            "--set",
            &trace,
        ];
        common::median(&common::cases(&arguments)[0])
    };
    assert!(median("no") * 1.5 < median("yes"));
}

/// The page splits the worst wake-up of a guest by the kernel's events, on both processors.
#[test]
fn a_late_wake_up_is_split() {
    let folder = Folder::new("trace-split");
    for target in ["linux-rt@vm", "linux-rt@vm-arm64"] {
        let page = traced_page(&folder, &["period", "--target", target, "--set", "loops=50"]);
        for part in ["The worst took ", " until the timer's interrupt", " until its mark"] {
            assert!(page.contains(part), "{target}: {part}");
        }
    }
}

/// A PREEMPT_RT kernel has timerlat, which runs beside the case; a stock kernel has not.
#[test]
fn timerlat_tells_interrupt_and_thread_apart() {
    let folder = Folder::new("trace-timerlat");
    for (target, has) in [("linux-rt@vm", true), ("linux-full@vm", false)] {
        let page = traced_page(&folder, &["period", "--target", target, "--set", "loops=50"]);
        let expected = [
            "The kernel's tracer timerlat, with a thread of its own beside the case: interrupt \
             latency at worst ",
            "by the kernel's tracer timerlat, of its own thread.",
        ];
        for text in expected {
            assert_eq!(page.contains(text), has, "{target}: {text}");
        }
        let charts = page.matches("data-kind=\"parts\"").count();
        assert_eq!(charts, if has { 2 } else { 1 }, "{target}");
    }
}

/// Nothing but the kernel takes time in a guest whose clock counts instructions.
#[test]
fn each_gap_of_a_guest_has_an_event() {
    let folder = Folder::new("trace-noise");
    let sources = [
        ("linux-rt@vm", "the events of the kernel's tracer osnoise"),
        ("linux-full@vm", "the kernel's irq, sched and nmi events"),
    ];
    for (target, source) in sources {
        let page = traced_page(&folder, &["noise", "--target", target, "--set", "loops=1"]);
        for text in ["each gap has one", source, " interrupts took ", "data-kind=\"parts\""] {
            assert!(page.contains(text), "{target}: {text}");
        }
    }
}

/// The page of a traced run.
fn traced_page(folder: &Folder, arguments: &[&str]) -> String {
    let page = folder.path("page.html");
    let run = ["run", "-q", "--no-store", "--repeat", "1", "--set", "trace=yes"];
    chronoscope(&[&run[..], arguments, &["--format", "html", "-o", &page]].concat()).exits(0);
    std::fs::read_to_string(page).unwrap()
}
