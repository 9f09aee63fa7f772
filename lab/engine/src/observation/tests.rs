//! The verdict on a case that did not run to its end: the rules of `docs/method.md`.

use std::{io, time::Duration};

use chronoscope_suite::{
    Reason,
    wire::{Clock, Domain, Evidence, Pin, Record, Sample, Samples, Series, Unit},
};

use super::{MAX_ATTACHED, Observation, Recordings};
use crate::{case::Case, case::Plan, case::expand, case::experiment};
use chronoscope_machine::Machines;
use chronoscope_run::{Late, Soak, Status, Verdict, names::RUNS};

fn case() -> Case {
    case_of("switch")
}

fn case_of(name: &str) -> Case {
    let target = "linux@host".parse().unwrap();
    let spec = experiment(name).unwrap();
    expand(&Machines::default(), spec, &target, &Default::default(), &Plan::default())
        .unwrap()
        .remove(0)
}

const CLOCK: Clock = Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 1 };

/// Observes a repetition that passes.
fn repetition(observation: &mut Observation) {
    let evidence = Evidence { name: "switches", value: 1.0, low: 1.0, high: f64::INFINITY };
    let block = (0..28).map(|_| Sample { gap: 1, value: 100 }).collect();
    for record in [
        Record::Clock(CLOCK),
        Record::Series(Series::measured("switch")),
        Record::Samples(Samples { series: 0, block }),
        Record::Evidence(evidence),
        Record::End { records: 5 },
    ] {
        observation.take(&record).unwrap();
    }
}

fn refused(reason: Reason, code: i32) -> Record<'static> {
    Record::Refused { reason, what: "the mechanism", mend: "the mend", code }
}

fn inconclusive(reason: &str) -> Verdict {
    Verdict::new(Status::Inconclusive, reason)
}

type End = fn(&mut Observation);

