//! `chronoscope trace`: runs exported as timelines and read back by the rules of each format.

use std::fs;

use crate::common::{Answer, Folder, chronoscope};
use crate::pins;
use crate::timeline::{FTRACE, TrackContent, case, perfetto_of, read, read_twice, series, wall};
use chronoscope_report::{timeline::Timeline, vcd};
use chronoscope_run::CaseResult;
use serde_json::{Value, json};

fn run_of(cases: &[Value]) -> String {
    let context = json!({
        "date": "", "seconds": 0, "host": "", "system": "", "processor": "", "processors": 1, "program": "", "command": [],
        "interrupted": false,
    });
    json!({"schema": 1, "context": context, "study": "", "title": "", "notes": "", "cases": cases})
        .to_string()
}

/// Two cases: overlapping samples of two operations each, and a trace in instructions at 500 MHz.
fn sample() -> String {
    let overlapping: [&[(f64, f64)]; 2] = [&[(0.0, 10.0), (5.0, 10.0), (30.0, 1.0)], &[(0.0, 7.0)]];
    let untimed: [&[(f64, f64)]; 1] = [&[(0.0, 1.0), (0.0, 2.0)]];
    let counted = series("counts", "count", &untimed);
    let first =
        [series("way there", "ns", &overlapping), series("untimed", "ns", &untimed), counted];
    let clock = json!({"domain": "instructions", "hertz": 500_000_000, "resolution": 1});
    let second = [series("way there", "instructions", &overlapping)];
    run_of(&[
        case("tasks=2", &wall(), &first, Some(FTRACE)),
        case("tasks=3", &clock, &second, None),
    ])
}

fn trace(file: &str, arguments: &[&str]) -> Answer {
    chronoscope(&[&["trace", file], arguments].concat())
}

#[track_caller]
fn find<'a>(tracks: &'a [TrackContent], name: &str) -> &'a TrackContent {
    tracks
        .iter()
        .find(|track| track.name == name)
        .unwrap_or_else(|| panic!("no {name} in {tracks:#?}"))
}

fn slices(track: &TrackContent) -> Vec<(&str, u64, u64)> {
    track.slices.iter().map(|(name, begin, end)| (name.as_str(), *begin, *end)).collect()
}

#[test]
fn samples_are_slices_from_start_to_end() {
    let folder = Folder::new("trace-samples");
    let (file, output) = (folder.file("run.json", sample()), folder.path("run.pftrace"));
    let answer = trace(&file, &["-o", &output, "--case", "1"]);
    answer.exits(0);
    let (tracks, _) = read(&fs::read(&output).unwrap());
    // A value is for one of two operations. The second sample begins within the first.
    assert_eq!(
        slices(find(&tracks, "way there")),
        [("way there", 0, 20), ("way there", 30, 32), ("way there", 32, 46)]
    );
    assert_eq!(slices(find(&tracks, "way there (2)")), [("way there", 5, 25)]);
    assert_eq!(
        slices(find(&tracks, "untimed")),
        [("untimed", 0, 2), ("untimed", 2, 6)],
        "one after another"
    );
    assert!(!tracks.iter().any(|track| track.name == "counts"), "a count takes no time");
    trace(&file, &["-q", "-o", &output, "--case", "tasks=2"]).exits(0);
    trace(&file, &["-q", "-o", &output, "--case", "2"]).exits(0);
    let (tracks, _) = read(&fs::read(&output).unwrap());
    let track = find(&tracks, "way there");
    assert_eq!(
        slices(track),
        [("way there", 0, 40), ("way there", 60, 64), ("way there", 64, 92)],
        "2 ns a tick"
    );
    assert!(
        track.description.contains("instructions, 500000000 Hz; a tick is shown as 2 ns"),
        "{track:?}"
    );
}

