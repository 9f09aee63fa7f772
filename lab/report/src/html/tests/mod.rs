//! Tests of whole pages.

pub(crate) mod growth;

use self::growth::{LIMIT, tenfold};
use super::{panel, panel::Subject, render};
use crate::{cause::schedule, comparison};
use chronoscope_run::history::CaseRow;
use chronoscope_run::{
    CaseResult, Domain, Published, Role, Run, SeriesResult, Status, Unit, Verdict, sample,
};

/// Elements without an end tag.
const VOID: [&str; 4] = ["meta", "br", "input", "!DOCTYPE"];

pub(super) fn page_of(run: &Run) -> String {
    let text = render(&[(String::new(), run)]);
    check(&text);
    text
}

/// Asserts that elements nest and end, attributes are quoted, nothing is fetched, and no control
/// character is left.
pub(crate) fn check(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some((_, tag)) = rest.split_once('<') {
        let (inside, after) = tag.split_once('>').expect("a tag ends");
        rest = after;
        let name = inside.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if inside.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "<{inside}> ends another, before {:.80}", after);
        } else if !inside.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        let attributes = inside.strip_prefix(name).unwrap_or_default();
        assert!(attributes.matches('"').count() % 2 == 0, "<{inside}>");
        if matches!(name, "style" | "script") && !inside.starts_with('/') {
            let end = rest.find(&format!("</{name}>")).expect("it ends");
            assert!(
                !rest[..end].contains("http") && !rest[..end].contains("url("),
                "{name} fetches nothing"
            );
            rest = &rest[end..];
        }
        for fetching in [" src=\"", " href=\"h", " href=\"/", " srcset=\"", " data=\""] {
            assert!(!inside.contains(fetching), "<{inside}>");
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "it is whole");
    assert!(page.chars().all(|letter| !letter.is_control() || letter == '\n'), "a control is left");
}

/// The number of charts of a kind.
pub(super) fn charts(page: &str, kind: &str) -> usize {
    page.matches(&format!("<figure class=\"chart\" data-kind=\"{kind}\">")).count()
}

pub(super) fn run_of(cases: Vec<CaseResult>) -> Run {
    Run { cases, ..sample::run() }
}

/// A case with as many values as a real one.
fn rich(experiment: &str, label: &str) -> CaseResult {
    let mut case = sample::case(experiment, label);
    let series = &mut case.series[0];
    series.histogram =
        (0..400_u32).map(|step| (1000.0 + 37.0 * f64::from(step), u64::from(400 - step))).collect();
    series.summary.max = Some(1000.0 + 37.0 * 399.0);
    series.summary.count = series.histogram.iter().map(|bucket| bucket.1).sum();
    case
}

#[test]
fn a_page_is_whole_and_shows_what_there_is() {
    let mut run = sample::full();
    run.cases.push(rich("switch", "tasks=9"));
    let text = page_of(&run);
    for kind in ["beside", "histogram", "ladder", "slope", "ratio"] {
        assert!(charts(&text, kind) > 0, "no {kind}");
    }
    for words in [
        "Is this a sample?",
        "limit missed",
        "inconclusive",
        "not offered",
        "doctor: load",
        "STM32F401",
    ] {
        assert!(text.contains(words), "no {words}");
    }
    assert!(text.matches("role=\"img\"").count() == text.matches("class=\"chart\"").count());
}

