//! The runs that a journal gives are those that the lab would have given at its end.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    process,
    sync::{Arc, Barrier, atomic::AtomicUsize},
    thread,
    time::{Duration, Instant},
};

use anyhow::bail;
use chronoscope_suite::wire::{
    self, Clock, Domain, Evidence, MAX_FRAME, Pin, Record, Sample, Samples, Series, VERSION,
};

use super::*;
use crate::{
    case::Plan, case::Settings, case::expand, case::experiment, journal::CaseForm, journal::Event,
    journal::Header, journal::Pair, journal::PairOutcome, journal::PairValue, journal::PeerForm,
    journal::Unfinished, journal::all,
};
use chronoscope_machine::{Properties, Recording, Request, Start};
use chronoscope_run::{Context, Paired, PeerResult, SCHEMA, Status, Verdict};

/// The behaviour of a machine in one repetition.
enum Act {
    /// Sends the repetition of this number, with or without a capture.
    Whole(u64, bool),
    /// Fails after the first bytes of it.
    Fails(u64, usize),
    /// Cannot keep its recordings after the first bytes of it.
    Unkept(u64, usize),
    /// Ends well after a stream that is cut.
    Cut(u64, usize),
    /// A capture that does not fit the samples.
    Misfit(u64),
    /// Is stopped after the first bytes of it.
    Stopped(u64, usize),
    /// Refuses.
    Refuses,
    /// Cannot be prepared.
    Unprepared,
}

struct Scripted {
    acts: RefCell<Vec<Act>>,
    /// The requests of all starts.
    requests: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    /// How long it takes to be prepared.
    set_up: Duration,
}

impl Machine for Scripted {
    fn prepare(&self, _: &Request, _: &AtomicBool) -> Result<Provenance> {
        if matches!(self.acts.borrow().first(), Some(Act::Unprepared)) {
            bail!("there is no image");
        }
        thread::sleep(self.set_up);
        let identity = BTreeMap::from([("image".to_owned(), "sha256 0123".to_owned())]);
        Ok(Provenance { identity, remark: "a scripted machine".to_owned() })
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        self.requests.lock().unwrap().push(start.request.to_string());
        let act = self.acts.borrow_mut().remove(0);
        let mut send = |bytes: &[u8]| bytes.chunks(50).try_for_each(&mut *sink);
        match act {
            Act::Whole(number, shows_pins) => {
                send(&stream(number))?;
                let capture = shows_pins.then(|| capture(number).into_bytes());
                return Ok(Recording { capture, ..Recording::new() });
            }
            Act::Fails(number, length) => {
                send(&stream(number)[..length])?;
                bail!("the port failed: out of luck");
            }
            Act::Unkept(number, length) => {
                send(&stream(number)[..length])?;
                return Err(SetUpFailed("no room in the folder".to_owned()).into());
            }
            Act::Cut(number, length) => send(&stream(number)[..length])?,
            Act::Misfit(number) => {
                send(&stream(number))?;
                let capture = Some(b"$enddefinitions $end\n".to_vec());
                return Ok(Recording { capture, ..Recording::new() });
            }
            Act::Stopped(number, length) => {
                send(&stream(number)[..length])?;
                self.stop.store(true, Ordering::Relaxed);
                bail!("interrupted");
            }
            Act::Refuses => send(&bytes(&[
                hello(),
                Record::Refused {
                    reason: chronoscope_suite::Reason::NotOffered,
                    what: "no mutexes",
                    mend: "",
                    code: 0,
                },
            ]))?,
            Act::Unprepared => unreachable!("it was not prepared"),
        }
        Ok(Recording::new())
    }
}

fn hello() -> Record<'static> {
    Record::Hello { version: VERSION, kernel: "k", release: "1.2", request: "switch" }
}

fn bytes(records: &[Record<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        let mut frame = [0; MAX_FRAME + 1];
        let length = wire::encode(record, &mut frame).unwrap();
        bytes.extend_from_slice(&frame[..length]);
    }
    bytes
}

