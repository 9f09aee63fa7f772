//! `chronoscope capture`: the same signal in every format, compared with sigrok, and through the
//! virtual analyser.

use std::{collections::BTreeMap, fs, process::Command};

use crate::captures::{binary, csv, signal, sr, vcd};
use crate::common::{Answer, Folder, chronoscope, run};
use chronoscope_capture::{Analyser, Capture, Sampling};
use serde_json::Value;

fn measure(arguments: &[&str]) -> Answer {
    let answer = chronoscope(&[&["capture"], arguments].concat());
    answer.exits(0);
    answer
}

/// The rows of a file.
fn rows(arguments: &[&str]) -> Vec<Value> {
    let answer = measure(&[arguments, &["--format", "json"]].concat()).json();
    answer["captures"][0]["rows"].as_array().unwrap().clone()
}

/// The count of each value, in ns.
fn histogram(row: &Value) -> Vec<(f64, u64)> {
    let pairs = row["histogram"].as_array().unwrap().iter();
    pairs.map(|pair| (pair[0].as_f64().unwrap(), pair[1].as_u64().unwrap())).collect()
}

const ALL: [&str; 8] = [
    "--channel",
    "D0,D1",
    "--measure",
    "width,low,period,jitter,duty,edges",
    "--start",
    "rise:D0",
    "--end",
    "rise:D1",
];

/// A signal in all formats, as files and as folders of Saleae's channels.
fn formats(folder: &Folder, capture: &Capture) -> Vec<String> {
    let mut files = vec![
        folder.file("a.vcd", vcd(capture)),
        folder.file("a.sr", sr(capture)),
        folder.file("a.csv", csv(capture)),
    ];
    for version in [0, 1] {
        let path = folder.path(&format!("v{version}"));
        fs::create_dir(&path).unwrap();
        for (place, channel) in capture.channels.iter().enumerate() {
            fs::write(format!("{path}/{}.bin", channel.name), binary(capture, place, version))
                .unwrap();
        }
        files.push(path);
    }
    files
}

#[test]
fn one_signal_has_the_same_numbers_in_every_format() {
    let folder = Folder::new("capture-formats");
    // At 10 MHz a sample is a whole number of picoseconds, so even Saleae's doubles are exact.
    let files = formats(&folder, &signal(10_000_000, Sampling::At(10_000_000), 500, 70));
    let mut answers = Vec::new();
    for file in &files {
        let mut rows = rows(&[&[file.as_str(), "--sampled", "10MHz"], ALL.as_slice()].concat());
        for row in &mut rows {
            // The time of the longest value is in the file's own ticks.
            assert!(row["worst"].take().as_array().unwrap().len() == 1, "{row}");
        }
        answers.push((file, rows));
    }
    let (_, first) = answers[0].clone();
    assert_eq!(first.len(), 13);
    for (file, rows) in answers {
        assert_eq!(rows, first, "{file}");
    }
    let [latency, width, .., duty, _] = first.as_slice() else { panic!("{first:#?}") };
    assert_eq!(
        (&latency["channel"], &latency["count"]),
        (&"rise:D0 → rise:D1".into(), &500.into())
    );
    assert_eq!((&width["measure"], &width["error"]), (&"width".into(), &100.0.into()));
    assert_eq!((&duty["measure"], &duty["unit"]), (&"duty".into(), &"%".into()));
}

#[test]
fn names_do_not_tell_formats_and_a_rate_that_is_not_told_is_not_known() {
    let folder = Folder::new("capture-names");
    let capture = signal(1_000_000, Sampling::At(1_000_000), 20, 50);
    let files = [
        (folder.file("one.sr", vcd(&capture)), Some(1_000.0)),
        (folder.file("two.csv", sr(&capture)), Some(1_000.0)),
        (folder.file("three.vcd", csv(&capture)), None),
        (folder.file("four.txt", binary(&capture, 0, 0)), None),
        (folder.file("five", binary(&capture, 0, 1)), Some(1_000.0)),
    ];
    for (file, error) in &files {
        let rows = rows(&[file]);
        assert_eq!((rows[0]["error"].as_f64(), &rows[0]["count"]), (*error, &20.into()), "{file}");
    }
    // A channel without a name in its file takes the file's name.
    measure(&[&files[3].0]).shows("four");
    let all: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
    let table = measure(&all);
    table.shows("sampled at 1 MHz").shows("sampled at an unknown rate");
    assert_eq!(table.stdout.matches("width").count(), 8);
}

