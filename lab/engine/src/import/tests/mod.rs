//! Files that the tools have made, files that are written from their descriptions, and damaged ones.
//!
//! hyperfine 1.15.0 made `hyperfine.json` (`-N --runs 12`) and `hyperfine_failed.json` (`-i`), Google
//! Benchmark 1.7.1 the files of its name, criterion 0.5.1 `criterion_sample.json`, and tandem's writer
//! for SystemView, in its own test, the two recordings. The other files are written by hand.

mod traces;

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Recording, from_bytes, from_values, in_utc, is_json_of_a_tool, is_of_a_tool};
use chronoscope_run::{CaseResult, Context, Role, Status, Unit};
use chronoscope_statistics::Basis;

const HYPERFINE: &str = include_str!("../fixtures/hyperfine.json");
const FAILED: &str = include_str!("../fixtures/hyperfine_failed.json");
const GOOGLE: &str = include_str!("../fixtures/google_benchmark.json");
const AGGREGATES: &str = include_str!("../fixtures/google_benchmark_aggregates.json");
const SAMPLE: &str = include_str!("../fixtures/criterion_sample.json");
const MESSAGES: &str = include_str!("../fixtures/cargo_criterion.json");
const TIMERLAT: &str = include_str!("../fixtures/rtla_timerlat.txt");
const OSNOISE: &str = include_str!("../fixtures/rtla_osnoise.txt");
const PERF: &str = include_str!("../fixtures/perf_script.txt");
const TRACE_CMD: &str = include_str!("../fixtures/trace_cmd.txt");
const SYSTEMVIEW: &[u8] = include_bytes!("../fixtures/systemview.SVDat");
const LOST: &[u8] = include_bytes!("../fixtures/systemview_lost.SVDat");

fn values(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap).collect()
}

fn json_file(text: &str) -> Recording {
    let values = values(text);
    assert!(is_json_of_a_tool(&values[0]));
    from_values(Path::new("results.json"), &values).unwrap()
}

fn text_file(text: &str) -> Recording {
    assert!(is_of_a_tool(&text.as_bytes()[..text.len().min(512)]));
    from_bytes(text.as_bytes(), None).unwrap()
}

/// The message on values that cannot be read.
fn refused(values: &[Value]) -> String {
    let Err(error) = from_values(Path::new("results.json"), values) else { panic!("it was read") };
    format!("{error:#}")
}

fn evidence(case: &CaseResult) -> Vec<(&str, f64, bool)> {
    case.evidence.iter().map(|one| (&*one.name, one.value, one.holds)).collect()
}

/// Nearly equal: the tick is a rounded one.
fn near(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() <= 1e-3 * b)
}

#[test]
fn each_run_of_hyperfine_is_a_repetition() {
    let recording = json_file(HYPERFINE);
    let [first, second] = &*recording.cases else { panic!("two commands") };
    assert_eq!((&*first.target, &*first.experiment), ("hyperfine@import", "import"));
    assert_eq!(first.label.to_string(), "benchmark=sleep+0.01");
    assert_eq!(second.identity["benchmark"], "sleep 0.02");
    assert_eq!((first.repetitions, first.series.len()), (12, 1));
    let series = &first.series[0];
    assert_eq!((series.summary.count, series.unit, series.per), (12, Unit::Nanoseconds, 1.0));
    assert_eq!((series.by_repetition.len(), series.samples.len()), (12, 12));
    assert_eq!(series.p50_interval_basis, Basis::Repetitions);
    let own = &values(HYPERFINE)[0]["results"][0];
    let ns = |field: &str| own[field].as_f64().unwrap() * 1e9;
    assert!(near(series.summary.max, ns("max")) && near(series.summary.mean, ns("mean")));
    assert!(near(series.summary.min, ns("min")));
    assert_eq!(evidence(first), [("runs in the file", 12.0, true), ("failed runs", 0.0, true)]);
    assert_eq!(first.verdict.status, Status::Pass);
    assert!(
        (first.figure("user time").unwrap().value - own["user"].as_f64().unwrap()).abs() < 1e-9
    );
}

#[test]
fn a_command_that_fails_is_inconclusive() {
    let recording = json_file(FAILED);
    let case = &recording.cases[1];
    assert_eq!(case.label.to_string(), "benchmark=false+2 n=2");
    assert_eq!(case.verdict.status, Status::Inconclusive);
    assert_eq!(case.verdict.reasons, ["failed runs: 3, not 0"]);
}

