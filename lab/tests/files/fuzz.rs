//! Arbitrary and mutated input never causes a panic or unbounded memory, and accepted input
//! survives being stored.

use std::{fs, path::Path};

use crate::{common::effort, readers};
use chronoscope_engine::{
    case::Case, case::Plan, case::expand, case::experiment, observation::Observation,
    stream::Decoder, study, study::Overrides,
};
use chronoscope_machine::Machines;
use chronoscope_run::{CaseResult, Target};
use chronoscope_suite::{
    Reason,
    wire::{
        self, BLOCK, Clock, Domain, Evidence, MAX_FRAME, Record, Role, Sample, Samples, Series,
        Unit, VERSION,
    },
};
use proptest::{collection::vec, prelude::*, sample::Index};

fn case() -> Case {
    let target: Target = "linux@host".parse().unwrap();
    let plan = Plan { repeat: 2, deadline: Some(1e3), ..Plan::default() };
    expand(&Machines::default(), experiment("switch").unwrap(), &target, &Default::default(), &plan)
        .unwrap()
        .remove(0)
}

/// Reads a stream as a repetition of the case, as the runner does.
fn observe(observation: &mut Observation, stream: &[u8], piece: usize) -> anyhow::Result<()> {
    let mut decoder = Decoder::default();
    for piece in stream.chunks(piece.max(1)) {
        decoder.feed(piece, &mut |record| observation.take(record))?;
    }
    decoder.finish()
}

/// Applies everything that the program does with an observation, whether or not the stream was
/// complete.
fn finish(case: &Case, mut observation: Observation, outcome: anyhow::Result<()>) {
    if let Err(error) = outcome {
        observation.fail(format!("{error:#}"));
    }
    let result = observation.finish(case).judged();
    assert!(
        result.verdict.reasons.iter().all(|reason| !reason.contains('\n')),
        "{:?}",
        result.verdict
    );
    // A number that JSON cannot represent comes back as `null`, which fails to parse as a number.
    let text = serde_json::to_string(&result).unwrap();
    let again: CaseResult =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    assert_eq!(again.verdict, result.verdict);
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..1e6,
        1 => proptest::num::f64::ANY,
        1 => prop::sample::select(vec![0.0, -1.0, 1e308, 1e-308, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
    ]
}

fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..100_000_u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

/// Records that own their texts.
#[derive(Clone, Debug)]
enum Owned {
    Hello(u16, String),
    Clock(Clock),
    Series(u8, String, Role, Unit, f64, u64, Option<f64>),
    Samples(u8, Vec<(i64, u64)>),
    Figure(String, f64),
    Evidence(String, [f64; 3]),
    Log(String),
    Refused(Reason, String, i32),
    End(u32),
}

impl Owned {
    fn encode(&self, stream: &mut Vec<u8>) {
        let record = match self {
            Owned::Hello(version, text) => {
                Record::Hello { version: *version, kernel: text, release: text, request: text }
            }
            Owned::Clock(clock) => Record::Clock(*clock),
            &Owned::Series(id, ref name, role, unit, per, nominal, x) => {
                Record::Series(Series { id, name, role, unit, per, nominal, x, pin: None })
            }
            Owned::Samples(series, block) => Record::Samples(Samples {
                series: *series,
                block: block.iter().map(|&(gap, value)| Sample { gap, value }).collect(),
            }),
            Owned::Figure(name, value) => Record::Figure { name, unit: "ns", value: *value },
            &Owned::Evidence(ref name, [value, low, high]) => {
                Record::Evidence(Evidence { name, value, low, high })
            }
            Owned::Log(line) => Record::Log(line),
            Owned::Refused(reason, text, code) => {
                Record::Refused { reason: *reason, what: text, mend: text, code: *code }
            }
            Owned::End(records) => Record::End { records: *records },
        };
        let mut frame = [0; MAX_FRAME + 1];
        let length = wire::encode(&record, &mut frame).unwrap();
        stream.extend_from_slice(&frame[..length]);
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]", "\\PC{0,12}", "[\\x00-\\x1f\\x7f]{1,4}"]
}

fn series() -> impl Strategy<Value = Owned> {
    let role = prop::sample::select(vec![Role::Measured, Role::Control, Role::Auxiliary]);
    let unit = prop::sample::select(vec![Unit::Ticks, Unit::Count]);
    (0..3_u8, text(), role, unit, number(), integer(), prop::option::of(number())).prop_map(
        |(id, name, role, unit, per, nominal, x)| {
            Owned::Series(id, name, role, unit, per, nominal, x)
        },
    )
}

fn record() -> impl Strategy<Value = Owned> {
    let domain = prop::sample::select(vec![Domain::Wall, Domain::Instructions, Domain::Cycles]);
    let reason =
        prop::sample::select(vec![Reason::NotOffered, Reason::NotPermitted, Reason::Failed]);
    let sample = (prop_oneof![4 => 0..1000_i64, 1 => any::<i64>()], integer());
    prop_oneof![
        1 => (prop_oneof![Just(VERSION), any::<u16>()], text()).prop_map(|(version, text)| Owned::Hello(version, text)),
        1 => (domain, integer(), integer())
            .prop_map(|(domain, hertz, resolution)| Owned::Clock(Clock { domain, hertz, resolution })),
        3 => series(),
        6 => (0..3_u8, vec(sample, 0..=BLOCK)).prop_map(|(series, block)| Owned::Samples(series, block)),
        2 => (text(), number()).prop_map(|(name, value)| Owned::Figure(name, value)),
        2 => (text(), [number(), number(), number()]).prop_map(|(name, numbers)| Owned::Evidence(name, numbers)),
        1 => text().prop_map(Owned::Log),
        1 => (reason, text(), any::<i32>()).prop_map(|(reason, text, code)| Owned::Refused(reason, text, code)),
        1 => (0..20_u32).prop_map(Owned::End),
    ]
}

/// A valid opening (hello, clock, two series), so that later records are not all refused.
fn opening() -> Vec<Owned> {
    let series = |id, role| {
        Owned::Series(id, format!("s{id}"), role, Unit::Ticks, 1.0, 0, Some(f64::from(id)))
    };
    let clock = Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 1 };
    vec![
        Owned::Hello(VERSION, "6.1".to_owned()),
        Owned::Clock(clock),
        series(0, Role::Measured),
        series(1, Role::Measured),
    ]
}

