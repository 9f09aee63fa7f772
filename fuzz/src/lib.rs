//! One function for each reader of untrusted bytes. It does with the bytes everything that the
//! program does, and panics if a promise of the reader is broken. The fuzz targets call these
//! functions, and so does `lab/tests/files/corpus.rs` with the files in `fuzz/corpus`.

pub mod capture;
pub mod journal;
pub mod observe;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::LazyLock,
    thread,
};

use anyhow::Result;
use chronoscope_engine::{
    case::Case, case::Plan, case::expand, case::experiment, import as tools,
    observation::Observation, peer::TOOLS, schedule, stream::Decoder, study, study::Overrides,
};
use chronoscope_machine::{Machines, profile::Retirement};
use chronoscope_report::{
    Screen, answer, baseline, comparison::History, comparison::StatisticChoice, csv, github,
    google_benchmark, html, json, junit, outcomes::Outcomes, perfetto, table, timeline::Timeline,
    vcd,
};
use chronoscope_run::{CaseResult, Context, Run, sample};
use chronoscope_statistics::schedule::{Costs, analysis::all_meet, analysis::responses};
use chronoscope_store::{Place, Store, reference};
use chronoscope_suite::wire::{self, MAX_FRAME, Record};

/// A reader: takes any bytes.
pub type Reader = fn(&[u8]);

/// The readers by the names of their fuzz targets and of their folders in `fuzz/corpus`.
pub const READERS: [(&str, Reader); 20] = [
    ("stream", stream),
    ("records", records),
    ("study", study),
    ("baseline", baseline),
    ("run", run),
    ("store", store),
    ("journal", journal::read),
    ("vcd", capture::vcd),
    ("sigrok", capture::sigrok),
    ("saleae_csv", capture::saleae_csv),
    ("saleae_binary", capture::saleae_binary),
    ("ftrace", ftrace),
    ("retirement", retirement),
    ("image", observe::image),
    ("events", observe::events),
    ("import", import),
    ("marks", observe::marks),
    ("view", observe::view),
    ("tasks", tasks),
    ("peer", peer),
];

/// Calls the reader of that name.
///
/// # Panics
/// If there is no such reader, or the bytes break one of its promises.
pub fn read(name: &str, bytes: &[u8]) {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a reader's name");
    reader(bytes);
}

/// Returns a success; checks that an error has a message. The message may quote the bytes: the
/// console replaces their control characters.
fn ok_with_message<T>(outcome: Result<T>) -> Option<T> {
    outcome.map_err(|error| assert!(!format!("{error:#}").is_empty())).ok()
}

/// The result of a reader whose errors are one line: of a database file, without SQLite's query.
fn one_line<T>(outcome: Result<T>) -> Option<T> {
    outcome
        .map_err(|error| {
            let text = format!("{error:#}");
            assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
        })
        .ok()
}

/// A case whose observations the readers take in.
static CASE: LazyLock<Case> = LazyLock::new(|| {
    let target = "linux@host".parse().expect("a target");
    let plan = Plan { repeat: 2, deadline: Some(1e3), ..Plan::default() };
    let spec = experiment("switch").expect("an experiment");
    expand(&Machines::default(), spec, &target, &Default::default(), &plan)
        .expect("a case")
        .remove(0)
});

/// A run that baselines judge.
static RUN: LazyLock<Run> = LazyLock::new(sample::run);

/// A run of one case, which traces are attached to.
static TRACED: LazyLock<Run> = LazyLock::new(|| {
    let mut run = sample::run();
    run.cases.truncate(1);
    run.cases[0].attachments.clear();
    run
});