#[test]
fn repetitions_of_google_benchmark_are_means_of_iterations() {
    let recording = json_file(GOOGLE);
    assert_eq!(recording.date.as_deref(), Some("2026-11-28T17:06:45Z"));
    assert_eq!((recording.conditions.processors, &*recording.conditions.host), (2, "vm"));
    let [short, long, bad] = &*recording.cases else { panic!("three benchmarks") };
    assert_eq!(short.label.to_string(), "benchmark=BM_copy/8");
    assert_eq!((short.repetitions, short.verdict.status), (7, Status::Pass));
    let own = values(GOOGLE);
    let entries = own[0]["benchmarks"].as_array().unwrap();
    let of = |name: &str, kind: &str, field: &str| {
        let is_it = |entry: &&Value| {
            entry["run_name"] == name
                && (entry["run_type"] == kind || entry["aggregate_name"] == kind)
        };
        entries.iter().find(is_it).unwrap()[field].as_f64().unwrap()
    };
    for case in [short, long] {
        let name = case.parameters["benchmark"].as_str();
        let [times, processor] = &*case.series else { panic!("two series") };
        assert_eq!((times.role, processor.role), (Role::Measured, Role::Auxiliary));
        assert_eq!(times.per, of(name, "iteration", "iterations"));
        assert!(near(Some(times.by_repetition[0].mean), of(name, "iteration", "real_time")));
        assert!(near(times.summary.p50, of(name, "median", "real_time")), "{name}");
        assert!(near(times.summary.mean, of(name, "mean", "real_time")), "{name}");
        assert!(near(times.summary.sigma, of(name, "stddev", "real_time")), "{name}");
        assert!(near(processor.summary.p50, of(name, "median", "cpu_time")), "{name}");
    }
    assert_eq!(bad.verdict.status, Status::Inconclusive);
    assert!(bad.verdict.reasons.iter().any(|reason| &**reason == "errors: 7, not 0"));
    assert!(bad.log.iter().any(|line| line.contains("no device")));
}

#[test]
fn aggregates_alone_have_no_series() {
    let recording = json_file(AGGREGATES);
    let case = &recording.cases[0];
    assert_eq!((case.series.len(), case.is_proven()), (0, false));
    assert_eq!(case.verdict.status, Status::Inconclusive);
    let names: Vec<&str> = case.figures.iter().map(|figure| &*figure.name).collect();
    assert_eq!(
        names,
        ["mean", "median", "stddev", "cv"].map(|name| format!("{name} of an aggregate"))
    );
    assert_eq!(case.figures[3].unit, "");
    assert!(case.log.iter().any(|line| line.contains("report_aggregates_only")));
}

#[test]
fn counters_and_units_of_google_benchmark_are_read() {
    let mut file = values(GOOGLE).remove(0);
    let entries = file["benchmarks"].as_array_mut().unwrap();
    entries.truncate(2);
    for (entry, counter) in entries.iter_mut().zip([3.0, 5.0]) {
        entry["time_unit"] = "us".into();
        entry["real_time"] = 2.5.into();
        entry["items_per_second"] = counter.into();
    }
    let case = from_values(Path::new("a"), &[file.clone()]).unwrap().cases.remove(0);
    assert!(near(case.series[0].summary.max, 2500.0));
    let figure = case.figure("items_per_second").unwrap();
    assert_eq!((figure.min, figure.max), (3.0, 5.0));
    file["benchmarks"][1]["time_unit"] = "h".into();
    assert_eq!(refused(&[file]), "BM_copy/8: its unit of time is `h`: it is one of ns, us, ms, s");
}

#[test]
fn a_skipped_repetition_has_no_time_and_says_why() {
    let mut file = values(GOOGLE).remove(0);
    let entries = file["benchmarks"].as_array_mut().unwrap();
    entries.truncate(2);
    let skipped = entries[1].as_object_mut().unwrap();
    skipped.remove("real_time");
    skipped.insert("iterations".to_owned(), 0.into());
    skipped.insert("skipped".to_owned(), true.into());
    skipped.insert("skip_message".to_owned(), "no GPU".into());
    let case = from_values(Path::new("a"), &[file]).unwrap().cases.remove(0);
    assert_eq!(case.series[0].summary.count, 1);
    assert!(case.log.iter().any(|line| &**line == "it was skipped: no GPU"), "{:?}", case.log);
    let reason = "skipped repetitions: 1, not 0";
    assert!(case.verdict.reasons.iter().any(|one| &**one == reason), "{:?}", case.verdict);
}

