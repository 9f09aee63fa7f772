//! A synthetic run for tests. Its cases have one series, several series with a nominal part, a
//! slope, no evidence, or a kernel that does not offer them.

use std::collections::BTreeMap;

use chronoscope_statistics::{
    Basis, Bursts, Interval, MissRate, Slope, Summary, UpperLimits, Worst, order::Over,
};
use chronoscope_units::OneLine;

use crate::{
    Answering, CaseResult, Clock, Context, Cycles, Domain, EvidenceResult, FigureResult, Imported,
    Instrument, Label, Late, Limit, Paired, PeerResult, Published, Quantity, Repetition, Role, Run,
    SCHEMA, SeriesResult, Shard, Soak, Spent, Status, Unit, Verdict,
    answer::{Bar, Claim, Finding, Layout, Pick, Rounds, Ruling, Sentence, Stack, Sweep},
};

/// Returns a run with one case of each kind.
pub fn run() -> Run {
    let mut inversion = case("inversion", "protocol=none");
    inversion.series = vec![
        series("hog 0 ms", 2.07e6).over(0.0),
        series("hog 40 ms", 42.08e6).over(40e6),
        series("hog 80 ms", 82.1e6).over(80e6),
        series("lock that nobody holds", 90.0).role(Role::Auxiliary),
    ];
    inversion.slope =
        Some(Slope { slope: 0.99984, intercept: 2.07e6, standard_error: Some(0.00031) });
    let mut unproven = case("inversion", "protocol=ceiling");
    unproven.series = vec![series("hog 0 ms", 1.5e3)];
    unproven.evidence = vec![evidence("rounds of high", 11.0, 12.0, Some(12.0))];
    unproven.verdict = Verdict::new(Status::Inconclusive, "rounds of high: 11, not 12");
    let mut refused = case("interrupt", "");
    (refused.series, refused.evidence, refused.figures) = (Vec::new(), Vec::new(), Vec::new());
    refused.verdict = Verdict::new(Status::NotOffered, "coroutines are not offered by this kernel");
    Run {
        schema: SCHEMA,
        context: context(),
        study: "sample".into(),
        title: "Is this a sample?".into(),
        notes: "".into(),
        answering: None,
        cases: vec![
            case("switch", "pair=thread-thread tasks=2"),
            stolen_from(case("switch", "pair=process-process tasks=2")),
            delay(),
            inversion,
            unproven,
            refused,
        ],
        peers: Vec::new(),
    }
}

/// A run in which every optional field has a value in some case, so that its JSON has all keys.
pub fn full() -> Run {
    let mut run = run();
    let first = &mut run.cases[0];
    first.slope = Some(Slope { slope: 1.0, intercept: 0.0, standard_error: Some(0.1) });
    let limit = |bound| Limit {
        statistic: "p99".into(),
        series: Some("switch".into()),
        at_most: Some(Quantity(bound)),
        at_least: Some(Quantity(1.0)),
        exhaustive: true,
    };
    first.limits = vec![limit(50e3)];
    first.judge = vec!["p50".into()];
    let by_pin = Published { instrument: Instrument::Pin, ..published("p50", 7000.0) };
    first.published = vec![Published { same_clock: true, ..published("mean", 3595.2) }, by_pin];
    let spent = Spent { name: "suspend".into(), cycles: 70, retired: 50 };
    first.cycles = Some(Cycles { windows: 1, total: 70, asleep: 0, rows: vec![spent] });
    first.verdict = Verdict::new(Status::LimitMissed, "a reason");
    let series = &mut first.series[0];
    series.summary.worst = vec![Worst { at: 17, value: 69_500.0 }];
    series.deadline = Some(100e3);
    series.misses = Some(MissRate::new(0, 5000));
    series.bursts =
        Some(Bursts { tested: 100, dispersion: Some(1.25), p: Some(0.2), episodes: 0, longest: 0 });
    series.samples = vec![(17.0, 2_900.0)];
    let miss = (17.0, 69_500.0);
    series.late = vec![Late { until: 999e6, misses: vec![miss] }];
    series.soak = Some(Soak { largest: vec![miss], misses: vec![miss], misses_left_out: 0 });
    run.peers = vec![peer()];
    run.answering = Some(answering());
    run.context.case_seconds = Some(20.5);
    run.context.uuid = "0b7e1c52-6f5a-4a51-9a57-3d1a3b1f7c10".into();
    run.context.machine = "bench-3".into();
    run.context.labels = BTreeMap::from([("commit".into(), "489879a".into())]);
    run.context.revision = "489879a".into();
    let shard = |cases| Shard { number: 2, of: 8, plan: "9f86d081".into(), cases, peers: vec![0] };
    run.context.shard = Some(shard((0..run.cases.len()).collect()));
    run.context.imported = Some(Imported {
        tool: "hyperfine 1.15.0".into(),
        file: "runs.json".into(),
        on: "2026-02-01T12:00:00Z".into(),
        dated: "by the file's last change".into(),
    });
    run.context.doctor = vec!["load: busy: samples are late: stop it".into()];
    run
}

