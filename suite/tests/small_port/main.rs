//! Tests of the smallest port, which are the suite's integration tests: they play the lab's part.

mod port;

use std::{collections::BTreeSet, mem, sync::mpsc, thread, time::Duration};

use chronoscope_suite::{
    Reason,
    trial::Sink,
    wire::{self, Evidence, Record, Role, Samples, Series},
};
use port::{EDGES, ENTRY, HERTZ, READ, SWITCH, run_case};

struct Pipe(Vec<u8>);

impl Sink for Pipe {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// Runs a case in an arena of `memory` bytes and returns its stream.
fn stream(request: &str, memory: usize) -> Vec<u8> {
    run(request, memory).0
}

/// Runs a case and returns its stream and its pins' edges. Panics after 60 s; a case takes less
/// than a second.
fn run(request: &str, memory: usize) -> (Vec<u8>, Vec<(u64, u8, bool)>) {
    let (sender, outcome) = mpsc::channel();
    let text = request.to_owned();
    thread::spawn(move || {
        let mut pipe = Pipe(Vec::new());
        run_case(&text, Box::leak(Box::new_uninit_slice(memory)), &mut pipe);
        sender.send((pipe.0, EDGES.take()))
    });
    outcome
        .recv_timeout(Duration::from_secs(60))
        .unwrap_or_else(|error| panic!("{request}: {error}"))
}

fn records(stream: &[u8]) -> Vec<Record<'static>> {
    let frames =
        stream.strip_suffix(&[0]).expect("the last frame is closed").split(|byte| *byte == 0);
    frames.map(|frame| wire::decode(frame.to_vec().leak()).expect("the frame is whole")).collect()
}

const PLENTY: usize = 32 << 20;

/// Returns the lengths of the measured samples, in ticks.
fn measured(records: &[Record]) -> Vec<u64> {
    let is_measured = |id| {
        records.iter().any(
            |record| matches!(record, Record::Series(s) if s.id == id && s.role == Role::Measured),
        )
    };
    let blocks = records.iter().filter_map(|record| match record {
        Record::Samples(Samples { series, block }) if is_measured(*series) => Some(block),
        _ => None,
    });
    blocks.flatten().map(|sample| sample.value).collect()
}

/// Asserts that the case ends, that its evidence holds, and that its samples have plausible
/// lengths.
fn assert_sound(request: &str) {
    let records = records(&stream(request, PLENTY));
    assert_eq!(
        records.last(),
        Some(&Record::End { records: records.len() as u32 - 1 }),
        "{request}"
    );
    let evidence = records.iter().filter_map(|record| match record {
        Record::Evidence(evidence) => Some(evidence),
        _ => None,
    });
    for Evidence { name, value, low, high } in evidence.clone() {
        assert!(low <= value && value <= high, "{request}: {name}: {low} <= {value} <= {high}");
    }
    assert!(evidence.count() > 0, "{request}: no evidence");
    let longest = measured(&records).into_iter().max();
    assert!(longest.is_some_and(|ticks| ticks < HERTZ), "{request}: {longest:?} ticks");
}

fn assert_refused(request: &str, expected: Reason) {
    let records = records(&stream(request, PLENTY));
    assert!(matches!(records.first(), Some(Record::Hello { .. })), "{request}");
    match records.last() {
        Some(Record::Refused { reason, .. }) if *reason == expected => {}
        other => panic!("{request}: {other:?}, not {expected:?}"),
    }
}

/// The requests under test: every experiment that the port offers, in its variants.
const CASES: &[&str] = &[
    "switch pair=coroutine-coroutine primitive=yield tasks=2",
    "switch pair=coroutine-coroutine primitive=yield tasks=10",
    "switch pair=coroutine-coroutine primitive=semaphore tasks=2",
    "switch pair=coroutine-coroutine primitive=semaphore tasks=10",
    "switch pair=coroutine-coroutine primitive=semaphore tasks=10 batch=1",
    "switch pair=coroutine-coroutine primitive=native tasks=2",
    "switch pair=coroutine-coroutine primitive=native tasks=10 batch=1",
    "spawn kind=coroutine",
    "spawn kind=coroutine tasks=1",
    "message kind=coroutine shape=one-way",
    "message kind=coroutine shape=round-trip",
    "message kind=coroutine shape=round-trip batch=1 pairs=3",
    "message kind=coroutine shape=one-way pairs=10",
    "delay kind=coroutine",
    "delay kind=coroutine start=own",
    "delay kind=coroutine tasks=1 delay_us=1",
    "delay kind=coroutine tasks=12 delay_us=1000 idle=spin",
    "period kind=coroutine",
    "period kind=coroutine interval_us=10 tasks=3",
    "period kind=coroutine tasks=3 distance_us=100 idle=spin",
    "interrupt source=software",
    "interrupt source=timer",
    "interrupt source=external",
    "interrupt source=external-idle",
    "wakeup kind=coroutine source=software",
    "wakeup kind=coroutine source=timer",
    "wakeup kind=coroutine source=external",
    "wakeup kind=coroutine source=external-idle",
    "wakeup kind=coroutine source=software primitive=native",
    "wakeup kind=coroutine source=timer primitive=native",
    "masked kind=coroutine loops=300",
    "masked kind=coroutine tasks=1 loops=300",
    "ticks kind=coroutine queue=linear loops=20",
    "ticks kind=coroutine queue=constant",
    "pipeline kind=coroutine",
    "log kind=coroutine batches=20",
];