#[test]
fn a_sample_of_criterion_is_a_mean() {
    let path = Path::new("target/criterion/sums/of 1000/new/sample.json");
    let own = values(SAMPLE);
    let recording = from_values(path, &own).unwrap();
    let case = &recording.cases[0];
    assert_eq!(case.identity["benchmark"], "sums/of 1000");
    assert_eq!((case.repetitions, case.verdict.status), (1, Status::Pass));
    let list = |field: &str| -> Vec<f64> {
        own[0][field].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect()
    };
    let means: Vec<f64> = list("times").iter().zip(list("iters")).map(|(a, b)| a / b).collect();
    let series = &case.series[0];
    assert_eq!(series.summary.count as usize, means.len());
    assert!(near(series.summary.max, means.iter().copied().fold(0.0, f64::max)));
    assert!(near(series.summary.min, means.iter().copied().fold(f64::INFINITY, f64::min)));
    assert!(series.per > 1.0);
    for (path, name) in [("sample.json", "sample"), ("criterion/a/base/sample.json", "a")] {
        let case = from_values(Path::new(path), &own).unwrap().cases.remove(0);
        assert_eq!(case.identity["benchmark"], name);
    }
}

#[test]
fn messages_of_cargo_criterion_are_cases() {
    let recording = json_file(MESSAGES);
    let names: Vec<String> = recording.cases.iter().map(|case| case.label.to_string()).collect();
    assert_eq!(names, ["benchmark=sums/of+1000", "benchmark=sums/of+10"]);
    assert!(near(recording.cases[0].series[0].summary.max, 1030.0));
    let mut other = values(MESSAGES);
    other[1]["unit"] = "cycles".into();
    assert_eq!(refused(&other), "message 2: its unit is `cycles`: only times in ns are read");
    assert_eq!(refused(&values(MESSAGES)[2..]), "no message has a benchmark's measurement");
}

#[test]
fn a_column_of_rtla_is_a_series() {
    let recording = text_file(TIMERLAT);
    let case = &recording.cases[0];
    assert_eq!((&*case.target, case.verdict.status), ("rtla@import", Status::Pass));
    let names: Vec<&str> = case.series.iter().map(|series| &*series.name).collect();
    let all = ["interrupt, CPU 0", "thread, CPU 0", "interrupt, CPU 1", "thread, CPU 1"];
    assert_eq!(names, all);
    let [irq, thread, _, late] = &*case.series else { panic!("four columns") };
    assert_eq!(
        (irq.summary.count, irq.summary.p50, irq.summary.p90),
        (2000, Some(0.0), Some(1000.0))
    );
    // One sample is beyond the buckets: the longest.
    assert_eq!((thread.summary.count, thread.summary.max), (2001, Some(300_000.0)));
    assert_eq!((late.summary.p99, late.summary.max), (Some(7000.0), Some(31_000.0)));
    assert!(case.series.iter().all(|one| one.bursts.is_none() && one.upper_limits.is_none()));
    assert!(case.series.iter().all(|one| one.samples.is_empty()));
}

#[test]
fn samples_beyond_the_buckets_make_rtla_inconclusive() {
    let recording = text_file(OSNOISE);
    let case = &recording.cases[0];
    assert_eq!(case.verdict.status, Status::Inconclusive);
    assert_eq!(case.verdict.reasons, ["samples beyond the last bucket: 2, not 0"]);
    assert!(case.log.iter().any(|line| line.contains("the longest is 400 us")));
}

#[test]
fn damaged_texts_of_rtla_are_named() {
    for (from, to, message) in [
        ("2          99", "2          98", "CPU 0: its rows do not add up"),
        (
            "count:     2000      2001      2000      2000\n",
            "",
            "it has no line `count:`: it is cut off",
        ),
        ("31            0", "7             0", "line 9: the times do not rise"),
        ("      1700\n", "\n", "line 7: 3 numbers for 4 columns: it is cut off"),
        ("Thr-001", "Xyz-001", "column `Xyz-001`: `Xyz` is unknown"),
        ("histogram", "top", "line 1: `# RTLA timerlat top` is no histogram"),
    ] {
        let text = match from {
            "2          99" => TIMERLAT.replacen("2            99", "2            98", 1),
            _ => TIMERLAT.replacen(from, to, 1),
        };
        assert_ne!(text, TIMERLAT, "{from}");
        let Err(error) = from_bytes(text.as_bytes(), None) else { panic!("{from}: it was read") };
        assert!(format!("{error:#}").contains(message), "{from}: {error:#}");
    }
}

