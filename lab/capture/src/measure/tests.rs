//! The error bound of each row, and a check that no value is further off.

use proptest::{collection::vec, prelude::*};

use super::{Analysis, Measure, Request, analyse};
use crate::{Analyser, Capture, Channel, Sampling, Source, Tick};

/// The rounding of a duty, to a millionth of a period, in percent.
const ROUNDED: f64 = 1e-4;

/// A capture in ns of a channel that starts low, with edges at these times.
fn capture(sampling: Sampling, edges: &[u64]) -> Capture {
    let channel = |name: &str, edges: &[u64]| Channel {
        name: name.to_owned(),
        initial: false,
        edges: edges.to_vec(),
    };
    Capture {
        source: "made up".to_owned(),
        tick: Tick::NANOSECOND,
        sampling,
        start: 0,
        end: edges.last().unwrap() + 1_000,
        channels: vec![channel("D0", edges), channel("D1", &[])],
    }
}

fn measured(source: &mut dyn Source) -> Analysis {
    let request = Request {
        channels: vec!["D0".to_owned()],
        measures: Measure::ALL.to_vec(),
        latency: Some(("rise:D0".parse().unwrap(), "fall:D0".parse().unwrap())),
        ..Request::default()
    };
    analyse(source, &request).unwrap()
}

#[test]
fn the_error_of_each_measure_follows_from_the_rate() {
    // Two periods, the shorter one of 800 ns.
    let edges = [100, 400, 1_100, 1_400, 1_900, 2_200];
    let rows = |sampling| {
        let rows = measured(&mut capture(sampling, &edges).into_source()).rows;
        rows.iter().map(|row| (row.measure, row.error)).collect::<Vec<_>>()
    };
    let sample = 50.0;
    let table = [
        ("latency", sample),
        ("width", sample),
        ("low", sample),
        ("period", sample),
        ("jitter", 2.0 * sample),
        ("duty", 100.0 * sample / 800.0),
        ("edges", sample),
    ];
    assert_eq!(rows(Sampling::At(20_000_000)), table.map(|(name, error)| (name, Some(error))));
    assert_eq!(rows(Sampling::Exact), table.map(|(name, _)| (name, Some(0.0))));
    assert_eq!(rows(Sampling::Unknown), table.map(|(name, _)| (name, None)));
}

#[test]
fn jitter_can_be_off_by_more_than_a_sample() {
    let edges = [1, 21, 40, 61, 91, 111];
    let exact = capture(Sampling::Exact, &edges);
    let sampled = exact.resample(Analyser::new(100_000_000, 0.0).unwrap()).unwrap();
    let jitter = |capture: Capture| {
        let rows = measured(&mut capture.into_source()).rows;
        let row = rows.into_iter().find(|row| row.measure == "jitter").unwrap();
        (row.statistics.summary.max, row.error)
    };
    assert_eq!(jitter(exact), (Some(12.0), Some(0.0)));
    assert_eq!(jitter(sampled), (Some(30.0), Some(20.0)));
}

/// The request for one latency, from its start to its end.
fn from_to(start: &str, end: &str) -> Request {
    let latency = Some((start.parse().unwrap(), end.parse().unwrap()));
    Request { latency, ..Request::default() }
}

#[test]
fn a_file_has_at_most_64_rows() {
    let rows = |count: usize| {
        let channels = vec!["D0".to_owned(); count];
        let request = Request { channels, measures: vec![Measure::Width], ..Request::default() };
        let source = &mut capture(Sampling::Exact, &[100, 200]).into_source();
        analyse(source, &request).map(|analysis| analysis.rows.len())
    };
    assert_eq!(rows(64).unwrap(), 64);
    assert!(rows(65).unwrap_err().to_string().contains("which would make 65 rows"));
}

#[test]
fn an_edge_is_either_a_start_or_an_end() {
    let ask = |start: &str, end: &str| {
        let source = &mut capture(Sampling::Exact, &[100, 200]).into_source();
        analyse(source, &from_to(start, end)).map(|_| ()).map_err(|error| error.to_string())
    };
    for (start, end) in [
        ("edge:D0", "fall:D0"),
        ("rise:D0", "edge:D0"),
        ("rise:D0", "rise:D0"),
        ("edge:D0", "edge:D0"),
    ] {
        let told = format!("an edge of {start} is one of {end} too");
        assert!(ask(start, end).unwrap_err().contains(&told), "{start} {end}");
    }
    for (start, end) in [("rise:D0", "fall:D0"), ("edge:D0", "edge:D1"), ("rise:D0", "rise:D1")] {
        assert_eq!(ask(start, end), Ok(()), "{start} {end}");
    }
}

#[test]
fn starts_without_an_end_are_counted() {
    let mut capture = capture(Sampling::Exact, &[100, 200, 300, 400, 500]);
    capture.channels[1].edges = vec![550];
    let analysis = analyse(&mut capture.into_source(), &from_to("rise:D0", "rise:D1")).unwrap();
    let [row] = analysis.rows.as_slice() else { panic!("{analysis:?}") };
    // Of the starts at 100, 300 and 500, the first has its end and two came before it.
    assert_eq!((row.unanswered, row.statistics.summary.count), (2, 1));
}

#[test]
fn the_length_is_from_the_first_level_to_the_last() {
    let mut capture = capture(Sampling::Exact, &[100, 200]);
    (capture.start, capture.end) = (50, 1_250);
    let analysis = analyse(&mut capture.into_source(), &Request::default()).unwrap();
    assert_eq!((analysis.length, analysis.unseen), (1_200.0, 0));
}

#[test]
fn pulses_between_two_samples_are_counted() {
    // A sample every 100 ns; the pulses at 210 and 310 fall between two.
    let exact = capture(Sampling::Exact, &[100, 205, 210, 220, 310, 320, 500, 700]);
    let analyser = Analyser::new(10_000_000, 0.0).unwrap();
    let mut seen = crate::Resampled::new(Box::new(exact.into_source()), analyser).unwrap();
    assert!(measured(&mut seen).unseen >= 2);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// If each value is off by at most the error, so are the least, the middle and the greatest.
    #[test]
    fn no_value_is_off_by_more_than_its_error(gaps in vec(100..700_u64, 3..40), phase in 0.0..1.0_f64) {
        let edges: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let exact = capture(Sampling::Exact, &edges);
        // A sample every 100 ns: no pulse is shorter.
        let sampled = exact.resample(Analyser::new(10_000_000, phase).unwrap()).unwrap();
        let (exact, sampled) = (measured(&mut exact.into_source()), measured(&mut sampled.into_source()));
        prop_assert_eq!(sampled.unseen, 0);
        for (exact, sampled) in exact.rows.iter().zip(&sampled.rows) {
            let error = sampled.error.unwrap();
            let of = |row: &super::Row| {
                let summary = &row.statistics.summary;
                (summary.count, [summary.min, summary.p50, summary.max])
            };
            let ((count, exact_values), (sampled_count, sampled_values)) = (of(exact), of(sampled));
            prop_assert_eq!(count, sampled_count, "{}", exact.measure);
            for (exact_value, sampled_value) in exact_values.into_iter().zip(sampled_values) {
                prop_assert_eq!(exact_value.is_some(), sampled_value.is_some());
                let off = exact_value.zip(sampled_value).map_or(0.0, |(a, b)| (a - b).abs());
                prop_assert!(off <= error + ROUNDED, "{}: off by {off}, error {error}", exact.measure);
            }
        }
    }
}