#[test]
fn a_kernel_s_trace_is_tasks_processors_and_arrows() {
    let folder = Folder::new("trace-ftrace");
    let (file, output) = (folder.file("run.json", sample()), folder.path("run.pftrace"));
    let answer = trace(&file, &["-o", &output]);
    answer.exits(0);
    assert!(
        answer.stderr.contains("1 of 23 lines of its trace are no ftrace: skipped"),
        "{answer:?}"
    );
    let (tracks, flows) = read(&fs::read(&output).unwrap());
    let server = find(&tracks, "server pid=x-12");
    assert_eq!(
        slices(server),
        [
            ("runs on 1", 5_000, 10_000),
            ("ready", 22_000, 23_000),
            ("runs on 1", 23_000, 40_000),
            ("pre-empted", 40_000, 40_000)
        ]
    );
    assert_eq!(
        slices(find(&tracks, "processor 1")),
        [
            ("server pid=x-12", 5_000, 10_000),
            ("server pid=x-12", 23_000, 40_000),
            ("other-13", 40_000, 40_000)
        ]
    );
    assert_eq!(
        slices(find(&tracks, "driver 1")),
        [("call 41", 20_000, 26_000), ("reply 42", 30_000, 35_000)]
    );
    let client: Vec<_> =
        find(&tracks, "client-11").marks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        client,
        ["the case begins", "call 41 to 12", "wakes server pid=x-12", "receives 42"]
    );
    let marks: Vec<_> = server.marks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(marks, ["priority 120 becomes 98", "receives 41", "reply 42 to 11"]);
    // A wake-up by a handler is not attributed to the interrupted task.
    assert_eq!(find(&tracks, "processor 0").marks, [("wakes client-11".to_owned(), 32_000)]);
    // The events that arrows leave: one for each of two wake-ups; the sender's and the driver's for
    // each of two transactions.
    assert_eq!(flows.iter().sum::<usize>(), 2 + 2 * 2, "{flows:?}");
}

/// Two tasks of tandem and a handler; the clock's low half wraps between them.
#[test]
fn tandem_s_trace_is_tasks_and_handlers() {
    let text = "# tandem 1\n4294967000 3 20000300 thread\n4294967100 1 20000600 thread\n4294967200 6 20000300 thread\n\
                4294967210 2 20000600 thread\n4294967220 7 20000300 thread\n4294967290 3 20000600 thread\n4 4 20000600 thread\n\
                10 3 2001f7ac idle\n20 99 20000600 thread\n30 3 2000";
    let mut case = case("", &wall(), &[], None);
    case["attachments"] = json!({"tandem": text});
    let case: CaseResult = serde_json::from_value(case).unwrap();
    let (tracks, flows) = read(&perfetto_of(&case));
    assert_eq!(slices(find(&tracks, "thread-1")), [("runs on 0", 0, 290), ("ready", 290, 316)]);
    assert_eq!(slices(find(&tracks, "thread-2")), [("ready", 210, 290), ("runs on 0", 290, 300)]);
    assert_eq!(slices(find(&tracks, "handlers")), [("handler", 200, 220)]);
    assert_eq!(find(&tracks, "processor 0").marks, [("wakes thread-2".to_owned(), 210)]);
    assert_eq!(flows, [1]);
    let remarks = Timeline::new(&[&case]).remarks;
    assert!(
        remarks[0].contains("2 of 11 lines of its trace are no events of tandem"),
        "{remarks:?}"
    );
}

/// The board's pins and the functions of the retired instructions, both from the capture's start.
#[test]
fn a_board_s_instruments_are_pins_and_functions() {
    let folder = Folder::new("trace-board");
    let (file, output) =
        (folder.file("run.json", pins::run().to_string()), folder.path("run.pftrace"));
    trace(&file, &["-o", &output, "--case", "1"]).exits(0);
    let (tracks, _) = read(&fs::read(&output).unwrap());
    // 1000 cycles at 84 MHz are 11905 ns.
    let entry = ("interrupt entry (hardware)", 11_905, 12_012);
    let functions =
        [entry, ("<kernel::Scheduler as Give>::give", 12_012, 12_143), ("handler", 12_143, 12_214)];
    assert_eq!(slices(find(&tracks, "functions")), functions);
    let pin = slices(find(&tracks, "D0"));
    assert_eq!((pin[0], pin.len()), (("D0", 11_905, 12_048), 200));
    assert!(find(&tracks, "pins").description.contains("a cycle is shown as 11.905 ns"));
    assert!(!tracks.iter().any(|track| track.name == "D1"), "a pin that never rises");
    let dump = folder.path("run.vcd");
    trace(&file, &["-q", "-o", &dump, "--format", "vcd", "--case", "1"]).exits(0);
    let ours = chronoscope_capture::Capture::from_vcd("ours", fs::read(&dump).unwrap().as_slice());
    // Channels that are not pins, such as texts, are ignored.
    let pulses =
        ours.unwrap().channels.into_iter().find(|channel| channel.name.ends_with("D0")).unwrap();
    assert_eq!(pulses.edges[..2], [11_905, 12_048]);
}

