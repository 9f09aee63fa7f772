//! Tests with a small synthetic capture, a huge one, and invalid ones.

use super::*;
use crate::{
    html::tests::charts, html::tests::growth::LIMIT, html::tests::growth::tenfold,
    html::tests::page_of, html::tests::run_of,
};
use chronoscope_capture::{Channel, Tick};
use chronoscope_run::{
    CaseResult, Clock, Cycles, Domain, Repetition, Role, Run, SeriesResult, Spent, Unit,
    names::by_pin, sample,
};

/// Three pulses of D0, 100, 140 and 120 cycles wide at 84 MHz; `irq` rises 9 before each.
fn capture() -> Capture {
    let channel = |name: &str, edges: &[u64]| Channel {
        name: name.to_owned(),
        initial: false,
        edges: edges.to_vec(),
    };
    Capture {
        source: "made up".to_owned(),
        tick: Tick::from_hertz(84_000_000).unwrap(),
        sampling: Sampling::Exact,
        start: 0,
        end: 2_000,
        channels: vec![
            channel("D0", &[1_000, 1_100, 1_300, 1_440, 1_600, 1_720]),
            channel("D7", &[]),
            channel("irq", &[991, 1_050, 1_291, 1_350, 1_591, 1_650]),
        ],
    }
}

fn series(name: &str, role: Role, samples: &[(f64, f64)]) -> SeriesResult {
    let values = || samples.iter().map(|sample| sample.1);
    let (min, max) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let repetition = Repetition {
        count: samples.len() as u64,
        min,
        p50: min,
        p99: None,
        p999: None,
        max,
        mean: min,
    };
    let unit = Unit::Cycles;
    SeriesResult {
        role,
        unit,
        by_repetition: vec![repetition],
        samples: samples.to_vec(),
        ..sample::series(name, min)
    }
}

fn case(capture: &Capture) -> CaseResult {
    let mut dump = Vec::new();
    capture.to_vcd(&mut dump).unwrap();
    let mut case = sample::case("switch", "pins=yes");
    case.target = "tandem@ibex".into();
    case.clock = Some(Clock { domain: Domain::Cycles, hertz: 84_000_000, resolution: 1 });
    // Each begins 2 cycles after its pulse does, or a little later, and ends 2 before, or a little
    // earlier.
    case.series = vec![
        series("full", Role::Measured, &[(0.0, 96.0), (301.0, 134.0), (600.0, 116.0)]),
        series(&by_pin("full"), Role::Pin, &[(0.0, 100.0), (300.0, 140.0), (600.0, 120.0)]),
    ];
    case.attachments.insert(CAPTURE.into(), String::from_utf8(dump).unwrap());
    case
}

#[test]
fn widths_are_measured_on_the_pin_that_shows_a_series() {
    let text = page_of(&run_of(vec![case(&capture())]));
    assert_eq!(charts(&text, "waveform"), 1);
    for words in [
        "D0: full",
        "the first 3 of 3",
        "the widest: number 2",
        "140 cycles · 1.67 µs",
        "cycles · 11.9 ns each",
        "data-t=\"irq: 59 cycles · 702 ns\"",
        "data-t=\"by the timer, number 2: 134 cycles\"",
        "<td>3</td><td>1600 cycles</td><td>120 cycles</td><td>1.43 µs</td><td>116 cycles</td>",
    ] {
        assert!(text.contains(words), "no {words}");
    }
}

#[test]
fn marks_lie_within_their_pulses_or_are_not_shown() {
    let (capture, mut case) = (capture(), case(&capture()));
    {
        let focus = Focus::find(&case, &capture).unwrap();
        let timebase = Timebase::new(&case, &capture);
        let marks = focus.marks(&timebase).expect("they fit");
        // The first begins between 1000 and 1003: the second, 301 later, must end by 1440, and is
        // 134 long.
        assert_eq!((marks.spans[0], marks.uncertainty), ((1_002.0, 1_098.0), 2.0));
    }
    case.series[0].samples[1].1 = 141.0;
    let focus = Focus::find(&case, &capture).unwrap();
    assert!(focus.marks(&Timebase::new(&case, &capture)).is_none(), "longer than its pulse");
    case.series[0].samples.truncate(2);
    let focus = Focus::find(&case, &capture).unwrap();
    assert!(focus.marks(&Timebase::new(&case, &capture)).is_none(), "not all were kept");
}

#[test]
fn samples_may_go_from_edge_to_edge() {
    let (capture, mut case) = (capture(), case(&capture()));
    case.series[1].by_repetition[0] =
        Repetition { count: 5, min: 100.0, p50: 0.0, p99: None, p999: None, max: 200.0, mean: 0.0 };
    let focus = Focus::find(&case, &capture).unwrap();
    let widths: Vec<u64> = focus.samples.iter().map(|sample| sample.width).collect();
    assert_eq!(widths, [100, 200, 140, 160, 120]);
}

#[test]
fn pins_that_show_no_series_are_read_by_themselves() {
    let (mut capture, mut case) = (capture(), case(&capture()));
    case.series[1].by_repetition[0].max = 1e6;
    // The handler of the first does not come before the line rises again.
    capture.channels[0].edges = vec![1_300, 1_440, 1_600, 1_720];
    let widths =
        |focus: &Focus<'_>| focus.samples.iter().map(|sample| sample.width).collect::<Vec<_>>();
    let focus = Focus::find(&case, &capture).unwrap();
    assert_eq!((focus.source.as_str(), widths(&focus)), ("irq to D0", vec![9, 9]));
    capture.channels.retain(|channel| channel.name != "irq");
    let focus = Focus::find(&case, &capture).unwrap();
    assert_eq!((focus.source.as_str(), widths(&focus)), ("D0", vec![140, 120]));
    assert!(focus.series.is_none() && focus.names().is_empty());
}