/// One task and a handler, whose times `tandem/src/tests/systemview.rs` has.
#[test]
fn a_recording_of_systemview_has_series_of_tasks_and_handlers() {
    let case = from_bytes(SYSTEMVIEW, None).unwrap().cases.remove(0);
    assert_eq!((&*case.target, case.verdict.status), ("systemview@import", Status::Pass));
    let samples = |name: &str| {
        case.series.iter().find(|series| *series.name == *name).unwrap().samples.clone()
    };
    let us = |pairs: &[(f64, f64)]| -> Vec<(f64, f64)> {
        pairs.iter().map(|(start, length)| (start * 1e3, length * 1e3)).collect()
    };
    assert_eq!(samples("filter, ready to running"), us(&[(248.0, 0.0), (656.0, 0.0)]));
    assert_eq!(samples("filter, on the processor"), us(&[(248.0, 308.0), (656.0, 100.0)]));
    assert_eq!(samples("handlers (handler)"), us(&[(272.0, 0.0)]));
    let load = case.figure("load of filter").unwrap();
    assert!((load.value - 100.0 * 408.0 / 756.0).abs() < 1e-9);
    assert!(case.log.iter().any(|line| line.contains("chip")), "{:?}", case.log);
    // Other programs write an empty line behind the header.
    let begin = SYSTEMVIEW.iter().position(|byte| *byte == 0).unwrap();
    let (header, packets) = SYSTEMVIEW.split_at(begin);
    let same = from_bytes(&[header, b"\n", packets].concat(), None).unwrap().cases.remove(0);
    assert_eq!(same.series.len(), case.series.len());
}

#[test]
fn lost_packets_make_a_recording_inconclusive() {
    let case = from_bytes(LOST, None).unwrap().cases.remove(0);
    assert_eq!(case.verdict.status, Status::Inconclusive);
    assert_eq!(case.verdict.reasons, ["packets that were lost: 4, not 0"]);
}

#[test]
fn every_cut_of_a_recording_is_named_or_between_packets() {
    let refused = (0..SYSTEMVIEW.len()).filter(|end| {
        let Err(error) = from_bytes(&SYSTEMVIEW[..*end], None) else { return false };
        one_line(&error);
        true
    });
    // Twelve packets of events follow the description, with at most eight bytes each.
    assert!(refused.count() > SYSTEMVIEW.len() - 30);
    let message = |bytes: &[u8]| {
        let Err(error) = from_bytes(bytes, None) else { panic!("it was read") };
        format!("{error:#}")
    };
    let end = SYSTEMVIEW.len() - 1;
    assert!(message(&SYSTEMVIEW[..end]).ends_with("the recording is cut in a packet"));
    assert!(message(&[0; 12]).contains("record from the program's start"));
    assert!(message(b"; another file\n").contains("does not name SystemView"));
    let several =
        [b"; SystemView\n; ESP_Extension\n\n", &SYSTEMVIEW[SYSTEMVIEW.len() - 200..]].concat();
    assert!(message(&several).contains("packets of several processors"));
    let later = [&[0; 10][..], &[23, 0]].concat();
    assert!(message(&later).starts_with("byte 10: packet 23 is of a later version"));
    let endless = [&[0; 10][..], &[4, 255, 255, 255, 255, 255, 1]].concat();
    assert!(message(&endless).starts_with("byte 10: a number has no end"));
}

#[test]
fn damaged_values_are_named() {
    let one = |field: &str, value: Value| {
        let mut file = values(HYPERFINE).remove(0);
        file["results"][1][field] = value;
        refused(&[file])
    };
    assert_eq!(one("times", json!([0.1, "x"])).split(": ").last(), Some("value 2 is no number"));
    assert!(one("times", json!([])).starts_with("result 2: only a summary"));
    assert_eq!(one("times", json!([-1.0])), "result 2: -1000000000 ns is no time");
    assert_eq!(one("exit_codes", json!([0])), "result 2: 1 exit codes of 12 runs: export it again");
    assert!(one("command", json!("sleep 0.01")).contains("there twice"));
    let twice = [values(HYPERFINE), values(HYPERFINE)].concat();
    assert!(refused(&twice).contains("from a file of its own"));
    assert_eq!(refused(&[json!({ "results": [] })]), "it has no result");
    assert_eq!(refused(&[json!({ "context": {}, "benchmarks": [] })]), "it has no benchmark");
    let uneven = json!({ "iters": [1, 2], "times": [10.0] });
    assert_eq!(refused(&[uneven]), "2 numbers of iterations for 1 samples");
}