fn good_stream() -> Vec<u8> {
    let mut records = opening();
    records
        .extend((0..2).map(|id| Owned::Samples(id, (0..20).map(|n| (10, 1000 + n * n)).collect())));
    records.push(Owned::Evidence("switches".to_owned(), [40.0, 1.0, f64::INFINITY]));
    records.push(Owned::End(7));
    let mut stream = Vec::new();
    records.iter().for_each(|record| record.encode(&mut stream));
    stream
}

/// A single change of a text or a stream.
#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Insert(Index, u8),
    Remove(Index, usize),
    Repeat(Index, usize),
    Cut(Index),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Change::Set(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Change::Insert(at, byte) => bytes.insert(at.index(bytes.len()), *byte),
            Change::Remove(at, count) => {
                let at = at.index(bytes.len());
                bytes.drain(at..(at + count).min(bytes.len()));
            }
            Change::Repeat(at, count) => {
                let at = at.index(bytes.len());
                let piece = bytes[at..(at + count).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            Change::Cut(at) => bytes.truncate(at.index(bytes.len())),
        }
    }
}

fn change(bytes: impl Strategy<Value = u8> + Clone) -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        (at(), bytes.clone()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (at(), bytes).prop_map(|(at, byte)| Change::Insert(at, byte)),
        (at(), 1..40_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        (at(), 1..40_usize).prop_map(|(at, count)| Change::Repeat(at, count)),
        at().prop_map(Change::Cut),
    ]
}