#[test]
fn a_capture_that_cannot_be_drawn_has_a_remark() {
    let mut cases = vec![case(&capture()), case(&capture()), case(&capture())];
    let broken = cases[0].attachments[CAPTURE].replace("#1100", "#9");
    cases[0].attachments.insert(CAPTURE.into(), broken);
    cases[1].attachments.insert(CAPTURE.into(), "<script>alert(1)</script>".to_owned());
    let mut quiet = capture();
    quiet.channels.iter_mut().for_each(|channel| channel.edges.clear());
    cases[2] = case(&quiet);
    let text = page_of(&run_of(cases));
    assert_eq!(
        (charts(&text, "waveform"), text.matches("its capture cannot be read: ").count()),
        (0, 2)
    );
    assert!(text.contains("time goes back, from #1050 to #9"));
    assert!(
        text.contains("no pin of its capture shows a whole sample")
            && text.matches("<script").count() == 1
    );
}

/// A hundred pins and more, two of them with `factor` times 5,000 and 10,000 edges.
fn many_edges(factor: u64) -> CaseResult {
    let mut capture = capture();
    capture.end = 30_000 * factor;
    let name = "<b>D\u{202e}9".to_owned();
    let edges = (900..10_000 * factor + 900).collect();
    capture.channels.push(Channel { name, initial: true, edges });
    capture.channels[0].edges = (0..5_000 * factor).map(|index| 1_000 + 5 * index).collect();
    let more = (0..100).map(|index| Channel {
        name: format!("E{index}"),
        initial: false,
        edges: vec![1_001],
    });
    capture.channels.extend(more);
    case(&capture)
}

#[test]
fn a_million_edges_make_a_small_picture() {
    let picture = |run: &Run| {
        let subjects = [super::super::panel::Subject { name: String::new(), run }];
        let (figures, remarks) = figures(&ProvenCase::all("switch", &subjects));
        (figures[0].html().0, remarks)
    };
    let (html, remarks) = picture(&run_of(vec![many_edges(100)]));
    assert!(html.len() < 60_000 && remarks.is_empty(), "{} bytes, {remarks:?}", html.len());
    assert!(html.contains("91 more pins change") && !html.contains("<b>"), "{html}");
    let runs = [1, 10].map(|factor| run_of(vec![many_edges(factor)]));
    let growth = tenfold(|factor| picture(&runs[usize::from(factor == 10)]));
    assert!(growth < LIMIT, "ten times the edges take {growth} times the work");
}

#[test]
fn extremes_break_no_picture() {
    let mut shown = case(&capture());
    let dump = "$timescale 100 s $end $var wire 1 ! D0 $end $enddefinitions $end #0 0! #1 1! #18446744073709551614 0!";
    shown.attachments.insert(CAPTURE.into(), dump.to_owned());
    shown.series[0].samples = vec![(f64::NAN, f64::INFINITY); 3];
    shown.series[1].per = 0.0;
    for domain in [Domain::Wall, Domain::Cycles] {
        shown.clock = Some(Clock { domain, hertz: 0, resolution: 1 });
        let text = page_of(&run_of(vec![shown.clone()]));
        for wrong in ["=\"NaN", "MNaN", "LNaN", "Minf", "=\"inf"] {
            assert!(!text.contains(wrong), "{wrong}");
        }
    }
}

#[test]
fn functions_have_one_colour_in_all_bars() {
    let spent = |name: &str, cycles| Spent { name: name.into(), cycles, retired: cycles / 2 };
    let mut cases: Vec<CaseResult> = ["tandem@ibex", "bare@ibex"]
        .map(|target| CaseResult { target: target.into(), ..case(&capture()) })
        .to_vec();
    let evil = "<script>alert(1)</script>::".to_owned() + &"f".repeat(100_000);
    let rows = vec![spent("handler", 300), spent(&evil, 200), spent("entry", 40)];
    cases[0].cycles = Some(Cycles { windows: 10, total: 540, asleep: 0, rows });
    cases[1].cycles = Some(Cycles {
        windows: 10,
        total: 90,
        asleep: 0,
        rows: vec![spent("entry", 50), spent("handler", 40)],
    });
    let text = page_of(&run_of(cases.clone()));
    assert_eq!(charts(&text, "cycles"), 1);
    let colour = |tip: &str| {
        let (before, _) = text.split_once(tip).unwrap_or_else(|| panic!("no {tip}"));
        let (_, class) = before.rsplit_once("class=\"m ").unwrap();
        class.split('"').next().unwrap().to_owned()
    };
    assert_eq!(colour("handler: 30 cycles of 54"), colour("handler: 4 cycles of 9"));
    assert_eq!(colour("entry: 4 cycles of 54"), colour("entry: 5 cycles of 9"));
    assert_ne!(colour("entry: 5 cycles of 9"), colour("handler: 4 cycles of 9"));
    assert!(
        text.matches("<script").count() == 1
            && text.contains("<td>handler</td><td>tandem@ibex</td><td>30</td>")
    );
    for (windows, total) in [(0, 7), (u64::MAX, 0), (1, u64::MAX)] {
        cases[0].cycles =
            Some(Cycles { windows, total, asleep: 0, rows: vec![spent("f", u64::MAX); 9] });
        page_of(&run_of(cases.clone()));
    }
}