#[test]
fn captures_become_others() {
    let folder = Folder::new("capture-convert");
    let exact = signal(1_000_000_000, Sampling::Exact, 50, 40);
    let file = folder.file("exact.vcd", vcd(&exact));
    let [first, again, back] = ["first.sr", "again.sr", "back.vcd"].map(|name| folder.path(name));
    for output in [&first, &again] {
        let answer = measure(&[&file, "-o", output]);
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("", ""));
    }
    assert_eq!(fs::read(&first).unwrap(), fs::read(&again).unwrap(), "the same bytes twice");
    measure(&[&first, "--channel", "D1", "-o", &back]);
    let read = Capture::from_vcd("back", fs::read(&back).unwrap().as_slice()).unwrap();
    assert_eq!(read.channels, exact.channels[1..]);
    // A capture written as samples is read as a sampled one.
    assert_eq!((read.end, read.sampling), (exact.end, Sampling::At(1_000_000_000)));
    let csv = folder.path("result.csv");
    measure(&[&file, "--format", "csv", "-o", &csv]);
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 3);
}

/// The times in samples from each edge of a channel to the next, by sigrok's timing decoder.
fn sigrok_edges(file: &str, format: &[&str], channel: &str) -> BTreeMap<u64, u64> {
    let decoder = format!("timing:data={channel}");
    let mut command = Command::new("sigrok-cli");
    command.args(format).args([
        "-i",
        file,
        "-P",
        &decoder,
        "-A",
        "timing=time",
        "--protocol-decoder-samplenum",
    ]);
    let answer = run(&mut command);
    answer.exits(0);
    let mut found = BTreeMap::new();
    for line in answer.stdout.lines() {
        // A line of sigrok's: `15-30 timing-1: 1.500 μs (666.667 kHz)`
        let (start, end) =
            line.split_once(' ').and_then(|(numbers, _)| numbers.split_once('-')).unwrap();
        *found.entry(end.parse::<u64>().unwrap() - start.parse::<u64>().unwrap()).or_default() += 1;
    }
    assert!(!found.is_empty(), "{answer:?}");
    found
}

#[test]
fn sigrok_measures_the_same() {
    let folder = Folder::new("capture-sigrok");
    // A tick that is a unit of time, and one that is not. sigrok takes the latter for ns, so ticks
    // are compared.
    for hertz in [1_000_000_000, 84_000_000] {
        let capture = signal(hertz, Sampling::Exact, 300, 900);
        let file = folder.file("edges.vcd", vcd(&capture));
        for channel in ["D0", "D1"] {
            let row = &rows(&[&file, "--channel", channel, "--measure", "edges"])[0];
            let ticks = |ns: f64| (ns * hertz as f64 / 1e9).round() as u64;
            let ours: BTreeMap<u64, u64> =
                histogram(row).into_iter().map(|(value, count)| (ticks(value), count)).collect();
            assert_eq!(
                ours,
                sigrok_edges(&file, &["-I", "vcd"], channel),
                "{channel} at {hertz} Hz"
            );
        }
    }
    // sigrok reads sampled captures of Chronoscope, and Chronoscope reads sigrok's.
    let exact = folder.file("exact.vcd", vcd(&signal(1_000_000_000, Sampling::Exact, 300, 9_000)));
    let [ours, theirs, dump] = ["ours.sr", "theirs.sr", "theirs.vcd"].map(|name| folder.path(name));
    measure(&[&exact, "--rate", "2MHz", "--phase", "0.3", "-o", &ours]);
    for (output, format) in [(&theirs, "srzip"), (&dump, "vcd")] {
        run(Command::new("sigrok-cli").args(["-i", &ours, "-o", output, "-O", format])).exits(0);
    }
    let samples: BTreeMap<u64, u64> = sigrok_edges(&ours, &[], "D0");
    for file in [&ours, &theirs, &dump] {
        let row = &rows(&[file, "--channel", "D0", "--measure", "edges"])[0];
        let found: BTreeMap<u64, u64> = histogram(row)
            .into_iter()
            .map(|(value, count)| ((value / 500.0) as u64, count))
            .collect();
        assert_eq!((found, row["error"].as_f64()), (samples.clone(), Some(500.0)), "{file}");
    }
}