#[test]
fn names_are_text_and_no_markup() {
    let evil = "<script>alert(1)</script>\"'&\0\x1b[2J\u{202e}</style>--><img src=x onerror=y>";
    let mut run = sample::full();
    for text in [&mut run.title, &mut run.study, &mut run.context.host, &mut run.context.processor]
    {
        *text = evil.into();
    }
    run.notes = evil.into();
    run.context.command = vec![evil.into()];
    run.cases.push(rich("switch", "tasks=9"));
    for case in &mut run.cases {
        for text in [&mut case.target, &mut case.start, &mut case.end, &mut case.release] {
            *text = evil.into();
        }
        case.label = evil.into();
        case.parameters.insert(evil.into(), evil.into());
        case.log = vec![evil.into()];
        case.verdict.reasons = vec![evil.into()];
        case.series.iter_mut().for_each(|series| series.name = evil.into());
        case.evidence.iter_mut().for_each(|evidence| evidence.name = evil.into());
        case.published.iter_mut().for_each(|figure| figure.on = evil.into());
    }
    let odd = rich(evil, evil);
    run.cases.push(odd);
    run.peers[0].name = evil.into();
    let text = page_of(&run);
    assert!(
        !text.contains("<img")
            && text.matches("<script").count() == 1
            && text.matches("</style").count() == 1
    );
}

#[test]
fn a_run_of_five_hundred_cases_is_small_and_soon_made() {
    let runs = [50, 500].map(run_of_many);
    let text = page_of(&runs[1]);
    assert!(text.len() < 2_000_000, "{} bytes", text.len());
    assert_eq!(charts(&text, "histogram"), 10, "one for each experiment");
    let page = |factor| render(&[(String::new(), &runs[usize::from(factor == 10)])]);
    let growth = tenfold(page);
    assert!(growth < LIMIT, "ten times the cases take {growth} times the work");
}

/// A run of `cases` cases, of ten experiments.
fn run_of_many(cases: usize) -> Run {
    let experiments = [
        "delay",
        "period",
        "switch",
        "ticks",
        "spawn",
        "interrupt",
        "wakeup",
        "message",
        "log",
        "masked",
    ];
    let cases = (0..cases).map(|index| {
        let mut case =
            rich(experiments[index % 10], &format!("kind=thread pad={} load=messages", index / 10));
        case.series
            .push(SeriesResult { role: Role::Auxiliary, ..sample::series("due already", 20.0) });
        case
    });
    run_of(cases.collect())
}

#[test]
fn a_run_without_figures_says_so() {
    assert!(page_of(&run_of(Vec::new())).contains("This run holds no case"));
    let mut unproven = sample::case("switch", "");
    unproven.evidence.clear();
    unproven.verdict =
        Verdict::new(Status::Inconclusive, "no evidence that the mechanism happened");
    let text = page_of(&run_of(vec![unproven]));
    assert!(
        text.contains("No case of this run has evidence")
            && text.contains("no evidence that the mechanism")
    );
    assert_eq!(text.matches("class=\"chart\"").count(), 0, "no empty chart");
}

#[test]
fn numbers_that_are_not_finite_break_no_chart() {
    let mut case = rich("switch", "tasks=2");
    case.series[0].histogram = vec![(f64::NAN, 1), (f64::INFINITY, 2), (0.0, u64::MAX), (-5.0, 1)];
    case.series[0].samples = vec![(f64::NAN, 1.0), (0.0, f64::NAN), (5.0, -1.0)];
    let mut other = sample::case("switch", "tasks=3");
    other.series[0].summary.p50 = Some(f64::NAN);
    other.series.push(SeriesResult { x: Some(f64::NAN), ..sample::series("hog", 5.0) });
    let text = page_of(&run_of(vec![case, other]));
    for wrong in ["=\"NaN", "MNaN", "LNaN", "Minf", "=\"inf"] {
        assert!(!text.contains(wrong), "{wrong}");
    }
}