/// Ends an observation as the runner does, and checks that its result survives being stored.
fn finish(mut observation: Observation, outcome: Result<()>) {
    if let Err(error) = outcome {
        observation.fail(format!("{error:#}"));
    }
    let result = observation.finish(&CASE).judged();
    let reasons = &result.verdict.reasons;
    assert!(reasons.iter().all(|reason| !reason.contains(char::is_control)), "{reasons:?}");
    let text = serde_json::to_string(&result).expect("JSON");
    let again: CaseResult = serde_json::from_str(&text).expect("a case as it was written");
    assert_eq!(again.verdict, result.verdict);
}

/// The bytes of two repetitions, separated by two zeros.
pub fn stream(bytes: &[u8]) {
    let mut observation = Observation::new(&CASE, true);
    let cut = bytes.windows(2).position(|two| two == [0, 0]);
    let (first, second) =
        cut.map_or((bytes, None), |cut| (&bytes[..=cut], Some(&bytes[cut + 2..])));
    let outcome = [Some(first), second].into_iter().flatten().try_for_each(|bytes| {
        let mut decoder = Decoder::default();
        // Frames arrive in pieces.
        for piece in bytes.chunks(61) {
            decoder.feed(piece, &mut |record| observation.take(record))?;
        }
        decoder.finish()
    });
    finish(observation, outcome);
}

/// Records without frames and checksums, which mutations would break. A new repetition begins after
/// each end.
pub fn records(mut bytes: &[u8]) {
    let mut observation = Observation::new(&CASE, true);
    let mut decoder = Decoder::default();
    let mut outcome = Ok(());
    while let (true, Ok((record, rest))) =
        (outcome.is_ok(), postcard::take_from_bytes::<Record<'_>>(bytes))
    {
        bytes = rest;
        let mut frame = [0; MAX_FRAME + 1];
        let Ok(length) = wire::encode(&record, &mut frame) else { break };
        outcome = decoder.feed(&frame[..length], &mut |record| observation.take(record));
        if matches!(record, Record::End { .. }) {
            decoder = Decoder::default();
        }
    }
    finish(observation, outcome);
}

pub fn study(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let cases = study::parse(text)
        .and_then(|study| study.plan(&Machines::default(), &Overrides::default()));
    if let Some((cases, _)) = ok_with_message(cases) {
        for case in cases {
            assert!(
                !case.label().contains(char::is_control) && !case.request().to_string().is_empty()
            );
        }
    }
}

pub fn baseline(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Some(baseline) = ok_with_message(baseline::parse(text).map_err(Into::into)) {
        let written = baseline::render(&baseline);
        assert_eq!(baseline::parse(&written).expect("a baseline as it was written"), baseline);
        let (judge, history) = (StatisticChoice::default(), History::default());
        baseline.check(&RUN, &baseline::options(&judge, 0.05, &history, &|_, _| None));
    }
}

pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Some(run) = ok_with_message(reference::parse(text).map_err(Into::into)) {
        show(&run);
    }
}

/// Shows a run in all formats, and reads it again.
fn show(run: &Run) {
    let screen = Screen::plain();
    let shown = table::render(run, &screen)
        + &answer::terminal::render(run, &screen)
        + &answer::explain::render(run, &screen);
    assert!(!shown.contains('\u{1b}'), "an escape sequence reaches the terminal: {shown:?}");
    html::render(&[(String::new(), run)]);
    csv::render(run);
    junit::render(&Outcomes::of_run(run));
    github::render(&Outcomes::of_run(run));
    let _ = google_benchmark::render(run);
    let written = json::render(run).expect("JSON");
    reference::parse(&written).expect("a run as it was written");
    draw(run);
}

/// A file of another tool, up to the reports of its run.
pub fn import(bytes: &[u8]) {
    if let Some(run) = imported(bytes) {
        show(&run);
    }
}

