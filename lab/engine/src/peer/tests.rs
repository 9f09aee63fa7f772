//! The formats, on outputs that the tools printed. The comment of a test has the tool's command.

use serde::Deserialize as _;

use super::{
    Format, Reading,
    format::{
        CYCLICDEADLINE, CYCLICTEST, CYCLICTEST_SMP, HACKBENCH, Layout, OSLAT, PERF_BENCH_PIPE,
        PI_STRESS, PTSEMATEST, RTLA_TIMERLAT,
    },
    tool::{TOOLS, Tool},
};
use chronoscope_run::Unit;

fn ns(name: &'static str, value: f64) -> Reading {
    Reading { name, unit: Unit::Nanoseconds, value, cpu: None }
}

fn count(name: &'static str, value: f64) -> Reading {
    Reading { name, unit: Unit::Count, value, cpu: None }
}

/// `cyclictest -q -a 1 -p 80 -m -i 1000 -l 10 -N -h 25000 --histfile=/dev/null --json=/dev/stdout`
const WAKE_UPS: &str = include_str!("fixtures/cyclictest.txt");

fn value(text: &str, name: &str) -> Option<f64> {
    let readings = CYCLICTEST.read(text).unwrap();
    readings.into_iter().find(|reading| reading.name == name).map(|reading| reading.value)
}

#[test]
fn each_thread_has_its_processor() {
    let end = WAKE_UPS.rfind('}').unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&WAKE_UPS[..=end]).unwrap();
    let mut second = json["thread"]["0"].clone();
    second["cpu"] = 5.into();
    json["thread"]["1"] = second;
    let readings = CYCLICTEST_SMP.read(&serde_json::to_string_pretty(&json).unwrap()).unwrap();
    let one = CYCLICTEST.read(WAKE_UPS).unwrap();
    let of = |cpu| {
        let of_cpu = readings.iter().filter(move |reading| reading.cpu == Some(cpu));
        of_cpu.map(|reading| Reading { cpu: None, ..*reading }).collect::<Vec<_>>()
    };
    assert_eq!((of(1), of(5), readings.len()), (one.clone(), one.clone(), 2 * one.len()));
}

#[test]
fn statistics_and_percentiles_are_read() {
    let found =
        CYCLICTEST.statistics().map(|name| value(WAKE_UPS, name).unwrap()).collect::<Vec<_>>();
    assert_eq!(found, [10.0, 13830.0, 17319.3, 15749.0, 21399.0, 24536.0, 24536.0]);
}

#[test]
fn what_lies_beyond_the_histogram_is_not_guessed() {
    let cut = WAKE_UPS.replace(",\n        \"21399\": 1,\n        \"24536\": 1", "");
    assert_eq!(value(&cut, "p50"), Some(15749.0));
    assert_eq!(value(&cut, "p90"), None);
    assert_eq!(value(&cut, "max"), Some(24536.0));
}

#[test]
fn other_output_is_an_error() {
    for (text, told) in [
        (String::new(), "--json"),
        ("T: 0 ( 1234) P:80 I:1000 C: 10 Min: 13".to_owned(), "--json"),
        (WAKE_UPS[..600].to_owned(), "EOF"),
        (WAKE_UPS.replace("in_ns\": 1", "in_ns\": 0"), "-N"),
        (WAKE_UPS.replace("\"thread\"", "\"threads\""), "no `thread`"),
        (WAKE_UPS.replace("\"min\"", "\"least\""), "no `min`"),
    ] {
        let error = CYCLICTEST.read(&text).unwrap_err();
        assert!(format!("{error:#}").contains(told), "{error:#}");
    }
}

/// `cyclicdeadline -q -i 5000 -t 1 -D 1 --json=/dev/stdout`
#[test]
fn times_are_read_in_ns() {
    let expected =
        [count("samples", 201.0), ns("min", 5000.0), ns("mean", 23890.0), ns("max", 345_000.0)];
    let output = include_str!("fixtures/cyclicdeadline.txt");
    assert_eq!(CYCLICDEADLINE.read(output).unwrap(), expected);
    let failed = "FATAL: For less than 2ms run times, you need to\nhave HRTICK enabled";
    assert!(CYCLICDEADLINE.read(failed).is_err());
}

/// `oslat -c 1 -f 80 -D 1 -q -z --json=/dev/stdout`, with fewer buckets.
#[test]
fn gaps_are_the_turns_of_more_than_a_microsecond() {
    let expected = [count("gaps", 132.0), ns("lost", 1_394_000.0), ns("max", 52_963_000.0)];
    let output = include_str!("fixtures/oslat.txt");
    assert_eq!(OSLAT.read(output).unwrap(), expected);
    assert!(OSLAT.read("WARNING: not enough privilege").is_err());
    assert!(OSLAT.read(&output.replace("\"histogram\"", "\"buckets\"")).is_err());
}