#[test]
fn two_million_samples_a_second_read_in_halves_of_a_microsecond() {
    let folder = Folder::new("capture-resample");
    let exact = signal(84_000_000, Sampling::Exact, 400, 1_000);
    let file = folder.file("exact.vcd", vcd(&exact));
    let seen = |more: &[&str]| {
        rows(&[&[&file, "--channel", "D0", "--measure", "width,low,period"], more].concat())
    };
    let (plain, resampled) = (seen(&[]), seen(&["--rate", "2MHz", "--phase", "0.25"]));
    for (plain, resampled) in plain.iter().zip(&resampled) {
        assert_eq!((&plain["error"], &resampled["error"]), (&0.0.into(), &500.0.into()));
        assert_eq!(plain["count"], resampled["count"]);
        assert!(histogram(plain).iter().any(|(value, _)| value % 500.0 != 0.0), "{plain}");
        assert!(histogram(resampled).iter().all(|(value, _)| value % 500.0 == 0.0), "{resampled}");
    }
    // The error of each single pulse is below a period.
    for phase in [0.0, 0.1, 0.5, 0.9] {
        let resampled = exact.resample(Analyser::new(2_000_000, phase).unwrap()).unwrap();
        let widths = |capture: &Capture| -> Vec<f64> {
            capture.pulses("D1", true).unwrap().map(|pulse| capture.tick.ns(pulse.width)).collect()
        };
        let (exact, resampled) = (widths(&exact), widths(&resampled));
        assert_eq!(exact.len(), resampled.len());
        assert!(exact.iter().zip(&resampled).all(|(exact, seen)| (exact - seen).abs() < 500.0));
    }
    let random = |seed| seen(&["--rate", "2MHz", "--phase", "random", "--seed", seed]);
    assert_eq!(random("1"), random("1"));
    assert_ne!(random("1"), random("2"));
}

#[test]
fn pulses_between_two_samples_are_told() {
    let folder = Folder::new("capture-unseen");
    let exact = folder.file("exact.vcd", vcd(&signal(1_000_000_000, Sampling::Exact, 100, 10)));
    let answer = measure(&[&exact, "--channel", "D0", "--rate", "10MHz"]);
    assert!(
        answer.stderr.contains("pulses lie between two samples, and cannot be seen"),
        "{answer:?}"
    );
    assert_eq!(answer.stderr.lines().count(), 1);
    assert_eq!(measure(&[&exact, "-q", "--rate", "10MHz"]).stderr, "");
}

#[test]
fn latencies_are_from_a_start_to_the_next_end() {
    let folder = Folder::new("capture-latency");
    // Two starts before one end, an end without a start, an end at the time of its start, and a
    // start without an end.
    let edges = "#0 0! 0\" #10 1! #20 0! #30 1! #40 1\" #45 0! #50 0\" #55 1\" #60 0\" #70 1\" 1! #80 0! 0\" #90 1! #100";
    let head =
        "$timescale 1 ns $end $var wire 1 ! a $end $var wire 1 \" b $end $enddefinitions $end";
    let file = folder.file("a.vcd", format!("{head} {edges}"));
    let row = &rows(&[&file, "--start", "rise:a", "--end", "rise:b"])[0];
    assert_eq!((histogram(row), &row["unanswered"]), (vec![(0.0, 1), (30.0, 1)], &1.into()));
    measure(&[&file, "--start", "rise:a", "--end", "rise:b"])
        .shows("1 start has no end, within an earlier one that had not ended");
    let row = &rows(&[&file, "--start", "rise:a", "--end", "fall:a"])[0];
    assert_eq!(histogram(row), [(10.0, 2), (15.0, 1)]);
    let row = &rows(&[&file, "--start", "edge:b", "--end", "rise:a"])[0];
    assert_eq!((histogram(row), &row["unanswered"]), (vec![(20.0, 1), (30.0, 1)], &4.into()));
}