#[test]
fn clocks_never_share_an_axis() {
    let mut emulated = rich("switch", "tasks=3");
    emulated.clock.as_mut().unwrap().domain = Domain::Instructions;
    emulated.series[0].unit = Unit::Instructions;
    let wall = rich("switch", "tasks=2");
    let run = run_of(vec![wall, emulated]);
    let subjects = [Subject { name: String::new(), run: &run }];
    let panels = panel::Panel::all("switch", &subjects);
    assert_eq!(panels.iter().map(|panel| panel.entries.len()).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn a_published_time_is_drawn_with_times_only() {
    let mut case = sample::case("switch", "pair=thread-thread");
    case.published = vec![sample::published("p50", 3595.2)];
    let text = page_of(&run_of(vec![case.clone()]));
    assert!(text.contains("◇ published: P1.switch.timer") && charts(&text, "beside") == 1);
    case.series[0].unit = Unit::Cycles;
    case.published[0].unit = "".into();
    let text = page_of(&run_of(vec![case]));
    assert!(charts(&text, "beside") == 0 && text.contains("3.60 µs"), "it stands in the table");
}

#[test]
fn cases_that_differ_in_a_number_make_a_curve() {
    let cases = [2, 5, 10].map(|tasks| sample::case("switch", &format!("tasks={tasks}")));
    assert_eq!(charts(&page_of(&run_of(cases.to_vec())), "sweep"), 1);
    let sizes = [4, 64, 1024].map(|size| sample::case("message", &format!("size={size}")));
    assert_eq!(charts(&page_of(&run_of(sizes.to_vec())), "payload"), 1);
}

#[test]
fn loads_and_targets_make_a_map() {
    let mut cases = Vec::new();
    for target in ["linux-rt@vm", "linux-none@vm"] {
        for load in ["none", "udp"] {
            cases.push(CaseResult {
                target: target.into(),
                ..sample::case("period", &format!("load={load}"))
            });
        }
    }
    let text = page_of(&run_of(cases));
    assert_eq!(charts(&text, "heat"), 1);
}

#[test]
fn images_are_drawn_in_bytes_with_published_ones() {
    let mut cases = ["tandem@cortex-m4", "bare@cortex-m4"]
        .map(|target| CaseResult { target: target.into(), ..sample::case("image", "") })
        .to_vec();
    cases.iter_mut().for_each(|case| case.series[0].unit = Unit::Count);
    cases[0].published =
        vec![Published { unit: "bytes".into(), ..sample::published("max", 2080.0) }];
    let text = page_of(&run_of(cases));
    assert!(
        charts(&text, "memory") == 1 && text.contains("2080 bytes") && text.contains("the floor")
    );
}

#[test]
fn a_floor_above_another_row_is_not_drawn() {
    let mut cases = ["tandem@cortex-m4", "bare@cortex-m4"]
        .map(|target| CaseResult { target: target.into(), ..sample::case("image", "") })
        .to_vec();
    cases.iter_mut().for_each(|case| case.series[0].unit = Unit::Count);
    cases[0].series[0].summary.p50 = Some(64.0);
    let text = page_of(&run_of(cases));
    assert!(charts(&text, "memory") == 1 && !text.contains("the floor"));
}

#[test]
fn kept_samples_are_drawn_with_the_worst_marked() {
    let mut case = sample::case("switch", "");
    case.series[0].samples =
        (0..100).map(|index| (f64::from(index), f64::from(index % 7))).collect();
    assert_eq!(charts(&page_of(&run_of(vec![case])), "timeline"), 1);
}

#[test]
fn samples_that_are_all_alike_have_no_worst() {
    let mut alike = sample::case("switch", "tasks=2");
    alike.series[0].samples = (0..100).map(|index| (f64::from(index), 5.0)).collect();
    let mut few = sample::case("switch", "tasks=3");
    few.series[0].samples = vec![(0.0, 5.0), (1.0, 6.0)];
    assert_eq!(charts(&page_of(&run_of(vec![alike, few])), "timeline"), 0);
}

#[test]
fn arrivals_are_shown_with_the_end_of_their_wait_and_the_states() {
    let case = |target: &str, label: &str| {
        let mut case = CaseResult { target: target.into(), ..sample::case("worst", label) };
        case.series[0].name = "arrival to actuate".into();
        case.series[0].samples = (0..10).map(|at| (f64::from(at), 20.0)).collect();
        case
    };
    let mut cases =
        vec![case("tandem@cortex-m4", "tasks=2"), case("freertos@cortex-m4", "tasks=2")];
    let page = page_of(&run_of(cases.clone()));
    assert!(page.contains("From the arrival to actuate, for an arrival at each instruction"));
    assert!(page.contains("of these builds, from one state: none waits longer."));
    cases.push(case("tandem@cortex-m4", "tasks=10"));
    let page = page_of(&run_of(cases));
    assert!(page.contains("from 1 to 2 states; the picture has the worst: none waits longer."));
}

#[test]
fn the_cause_of_a_worst_sample_is_named() {
    let mut case = sample::case("switch", "");
    case.series[0].samples =
        (0..100).map(|index| (f64::from(index), f64::from(index % 7))).collect();
    case.figures = vec![sample::figure("steal", "ms", 20.0)];
    case.figures.push(sample::figure("thermal throttling", "", 3.0));
    let page = page_of(&run_of(vec![case]));
    assert!(page.contains("The hypervisor took up to 20 ms from a repetition"));
    assert!(page.contains("Heat slowed the processor, up to 3 times in a repetition"));
}

#[test]
fn tasks_during_the_worst_sample_are_named() {
    let mut case = schedule::tests::case(schedule::tests::RECORD);
    let series = &mut case.series[0];
    // Samples beyond the record's end, to reach the number that gives a chart.
    series.samples.extend((4..24).map(|index| (f64::from(index) * 100e3, 20e3)));
    series.by_repetition[0].count = 24;
    let cause = "processor 1 ran kworker/1:2 (20 µs), the interrupt a disk (6 µs): longer than in a mean sample";
    assert!(page_of(&run_of(vec![case.clone()])).contains(cause));
    case.attachments.clear();
    assert!(!page_of(&run_of(vec![case])).contains("While the worst was taken"));
}

#[test]
fn a_published_ratio_is_drawn_with_the_measured_one() {
    let mut case = CaseResult {
        target: "linux-rt@vm".into(),
        ..sample::case("interference", "class=ordinary")
    };
    case.clock.as_mut().unwrap().domain = Domain::Instructions;
    case.figures.push(sample::figure("latency stretched", "", 1.99));
    case.figures.push(sample::figure("bytes in a second", "", 1e6));
    let published =
        |name: &str, value: f64| Published { unit: "".into(), ..sample::published(name, value) };
    case.published =
        vec![published("latency stretched", 2.0), published("bytes in a second", 228_600.0)];
    let text = page_of(&run_of(vec![case]));
    assert_eq!(charts(&text, "found"), 1, "a rate by an emulator's clock shares no axis");
    assert!(text.contains("interference: latency stretched"));
}

#[test]
fn curves_of_other_clocks_are_compared_by_shape() {
    let cases = [4, 64, 1024].map(|size| {
        let mut case = sample::case("transaction", &format!("size={size}"));
        case.clock.as_mut().unwrap().domain = Domain::Instructions;
        case.series[0].unit = Unit::Instructions;
        case.series[0].summary.mean = Some(1000.0 + f64::from(size));
        case.published = vec![Published {
            unit: "".into(),
            ..sample::published("mean", 70e3 + f64::from(size))
        }];
        case
    });
    let text = page_of(&run_of(cases.to_vec()));
    assert_eq!((charts(&text, "shape"), charts(&text, "payload")), (1, 1));
    assert!(
        text.contains("×2.016") && text.contains("published, a"),
        "1004 at first, 2024 at last"
    );
}

#[test]
fn an_auxiliary_series_has_a_curve_of_its_own() {
    let cases = [2, 5, 10].map(|tasks| {
        let mut case = sample::case("ticks", &format!("tasks={tasks}"));
        case.series
            .push(SeriesResult { role: Role::Auxiliary, ..sample::series("processor time", 20.0) });
        case.published = vec![Published {
            series: Some("processor time".into()),
            ..sample::published("mean", 25.0)
        }];
        case
    });
    let text = page_of(&run_of(cases.to_vec()));
    assert_eq!(charts(&text, "sweep"), 2);
    assert!(
        text.contains("p50 against tasks") && text.contains("mean of processor time against tasks")
    );
}

#[test]
fn several_runs_share_one_page() {
    let run = sample::run();
    let text = render(&[("run 1".to_owned(), &run), ("run 2".to_owned(), &run)]);
    check(&text);
    assert!(text.contains("run 1 · linux@host") && text.contains("run 2 · linux@host"));
}

#[test]
fn a_comparison_is_a_page_too() {
    let text = super::comparison::render(&[compared("<b>")], &[]);
    check(&text);
    assert!(
        charts(&text, "ratio") >= 1
            && text.contains("&lt;note&gt;")
            && !text.contains("From run to run")
    );
}

#[test]
fn two_runs_show_the_trend_of_the_store() {
    let comparison = compared("<b>");
    let line =
        comparison.lines.iter().find(|line| line.figures.is_some()).expect("a case has figures");
    let row = |run: i64, host: &str| CaseRow {
        run,
        started: "".into(),
        host: host.into(),
        key: line.key.clone().into(),
        label: "".into(),
        series: line.series.clone().into(),
        unit: "ns".into(),
        nominal: 0.0,
        p50: Some(1000.0 * run as f64),
        status: "pass".into(),
        machine: "".into(),
        experiment: line.experiment.clone().into(),
    };
    let host = comparison.b.context.host.clone();
    let rows: Vec<CaseRow> =
        (1..=4).map(|run| row(run, &host)).chain([row(5, "elsewhere")]).collect();
    let text = super::comparison::render(&[compared("<b>")], &rows);
    check(&text);
    assert!(
        text.contains("run 1 to run 4, 4 of the store")
            && text.contains("×4.000")
            && text.contains("run 3: 3 µs")
            && !text.contains(", a new level")
    );
    let mut steady: Vec<CaseRow> = (1..=40).map(|run| row(run, &host)).collect();
    for row in &mut steady {
        row.p50 = Some(if row.run < 31 { 1000.0 } else { 2000.0 } + (row.run % 7) as f64);
    }
    let text = super::comparison::render(&[compared("<b>")], &steady);
    check(&text);
    assert!(text.contains("run 31: 2.00 µs, a new level") && text.contains("class=\"band\""));
    // The mark's tip, and the picture's label.
    assert_eq!(text.matches(", a new level").count(), 2);
    assert!(
        !super::comparison::render(&[compared("<b>")], &rows[..2]).contains("From run to run"),
        "two are compared already"
    );
}

#[test]
fn many_runs_show_a_trend() {
    let text = super::comparison::render(&[compared("<b>"), compared("<c>")], &[]);
    check(&text);
    assert!(text.contains("From run to run") && text.contains("&lt;a&gt; · &lt;b&gt; · &lt;c&gt;"));
    // Two comparisons have a chart each; the other pictures are trends of three runs.
    let trends = text.matches("<svg ").count() - text.matches("class=\"chart\"").count();
    assert!(trends > 0 && text.matches("<b>: ").count() == 0 && text.contains("&lt;c&gt;: "));
}

/// A comparison of the sample run with the full sample run.
fn compared(b_name: &str) -> comparison::Comparison {
    let (a, b) = (sample::run(), sample::full());
    let alike = comparison::Pairing::Alike;
    let (pairs, only_in_a, only_in_b) = comparison::match_cases(&a, &b, &alike, |_| true);
    let (judge, history) =
        (&comparison::StatisticChoice::default(), &comparison::History::default());
    let options = comparison::CompareOptions {
        interleaved: false,
        threshold: 0.05,
        judge,
        history,
        conditions: &[],
        look: None,
        in_turn: &|_, _| None,
    };
    let lines = comparison::compare(&pairs, &options);
    let side = |name: &str| comparison::Side {
        name: name.into(),
        context: a.context.clone(),
        trace: None,
    };
    let comparison = comparison::Comparison::new([side("<a>"), side(b_name)], &options, lines);
    comparison::Comparison { only_in_a, only_in_b, notes: vec!["<note>".to_owned()], ..comparison }
        .concluded(false)
}
