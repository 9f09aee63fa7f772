//! A lab that a test signals or kills, and the conditions that must hold afterwards: no complete
//! repetition is lost, and no process or file is left behind.

// Each test program uses its own part of this module.
#![allow(dead_code)]

use std::{
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use chronoscope_engine::{journal, journal::Unfinished};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{self, Answer, Folder};

/// The time limit for expected events; no test needs to be fast to pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// The environment variable that marks a lab and all processes that it starts.
const MARK: &str = "CHRONOSCOPE_TEST_MARK";

/// How often to interrupt or kill: 10 times, or as often as the variable says.
pub fn rounds() -> u32 {
    std::env::var("CHRONOSCOPE_TEST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

/// Numbers that look random and are the same in each run of a test.
pub struct Random(pub u64);

impl Random {
    /// A time below `limit`.
    pub fn below(&mut self, limit: Duration) -> Duration {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        limit.mul_f64((self.0 >> 33) as f64 / f64::from(1_u32 << 31))
    }
}

/// A program that a lab starts once for each repetition, wrapped so that it counts its starts and
/// its good ends.
pub struct Place {
    pub folder: Folder,
    mark: String,
    program: String,
}

impl Place {
    /// A folder with a lab, and with the program `name` that runs `real`.
    pub fn new(test: &str, name: &str, real: &str) -> Self {
        let folder = Folder::new(test);
        let built = common::program_path();
        fs::create_dir_all(folder.path("tmp")).unwrap();
        for program in ["chronoscope", "xtask", "chronoscope-linux"] {
            let to = folder.path(program);
            if program != name && fs::hard_link(built.with_file_name(program), &to).is_err() {
                copy(&built.with_file_name(program), &to);
            }
        }
        let script = format!(
            "#!/bin/sh\nhere='{}'\necho >>\"$here/starts\"\n'{real}' \"$@\" || exit $?\necho >>\"$here/ends\"\n",
            folder.0.display()
        );
        copy(Path::new(&folder.file("script", script)), &folder.path(name));
        let mark = format!("{test}-{}", std::process::id());
        Self { folder, mark, program: name.to_owned() }
    }

    /// The built program of that name.
    pub fn built(name: &str) -> String {
        common::program_path().with_file_name(name).display().to_string()
    }

    pub fn store(&self) -> String {
        self.folder.path("store/runs.sqlite")
    }

    fn lines(&self, file: &str) -> usize {
        fs::read_to_string(self.folder.path(file)).map_or(0, |text| text.lines().count())
    }

    /// How many times the program has come to a good end.
    pub fn ends(&self) -> usize {
        self.lines("ends")
    }

    /// Starts the lab with these arguments.
    pub fn start(&self, arguments: &[&str]) -> Victim<'_> {
        for count in ["starts", "ends"] {
            let _ = fs::remove_file(self.folder.path(count));
        }
        let path = format!("{}:{}", self.folder.0.display(), std::env::var("PATH").unwrap());
        let errors = self.folder.path("stderr");
        // The lab looks for the index of images near itself, and this one is elsewhere.
        let target = common::program_path();
        let target = target.ancestors().nth(2).expect("the program is in a target folder");
        let images = std::env::var_os("CHRONOSCOPE_IMAGES");
        let images = images.map_or_else(|| target.join("firmware"), PathBuf::from);
        let child = Command::new(self.folder.path("chronoscope"))
            .args(arguments)
            .args(["--store", &self.store()])
            .env("PATH", path)
            .env("CHRONOSCOPE_IMAGES", images)
            .env("TMPDIR", self.folder.path("tmp"))
            .env(MARK, &self.mark)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        Victim { place: self, child, errors: errors.into() }
    }

    /// The unmarked lab with these arguments and the store.
    pub fn ask(&self, arguments: &[&str]) -> Answer {
        common::chronoscope(&[arguments, &["--store", &self.store()]].concat())
    }

    /// All marked processes, with their names.
    fn processes(&self) -> Vec<(Pid, String)> {
        let mark = format!("{MARK}={}", self.mark);
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter(|process| {
                let environment = fs::read(process.path().join("environ")).unwrap_or_default();
                environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
            })
            .filter_map(|process| {
                let number = process.file_name().to_str()?.parse().ok()?;
                let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                Some((Pid::from_raw(number)?, name.trim_end().to_owned()))
            })
            .collect()
    }

    /// Kills one process of the counted program, once there is one.
    #[track_caller]
    pub fn kill_one(&self) {
        // The kernel keeps 15 letters of a name.
        let name = &self.program[..self.program.len().min(15)];
        until("a process is killed", || {
            let ours = self.processes().into_iter().filter(|(_, other)| other == name);
            ours.into_iter().any(|(pid, _)| kill_process(pid, Signal::KILL).is_ok())
        });
    }

    /// The stored cases that ended because their process was killed.
    pub fn killed_cases(&self) -> usize {
        let run = self.ask(&["report", "last", "--format", "json"]).json();
        let cases = run["cases"].as_array().unwrap();
        let is_killed = |case: &&serde_json::Value| {
            let reasons = case["verdict"]["reasons"].to_string();
            case["verdict"]["status"] == "inconclusive"
                && ["signal 9", "137"].iter().any(|text| reasons.contains(text))
        };
        cases.iter().filter(is_killed).count()
    }

    /// Waits until no marked process is left; returns how long that took.
    #[track_caller]
    pub fn is_left_by_all(&self) -> Duration {
        let start = Instant::now();
        until("no process is left", || self.processes().is_empty());
        start.elapsed()
    }

    /// Checks that no temporary file or folder is left, and that the store is intact.
    #[track_caller]
    pub fn is_clean(&self) {
        let names = |folder: &str| {
            let entries = fs::read_dir(self.folder.path(folder)).into_iter().flatten();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(names("tmp"), [""; 0]);
        let odd = |name: &&String| name.ends_with(".part") || name.starts_with('.');
        for folder in ["store", "store/runs.pages"] {
            assert_eq!(names(folder).iter().find(odd), None, "{folder}");
        }
        let store = Connection::open(self.store()).unwrap();
        let check: String =
            store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
    }

    /// The repetitions that the journal holds now, by a copy of it; 0 without a journal.
    pub fn journaled(&self) -> usize {
        let journals = journal::all(Path::new(&self.store())).unwrap();
        let copy = PathBuf::from(self.folder.path("copy.journal"));
        let copied = journals.first().and_then(|journal| fs::copy(journal, &copy).ok());
        copied.map_or(0, |_| {
            let journal = Unfinished::open(&copy, Duration::ZERO).unwrap();
            journal.map_or(0, |journal| journal.entries())
        })
    }

    /// The repetitions of all cases of all runs in the store, and forgets the runs.
    pub fn take_stored(&self) -> usize {
        let runs = self.ask(&["history", "--format", "json"]);
        if runs.status != Some(0) {
            return 0;
        }
        let mut repetitions = 0;
        for run in runs.json().as_array().unwrap() {
            let number = run["run"].to_string();
            let run = self.ask(&["report", &number, "--format", "json"]).json();
            let cases = run["cases"].as_array().unwrap();
            repetitions +=
                cases.iter().map(|case| case["repetitions"].as_u64().unwrap()).sum::<u64>();
            self.ask(&["history", "--forget", &number]).exits(0);
        }
        usize::try_from(repetitions).unwrap()
    }
}

/// Copies by another program: a child that is forked meanwhile would hold the file open for
/// writing until its exec, and Linux refuses to run such a file.
fn copy(from: &Path, to: &str) {
    let install = Command::new("install").args(["-m", "755"]).arg(from).arg(to).status().unwrap();
    assert!(install.success(), "{to}");
}

/// Waits for a condition.
#[track_caller]
pub fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(within(PATIENCE, holds), "waited too long: {what}");
}

/// Waits so long for a condition; returns whether it has come.
fn within(time: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() >= time {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

/// A lab under way; killed on drop.
pub struct Victim<'a> {
    place: &'a Place,
    child: Child,
    errors: PathBuf,
}

impl Victim<'_> {
    /// Waits until `ends` starts of the counted program have come to a good end.
    #[track_caller]
    pub fn has_ended(&mut self, ends: usize) {
        until("the program ends", || {
            let status = self.child.try_wait().unwrap();
            assert!(status.is_none(), "the lab ended early: {}", self.said());
            self.place.ends() >= ends
        });
    }

    pub fn signal(&self, signal: Signal) {
        // It may have ended by itself: it is not waited for yet, so its number is its own.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Sends SIGINT or SIGTERM, by turns, and SIGINT within 0.1 s after it. Returns the time until
    /// the lab ends, with 130.
    #[track_caller]
    pub fn ends_by_two_signals(&mut self, round: u32, random: &mut Random) -> Duration {
        let start = Instant::now();
        self.signal(if round.is_multiple_of(2) { Signal::INT } else { Signal::TERM });
        thread::sleep(random.below(Duration::from_millis(100)));
        self.signal(Signal::INT);
        assert_eq!(self.ended(), 130, "{}", self.said());
        start.elapsed()
    }

    /// The lab's standard error so far.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.errors).unwrap()
    }

    /// Waits so long for the end; returns whether it has come.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        within(time, || self.child.try_wait().unwrap().is_some())
    }

    /// Waits for the end; returns the exit status, or minus the signal that ended the lab.
    #[track_caller]
    pub fn ended(&mut self) -> i32 {
        until("the lab ends", || self.child.try_wait().unwrap().is_some());
        let status = self.child.wait().unwrap();
        status.code().unwrap_or_else(|| -status.signal().unwrap_or_default())
    }
}

impl Drop for Victim<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The results of a test's rounds, for a person to read.
#[derive(Default)]
pub struct Tally {
    pub rounds: u32,
    pub complete: usize,
    pub kept: usize,
    /// The longest time that something took: an exit after a signal, or the end of all processes.
    pub longest: Duration,
}

impl Tally {
    /// Adds a round in which `complete` repetitions came to a good end and `kept` were stored.
    #[track_caller]
    pub fn add(&mut self, complete: usize, kept: usize, took: Duration) {
        self.add_of(1, complete, kept, took);
    }

    /// Adds a round, as [`add`](Self::add), of a lab that ran `jobs` cases side by side.
    #[track_caller]
    pub fn add_of(&mut self, jobs: usize, complete: usize, kept: usize, took: Duration) {
        assert!(kept <= complete, "{kept} of {complete} repetitions are stored");
        assert!(kept + jobs >= complete, "{kept} of {complete} repetitions are stored");
        self.rounds += 1;
        self.complete += complete;
        self.kept += kept;
        self.longest = self.longest.max(took);
    }

    pub fn print(&self, what: &str) {
        let Self { rounds, complete, kept, longest } = self;
        let lost = complete - kept;
        println!(
            "{rounds} {what}: {complete} repetitions ended, {kept} kept, {lost} ended while they \
             were interrupted; at most {longest:?}"
        );
    }
}
