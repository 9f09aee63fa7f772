//! `chronoscope timerlat`: the form of rtla's output, by a recorded one, and by the reader of the tool's
//! files. In the ordinary class, which needs no permission. The tool itself needs the kernel's tracer.

use std::fs;

use super::cyclictest::form;
use crate::common::{Folder, chronoscope};

/// The output of `rtla timerlat hist` of Debian 12, with fewer lines.
const RECORDED: &str = include_str!("../../engine/src/import/fixtures/rtla_timerlat.txt");

const ORDINARY: [&str; 6] = ["--no-store", "-q", "-P", "o:0", "-d", "1s"];

fn timerlat(arguments: &[&str]) -> String {
    chronoscope(&[&["timerlat"][..], arguments, &ORDINARY].concat()).exits(0).stdout.clone()
}

/// The lines of a histogram without the columns of interrupts: each of its rows once.
fn rows(output: &str) -> Vec<String> {
    let mut all = form(output);
    all.dedup();
    all
}

#[test]
fn a_histogram_has_the_lines_of_the_tool() {
    let shown = timerlat(&["hist", "-c", "0-1", "-E", "1000000"]);
    // Of two columns of a processor, the tool's first is the interrupt's.
    let recorded = RECORDED.replace("   IRQ-000", "").replace("   IRQ-001", "");
    let column = |line: &str| {
        let is_row = line.len() >= 36 && !line.starts_with('#');
        if is_row { format!("{}{}", &line[..6], &line[16..36]) } else { line.to_owned() }
    };
    let recorded: Vec<String> = recorded.lines().map(column).collect();
    assert_eq!(rows(&shown).len(), rows(&recorded.join("\n")).len(), "{shown}\n{recorded:?}");
    for (ours, theirs) in rows(&shown).iter().zip(rows(&recorded.join("\n"))) {
        assert_eq!(ours.trim_end(), theirs.trim_end(), "{shown}");
    }
}

/// The reader of the tool's histograms finds all starts.
#[test]
fn a_histogram_is_read_as_one_of_the_tool() {
    let folder = Folder::new("timerlat-import");
    let file = folder.path("histogram.txt");
    let shown = timerlat(&["hist", "-c", "0-1", "-p", "2000", "-E", "1000000"]);
    fs::write(&file, &shown).unwrap();
    let store = format!("--store={}", folder.path("runs.db"));
    chronoscope(&["import", &file, &store]).exits(0);
    let run = chronoscope(&["report", "last", "--format", "json", &store]).exits(0).json();
    let series = run["cases"][0]["series"].as_array().unwrap();
    let line = shown.lines().find_map(|line| line.strip_prefix("count:")).unwrap();
    let counts: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert!(counts.iter().all(|count| (100..=500).contains(count)), "{shown}");
    for (cpu, (series, count)) in series.iter().zip(&counts).enumerate() {
        assert_eq!(series["name"], format!("thread, CPU {cpu}"));
        assert_eq!(series["count"], *count);
    }
}

#[test]
fn the_parts_of_a_histogram_can_be_left_out() {
    let shown = timerlat(&[
        "hist",
        "-c",
        "1",
        "-n",
        "-E",
        "12",
        "-b",
        "100000",
        "--with-zeros",
        "--no-index",
        "--no-header",
        "--no-summary",
    ]);
    // Twelve buckets, and the row of all above.
    assert_eq!(shown.lines().count(), 13, "{shown}");
    let counts = shown.lines().map(|line| line.trim().parse::<u64>().unwrap());
    // A thread that was late has slept through some starts, which the tool does not count either.
    assert!((100..=1000).contains(&counts.sum::<u64>()), "{shown}");
}

#[test]
fn a_summary_has_the_columns_of_the_tool() {
    let shown = timerlat(&["-c", "0-1"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 5, "{shown}");
    assert!(
        lines[1].starts_with("  0 00:00:01    |          IRQ Timer Latency (us)        |"),
        "{shown}"
    );
    for (cpu, line) in lines[3..].iter().enumerate() {
        let columns: Vec<&str> = line.split('|').collect();
        let count = columns[0].strip_prefix(&format!("  {cpu} #")).unwrap();
        let starts = count.trim().parse::<u32>().unwrap();
        assert!(count.len() == 10 && (100..=1000).contains(&starts), "{shown}");
        assert_eq!(columns[1].split_whitespace().collect::<Vec<_>>(), ["-"; 4], "{shown}");
        let numbers = columns[2].split_whitespace().map(|word| word.parse::<u64>().unwrap());
        let [now, least, mean, most] = numbers.collect::<Vec<_>>()[..] else { panic!("{shown}") };
        assert!(least <= mean && mean <= most && (least..=most).contains(&now), "{shown}");
    }
}

#[test]
fn a_late_thread_ends_the_run() {
    let long =
        ["timerlat", "hist", "--no-store", "-q", "-P", "o:0", "-d", "10m", "-c", "0", "-T", "1"];
    let answer = chronoscope(&long);
    assert!(answer.exits(0).stdout.ends_with("rtla timerlat hit stop tracing\n"), "{answer:#?}");
    chronoscope(&["timerlat", "-k"])
        .complains("rtla's `-k` is not offered: the threads are in user");
}
