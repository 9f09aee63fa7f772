//! Measures a large store: `cargo run --release --example store_speed [RUNS] [FILE|URL]`.
//!
//! Fills a store, which must not exist or be empty, with runs of 50 machines, and prints the wall
//! times of the program's commands on it: each the median of five. The program is the one that was
//! built with this example. Goals for 100,000 runs: a history within 100 ms, a comparison within
//! 200 ms, the page within 2 s.

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use chronoscope_run::{Run, sample};
use chronoscope_store::{Place, Store};

/// The runs of one transaction.
const BATCH: usize = 500;

const MACHINES: usize = 50;

fn main() -> Result<()> {
    let count = env::args().nth(1).map_or(Ok(100_000), |text| text.parse::<usize>())?;
    let folder = env::temp_dir().join(format!("chronoscope-store-speed-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let file = folder.join("runs.sqlite").display().to_string();
    let word = env::args().nth(2).unwrap_or(file);
    let start = Instant::now();
    let mut store = Store::create(&Place::read(word.as_ref())?)?;
    ensure!(store.numbers_of(&Default::default())?.is_empty(), "the store is not empty");
    let rows = fill(&mut store, count)?;
    drop(store);
    let seconds = start.elapsed().as_secs_f64();
    println!("{count} runs, {rows} rows, filled in {seconds:.0} s");

    let page = folder.join("page").display().to_string();
    let last = count.to_string();
    let commands: [(&str, &[&str]); 9] = [
        ("history", &["history"]),
        ("history of a machine", &["history", "--machine", "machine-7"]),
        ("history of a label", &["history", "--label", "commit=123"]),
        ("history of an experiment", &["history", "switch"]),
        (
            "the same, of a machine and a label",
            &["history", "switch", "--machine", "machine-7", "--label", "branch=main"],
        ),
        ("compare, the newest two", &["compare", "last-1", "last"]),
        ("compare, the first and the last", &["compare", "1", &last]),
        ("report --history", &["report", "--history", "-q", "-o", &page]),
        (
            "report --history of a machine",
            &["report", "--history", "-q", "-o", &page, "--machine", "machine-7"],
        ),
    ];
    for (name, words) in commands {
        let mut times: Vec<f64> = (0..5).map(|_| time(words, &word)).collect::<Result<_>>()?;
        times.sort_unstable_by(f64::total_cmp);
        println!("{name:<36} {:6.0} ms", times[2]);
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// The wall time of a command, in ms.
fn time(words: &[&str], store: &str) -> Result<f64> {
    let example = env::current_exe()?;
    let folder = example.parent().and_then(|folder| folder.parent()).context("no folder")?;
    let program: PathBuf = folder.join("chronoscope");
    let start = Instant::now();
    let mut command = Command::new(&program);
    let status = command.args(words).args(["--store", store]).stdout(Stdio::null()).status();
    let status = status.with_context(|| format!("{}: build it first", program.display()))?;
    ensure!(matches!(status.code(), Some(0 | 3 | 4)), "{words:?} failed");
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Adds the runs, and returns the number of rows that their series have.
fn fill(store: &mut Store, count: usize) -> Result<usize> {
    let first = sample::run();
    let rows: usize = first.cases.iter().map(|case| case.measured().count().max(1)).sum();
    for start in (0..count).step_by(BATCH) {
        let runs: Vec<Run> =
            (start..count.min(start + BATCH)).map(|number| run(&first, number)).collect();
        store.add(&runs.iter().collect::<Vec<_>>())?;
    }
    Ok(rows * count)
}

/// A run of a machine; its figures scatter by 1 %, and each hundredth run has a new commit.
fn run(first: &Run, number: usize) -> Run {
    let mut run = first.clone();
    let mut noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    noise ^= noise >> 29;
    run.context.uuid = format!("{number:032x}").into();
    run.context.machine = format!("machine-{}", number % MACHINES).into();
    run.context.labels = [
        ("commit".into(), (number / 100).to_string().into()),
        ("branch".into(), if number.is_multiple_of(3) { "topic" } else { "main" }.into()),
    ]
    .into();
    for series in run.cases.iter_mut().flat_map(|case| &mut case.series) {
        let share = 1.0 + (noise % 1000) as f64 * 1e-5;
        series.summary.p50 = series.summary.p50.map(|p50| p50 * share);
    }
    run
}