#[test]
fn every_case_is_sound() {
    for case in CASES {
        assert_sound(case);
        assert_sound(&format!("{case} preemption=none"));
    }
}

#[test]
fn two_runs_give_the_same_bytes() {
    for case in CASES {
        assert!(stream(case, PLENTY) == stream(case, PLENTY), "{case}");
    }
}

#[test]
fn every_case_is_sound_from_every_start_state_and_repeats() {
    for case in CASES {
        assert_sound(&format!("{case} vary=1"));
        let request = format!("{case} vary=4000000000 preemption=none");
        assert_sound(&request);
        assert!(stream(&request, PLENTY) == stream(&request, PLENTY), "{request}");
        // All records but `Hello`, which holds the request.
        let plain = records(&stream(case, PLENTY));
        assert!(plain[1..] == records(&stream(&format!("{case} vary=0"), PLENTY))[1..], "{case}");
    }
}

#[test]
fn a_start_state_shows_in_what_depends_on_it_alone() {
    let from = |seed| {
        let switch = "switch pair=coroutine-coroutine primitive=yield batch=1 loops=10";
        run(&format!("{switch} vary={seed}"), PLENTY)
    };
    let starts: BTreeSet<u64> = (1..=8).map(|seed| from(seed).1[0].0).collect();
    assert_eq!(starts.len(), 8, "{starts:?}");
    // A switch of this kernel takes as long in any state.
    let switches = |seed| measured(&records(&from(seed).0));
    assert!((1..=8).flat_map(switches).all(|ticks| ticks == READ + SWITCH));
}

#[test]
fn a_counter_that_wraps_changes_nothing() {
    for case in CASES {
        let wraps = records(&stream(case, PLENTY));
        let does_not = records(&stream(&format!("{case} counter=2000000000"), PLENTY));
        // All records but `Hello`, which holds the request.
        assert!(wraps[1..] == does_not[1..], "{case}");
    }
}

#[test]
fn figures_are_those_of_the_virtual_clock() {
    for (case, ticks) in [
        ("switch pair=coroutine-coroutine primitive=yield batch=1", READ + SWITCH),
        ("switch pair=coroutine-coroutine primitive=semaphore batch=1", READ + SWITCH),
        ("switch pair=coroutine-coroutine primitive=native batch=1", READ + SWITCH),
        ("wakeup kind=coroutine primitive=native", READ + SWITCH),
        ("message kind=coroutine shape=one-way", READ + SWITCH),
        ("delay kind=coroutine tasks=1", SWITCH),
        ("period kind=coroutine", SWITCH),
        ("interrupt source=software", READ + ENTRY),
        ("interrupt source=external-idle", ENTRY),
        ("wakeup kind=coroutine source=software", READ + SWITCH),
    ] {
        for value in measured(&records(&stream(case, PLENTY))) {
            assert_eq!(value, ticks, "{case}");
        }
    }
}

/// Returns the samples of a series, with the nominal length added.
fn samples(records: &[Record], series: &Series) -> Vec<u64> {
    let blocks = records.iter().filter_map(|record| match record {
        Record::Samples(Samples { series: id, block }) if *id == series.id => Some(block),
        _ => None,
    });
    blocks.flatten().map(|sample| sample.value + series.nominal).collect()
}

/// Returns the times at which a pin changed its level. All pins are low at first.
fn edges(driven: &[(u64, u8, bool)], pin: u8) -> Vec<u64> {
    let mut level = false;
    let changes = driven
        .iter()
        .filter(|(_, driven, high)| *driven == pin && mem::replace(&mut level, *high) != *high);
    changes.map(|(time, _, _)| *time).collect()
}