#[test]
fn what_a_board_did_not_write_is_told() {
    let folder = Folder::new("trace-board-bad");
    let mut run = pins::run();
    let attachments = &mut run["cases"][0]["attachments"];
    attachments["pins.vcd"] = json!("$timescale 1 ns $end <b>");
    attachments["retired.txt"] =
        json!("5 9 late\n1 2 early\n9 8 back\n9 9 f g\n\n18446744073709551615 1 x\n10\n");
    let (file, output) = (folder.file("run.json", run.to_string()), folder.path("run.pftrace"));
    let answer = trace(&file, &["-o", &output, "--case", "1"]);
    answer.exits(0);
    assert!(answer.stderr.contains("its capture cannot be read: pins.vcd: "), "{answer:?}");
    assert!(
        answer.stderr.contains("5 lines of retired.txt are no runs of a function"),
        "{answer:?}"
    );
    let (tracks, _) = read(&fs::read(&output).unwrap());
    // Without a capture, time begins with the first instruction.
    assert_eq!(slices(find(&tracks, "functions")), [("late", 0, 48), ("f g", 48, 48)]);
    assert!(!tracks.iter().any(|track| track.name == "pins"));
}

/// A file of this crate's, read with the classes that Perfetto publishes.
#[test]
fn perfetto_reads_it() {
    let folder = Folder::new("trace-perfetto");
    for (name, run) in [("trace", sample()), ("board", pins::run().to_string())] {
        let (file, output) =
            (folder.file(&format!("{name}.json"), run), folder.path(&format!("{name}.pftrace")));
        trace(&file, &["-q", "-o", &output]).exits(0);
        let (tracks, flows) = read_twice(&output);
        assert!(tracks.len() > 10 && flows.is_empty() == (name == "board"), "{tracks:#?}");
    }
}

#[test]
fn a_viewer_of_waveforms_reads_it() {
    let folder = Folder::new("trace-vcd");
    let (file, output) = (folder.file("run.json", sample()), folder.path("run.vcd"));
    trace(&file, &["-q", "--format", "vcd", "-o", &output]).exits(0);
    let bytes = fs::read(&output).unwrap();
    let mut parser = ::vcd::Parser::new(bytes.as_slice());
    let header = parser.parse_header().expect("a header");
    assert_eq!(header.timescale, Some((1, ::vcd::TimescaleUnit::NS)));
    let find = |path: &[&str]| {
        header
            .find_var(&[&["chronoscope", "switch_linux@host_tasks=2"], path].concat())
            .unwrap()
            .code
    };
    let server = find(&["tasks", "server_pid=x-12"]);
    let client = [find(&["tasks", "client-11_mark"]), find(&["tasks", "client-11_marked"])];
    let (mut now, mut states, mut marks, mut events) = (0, Vec::new(), Vec::new(), 0);
    for command in parser {
        match command.expect("a change") {
            ::vcd::Command::Timestamp(at) => {
                assert!(at >= now, "{at} after {now}");
                now = at;
            }
            ::vcd::Command::ChangeString(id, text) if id == server => states.push((now, text)),
            ::vcd::Command::ChangeString(id, text) if id == client[0] => marks.push((now, text)),
            ::vcd::Command::ChangeScalar(id, _) if id == client[1] => events += 1,
            _ => {}
        }
    }
    let states: Vec<_> = states.iter().map(|(at, state)| (*at, state.as_str())).collect();
    let expected = [
        (0, "-"),
        (5_000, "runs_on_1"),
        (10_000, "-"),
        (22_000, "ready"),
        (23_000, "-"),
        (23_000, "runs_on_1"),
    ];
    assert_eq!(states[..6], expected);
    assert_eq!(marks[3], (21_000, "wakes_server_pid=x-12".to_owned()), "{marks:?}");
    assert_eq!(events, 4);
}