/// A repetition in which everything depends on its number.
fn stream(number: u64) -> Vec<u8> {
    let samples = |series, values: [u64; 2]| {
        let block = values.map(|value| Sample { gap: 100, value }).into_iter().collect();
        Record::Samples(Samples { series, block })
    };
    let switch = Series { pin: Some(Pin::Pulse(0)), ..Series::measured("switch") };
    let log = format!("repetition {number}");
    let value = number as f64;
    let mut records = vec![
        hello(),
        Record::Clock(Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 9 - number }),
        Record::Series(switch),
        samples(0, [10 + number, 12 + number]),
        Record::Series(Series { id: 1, ..Series::control("mark to mark") }),
        samples(1, [1, 2]),
        Record::Figure { name: "steal", unit: "ms", value: 0.0 },
        Record::Figure { name: "faults", unit: "", value },
        Record::Evidence(Evidence { name: "switches", value, low: 0.0, high: 100.0 }),
        Record::Log(&log),
        Record::Attachment { name: "calls", bytes: log.as_bytes() },
    ];
    records.push(Record::End { records: u32::try_from(records.len()).unwrap() });
    bytes(&records)
}

fn capture(number: u64) -> String {
    let (first, second) = (110 + number, 212 + number);
    format!(
        "$timescale 1ns $end $scope module pins $end $var wire 1 ! D0 $end $upscope $end \
         $enddefinitions $end\n#0 0!\n#100 1!\n#{first} 0!\n#200 1!\n#{second} 0!\n"
    )
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("chronoscope-runner-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a repetition of a journal's first case.
fn repeat(case: &mut UnderWay<'_>, stop: &AtomicBool, journal: &mut Journal) {
    case.repeat(stop, &mut Entry::alone(&Mutex::new(journal), 0), &mut |_, _| {});
}

/// Runs the acts, four repetitions of a case if it comes so far, and returns its result as JSON:
/// the lab's, and the one from the journal.
fn both(name: &str, acts: Vec<Act>) -> [String; 2] {
    let folder = Scratch::new(name);
    let store = folder.0.join("runs.sqlite");
    let target = "linux@host".parse().unwrap();
    let plan = Plan { repeat: 4, deadline: Some(13.0), ..Plan::default() };
    let settings = Settings::from([("tasks".to_owned(), vec!["3".to_owned()])]);
    let cases =
        expand(&Machines::default(), experiment("switch").unwrap(), &target, &settings, &plan)
            .unwrap();
    let header = Header {
        schema: SCHEMA,
        context: Context { date: "2026-01-31T12:00:00Z".into(), ..Context::default() },
        study: "".into(),
        titles: vec!["".into()],
        notes: "".into(),
        answering: None,
        keep_samples: true,
        cases: cases.iter().map(CaseForm::new).collect(),
        peers: Vec::new(),
    };
    let stop = Arc::new(AtomicBool::new(false));
    let mut journal = Journal::create(&store, &header).unwrap();
    let machine = Box::new(Scripted {
        acts: RefCell::new(acts),
        requests: Arc::default(),
        stop: Arc::clone(&stop),
        set_up: Duration::ZERO,
    });
    let mut case = UnderWay { tally: Tally::new(&cases[0], true), machine };
    while case.needs_more() && !stop.load(Ordering::Relaxed) {
        repeat(&mut case, &stop, &mut journal);
    }
    let live = case.tally.finish();
    drop(journal);
    let left = all(&store).unwrap();
    let [path] = left.as_slice() else { panic!("{left:?}") };
    let journal = Unfinished::open(path, Duration::ZERO).unwrap().unwrap();
    assert_eq!(journal.damage, None);
    let runs = recovered(&journal).unwrap();
    assert_eq!(runs.len(), 1);
    [serde_json::to_string(&live).unwrap(), serde_json::to_string(&runs[0].cases.first()).unwrap()]
}

#[test]
fn a_journal_gives_the_same_bytes() {
    let length = stream(3).len();
    let whole = |number| Act::Whole(number, true);
    let table = [
        ("whole", vec![whole(1), whole(2), whole(3), whole(4)], "\"repetitions\":4"),
        ("plain", (1..=4).map(|number| Act::Whole(number, false)).collect(), "\"repetitions\":4"),
        ("fails", vec![whole(1), Act::Fails(2, length / 2)], "out of luck"),
        ("fails-late", vec![whole(1), Act::Fails(2, length)], "\"repetitions\":2"),
        ("cut", vec![whole(1), whole(2), Act::Cut(3, length - 3)], "cut short"),
        ("misfit", vec![whole(1), Act::Misfit(2)], "inconclusive"),
        ("refused", vec![Act::Refuses], "no mutexes"),
        ("unprepared", vec![Act::Unprepared], "there is no image"),
    ];
    for (name, acts, part) in table {
        let [live, recovered] = both(name, acts);
        assert!(live.contains(part), "{name}: {live}");
        assert_eq!(live, recovered, "{name}");
    }
}

/// The repetition is dropped, and the case ends as one whose set-up failed.
#[test]
fn recordings_without_room_are_an_error_of_the_set_up() {
    for length in [0, stream(2).len()] {
        for acts in [vec![], vec![Act::Whole(1, true)]] {
            let whole = acts.len();
            let acts = acts.into_iter().chain([Act::Unkept(2, length)]).collect();
            let [live, recovered] = both("unkept", acts);
            assert_eq!(live, recovered);
            let case: CaseResult = serde_json::from_str(&live).unwrap();
            assert_eq!(case.verdict, Verdict::new(Status::Error, "no room in the folder"));
            assert_eq!(case.repetitions, whole);
        }
    }
}

#[test]
fn a_repetition_that_was_stopped_leaves_nothing() {
    let whole = |number| Act::Whole(number, true);
    // As the lab would have stored it, had it ended after two repetitions.
    let [wanted, _] = both("stopped-0", vec![whole(1), whole(2), Act::Stopped(3, 0)]);
    assert!(wanted.contains("interrupted after 2 of 4 repetitions"), "{wanted}");
    for length in 1..=stream(3).len() {
        let [live, recovered] = both("stopped", vec![whole(1), whole(2), Act::Stopped(3, length)]);
        assert_eq!(live, wanted, "{length}");
        assert_eq!(recovered, wanted, "{length}");
    }
}

/// Cases to run on machines that are counted while they run.
struct Gathering {
    cases: Vec<Case>,
    header: Header,
    running: Arc<AtomicUsize>,
    /// For each repetition that ended: its case, and the most repetitions that ran beside it.
    beside: Arc<Mutex<Vec<(usize, usize)>>>,
}

/// A scripted machine whose repetitions are counted while they run.
struct Counted {
    machine: Scripted,
    case: usize,
    /// Waited for in each repetition, until all that share it are there.
    together: Option<Arc<Barrier>>,
    running: Arc<AtomicUsize>,
    beside: Arc<Mutex<Vec<(usize, usize)>>>,
}

impl Machine for Counted {
    fn prepare(&self, request: &Request, stop: &AtomicBool) -> Result<Provenance> {
        self.machine.prepare(request, stop)
    }

    fn properties(&self) -> Properties {
        Properties { shares_the_host: self.together.is_some(), ..Properties::default() }
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        self.running.fetch_add(1, Ordering::SeqCst);
        self.together.as_ref().map(|together| together.wait());
        let others = self.running.load(Ordering::SeqCst) - 1;
        self.beside.lock().unwrap().push((self.case, others));
        self.together.as_ref().map(|together| together.wait());
        let recording = self.machine.run(start, sink);
        self.running.fetch_sub(1, Ordering::SeqCst);
        recording
    }
}

struct Unseen;

impl Progress for Unseen {
    fn step(&mut self, _: &Step<'_>) {}
    fn finish(&mut self) {}
}

impl Gathering {
    /// `count` cases of three repetitions each.
    fn new(count: usize) -> Self {
        let target = "linux@host".parse().unwrap();
        let plan = Plan { repeat: 3, ..Plan::default() };
        let tasks = (2..2 + count).map(|tasks| tasks.to_string()).collect();
        let settings = Settings::from([("tasks".to_owned(), tasks)]);
        let cases =
            expand(&Machines::default(), experiment("switch").unwrap(), &target, &settings, &plan)
                .unwrap();
        assert_eq!(cases.len(), count);
        let header = Header {
            schema: SCHEMA,
            context: Context { date: "2026-01-31T12:00:00Z".into(), ..Context::default() },
            study: "".into(),
            titles: vec!["".into()],
            notes: "".into(),
            answering: None,
            keep_samples: true,
            cases: cases.iter().map(CaseForm::new).collect(),
            peers: Vec::new(),
        };
        Self { cases, header, running: Arc::default(), beside: Arc::default() }
    }

    /// Runs the cases, of which those with a barrier share the host, and returns the lab's results
    /// and the journal's.
    fn run(
        &self,
        name: &str,
        jobs: usize,
        stop: &Arc<AtomicBool>,
        machines: Vec<(Option<Arc<Barrier>>, Vec<Act>)>,
    ) -> [String; 2] {
        let folder = Scratch::new(name);
        let store = folder.0.join("runs.sqlite");
        let mut journal = Journal::create(&store, &self.header).unwrap();
        let under_way = self.cases.iter().zip(machines).enumerate();
        let under_way = under_way.map(|(case, (of, (together, acts)))| UnderWay {
            tally: Tally::new(of, true),
            machine: Box::new(Counted {
                machine: Scripted {
                    acts: RefCell::new(acts),
                    requests: Arc::default(),
                    stop: Arc::clone(stop),
                    set_up: Duration::ZERO,
                },
                case,
                together,
                running: Arc::clone(&self.running),
                beside: Arc::clone(&self.beside),
            }),
        });
        let live =
            run_all(under_way.collect(), jobs, &mut Unseen, stop, &mut journal, None).results;
        drop(journal);
        let path = all(&store).unwrap().remove(0);
        let journal = Unfinished::open(&path, Duration::ZERO).unwrap().unwrap();
        assert_eq!(journal.damage, None);
        let recovered = recovered(&journal).unwrap().remove(0).cases;
        let live: Vec<_> = live.into_iter().flatten().collect();
        [serde_json::to_string(&live).unwrap(), serde_json::to_string(&recovered).unwrap()]
    }
}

fn whole(first: u64) -> Vec<Act> {
    (first..first + 3).map(|number| Act::Whole(number % 8, number % 2 == 0)).collect()
}

/// Cases 1 and 2 share the host, and wait for each other in each repetition. Case 0 runs before
/// them, alone.
#[test]
fn cases_side_by_side_give_the_bytes_of_cases_in_turn() {
    let stop = Arc::default();
    let alone = Gathering::new(3);
    let pair = Arc::new(Barrier::new(1));
    let machines = |pair: &Arc<Barrier>| {
        let sharing = || Some(Arc::clone(pair));
        vec![(None, whole(1)), (sharing(), whole(2)), (sharing(), whole(3))]
    };
    let [in_turn, recovered] = alone.run("in-turn", 1, &stop, machines(&pair));
    assert_eq!(in_turn, recovered);
    assert!(alone.beside.lock().unwrap().iter().all(|(_, others)| *others == 0));
    let beside = Gathering::new(3);
    let [live, recovered] = beside.run("beside", 2, &stop, machines(&Arc::new(Barrier::new(2))));
    assert_eq!((&live, &recovered), (&in_turn, &in_turn));
    let mut seen = beside.beside.lock().unwrap().clone();
    assert!(seen[..3].iter().all(|place| *place == (0, 0)), "{seen:?}");
    seen.sort_unstable();
    assert_eq!(seen[3..], [(1, 1), (1, 1), (1, 1), (2, 1), (2, 1), (2, 1)]);
}

/// Both repetitions under way are dropped; the complete ones are kept.
#[test]
fn a_stop_drops_all_repetitions_under_way() {
    let pair = Arc::new(Barrier::new(2));
    let act = |first| vec![Act::Whole(first, true), Act::Stopped(first + 1, 60)];
    let sharing = || Some(Arc::clone(&pair));
    let machines = vec![(sharing(), act(1)), (sharing(), act(4))];
    let [live, recovered] = Gathering::new(2).run("stop", 2, &Arc::default(), machines);
    assert_eq!(live, recovered);
    assert_eq!(live.matches("interrupted after 1 of 3 repetitions").count(), 2, "{live}");
}

/// A stream that is too long to be held in memory is written while others wait.
#[test]
fn a_long_stream_takes_the_journal_until_its_end() {
    let folder = Scratch::new("long");
    let store = folder.0.join("runs.sqlite");
    let gathering = Gathering::new(2);
    let mut journal = Journal::create(&store, &gathering.header).unwrap();
    let shared = Mutex::new(&mut journal);
    let entry = |place| Entry::beside_others(&shared, place);
    let mut long = entry(0);
    long.begin(Some(MadeForm::default()));
    let piece = vec![7; 1 << 20];
    (0..17).for_each(|_| long.stream(&piece));
    assert!(shared.try_lock().is_err());
    thread::scope(|scope| {
        let short = scope.spawn(|| {
            let mut short = entry(1);
            short.begin(Some(MadeForm::default()));
            short.stream(b"short");
            short.end(&Recorded::default());
        });
        thread::sleep(Duration::from_millis(20));
        assert!(!short.is_finished());
        long.end(&Recorded::default());
    });
    drop(long);
    drop(journal);
    let journal = Unfinished::open(&all(&store).unwrap()[0], Duration::ZERO).unwrap().unwrap();
    let length = |case| {
        let mut length = 0;
        let mut each = |event: Event<'_>| match event {
            Event::Stream(bytes) => length += bytes.len(),
            Event::Begin(_) | Event::End(_) => {}
        };
        journal.replay(case, &mut each).unwrap();
        length
    };
    assert_eq!((length(0), length(1)), (17 << 20, 5));
}

/// Set-up is no part of the time by which the remaining time is estimated.
#[test]
fn the_time_of_set_up_is_not_the_measurement_s() {
    let set_up = Duration::from_millis(200);
    let target = "linux@host".parse().unwrap();
    let plan = Plan { repeat: 3, ..Plan::default() };
    let cases = expand(
        &Machines::default(),
        experiment("switch").unwrap(),
        &target,
        &Settings::new(),
        &plan,
    )
    .unwrap();
    let acts = RefCell::new(vec![Act::Whole(1, false), Act::Unprepared]);
    let machine =
        Box::new(Scripted { acts, requests: Arc::default(), stop: Arc::default(), set_up });
    let mut case = UnderWay { tally: Tally::new(&cases[0], false), machine };
    let begin = Instant::now();
    repeat(&mut case, &AtomicBool::new(false), &mut Journal::none());
    let work = case.tally.work();
    assert_eq!((work.done, work.left), (1, 2));
    assert!(begin.elapsed() - work.spent >= set_up, "{work:?}");
    // A case that cannot be set up needs no more, and took no time.
    repeat(&mut case, &AtomicBool::new(false), &mut Journal::none());
    let failed = case.tally.work();
    assert_eq!((failed.left, failed.spent), (0, work.spent));
    let step = Step::alone(&cases[0], &[failed]);
    assert_eq!((step.done, step.left), (1.0, Duration::ZERO));
}

/// The case of `plan`, and the requests of its repetitions.
fn requests_of(experiment_name: &str, plan: &Plan) -> (Case, Vec<String>) {
    let target = "linux@host".parse().unwrap();
    let spec = experiment(experiment_name).unwrap();
    let case =
        expand(&Machines::default(), spec, &target, &Settings::new(), plan).unwrap().remove(0);
    let requests = Arc::<Mutex<Vec<String>>>::default();
    let machine = Box::new(Scripted {
        acts: RefCell::new((1..=9).map(|number| Act::Whole(number, false)).collect()),
        requests: Arc::clone(&requests),
        stop: Arc::default(),
        set_up: Duration::ZERO,
    });
    let result = {
        let mut under_way = UnderWay { tally: Tally::new(&case, false), machine };
        while under_way.needs_more() {
            repeat(&mut under_way, &AtomicBool::new(false), &mut Journal::none());
        }
        under_way.tally.finish().unwrap()
    };
    let vary = case.vary.varies().then(|| case.vary.to_string());
    assert_eq!(result.parameters.get("vary").map(|value| value.as_str()), vary.as_deref());
    let requests = requests.lock().unwrap().clone();
    (case, requests)
}

#[test]
fn repetitions_go_through_the_start_states_in_turn() {
    let (case, requests) =
        requests_of("switch", &Plan { repeat: 5, vary: "3:7".parse().unwrap(), ..Plan::default() });
    let common = case.request().to_string();
    let states: Vec<&str> =
        requests.iter().map(|request| request.strip_prefix(&common).unwrap()).collect();
    let [first, second, third, again, last] = states[..] else { panic!("{states:?}") };
    assert_eq!((first, second), (again, last));
    assert!(first != second && second != third && first != third, "{states:?}");
    assert!(states.iter().all(|state| state.starts_with(" vary=")), "{states:?}");
    assert!(case.label().ends_with("vary=3:7"), "{}", case.label());
}

#[test]
fn a_case_with_one_start_state_is_requested_as_if_there_were_none() {
    for (vary, repeat) in [("1", 3), ("1:9", 3), ("16", 1)] {
        let plan = Plan { repeat, vary: vary.parse().unwrap(), ..Plan::default() };
        let (case, requests) = requests_of("switch", &plan);
        assert_eq!(requests, vec![case.request().to_string(); repeat]);
        assert!(!requests[0].contains("vary"), "{requests:?}");
        assert_eq!(case.label(), "");
    }
    // An image is measured as a file: it has no start.
    let plan = Plan { repeat: 3, vary: "3".parse().unwrap(), ..Plan::default() };
    let (case, requests) = requests_of("image", &plan);
    assert_eq!(requests, vec![case.request().to_string(); 3]);
}

/// A peer with one statistic, of which three pairs are asked for.
fn peer() -> PeerForm {
    let statistics = vec![Paired {
        ours_is: "p50".into(),
        theirs_is: "Avg".into(),
        unit: "".into(),
        ours: Vec::new(),
        theirs: Vec::new(),
        ratio: None,
        within: Some(0.1),
    }];
    let result = PeerResult {
        name: "cyclictest".into(),
        command: vec!["cyclictest".into()],
        experiment: "period".into(),
        target: "linux@host".into(),
        parameters: BTreeMap::new(),
        label: "".into(),
        pairs: 0,
        statistics,
        note: "as in the study".into(),
        verdict: Verdict { status: Status::Pass, reasons: Vec::new() },
    };
    PeerForm { result, repeat: 3, duration: None, is_given_up: false }
}

fn pair_value(ours: f64, theirs: f64) -> PairValue {
    let unit = "ns".to_owned();
    PairValue { ours: Some(ours), theirs: Some(theirs), unit, missing: None }
}

#[test]
fn a_statistic_that_a_pair_lacks_costs_that_pair_and_that_statistic() {
    let mut form = peer();
    let tail = Paired { ours_is: "p99".into(), ..form.result.statistics[0].clone() };
    form.result.statistics.push(tail);
    let mut tally = pair_tally::PairTally::new(&form);
    let missing = Some("theirs has no `p99` this time".to_owned());
    for number in 0..3 {
        let tail = match number {
            1 => PairValue { missing: missing.clone(), ..PairValue::default() },
            _ => pair_value(20.0, 20.0),
        };
        let outcome = PairOutcome::Values(vec![pair_value(10.0, 10.0), tail]);
        tally.add(Pair { peer: 0, spent: Duration::ZERO, outcome });
    }
    let result = tally.finish().unwrap();
    assert_eq!((result.pairs, result.verdict.status), (3, Status::Pass));
    let counts: Vec<usize> = result.statistics.iter().map(|paired| paired.ours.len()).collect();
    assert_eq!(counts, [3, 2]);
    assert_eq!(result.statistics[1].ratio.unwrap().median, 1.0);
    let note = result.note.to_string();
    assert!(note.starts_with("Pair 2 is left out of p99 / Avg: theirs has no `p99`"), "{note}");
}

#[test]
fn pairs_are_kept_and_a_peer_that_was_cut_short_is_inconclusive() {
    let folder = Scratch::new("pairs");
    let header = Header {
        schema: SCHEMA,
        context: Context::default(),
        study: "".into(),
        titles: vec!["".into()],
        notes: "".into(),
        answering: None,
        keep_samples: false,
        cases: Vec::new(),
        peers: vec![peer()],
    };
    let values = |ours, theirs| PairOutcome::Values(vec![pair_value(ours, theirs)]);
    let all_pairs = [
        values(10.0, 10.1),
        PairOutcome::Failed("starved".to_owned()),
        values(11.0, 10.9),
        values(3.0, 3.0),
    ];
    for (number, reasons) in [
        (0, None),
        (1, Some(vec!["interrupted after 1 of 3 pairs".into()])),
        (3, Some(vec!["interrupted after 2 of 3 pairs".into()])),
        (4, Some(Vec::new())),
    ] {
        let store = folder.0.join(format!("{number}.sqlite"));
        let mut journal = Journal::create(&store, &header).unwrap();
        let mut live = pair_tally::PairTally::new(&header.peers[0]);
        for outcome in &all_pairs[..number] {
            let pair = Pair { peer: 0, spent: Duration::ZERO, outcome: outcome.clone() };
            journal.pair(pair.clone());
            live.add(pair);
        }
        drop(journal);
        let live = live.finish();
        assert_eq!(live.as_ref().map(|peer| peer.verdict.reasons.clone()), reasons, "{number}");
        let Some(path) = all(&store).unwrap().pop() else {
            assert_eq!(number, 0, "a journal without an entry is removed");
            continue;
        };
        let journal = Unfinished::open(&path, Duration::ZERO).unwrap().unwrap();
        let run = recovered(&journal).unwrap().remove(0);
        assert_eq!(run.context.interrupted, number < 4);
        let json = |peer: Option<&PeerResult>| serde_json::to_string(&peer).unwrap();
        assert_eq!(json(run.peers.first()), json(live.as_ref()), "{number}");
    }
}