/// `ptsematest -q -a 1 -p 80 -l 2000 -i 1 --json=/dev/stdout`
#[test]
fn the_mean_keeps_its_parts() {
    let expected =
        [count("samples", 2000.0), ns("min", 2000.0), ns("mean", 3140.0), ns("max", 41000.0)];
    let output = include_str!("fixtures/ptsematest.txt");
    assert_eq!(PTSEMATEST.read(output).unwrap(), expected);
    // Only the lines below the JSON have no fractions of a µs.
    assert!(PTSEMATEST.read(&output[output.find("#0").unwrap()..]).is_err());
}

/// `hackbench -g 1 -f 20 -l 20 -s 4 -p -T`
#[test]
fn every_sender_sends_to_every_receiver() {
    let expected = [count("messages", 8000.0), ns("time", 6_000_000.0), ns("message", 750.0)];
    let output = include_str!("fixtures/hackbench.txt");
    assert_eq!(HACKBENCH.read(output).unwrap(), expected);
    assert!(HACKBENCH.read("Creating fdpair (error: Too many open files)").is_err());
}

/// `perf bench sched pipe -l 20000`
#[test]
fn the_time_of_an_operation_is_read() {
    let output = include_str!("fixtures/perf_bench_pipe.txt");
    assert_eq!(PERF_BENCH_PIPE.read(output).unwrap(), [ns("operation", 7632.85)]);
    assert!(PERF_BENCH_PIPE.read("# Running 'sched/pipe' benchmark:\n").is_err());
}

/// `pi_stress -q -m -g 1 -i 2000`
#[test]
fn inversions_are_counted() {
    let output = include_str!("fixtures/pi_stress.txt");
    assert_eq!(PI_STRESS.read(output).unwrap(), [count("inversions", 2001.0)]);
    assert!(PI_STRESS.read("Test Duration: 0 days\n").is_err());
}

/// `rtla timerlat hist -n -c 0 -d 1s -p 1000 -P f:80 -E 100000`, with fewer lines.
#[test]
fn interrupt_and_thread_are_read_apart() {
    let output = include_str!("fixtures/rtla_timerlat.txt");
    let expected = [
        count("samples", 5.0),
        ns("min", 7900.0),
        ns("mean", 7980.0),
        ns("max", 8100.0),
        ns("p50", 7900.0),
        ns("irq min", 1350.0),
        ns("irq mean", 1354.0),
        ns("irq max", 1360.0),
        ns("irq p50", 1350.0),
    ];
    assert_eq!(RTLA_TIMERLAT.read(output).unwrap(), expected);
    let short = output.replace("8100          0         2\n", "");
    assert_eq!(RTLA_TIMERLAT.read(&short).unwrap(), expected);
    let beyond = output.replace("7900          0         3\n", "");
    let found = RTLA_TIMERLAT.read(&beyond).unwrap();
    assert_eq!(found.len(), 8, "a median beyond the histogram's end");
    let unequal = output.replace("count:        5         5", "count:        5        50");
    let found = RTLA_TIMERLAT.read(&unequal).unwrap();
    assert_eq!(found.last(), Some(&ns("irq p50", 1350.0)), "by the interrupts' own count");
    let failed = "osnoise/timerlat tracer is not available";
    assert!(RTLA_TIMERLAT.read(failed).is_err());
}

#[test]
fn numbers_stand_beside_their_words() {
    let before = |line: &str| PERF_BENCH_PIPE.read(line).ok().map(|found| found[0].value);
    let after = |line: &str| PI_STRESS.read(line).ok().map(|found| found[0].value);
    assert_eq!(before("   7.63 usecs/op"), Some(7630.0));
    assert_eq!(after("Total inversion performed: 0.006"), Some(0.006));
    for line in ["", "usecs/op", "seven usecs/op", "nan usecs/op", "µ7 usecs/op"] {
        assert_eq!(before(line), None);
    }
    assert_eq!(after("Total inversion performed:"), None);
}

#[test]
fn a_format_names_each_figure_once() {
    let all: [&Layout; 9] = [
        &CYCLICTEST,
        &CYCLICTEST_SMP,
        &CYCLICDEADLINE,
        &PTSEMATEST,
        &OSLAT,
        &RTLA_TIMERLAT,
        &PERF_BENCH_PIPE,
        &HACKBENCH,
        &PI_STRESS,
    ];
    for layout in all {
        let mut names: Vec<&str> = layout.statistics().collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert!(names.len() == count && count > 0, "{}", layout.name);
    }
}

#[test]
fn each_format_is_found_by_its_own_name() {
    let error = Format::deserialize(toml::Value::String("lmbench".to_owned())).unwrap_err();
    for Tool { format, .. } in TOOLS {
        let name = format.0.name;
        let found = Format::deserialize(toml::Value::String(name.to_owned())).unwrap();
        assert_eq!(found.statistics(), format.statistics(), "{name}");
        assert!(!found.statistics().is_empty());
        assert!(error.to_string().contains(name), "{error}");
    }
}
