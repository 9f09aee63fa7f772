//! Tests of the virtual analyser on captures in memory.

use crate::{Analyser, Capture, Channel, Resampled, Sampling, Source, Tick};

fn capture(hertz: u64, end: u64, edges: &[u64]) -> Capture {
    Capture {
        source: "made up".to_owned(),
        tick: Tick::from_hertz(hertz).unwrap(),
        sampling: Sampling::Exact,
        start: 0,
        end,
        channels: vec![Channel { name: "D0".to_owned(), initial: false, edges: edges.to_vec() }],
    }
}

fn sampled(capture: &Capture, hertz: u64, phase: f64) -> (Vec<u64>, u64) {
    let seen = capture.resample(Analyser::new(hertz, phase).unwrap()).unwrap();
    assert_eq!((seen.tick, seen.sampling), (Tick::from_hertz(hertz).unwrap(), Sampling::At(hertz)));
    (seen.channels[0].edges.clone(), seen.end)
}

#[test]
fn an_edge_is_seen_by_the_next_sample() {
    // Samples are at 0, 500, 1000 ns …, with a phase of 0.25 each 125 ns later.
    let exact = capture(1_000_000_000, 10_000, &[500, 7_001, 8_100, 8_600]);
    assert_eq!(sampled(&exact, 2_000_000, 0.0), (vec![1, 15, 17, 18], 20));
    assert_eq!(sampled(&exact, 2_000_000, 0.25), (vec![1, 14, 16, 17], 19));
    // A clock that is no multiple of the sampling rate: 8.4 cycles a sample.
    assert_eq!(
        sampled(&capture(84_000_000, 90, &[8, 9, 42, 84]), 10_000_000, 0.0),
        (vec![1, 2, 5, 10], 10)
    );
}

#[test]
fn a_pulse_shorter_than_a_sample_may_be_lost() {
    let exact = capture(1_000_000_000, 3_000, &[1_100, 1_200, 1_900, 2_100]);
    let mut source = Resampled::new(
        Box::new(exact.clone().into_source()),
        Analyser::new(2_000_000, 0.0).unwrap(),
    )
    .unwrap();
    assert_eq!(Capture::collect(&mut source).unwrap().channels[0].edges, [4, 5]);
    assert_eq!(source.unseen(), 1);
    // An edge after the last sample is not seen; one before the first sample sets the initial
    // level.
    assert_eq!(sampled(&capture(1_000_000_000, 1_900, &[100, 1_800]), 1_000_000, 0.5), (vec![], 1));
}

#[test]
fn resampling_is_refused_with_a_reason() {
    let exact = capture(1_000_000_000, 100, &[]);
    let why = |capture: &Capture| {
        let analyser = Analyser::new(2_000_000, 0.5).unwrap();
        capture.resample(analyser).unwrap_err().to_string()
    };
    assert_eq!(why(&exact), "it is shorter than one sample");
    assert!(
        why(&Capture { sampling: Sampling::At(24), ..exact }).contains("sampled already, at 24 Hz")
    );
    assert!(
        Analyser::new(1, 1.0).is_err()
            && Analyser::new(1, -0.1).is_err()
            && Analyser::new(1, f64::NAN).is_err()
    );
}