#[test]
fn pins_show_what_the_marks_tell() {
    for case in
        CASES.iter().flat_map(|case| [(*case).to_owned(), format!("{case} preemption=none")])
    {
        let (stream, driven) = run(&case, PLENTY);
        let records = records(&stream);
        let shown = records.iter().filter_map(|record| match record {
            Record::Series(series) => series.pin.map(|pin| (series, pin)),
            _ => None,
        });
        assert!(shown.clone().count() > 0, "{case}");
        for (series, pin) in shown {
            let lengths: Vec<u64> = match pin {
                // The pin rises before the first mark, and falls after the second has been read.
                wire::Pin::Pulse(pin) => {
                    edges(&driven, pin).chunks(2).map(|pulse| pulse[1] - pulse[0] - READ).collect()
                }
                wire::Pin::Edges(pin) => {
                    edges(&driven, pin).windows(2).map(|pair| pair[1] - pair[0]).collect()
                }
            };
            assert!(lengths == samples(&records, series), "{case}: {} on {pin:?}", series.name);
        }
    }
}

#[test]
fn a_line_that_rises_at_any_time_is_answered_at_once() {
    let records = records(&stream("wakeup kind=coroutine source=external loops=1000", PLENTY));
    let lines = records.iter().find_map(|record| match record {
        Record::Series(series) if series.name == "from the line" => Some(samples(&records, series)),
        _ => None,
    });
    // The entry of the handler, its mark, and the switch to the task: nothing else takes time here.
    assert_eq!(lines, Some(vec![ENTRY + READ + SWITCH; 1000]));
}

/// Returns the figure `masked` and the names of the evidence that does not hold.
fn masked(request: &str) -> (f64, Vec<&'static str>) {
    let records = records(&stream(request, PLENTY));
    assert!(matches!(records.last(), Some(Record::End { .. })), "{request}");
    let figure = records.iter().find_map(|record| match record {
        Record::Figure { name: "masked", value, .. } => Some(*value),
        _ => None,
    });
    let fails = records.iter().filter_map(|record| match record {
        Record::Evidence(Evidence { name, value, low, high }) if !(low..=high).contains(&value) => {
            Some(*name)
        }
        _ => None,
    });
    (figure.expect("the case has the figure"), fails.collect())
}

/// The measurement alone cannot tell a kernel that never masks interrupts from a line that the
/// kernel does not mask.
#[test]
fn a_line_above_the_level_that_the_kernel_masks_fails_the_evidence() {
    let case = "masked kind=coroutine loops=300";
    let (longest, fails) = masked(case);
    assert!((SWITCH as f64 / 2.0..=2.0 * SWITCH as f64).contains(&longest), "{longest}");
    assert!(fails.is_empty(), "{fails:?}");
    let (longest, fails) = masked(&format!("{case} line=unmasked"));
    assert!(longest <= READ as f64, "{longest}");
    assert_eq!(fails, ["gives of the handler answered in their round"]);
}

#[test]
fn what_cannot_be_run_is_refused() {
    assert_refused("switch pair=thread-thread", Reason::NotOffered);
    assert_refused("inversion", Reason::NotOffered);
    assert_refused("interference kind=process", Reason::NotOffered);
    assert_refused("message kind=coroutine primitive=pipe", Reason::NotOffered);
    assert_refused("wakeup kind=thread primitive=native", Reason::NotOffered);
    assert_refused("wakeup kind=coroutine primitive=futex", Reason::Invalid);
    assert_refused("delay kind=coroutine dealy_us=7", Reason::Invalid);
    assert_refused("delay kind=coroutine preemption=maybe", Reason::Invalid);
    assert_refused("delay kind=coroutine delay_us=never", Reason::Invalid);
    for seed in ["", "-1", "4294967296", "x"] {
        assert_refused(&format!("delay kind=coroutine vary={seed}"), Reason::Invalid);
    }
    assert_refused("dealy", Reason::Invalid);
}

/// Whatever the memory, the case runs or says that it cannot.
#[test]
fn a_target_too_small_says_so() {
    for case in CASES {
        let needed = (0..).map(|power| 1 << power).find(|&memory| {
            match records(&stream(case, memory)).last() {
                Some(Record::End { .. }) => true,
                Some(Record::Refused { reason: Reason::Exhausted, .. }) => false,
                other => panic!("{case} in {memory} bytes: {other:?}"),
            }
        });
        assert!(
            needed.is_some_and(|memory| (1 << 9..=1 << 18).contains(&memory)),
            "{case}: {needed:?} bytes"
        );
    }
}