/// Rules in which every field has a value.
fn answering() -> Answering {
    let pick = Pick {
        name: "a switch".into(),
        group: "switch".into(),
        experiment: "switch".into(),
        target: "linux@host".into(),
        when: BTreeMap::from([("tasks".into(), "2".into())]),
        series: "switch".into(),
        statistic: "p50".into(),
        untimed: true,
        contrast: true,
        cost: "the smallest image".into(),
    };
    let sentence =
        |text: &str| Sentence { conditions: vec!["a switch > 1 us".into()], text: text.into() };
    Answering {
        question: "Is this a sample?".into(),
        layout: Layout::Auto,
        decides: true,
        subject: "linux".into(),
        floor: "bare".into(),
        machine: "host".into(),
        beside: "ibex".into(),
        rows: vec![pick.clone()],
        rounds: Some(Rounds {
            tasks: ["one".into(), "other".into()].into(),
            others: "rest".into(),
            panels: vec![pick.clone()],
        }),
        sweep: Some(Sweep {
            name: "A switch among tasks".into(),
            by: "tasks".into(),
            unit: "of a switch".into(),
            relative: true,
            lines: vec![pick.clone()],
        }),
        stack: Some(Stack {
            name: "A switch by its parts".into(),
            note: "of threads".into(),
            bars: vec![Bar {
                name: "threads".into(),
                published: "STM32F401".into(),
                parts: vec![pick.clone()],
            }],
        }),
        values: vec![pick],
        title: vec![sentence("A switch takes {a switch}")],
        also: vec![sentence("at p99 {a switch p99}")],
        next: vec![sentence("compare it with another kernel")],
        claims: vec![Claim {
            says: "A switch takes 3 us".into(),
            findings: vec![Finding {
                is: Ruling::Confirmed,
                conditions: vec!["a switch < 5 us".into()],
                text: "{a switch} here".into(),
            }],
        }],
    }
}

fn peer() -> PeerResult {
    let paired =
        |ours_is: &str, ours: &[f64], theirs_is: &str, theirs: &[f64], unit: &str, within| Paired {
            ours_is: ours_is.into(),
            theirs_is: theirs_is.into(),
            unit: unit.into(),
            ours: ours.to_vec(),
            theirs: theirs.to_vec(),
            ratio: None,
            within,
        };
    let case = case("switch", "pair=process-process");
    PeerResult {
        name: "perf bench sched pipe".into(),
        command: ["perf", "bench", "sched", "pipe", "--loop", "40000"].map(OneLine::from).to_vec(),
        experiment: case.experiment,
        target: case.target,
        parameters: case.parameters,
        label: case.label,
        pairs: 3,
        statistics: vec![
            paired(
                "mean",
                &[2940.0, 3100.0, 3000.0],
                "operation",
                &[2910.0, 2920.0, 2910.0],
                "ns",
                Some(0.05),
            )
            .finish(),
            paired("", &[], "operations", &[40_000.0; 3], "count", None).finish(),
        ],
        note: "Half an operation is one switch.".into(),
        verdict: Verdict { status: Status::Pass, reasons: Vec::new() },
    }
}

/// A published figure of a statistic, in ns.
pub fn published(statistic: &str, value: f64) -> Published {
    Published {
        source: "P1.switch.timer".into(),
        on: "STM32F401 at 84 MHz".into(),
        statistic: statistic.into(),
        series: None,
        instrument: Instrument::Timer,
        value,
        unit: "ns".into(),
        same_clock: false,
        when: BTreeMap::from([("pair".into(), "thread-thread".into())]),
        note: "all logging off".into(),
    }
}

fn context() -> Context {
    Context {
        date: "2026-01-31T12:00:00Z".into(),
        seconds: 1.5,
        case_seconds: None,
        uuid: "".into(),
        machine: "".into(),
        labels: BTreeMap::new(),
        revision: "".into(),
        shard: None,
        imported: None,
        host: "desk".into(),
        system: "Linux 6.18".into(),
        processor: "a processor".into(),
        processors: 2,
        megahertz: Some(2596.142),
        load: vec![0.5, 0.25, 0.125],
        program: "chronoscope 0.1.0".into(),
        build: "release".into(),
        command: vec!["chronoscope".into(), "run".into()],
        doctor: Vec::new(),
        interrupted: false,
    }
}