/// The run of another tool's file.
pub fn imported(bytes: &[u8]) -> Option<Run> {
    let path = Path::new("criterion/group/new/sample.json");
    let recording = match tools::is_of_a_tool(bytes) {
        true => {
            // A recording of TraceX's alone takes a rate.
            let clock = bytes.starts_with(b"TXTB") || bytes.starts_with(b"BTXT");
            tools::from_bytes(bytes, clock.then_some(1_000_000))
        }
        false => {
            let values = serde_json::Deserializer::from_slice(bytes).into_iter();
            tools::from_values(path, &values.collect::<Result<Vec<_>, _>>().ok()?)
        }
    };
    let origin = tools::Origin { path, changed: None, uuid: String::new() };
    Some(one_line(recording)?.into_run(Context::default(), origin))
}

/// A set of tasks, up to its bounds and the request for a target.
pub fn tasks(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Some(set) = one_line(schedule::TaskSet::parse(text)) else { return };
    for rate in [1.0, 0.25] {
        let scale = schedule::Scale { hertz: set.clock.unwrap_or(16_000_000), rate };
        assert!(!set.request(&scale, 1.0).contains(char::is_whitespace));
        let Some(tasks) = one_line(set.tasks(&scale)) else { continue };
        let costs = Costs::default();
        let bounds = responses(&tasks, &costs);
        assert_eq!(all_meet(&tasks, &costs), bounds.iter().all(|bound| bound.meets()));
    }
}

/// The output of a peer tool, in the format of each.
pub fn peer(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for tool in TOOLS {
        ok_with_message(tool.format.read(&text));
    }
}

/// Draws the timeline of all cases in both formats.
fn draw(run: &Run) {
    let cases: Vec<&CaseResult> = run.cases.iter().collect();
    perfetto::write(&mut Timeline::new(&cases), &mut Vec::new()).expect("a trace");
    let _ = vcd::write(&mut Timeline::new(&cases), &mut Vec::new());
}

/// The path of a file of this thread, in memory where the system allows it.
fn file(extension: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    let thread = format!("{:?}", thread::current().id());
    folder.join(format!("chronoscope-fuzz-{}-{thread}.{extension}", process::id()))
}

/// A database file.
pub fn store(bytes: &[u8]) {
    let path = file("sqlite");
    fs::write(&path, bytes).expect("room for a file");
    if let Some(store) = one_line(Store::open(&Place::File(path.clone()))) {
        one_line(store.runs(None, 20));
        one_line(store.cases("switch", None, 20));
        if let Some(run) = one_line(store.newest(0).and_then(|newest| store.run(newest))) {
            table::render(&run, &Screen::plain());
        }
    }
    fs::remove_file(&path).expect("the file is still there");
}

/// The trace of Linux's tracer, or behind a line `---` the events of tandem's.
pub fn ftrace(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (trace, tandem) = text.split_once("---\n").unwrap_or((&text, ""));
    let mut run = TRACED.clone();
    let attachments = &mut run.cases[0].attachments;
    for (name, text) in [("trace", trace), ("tandem", tandem)] {
        if !text.is_empty() {
            attachments.insert(name.into(), text.to_owned());
        }
    }
    draw(&run);
}

/// The profile of a bench, and behind a line `---` the trace of all instructions.
pub fn retirement(bytes: &[u8]) {
    // A 32-bit ELF image for RISC-V, without sections.
    const IMAGE: [u8; 52] = {
        let mut image = [0; 52];
        let head = *b"\x7fELF\x01\x01\x01";
        let mut at = 0;
        while at < head.len() {
            image[at] = head[at];
            at += 1;
        }
        (image[16], image[18], image[20], image[40]) = (2, 243, 1, 52);
        image
    };
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (profile, trace) = text
        .split_once("---\n")
        .map_or((text, None), |(profile, trace)| (profile, Some(trace.to_owned())));
    let record = Retirement { image: IMAGE.to_vec(), profile: profile.to_owned(), trace };
    if let Ok(functions) = record.by_function() {
        let runs = functions.runs.unwrap_or_default();
        assert!(runs.lines().all(|line| line.split(' ').count() >= 3), "{runs}");
    }
}