const STUDY: &str = r#"name = "s"
title = "A study"
repeat = 1
[[case]]
experiment = "switch"
target = ["linux@host"]
set = { tasks = [2, 5], pair = "thread-thread" }
deadline = "1 ms"
limit = [{ statistic = "p99", at-most = "1 s", at-least = 0.5 }]
[[case.published]]
source = "P5.switch"
on = "a board"
statistic = "p50"
by = "tasks"
at = [2, 5]
value = ["7 us", 8e3]
when = { pair = "thread-thread" }
"#;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: effort(256), ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_stream(stream in vec(any::<u8>(), 0..3000), piece in 1..700_usize) {
        let case = case();
        let mut observation = Observation::new(&case, true);
        let outcome = observe(&mut observation, &stream, piece);
        prop_assert!(outcome.is_err());
        finish(&case, observation, outcome);
    }

    #[test]
    fn damaged_streams_are_noticed(changes in vec(change(any::<u8>()), 1..4), piece in 1..700_usize) {
        let case = case();
        let good = good_stream();
        let mut stream = good.clone();
        changes.iter().for_each(|change| change.apply(&mut stream));
        let mut observation = Observation::new(&case, true);
        let outcome = observe(&mut observation, &stream, piece);
        prop_assert_eq!(outcome.is_ok(), stream == good);
        finish(&case, observation, outcome);
    }

    /// Valid frames with records in an order that no port would send.
    #[test]
    fn any_records_are_a_stream(
        records in vec(record(), 0..12),
        again in vec(record(), 0..6),
        opened in any::<bool>(),
        ended in any::<bool>(),
    ) {
        let case = case();
        let mut observation = Observation::new(&case, true);
        let mut outcome = Ok(());
        // Two repetitions, as two fresh processes would send them.
        for records in [records, again] {
            let mut all = if opened { opening() } else { Vec::new() };
            all.extend(records);
            if ended {
                all.push(Owned::End(all.len() as u32));
            }
            let mut stream = Vec::new();
            all.iter().for_each(|record| record.encode(&mut stream));
            outcome = outcome.and_then(|()| observe(&mut observation, &stream, 97));
        }
        finish(&case, observation, outcome);
    }

    #[test]
    fn any_text_is_a_study(text in "\\PC{0,300}") {
        let _ = study::parse(&text);
    }

    #[test]
    fn a_mutated_study_is_read_or_refused(changes in vec(change(prop::sample::select(b"\"'[]{}=.,\n# 0123456789abcdex-_\\".to_vec())), 1..6)) {
        let mut text = STUDY.as_bytes().to_vec();
        changes.iter().for_each(|change| change.apply(&mut text));
        let text = String::from_utf8(text).unwrap();
        match study::parse(&text).and_then(|study| study.cases(&Machines::default(), &Overrides::default())) {
            Ok(cases) => prop_assert!(cases.iter().all(|case| case.expected().as_secs() < 86400)),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

#[test]
fn the_originals_are_good() {
    let case = case();
    let mut observation = Observation::new(&case, true);
    observe(&mut observation, &good_stream(), 7).unwrap();
    observe(&mut observation, &good_stream(), 1000).unwrap();
    let result = observation.finish(&case).judged();
    assert_eq!((result.repetitions, result.series[1].summary.count), (2, 40));
    assert_eq!(
        study::parse(STUDY)
            .unwrap()
            .cases(&Machines::default(), &Overrides::default())
            .unwrap()
            .len(),
        2
    );
}

/// Words to put into a file: the bounds of numbers, and the marks of TOML, JSON and tables.
const WORDS: [&str; 18] = [
    "0",
    "-1",
    "1e999",
    "18446744073709551616",
    "0.0000001",
    "NaN",
    "\"",
    "'",
    "\n",
    " ",
    "=",
    "[[task]]",
    "[",
    "}",
    ":",
    "us",
    "\u{1b}[2J",
    "\u{fffd}",
];

/// Files of a corpus with some places changed keep every promise of their reader.
fn read_changed(reader: &str, file: Index, changes: &[(Index, usize, usize)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(reader);
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.sort();
    let mut bytes = fs::read(file.get(&paths)).unwrap();
    bytes.truncate(8192);
    for (at, removed, word) in changes {
        let at = at.index(bytes.len() + 1);
        let end = bytes.len().min(at + removed);
        bytes.splice(at..end, WORDS[word % WORDS.len()].bytes());
    }
    readers::read(reader, &bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: effort(256), ..ProptestConfig::default() })]

    #[test]
    fn changed_files_of_the_corpora_are_read(
        reader in prop::sample::select(vec!["tasks", "view", "peer", "import", "ftrace"]),
        file: Index,
        changes in vec((any::<Index>(), 0_usize..12, any::<usize>()), 1..6),
    ) {
        read_changed(reader, file, &changes);
    }
}