#[test]
fn what_cannot_be_shown_is_told_in_a_line() {
    let folder = Folder::new("trace-bad");
    let mut kept = series("s", "ns", &[&[(0.0, 1.0)]]);
    kept["samples"] = json!([]);
    let without = folder.file("without.json", run_of(&[case("", &wall(), &[kept], None)]));
    let empty = folder.file("empty.json", run_of(&[]));
    let nonsense =
        folder.file("nonsense.json", run_of(&[case("", &wall(), &[], Some("half a li"))]));
    let good = folder.file("good.json", sample());
    let output = folder.path("out");
    let header = "# entries-in-buffer/entries-written: 23/60   #P:2";
    let overwritten = format!("# tracer: nop\n#\n{header}\n{FTRACE}");
    let cut = case("", &wall(), &[], Some(&overwritten));
    let cut = folder.file("cut.json", run_of(&[cut]));
    let answer = trace(&cut, &["-o", &folder.path("cut.pftrace")]);
    let lacks = "of the trace's 60 events the kernel's buffers held the last 23";
    assert!(answer.exits(0).stderr.contains(lacks), "{answer:?}");
    for (file, arguments, text) in [
        (&without, vec![], "its samples were not kept: run it again with --samples"),
        (&empty, vec![], "no case of it has samples, or left a trace"),
        (&nonsense, vec![], "1 of 1 lines of its trace are no ftrace"),
        (&good, vec!["--case", "3"], "the run has 2 cases"),
        (&good, vec!["--case", "0"], "the run has 2 cases"),
        (&good, vec!["--case", "delay"], "there is `switch linux@host tasks=2`"),
        (&good, vec!["--format", "svg"], "perfetto, vcd"),
    ] {
        trace(file, &[&arguments[..], &["-o", &output]].concat()).complains(text);
        assert!(!fs::exists(&output).unwrap(), "nothing is written");
    }
    trace(&good, &["-o", "/nowhere/at/all"]).complains("there is no folder");
    trace("no.json", &[]).complains("no such file: no.json");
}

/// Hostile input: names of a million characters, invalid numbers, times beyond all clocks.
#[test]
fn extremes_are_shown() {
    let long = "x".repeat(1_000_000);
    let samples: [&[(f64, f64)]; 2] = [&[(-1e300, 1e300), (1e300, -5.0)], &[(0.0, 1e18)]];
    let mut extreme = series(&long, "ns", &samples);
    extreme["per"] = json!(1e18);
    let trace_text = format!(
        " {long}-1 [000] d..2. 9223372036.854775807: sched_switch: prev_comm={long} prev_pid=1 prev_prio=1 prev_state=S ==> \
         next_comm={long} next_pid=4294967295 next_prio=1\n{long}\n"
    );
    let case = case(
        &long,
        &json!({"domain": "cycles", "hertz": 0, "resolution": 1}),
        &[extreme],
        Some(&trace_text),
    );
    let case: CaseResult = serde_json::from_value(case).unwrap();
    let (tracks, _) = read(&perfetto_of(&case));
    assert!(tracks.iter().all(|track| track.name.len() < 1000));
    assert!(tracks.iter().any(|track| track.name.ends_with("…")));
    let mut bytes = Vec::new();
    vcd::write(&mut Timeline::new(&[&case]), &mut bytes).unwrap();
    ::vcd::Parser::new(bytes.as_slice()).parse_header().unwrap();
}
