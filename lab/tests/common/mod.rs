//! Runs the built program and checks its answer.

// Each test program uses its own part of this module.
#![allow(dead_code)]

pub mod documented;
pub mod schema;

use std::{
    env,
    ffi::OsStr,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{self, Command, Output, Stdio},
    thread,
};

use chronoscope_suite::wire::{self, MAX_FRAME, Record};
use serde_json::Value;

/// A case of a few milliseconds that needs no permission.
pub const SHORT: [&str; 9] = [
    "run",
    "switch",
    "--set",
    "policy=other",
    "--set",
    "mlock=no",
    "--set",
    "loops=100",
    "--repeat=3",
];

/// Runs the built program with these arguments.
pub fn chronoscope(arguments: &[&str]) -> Answer {
    run(program().args(arguments))
}

/// The path of the program under test: `CHRONOSCOPE_TEST_PROGRAM`, which `./chronoscope test` sets
/// to the program that users have, or else the one that cargo built with these tests. The Linux
/// port and the builder of images are next to it.
pub fn program_path() -> PathBuf {
    let own = || PathBuf::from(env!("CARGO_BIN_EXE_chronoscope"));
    env::var_os("CHRONOSCOPE_TEST_PROGRAM").map_or_else(own, PathBuf::from)
}

/// The program under test, with a store of its own: tests do not touch the user's. Its screen is so
/// wide that no message is broken.
pub fn program() -> Command {
    let mut program = Command::new(program_path());
    program.env("COLUMNS", "1000").env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"));
    program
}

/// Copies a program so that it can be started at once. Linux refuses to start a file that is open for
/// writing, and a child that another thread forks may hold it open for a moment; `cp` has no such
/// children.
pub fn copy_program(from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) {
    run(Command::new("cp").args([from.as_ref(), to.as_ref()])).exits(0);
    run(Command::new("chmod").arg("755").arg(to)).exits(0);
}

/// The builder of images, next to the program as when the program runs it.
pub fn builder() -> Command {
    Command::new(program_path().with_file_name("xtask"))
}

/// The targets of a machine, as the index of images lists them: each kernel with an image for it.
/// Separated by commas, sorted by kernel.
pub fn targets(machine: &str) -> String {
    let list = chronoscope(&["list"]);
    let is_here = |line: &&str| line.rsplit_once('@').is_some_and(|(_, name)| name == machine);
    let targets: Vec<&str> = list.stdout.lines().map(str::trim).filter(is_here).collect();
    assert!(!targets.is_empty(), "no target on {machine}: `cargo xtask images` writes the index");
    targets.join(",")
}

/// The number of random cases: `usual`, times the whole number in `CHRONOSCOPE_TEST_EFFORT`, which
/// `./chronoscope test long` sets.
pub fn effort(usual: u32) -> u32 {
    let times = env::var("CHRONOSCOPE_TEST_EFFORT").ok();
    usual * times.map_or(1, |times| times.parse().expect("the effort is a whole number"))
}