/// A passing case with a measured series, named as its experiment, and a control.
pub fn case(experiment: &str, label: &str) -> CaseResult {
    let label = Label::from(label);
    CaseResult {
        experiment: experiment.into(),
        target: "linux@host".into(),
        release: "6.18".into(),
        identity: BTreeMap::from([("kernel".into(), "sha256 0123".into())]),
        parameters: label.parameters().map(|(name, value)| (name.into(), value.into())).collect(),
        label,
        start: "before".into(),
        end: "after".into(),
        clock: Some(Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 10 }),
        repetitions: 5,
        series: vec![series(experiment, 2_900.0), series("mark to mark", 10.5).role(Role::Control)],
        slope: None,
        figures: vec![figure("switches per step", "", 1.0), figure("steal", "ms", 0.0)],
        cycles: None,
        evidence: vec![evidence("switches", 5_004.0, 4_954.0, None)],
        log: vec!["a line for the user".into()],
        attachments: BTreeMap::from([("trace".into(), "# tracer: nop\n".to_owned())]),
        limits: Vec::new(),
        judge: Vec::new(),
        published: Vec::new(),
        verdict: Verdict { status: Status::Pass, reasons: Vec::new() },
    }
}

fn stolen_from(mut case: CaseResult) -> CaseResult {
    case.figures = vec![FigureResult { max: 20.0, ..figure("steal", "ms", 0.0) }];
    case
}

fn delay() -> CaseResult {
    let mut delay = case("delay", "");
    delay.series = vec![series("task 1", 61.2e3), series("task 2", 75.1e3)];
    for series in &mut delay.series {
        series.nominal = 50e6;
    }
    delay
}

/// A figure with the same value in all repetitions.
pub fn figure(name: &str, unit: &str, value: f64) -> FigureResult {
    FigureResult { name: name.into(), unit: unit.into(), value, min: value, max: value }
}

/// Evidence with its range; `high` is `None` without an upper bound.
pub fn evidence(name: &str, value: f64, low: f64, high: Option<f64>) -> EvidenceResult {
    let holds = value >= low && high.is_none_or(|high| value <= high);
    EvidenceResult { name: name.into(), value, low, high, holds }
}

/// A measured series of 5 × 1000 samples, with its median at `p50` ns.
pub fn series(name: &str, p50: f64) -> SeriesResult {
    let repetition = |index: u32| Repetition {
        count: 1_000,
        min: 0.9 * p50,
        p50,
        p99: Some(1.5 * p50),
        p999: Some(2.0 * p50),
        max: 24.0 * p50,
        mean: p50 + 10.0 * f64::from(index),
    };
    SeriesResult {
        name: name.into(),
        role: Role::Measured,
        unit: Unit::Nanoseconds,
        nominal: 0.0,
        per: 1.0,
        x: None,
        summary: Summary {
            count: 5_000,
            min: Some(0.9 * p50),
            p50: Some(p50),
            p90: Some(1.2 * p50),
            p99: Some(1.5 * p50),
            p999: Some(2.0 * p50),
            p9999: None,
            max: Some(24.0 * p50),
            mean: Some(p50 + 20.0),
            sigma: Some(0.1 * p50),
            worst: Vec::new(),
            cold: vec![4.0 * p50; 5],
            cold_count: 5,
        },
        p50_interval: Some(Interval { low: p50 - p50 / 58.0, high: p50 + p50 / 58.0 }),
        p50_interval_basis: Basis::Repetitions,
        upper_limits: Some(UpperLimits {
            over: Over::Samples,
            p99: Some(1.6 * p50),
            p999: Some(3.0 * p50),
            p9999: None,
        }),
        deadline: None,
        misses: None,
        bursts: None,
        by_repetition: (0..5).map(repetition).collect(),
        histogram: vec![(p50, 5_000)],
        late: Vec::new(),
        soak: None,
        next: None,
        samples: Vec::new(),
    }
}

/// Medians in ns of pairs of runs, with their ratio.
pub fn paired(ours: &[f64], theirs: &[f64], within: Option<f64>) -> Paired {
    let paired = Paired {
        ours_is: "p50".into(),
        theirs_is: "p50".into(),
        unit: "ns".into(),
        ours: ours.to_vec(),
        theirs: theirs.to_vec(),
        ratio: None,
        within,
    };
    paired.finish()
}

impl SeriesResult {
    fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    fn over(mut self, x: f64) -> Self {
        self.x = Some(x);
        self
    }
}