#[test]
fn a_run_of_chronoscope_is_of_no_tool() {
    let run = json!({ "schema": 2, "cases": [], "context": {}, "benchmarks": [], "results": [] });
    assert!(!is_json_of_a_tool(&run));
    assert!(!is_json_of_a_tool(&json!({ "results": [{ "name": "x" }] })));
    assert!(!is_of_a_tool(b"{\"schema\":2}"));
}

#[test]
fn a_run_says_where_it_comes_from() {
    let context = || Context { date: "2026-12-01T00:00:00Z".into(), ..Context::default() };
    let origin = |changed| super::Origin {
        path: Path::new("far/results.json"),
        changed,
        uuid: "0b7e1c52-6f5a-4a51-9a57-3d1a3b1f7c10".into(),
    };
    let dated = |recording: Recording, changed| {
        let run = recording.into_run(context(), origin(changed));
        let imported = run.context.imported.unwrap();
        assert_eq!((&*imported.file, &*imported.on), ("results.json", "2026-12-01T00:00:00Z"));
        (run.context.date.to_string(), imported.dated.to_string())
    };
    let changed = Some(std::time::SystemTime::UNIX_EPOCH);
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let of_file = pair("2026-11-28T17:06:45Z", "by the file");
    assert_eq!(dated(json_file(GOOGLE), changed), of_file);
    let of_change = pair("1970-01-01T00:00:00Z", "by the file's last change");
    assert_eq!(dated(json_file(HYPERFINE), changed), of_change);
    // A time without a form, as a file's of year 292,277,026.
    let far = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1 << 53);
    assert_eq!(dated(json_file(HYPERFINE), Some(far)).1, "by the import");
    assert_eq!(dated(json_file(HYPERFINE), None), pair("2026-12-01T00:00:00Z", "by the import"));
}

#[test]
fn dates_are_in_utc() {
    let at = |text| in_utc(text).unwrap_or_default();
    assert_eq!(at("2026-11-28T00:06:45+01:30"), "2026-11-27T22:36:45Z");
    assert_eq!(at("2026-11-28T23:06:45-01:00"), "2026-11-29T00:06:45Z");
    assert_eq!(at("2026-11-28T23:06:45Z"), "2026-11-28T23:06:45Z");
    for wrong in ["2019/01/02 10:11:12", "", "2026-11-28T23:06:45+é:00", "0001-01-01T00:00:00Z"] {
        assert_eq!(in_utc(wrong), None, "{wrong}");
    }
}

fn one_line(error: &anyhow::Error) {
    let text = format!("{error:#}");
    assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
}

/// A JSON value with one part replaced.
fn replaced(text: &str, place: usize, new: &Value) -> Vec<Value> {
    let mut values = values(text);
    let mut parts: Vec<&mut Value> = values.iter_mut().collect();
    let mut seen = 0;
    while let Some(part) = parts.pop() {
        if seen == place {
            *part = new.clone();
            break;
        }
        seen += 1;
        match part {
            Value::Array(all) => parts.extend(all),
            Value::Object(all) => parts.extend(all.values_mut()),
            _ => {}
        }
    }
    values
}

proptest! {
    #[test]
    fn random_bytes_are_read_or_refused_in_one_line(bytes: Vec<u8>, head in 0..6_usize) {
        let trx = traces::trx(true, u32::MAX, traces::TURN);
        let heads: [&[u8]; 6] = [
            &TIMERLAT.as_bytes()[..130],
            &SYSTEMVIEW[..100],
            SYSTEMVIEW,
            &[],
            &trx[..60],
            traces::CTF.as_bytes(),
        ];
        let head = heads[head];
        let rate = head.starts_with(b"TXTB").then_some(1000);
        if let Err(error) = from_bytes(&[head, &bytes].concat(), rate) {
            one_line(&error);
        }
    }

    #[test]
    fn replaced_parts_are_read_or_refused_in_one_line(
        file in 0..5_usize,
        place in 0..120_usize,
        new in prop::sample::select(vec![
            json!(null), json!(-1), json!(1e300), json!(""), json!("\n"), json!([]), json!({}),
            json!([1e-300]), json!(true), json!(u64::MAX),
        ]),
    ) {
        let text = [HYPERFINE, GOOGLE, AGGREGATES, SAMPLE, MESSAGES][file];
        let values = replaced(text, place, &new);
        match from_values(Path::new("a"), &values) {
            Ok(recording) => {
                for case in &recording.cases {
                    let all = case.series.iter().filter_map(|series| series.summary.mean);
                    prop_assert!(all.into_iter().all(f64::is_finite));
                }
            }
            Err(error) => one_line(&error),
        }
    }
}

