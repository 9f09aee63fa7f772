//! Artificial runs for timelines, and readers of traces by the rules of their formats.

// Each test program uses its own part of this module.
#![allow(dead_code)]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    process::Command,
};

use chronoscope_report::{perfetto, timeline::Timeline};
use chronoscope_run::CaseResult;
use serde_json::{Value, json};

use crate::common::run;

pub const FTRACE: &str = include_str!("ftrace.txt");

/// A series with its samples, as starts and values of each repetition.
pub fn series(name: &str, unit: &str, repetitions: &[&[(f64, f64)]]) -> Value {
    let by_repetition: Vec<Value> = repetitions
        .iter()
        .map(|samples| json!({"count": samples.len(), "min": 0, "p50": 0, "p99": null, "max": 0, "mean": 0}))
        .collect();
    let count: usize = repetitions.iter().map(|samples| samples.len()).sum();
    json!({
        "name": name, "role": "measured", "unit": unit, "nominal": 0, "per": 2, "x": null, "count": count,
        "min": 0, "p50": 0, "p90": null, "p99": null, "p999": null, "p9999": null, "max": 0, "mean": 0, "sigma": null,
        "worst": [], "cold": [], "cold_count": 0, "p50_interval": null, "deadline": null, "misses": null,
        "by_repetition": by_repetition, "histogram": [], "samples": repetitions.concat(),
    })
}

pub fn case(label: &str, clock: &Value, series: &[Value], trace: Option<&str>) -> Value {
    let attachments = trace.map_or_else(|| json!({}), |trace| json!({"trace": trace}));
    json!({
        "experiment": "switch", "target": "linux@host", "release": "6.18", "parameters": {"tasks": "2", "cpu": "1"},
        "label": label, "start": "a", "end": "b", "clock": clock, "repetitions": 2, "series": series, "slope": null,
        "figures": [], "evidence": [], "log": [], "attachments": attachments, "limits": [], "published": [],
        "verdict": {"status": "pass", "reasons": []},
    })
}

pub fn wall() -> Value {
    json!({"domain": "wall", "hertz": 1_000_000_000, "resolution": 1})
}

/// The content of a track of a Perfetto trace.
#[derive(Debug, Default)]
pub struct TrackContent {
    pub name: String,
    pub description: String,
    pub parent: Option<u64>,
    pub slices: Vec<(String, u64, u64)>,
    pub marks: Vec<(String, u64)>,
    open: Vec<(String, u64)>,
    latest: u64,
}

/// The outermost message of the format.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<perfetto::TracePacket>,
}

/// Reads a trace with the classes that write it, and checks it against the rules of the format.
#[track_caller]
pub fn read(bytes: &[u8]) -> (Vec<TrackContent>, Vec<usize>) {
    let trace: Trace = prost::Message::decode(bytes).expect("a trace");
    let mut tracks: BTreeMap<u64, TrackContent> = BTreeMap::new();
    let mut names = BTreeMap::new();
    // For each arrow, the number of events that it left, and the time of the last.
    let (mut begun, mut ended) = (BTreeMap::<u64, (usize, u64)>::new(), BTreeSet::new());
    for packet in trace.packet {
        for name in packet.interned_data.into_iter().flat_map(|data| data.event_names) {
            assert!(names.insert(name.iid, name.name.unwrap()).is_none(), "a name is told twice");
        }
        if let Some(track) = packet.track_descriptor {
            assert!(
                track.parent_uuid.is_none_or(|parent| tracks.contains_key(&parent)),
                "{track:?}"
            );
            let (name, description) = (track.name.unwrap(), track.description.unwrap_or_default());
            let shown = TrackContent {
                name,
                description,
                parent: track.parent_uuid,
                ..TrackContent::default()
            };
            assert!(tracks.insert(track.uuid.unwrap(), shown).is_none(), "a track is told twice");
        }
        let Some(event) = packet.track_event else { continue };
        let at = packet.timestamp.unwrap();
        let track =
            tracks.get_mut(&event.track_uuid.unwrap()).expect("its track is told before it");
        assert!(at >= track.latest, "{}: {at} after {}", track.name, track.latest);
        track.latest = at;
        match event.r#type() {
            perfetto::Type::SliceBegin => track.open.push((names[&event.name_iid].clone(), at)),
            perfetto::Type::SliceEnd => {
                let (name, begin) = track.open.pop().expect("what ends has begun");
                track.slices.push((name, begin, at));
            }
            perfetto::Type::Instant => track.marks.push((names[&event.name_iid].clone(), at)),
            perfetto::Type::Unspecified => panic!("{event:?}"),
        }
        for flow in event.flow_ids {
            assert!(!ended.contains(&flow), "flow {flow} goes on after its end");
            let (times, latest) = begun.entry(flow).or_default();
            assert!(at >= *latest, "flow {flow} goes back in time, to {at}");
            (*times, *latest) = (*times + 1, at);
        }
        for flow in event.terminating_flow_ids {
            assert!(
                begun.contains_key(&flow) && ended.insert(flow),
                "flow {flow} ends twice, or before it begins"
            );
            assert!(at >= begun[&flow].1, "flow {flow} ends at {at}, before it begins");
        }
    }
    assert!(tracks.values().all(|track| track.open.is_empty()), "a slice does not end");
    assert!(begun.keys().all(|flow| ended.contains(flow)), "a flow does not end");
    (tracks.into_values().collect(), begun.into_values().map(|(times, _)| times).collect())
}

/// Reads a trace as [`read`] does and, if a Python with the module is present, with the classes
/// that Perfetto publishes; both must agree.
#[track_caller]
pub fn read_twice(file: &str) -> (Vec<TrackContent>, Vec<usize>) {
    let (tracks, flows) = read(&fs::read(file).expect("the timeline is there"));
    let Some(python) = env::var_os("CHRONOSCOPE_TEST_PYTHON") else {
        println!("CHRONOSCOPE_TEST_PYTHON is not set: read with our own classes alone");
        return (tracks, flows);
    };
    let checker = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/perfetto_check.py");
    let theirs = run(Command::new(python).args([checker, file])).exits(0).json();
    assert_eq!(theirs["flows"], json!(flows));
    let shown = theirs["tracks"].as_array().expect("a list");
    assert_eq!(shown.len(), tracks.len());
    for (theirs, ours) in shown.iter().zip(&tracks) {
        assert!(
            theirs["track"].as_str().is_some_and(|name| name.ends_with(&ours.name)),
            "{theirs}"
        );
        assert_eq!(
            theirs["track"].as_str().is_some_and(|name| name.contains(" > ")),
            ours.parent.is_some()
        );
        assert_eq!(
            (&theirs["slices"], &theirs["marks"]),
            (&json!(ours.slices), &json!(ours.marks.len()))
        );
    }
    (tracks, flows)
}

pub fn perfetto_of(case: &CaseResult) -> Vec<u8> {
    let mut bytes = Vec::new();
    perfetto::write(&mut Timeline::new(&[case]), &mut bytes).expect("memory can be written to");
    bytes
}