/// A row of the table of rules, the end of a case, and its verdict.
fn rules() -> [(&'static str, End, Verdict); 5] {
    let not_permitted = io::Error::from_raw_os_error(1);
    [
        (
            "The set-up fails: a program is missing, or a build or a download failed.",
            |observation| observation.fail_set_up("qemu is not installed".to_owned()),
            Verdict::new(Status::Error, "qemu is not installed"),
        ),
        (
            "The kernel does not have the mechanism.",
            |observation| observation.take(&refused(Reason::NotOffered, 0)).unwrap(),
            Verdict::new(Status::NotOffered, "the mechanism: the mend"),
        ),
        (
            "The kernel refuses the mechanism: permission is missing.",
            |observation| observation.take(&refused(Reason::NotPermitted, 1)).unwrap(),
            inconclusive(&format!("the mechanism ({not_permitted}): the mend")),
        ),
        (
            "The target fails while it prepares or runs the case.",
            |observation| observation.take(&refused(Reason::Failed, 0)).unwrap(),
            inconclusive("the mechanism: the mend"),
        ),
        (
            "The port ends, hangs or sends a broken stream.",
            |observation| observation.fail("the stream was cut short".to_owned()),
            inconclusive("the stream was cut short"),
        ),
    ]
}

#[test]
fn a_case_that_did_not_run_to_its_end_is_not_judged() {
    for (rule, end, verdict) in rules() {
        // Complete repetitions before the end change nothing.
        for repetitions in 0..3 {
            let mut observation = Observation::new(&case(), false);
            (0..repetitions).for_each(|_| repetition(&mut observation));
            assert!(!observation.is_refused());
            end(&mut observation);
            assert!(observation.is_refused(), "{rule}");
            assert_eq!(observation.finish(&case()).judged().verdict, verdict, "{rule}");
        }
    }
    let mut whole = Observation::new(&case(), false);
    repetition(&mut whole);
    assert_eq!(whole.finish(&case()).judged().verdict.status, Status::Pass);
}

/// A port's own refusal takes precedence over a failure at its end.
#[test]
fn the_first_reason_for_the_end_stays() {
    let mut observation = Observation::new(&case(), false);
    observation.take(&refused(Reason::NotOffered, 0)).unwrap();
    observation.fail("the port failed".to_owned());
    assert_eq!(observation.finish(&case()).judged().verdict.status, Status::NotOffered);
    let mut observation = Observation::new(&case(), false);
    observation.fail("one".to_owned());
    observation.fail("two".to_owned());
    assert_eq!(observation.finish(&case()).judged().verdict, inconclusive("one"));
}

/// A single repetition without evidence makes the case inconclusive, whatever the later ones prove.
#[test]
fn evidence_must_hold_in_every_repetition() {
    let of = |values: &[f64]| {
        let mut observation = Observation::new(&case(), false);
        for value in values {
            repetition(&mut observation);
            let evidence = Evidence { name: "rounds", value: *value, low: 12.0, high: 12.0 };
            observation.take(&Record::Evidence(evidence)).unwrap();
        }
        let verdict = observation.finish(&case()).judged().verdict;
        (verdict.status, verdict.reasons.join("; "))
    };
    assert_eq!(of(&[12.0, 12.0, 12.0]), (Status::Pass, String::new()));
    for values in [[11.0, 12.0, 12.0], [12.0, 11.0, 12.0], [12.0, 12.0, 11.0], [11.0, 12.0, 13.0]] {
        let (status, reason) = of(&values);
        assert_eq!((status, reason.as_str()), (Status::Inconclusive, "rounds: 11, not 12"));
    }
    assert_eq!(of(&[13.0]), (Status::Inconclusive, "rounds: 13, not 12".to_owned()));
}

/// A figure is the median of the repetitions with its range, from which a limit takes the worst.
#[test]
fn a_figure_keeps_its_worst_repetition() {
    let of = |values: &[f64]| {
        let mut observation = Observation::new(&case(), false);
        for value in values {
            let figure = Record::Figure { name: "steal", unit: "ms", value: *value };
            observation.take(&figure).unwrap();
        }
        let figure = observation.finish(&case()).judged().figures.remove(0);
        (figure.name, figure.value, figure.min, figure.max)
    };
    assert_eq!(of(&[0.0, 20.0, 0.0]), ("steal".into(), 0.0, 0.0, 20.0));
    assert_eq!(of(&[3.0, -1.0, 2.0]), ("steal".into(), 2.0, -1.0, 3.0));
}

#[test]
fn the_rules_are_those_of_the_method() {
    let head = "| a case that did not run to its end | verdict |\n|---|---|\n";
    let method = include_str!("../../../../docs/method.md");
    let (_, table) = method.split_once(head).expect("docs/method.md has the table");
    let documented: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    let tested =
        rules().map(|(rule, _, verdict)| format!("| {rule} | {} |", verdict.status.words()));
    assert_eq!(documented, tested);
}

/// A repetition of one series: a value of 100 in each of three samples, one tick apart.
fn plain(observation: &mut Observation, series: Series<'static>, clock: Clock, ends: bool) {
    let block = (0..3).map(|_| Sample { gap: 1, value: 100 }).collect();
    observation.take(&Record::Clock(clock)).unwrap();
    observation.take(&Record::Series(series)).unwrap();
    observation.take(&Record::Samples(Samples { series: 0, block })).unwrap();
    if ends {
        observation.take(&Record::End { records: 3 }).unwrap();
    }
}

#[test]
fn values_are_in_the_unit_and_by_operation() {
    // Ticks of 2 ns; five operations a sample.
    let clock = Clock { hertz: 500_000_000, ..CLOCK };
    for (unit, value) in [(Unit::Ticks, 40.0), (Unit::Count, 20.0)] {
        let series = || Series { unit, per: 5.0, ..Series::measured("switch") };
        let mut observation = Observation::new(&case(), true);
        // The times of samples begin anew in each repetition, also after one that was dropped.
        plain(&mut observation, series(), clock, true);
        plain(&mut observation, series(), clock, true);
        let before = observation.checkpoint();
        plain(&mut observation, series(), clock, false);
        observation.restore(before);
        plain(&mut observation, series(), clock, true);
        let result = observation.finish(&case()).judged();
        let [one] = result.series.as_slice() else { panic!("{:?}", result.series) };
        assert_eq!((one.summary.p50, one.per), (Some(value), 5.0));
        assert_eq!(one.histogram, [(value, 9)]);
        let times = [2.0, 4.0, 6.0, 2.0, 4.0, 6.0, 2.0, 4.0, 6.0];
        assert_eq!(one.samples, times.map(|at| (at, value)));
    }
}

#[test]
fn a_case_has_as_many_series_as_a_stream_numbers() {
    let mut observation = Observation::new(&case(), false);
    observation.take(&Record::Clock(CLOCK)).unwrap();
    for id in 0..=u8::MAX {
        let name = format!("mark {id}");
        let announced = Series { id, ..Series::measured(&name) };
        observation.take(&Record::Series(announced)).unwrap();
    }
    observation.take(&Record::End { records: 0 }).unwrap();
    let more = Record::Series(Series::measured("one more"));
    let error = observation.take(&more).unwrap_err().to_string();
    assert_eq!(error, "more than 256 series");
    assert_eq!(observation.finish(&case()).judged().series.len(), 256);
}

/// Misses are kept with their times, of complete repetitions alone, and the first thousand of each.
#[test]
fn misses_are_kept_with_their_times() {
    let case = Case { deadline: Some(100.0), ..case_of("period") };
    let mut observation = Observation::new(&case, false);
    let mut repeat = |values: &[u64], ends| {
        observation.take(&Record::Clock(CLOCK)).unwrap();
        observation.take(&Record::Series(Series::measured("task 1"))).unwrap();
        for block in values.chunks(28) {
            let block = block.iter().map(|value| Sample { gap: 10, value: *value }).collect();
            observation.take(&Record::Samples(Samples { series: 0, block })).unwrap();
        }
        if ends {
            observation.take(&Record::End { records: 3 }).unwrap();
        }
    };
    repeat(&[100, 101, 7, 300], true);
    repeat(&[5; 3], true);
    repeat(&[200; 1_200], true);
    repeat(&[200], false);
    let late = &observation.finish(&case).judged().series[0].late;
    let first = Late { until: 40.0, misses: vec![(20.0, 101.0), (40.0, 300.0)] };
    assert_eq!(late[..2], [first, Late { until: 30.0, misses: Vec::new() }]);
    assert_eq!((late.len(), late[2].misses.len(), late[2].until), (3, 1_000, 12_000.0));
}

/// A soak of a day at 1 kHz, on its bounds: every kept sample is there, and a bucket of the histogram
/// for every length up to a minute.
#[test]
fn the_result_of_a_soak_is_bounded() {
    let case = Case { deadline: Some(100e3), ..case_of("period") };
    let case = case.soaked(&Machines::default(), Duration::from_secs(86_400), 1).unwrap();
    let mut observation = Observation::new(&case, false);
    observation.take(&Record::Clock(CLOCK)).unwrap();
    observation.take(&Record::Series(Series::measured("task 1"))).unwrap();
    let lengths = (0..).map(|step: i32| 1.0007_f64.powi(step)).take_while(|ns| *ns < 60e9);
    let misses = std::iter::repeat_n(59.9e9, 120_000);
    let values: Vec<u64> = lengths.chain(misses).map(|ns| ns as u64).collect();
    for block in values.chunks(28) {
        let block = block.iter().map(|&value| Sample { gap: 1_000_000, value }).collect();
        observation.take(&Record::Samples(Samples { series: 0, block })).unwrap();
    }
    observation.take(&Record::End { records: 0 }).unwrap();
    let result = observation.finish(&case).judged();
    let series = &result.series[0];
    let soak = series.soak.as_ref().unwrap();
    let of_count = series.misses.unwrap().misses;
    assert_eq!((soak.largest.len(), soak.misses.len()), (10_000, 100_000));
    assert_eq!(soak.misses_left_out, of_count - 100_000);
    assert_eq!(series.summary.count, values.len() as u64);
    assert!(soak.misses.is_sorted_by(|one, other| one.0 < other.0));
    assert!(series.histogram.len() > 20_000, "{}", series.histogram.len());
    let size = serde_json::to_string_pretty(&result).unwrap().len();
    assert!(size < 20_000_000, "{size} bytes");
}

/// Only measured series of a soak keep samples, and only from complete repetitions.
#[test]
fn what_a_soak_keeps_belongs_to_whole_repetitions() {
    let case = case_of("period").soaked(&Machines::default(), Duration::from_secs(1), 2).unwrap();
    assert_eq!((case.repeat, case.soak()), (2, Some(Duration::from_secs(1))));
    let mut observation = Observation::new(&case, false);
    plain(&mut observation, Series::measured("task 1"), CLOCK, true);
    let before = observation.checkpoint();
    plain(&mut observation, Series::measured("task 1"), CLOCK, false);
    assert_eq!(observation.worst().map(|(worst, _)| worst), Some(100.0));
    observation.restore(before);
    plain(&mut observation, Series::auxiliary("beside"), CLOCK, true);
    let kept: Vec<_> =
        observation.finish(&case).judged().series.into_iter().map(|one| one.soak).collect();
    let three = vec![(1.0, 100.0), (2.0, 100.0), (3.0, 100.0)];
    let soak = Soak { largest: three, misses: Vec::new(), misses_left_out: 0 };
    assert_eq!(kept, [Some(soak), None]);
}

#[test]
fn the_finest_step_of_the_clock_counts() {
    let mut observation = Observation::new(&case(), false);
    for resolution in [9, 5, 7] {
        observation.take(&Record::Clock(Clock { resolution, ..CLOCK })).unwrap();
    }
    let other = Clock { domain: Domain::Cycles, ..CLOCK };
    let error = observation.take(&Record::Clock(other)).unwrap_err().to_string();
    assert!(error.contains("the target's clock changed"), "{error}");
    assert_eq!(observation.finish(&case()).judged().clock.unwrap().resolution, 5);
}

#[test]
fn evidence_has_a_finite_lower_bound() {
    for (low, high) in
        [(f64::NEG_INFINITY, 1.0), (f64::INFINITY, f64::INFINITY), (f64::NAN, 1.0), (0.0, f64::NAN)]
    {
        let evidence = Evidence { name: "switches", value: 1.0, low, high };
        let taken = Observation::new(&case(), false).take(&Record::Evidence(evidence));
        let error = taken.unwrap_err().to_string();
        assert_eq!(error, "evidence `switches` is no number", "{low} {high}");
    }
}

#[test]
fn attachments_are_kept_up_to_their_limit() {
    let mut observation = Observation::new(&case(), false);
    let half = vec![b'a'; MAX_ATTACHED / 2];
    for bytes in [&half[..], &half, b"b"] {
        observation.take(&Record::Attachment { name: "trace", bytes }).unwrap();
    }
    let result = observation.finish(&case()).judged();
    assert_eq!(result.attachments["trace"].len(), MAX_ATTACHED);
    assert_eq!(result.log, ["attachments beyond 16 MiB were left out"]);
}

/// The recordings of the first repetition are kept.
#[test]
fn later_recordings_replace_nothing() {
    let mut observation = Observation::new(&case(), false);
    for runs in ["first", "second"] {
        plain(&mut observation, Series::measured("switch"), CLOCK, true);
        let seen = Recordings { runs: Some(runs.to_owned()), ..Recordings::default() };
        observation.record(&seen).unwrap();
    }
    assert_eq!(observation.finish(&case()).judged().attachments[RUNS], "first");
}

#[test]
fn a_repetition_that_is_dropped_takes_its_refusal_and_its_words_with_it() {
    let mut observation = Observation::new(&case(), false);
    repetition(&mut observation);
    let trace = |bytes: &'static [u8]| Record::Attachment { name: "trace", bytes };
    observation.take(&trace(b"one")).unwrap();
    let before = observation.checkpoint();
    observation.take(&trace(b" and half")).unwrap();
    observation.take(&refused(Reason::Failed, 0)).unwrap();
    assert!(observation.is_refused());
    observation.restore(before);
    assert!(!observation.is_refused());
    let result = observation.finish(&case()).judged();
    assert_eq!(result.attachments["trace"], "one");
    assert_eq!(result.verdict.status, Status::Pass);
}

/// Both instruments must have seen the same number of samples: neither more pulses nor fewer.
#[test]
fn pulses_are_as_many_as_samples() {
    for (pulses, holds) in [(2, false), (3, true), (4, false)] {
        let mut observation = Observation::new(&case(), false);
        let series = Series { pin: Some(Pin::Pulse(0)), ..Series::measured("switch") };
        plain(&mut observation, series, CLOCK, true);
        let edges: String = (1..=pulses).map(|at| format!("#{at}00 1!\n#{at}10 0!\n")).collect();
        let dump = format!(
            "$timescale 1ns $end $scope module pins $end $var wire 1 ! D0 $end $upscope $end \
             $enddefinitions $end\n#0 0!\n{edges}"
        );
        let seen = Recordings { capture: Some(dump.into_bytes()), ..Recordings::default() };
        observation.record(&seen).unwrap();
        let evidence = observation.finish(&case()).judged().evidence;
        let [one] = evidence.as_slice() else { panic!("{evidence:?}") };
        assert_eq!((one.value, one.holds), (f64::from(pulses), holds));
    }
}