/// The lengths of a series in ns.
fn lengths(case: &CaseResult, name: &str) -> Vec<u64> {
    let series = case.series.iter().find(|series| *series.name == *name);
    let series = series.unwrap_or_else(|| panic!("no {name}"));
    let mut lengths: Vec<u64> =
        series.samples.iter().map(|(_, length)| length.round() as u64).collect();
    lengths.sort_unstable();
    lengths
}

#[test]
fn perf_s_events_give_waits_handlers_and_times_on_the_processor() {
    let case = text_file(PERF).cases.remove(0);
    assert_eq!(lengths(&case, "control loop 41, wake-up to running"), [30_000, 80_000]);
    assert_eq!(lengths(&case, "logger 42, wake-up to running"), [35_000]);
    assert_eq!(lengths(&case, "eth0 (handler)"), [12_000]);
    assert_eq!(lengths(&case, "control loop 41, on the processor"), [300_000, 400_000]);
    let waits = case.series.iter().find(|series| series.name.contains("wake-up")).unwrap();
    let runs = case.series.iter().find(|series| series.name.contains("on the processor")).unwrap();
    assert_eq!((waits.role, runs.role), (Role::Measured, Role::Auxiliary));
    let expected = [("events in the file", 13.0, true), ("events that were lost", 0.0, true)];
    assert_eq!(evidence(&case), expected);
    assert!(case.log.iter().any(|line| line.ends_with("in no series: 1")), "{:?}", case.log);
}

#[test]
fn trace_cmd_s_events_are_read_and_lost_ones_end_what_is_open() {
    let case = text_file(TRACE_CMD).cases.remove(0);
    assert_eq!(lengths(&case, "control 41, wake-up to running"), [30_000, 80_000]);
    assert_eq!(lengths(&case, "control 41, on the processor"), [400_000]);
    assert_eq!(evidence(&case)[1], ("events that were lost", 12.0, false));
    assert_eq!(case.verdict.status, Status::Inconclusive);
}

/// Marks of threads within each other and of requests by number, in the words of tracefs' file `trace` and of
/// trace-cmd; a counter and other texts are in no series.
#[test]
fn marks_of_a_program_in_the_kernel_s_trace_are_series() {
    let text = "# tracer: nop\n
             app-7     [000] .....   100.000100: tracing_mark_write: B|7|control
             app-7     [000] .....   100.000110: tracing_mark_write: B|7|a | b: c
             app-8     [001] .....   100.000115: tracing_mark_write: B|7|control
             app-7     [000] .....   100.000130: print: tracing_mark_write: S|7|request|12
             app-7     [000] .....   100.000140: tracing_mark_write: E|7
             app-7     [001] .....   100.000150: print: 0x0: E
             app-8     [001] .....   100.000155: tracing_mark_write: F|7|request|12
             app-8     [001] .....   100.000160: tracing_mark_write: E|7
             app-8     [001] .....   100.000170: tracing_mark_write: E|7
             app-8     [001] .....   100.000180: tracing_mark_write: C|7|queue|3
             app-8     [001] .....   100.000190: tracing_mark_write: hello\n";
    let case = text_file(text).cases.remove(0);
    assert_eq!(lengths(&case, "control"), [45_000, 50_000]);
    assert_eq!(lengths(&case, "a | b: c"), [30_000]);
    assert_eq!(lengths(&case, "request"), [25_000]);
    assert_eq!(case.verdict.status, Status::Pass, "{:?}", case.verdict);
    assert!(case.log.iter().any(|line| line.ends_with("in no series: 2")), "{:?}", case.log);
    // Without an end, and more within each other than a program has.
    let open = "app-7 [000] ..... 100.000100: tracing_mark_write: B|7|a\n".repeat(65);
    let Err(error) = from_bytes(format!("# tracer: nop\n{open}").as_bytes(), None) else {
        panic!()
    };
    assert!(format!("{error:#}").contains("line 66: more than 64 marks"), "{error:#}");
}