/// The frames of a port's stream.
pub fn frames(records: &[Record<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut frame = [0; MAX_FRAME + 1];
    for record in records {
        let length = wire::encode(record, &mut frame).unwrap();
        bytes.extend_from_slice(&frame[..length]);
    }
    bytes
}

/// Runs a command with empty standard input.
pub fn run(command: &mut Command) -> Answer {
    let shown = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    Answer::new(output.unwrap_or_else(|error| panic!("{shown} does not start: {error}")), shown)
}

/// The outcome of a run of the program.
#[derive(Debug)]
pub struct Answer {
    pub command: String,
    /// The exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    pub fn new(output: Output, command: String) -> Self {
        Self {
            command,
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }

    #[track_caller]
    pub fn exits(&self, status: i32) -> &Self {
        assert_eq!(self.status, Some(status), "{self:#?}");
        self
    }

    /// Checks that standard output contains `text`.
    #[track_caller]
    pub fn shows(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "no `{text}` in {self:#?}");
        self
    }

    /// Standard output as JSON. A run is checked against its JSON Schema.
    #[track_caller]
    pub fn json(&self) -> Value {
        let json: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {self:#?}"));
        let faults = schema::faults_of_run(&json);
        assert!(faults.is_empty(), "{faults:#?} in {}", self.command);
        json
    }

    /// Checks the form of an error: exit status 1, a single line that contains `text`, and an empty
    /// standard output.
    #[track_caller]
    pub fn complains(&self, text: &str) -> &Self {
        self.exits(1);
        assert_eq!(self.stdout, "", "{self:#?}");
        let line = self.stderr.strip_suffix('\n').unwrap_or_else(|| panic!("no line in {self:#?}"));
        assert!(!line.contains('\n') && line.starts_with("chronoscope: "), "{self:#?}");
        assert!(line.contains(text), "no `{text}` in {self:#?}");
        self
    }
}

/// The cases of a run, as JSON.
#[track_caller]
pub fn cases(arguments: &[&str]) -> Vec<Value> {
    let answer = chronoscope(&[&["run", "-q", "--format", "json"], arguments].concat());
    answer.json()["cases"].as_array().expect("a run has cases").clone()
}

/// Runs the command twice and checks that both runs have at least this many lines of CSV with equal
/// bytes, and equal JSON except for its context. The CSV is a report of the JSON.
#[track_caller]
pub fn gives_the_same_bytes_twice(arguments: &[&str], lines: usize) {
    // Other tests of the program do the same meanwhile, each in a thread of its own.
    let folder = Folder::new(&format!("same-bytes-{:?}", thread::current().id()));
    let once = |name: &str| {
        let json = chronoscope(&[arguments, &["--format", "json"]].concat());
        let csv = ["report", &folder.file(name, &json.stdout), "--format", "csv"];
        let mut run = json.json();
        run["context"] = Value::Null;
        (chronoscope(&csv).exits(0).stdout.clone(), run)
    };
    let (csv, run) = once("first.json");
    assert!(csv.lines().count() >= lines, "{csv}");
    assert_eq!((csv, run), once("second.json"));
}

/// The first series of a case with that role.
#[track_caller]
pub fn series<'a>(case: &'a Value, role: &str) -> &'a Value {
    let series = case["series"].as_array().expect("a case has series");
    series
        .iter()
        .find(|series| series["role"] == role)
        .unwrap_or_else(|| panic!("no {role} series in {case:#}"))
}

/// The samples of a series of a case.
#[track_caller]
pub fn samples(case: &Value, name: &str) -> Vec<f64> {
    let mut all = case["series"].as_array().expect("a case has series").iter();
    let found = all.find(|series| series["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no series {name} in {case:#}"));
    let samples = found["samples"].as_array().expect("a series has samples").iter();
    samples.map(|sample| sample[1].as_f64().expect("a length")).collect()
}

/// The median of a case's first measured series.
#[track_caller]
pub fn median(case: &Value) -> f64 {
    series(case, "measured")["p50"].as_f64().unwrap_or_else(|| panic!("no median in {case:#}"))
}

/// The medians of a case's first measured series by repetition, each once, in ascending order.
#[track_caller]
pub fn medians_by_repetition(case: &Value) -> Vec<f64> {
    let repetitions = series(case, "measured")["by_repetition"].as_array().expect("a list");
    let mut medians: Vec<f64> =
        repetitions.iter().map(|one| one["p50"].as_f64().expect("a median")).collect();
    medians.sort_by(f64::total_cmp);
    medians.dedup();
    medians
}

/// A folder for a test, removed on drop.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("chronoscope-test-{}-{name}", process::id()));
        fs::create_dir_all(&path).expect("the temporary folder is writable");
        // Tests that switch to another user need access too.
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("the folder is ours");
        Self(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the temporary folder's name is UTF-8").to_owned()
    }

    /// Compiles a C program into the folder, linked statically, and returns its path.
    pub fn compiled(&self, source: &str) -> String {
        let program = self.path("program");
        let flags = ["-O2", "-static", "-Wall", "-Wextra", "-Werror", "-o", &program, source];
        run(Command::new("gcc").args(flags).args(["-lpthread", "-lrt"])).exits(0);
        program
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).expect("the temporary folder is writable");
        path
    }
}

/// The folder of the stored runs whose answers the report's tests hold.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("report/src/answer/fixtures")
}

/// The run files of a folder, in the order of their names.
pub fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("there are stored runs");
    let paths = entries.map(|entry| entry.expect("a file").path());
    let mut runs: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    runs.sort();
    runs
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