/// Programs count their requests from 0, each for itself.
#[test]
fn marks_of_two_processes_with_one_number_are_apart() {
    let text = "# tracer: nop\n
             app-7     [000] .....   100.000100: tracing_mark_write: S|7|request|0
             bpp-8     [001] .....   100.000110: tracing_mark_write: S|8|request|0
             app-7     [000] .....   100.000130: tracing_mark_write: F|7|request|0
             bpp-8     [001] .....   100.000190: tracing_mark_write: F|8|request|0\n";
    let case = text_file(text).cases.remove(0);
    assert_eq!(lengths(&case, "request"), [30_000, 80_000]);
}

/// Each of the four sorts has as many series as are kept.
#[test]
fn a_case_has_room_for_all_series_of_a_recording() {
    let mut text = "# tracer: nop\n".to_owned();
    for number in 0..40 {
        let task = 100 + number;
        let idle = "swapper/0 prev_pid=0 prev_prio=120 prev_state=R";
        let own = format!("app prev_pid={task} prev_prio=120 prev_state=S");
        let events = [
            format!("sched_waking: comm=app pid={task} prio=120 target_cpu=000"),
            format!(
                "sched_switch: prev_comm={idle} ==> next_comm=app next_pid={task} next_prio=120"
            ),
            format!("irq_handler_entry: irq={number} name=eth{number}"),
            format!("irq_handler_exit: irq={number} ret=handled"),
            format!("tracing_mark_write: B|{task}|mark{number}"),
            format!("tracing_mark_write: E|{task}"),
            format!(
                "sched_switch: prev_comm={own} ==> next_comm=swapper/0 next_pid=0 next_prio=120"
            ),
        ];
        for (place, event) in events.iter().enumerate() {
            let at = 10 * number + place;
            text += &format!("  app-{task}  [000] .....  100.{at:06}: {event}\n");
        }
    }
    let case = text_file(&text).cases.remove(0);
    assert_eq!((case.series.len(), case.verdict.status), (160, Status::Pass));
}

/// The line is of perf 6.1: `perf script --show-lost-events`.
#[test]
fn events_that_perf_has_lost_are_counted_and_end_what_is_open() {
    let lost = "           rustc  7478 [000]   100.000120: PERF_RECORD_LOST lost 213\n";
    let (first, rest) = PERF.split_at(PERF.find('\n').unwrap() + 1);
    let case = text_file(&format!("{first}{lost}{rest}")).cases.remove(0);
    assert_eq!(evidence(&case)[1], ("events that were lost", 213.0, false));
    let waits = |case: &CaseResult| case.series[0].summary.count;
    assert_eq!(waits(&case), waits(&text_file(PERF).cases[0]) - 1);
    let remark = |case: &CaseResult| case.log.iter().any(|line| line.contains("--show-lost"));
    assert!(remark(&text_file(PERF).cases[0]) && !remark(&case));
}

#[test]
fn damaged_events_are_named_by_their_lines() {
    for (from, to, message) in [
        ("next_pid=41", "next_pid=x", "line 2: `next_pid=x` is no number"),
        ("prev_comm=swapper/1", "prev_com=swapper/1", "line 6: `sched_switch` has no `prev_comm=`"),
        ("100.000530", "99.000530", "line 7: the time runs backward on processor 0"),
        ("irq=27 name=eth0", "irq=27", "line 3: `irq_handler_entry` has no `name=`"),
    ] {
        let text = PERF.replacen(from, to, 1);
        let Err(error) = from_bytes(text.as_bytes(), None) else { panic!("{to}: it was read") };
        assert!(format!("{error:#}").starts_with(message), "{error:#}");
    }
    let text = "# tracer: function_graph\n#\n 0)   1.2 us  |  schedule();\n";
    let Err(error) = from_bytes(text.as_bytes(), None) else { panic!("it was read") };
    assert!(format!("{error:#}").contains("a graph of functions has no events"), "{error:#}");
    let cut = &PERF[..PERF.find("==>").unwrap()];
    assert!(from_bytes(cut.as_bytes(), None).is_err());
}
