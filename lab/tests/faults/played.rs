//! The lab next to a played port: a script that a test wrote, and streams for it to send.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    process::Command,
    sync::Mutex,
    time::{Duration, Instant},
};

use chronoscope_suite::wire::{Clock, Domain, Evidence, Record, Sample, Samples, Series, VERSION};
use serde_json::Value;

use crate::common::{self, Answer, Folder, frames};

/// Serialises writing programs and forking: a child would hold the file open for writing until its
/// exec, and Linux refuses to run such a file.
pub static WRITING: Mutex<()> = Mutex::new(());

/// The lab in a folder of its own, next to a port that a test wrote.
pub struct Lab(pub Folder);

impl Lab {
    pub fn new(name: &str) -> Self {
        let _alone = WRITING.lock();
        let lab = Self(Folder::new(name));
        let program = lab.0.path("chronoscope");
        fs::copy(common::program_path(), &program).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        lab
    }

    /// Adds the port: for `tasks=5` a good one, else this script, which finds its folder in
    /// `$here`.
    pub fn with_port(self, script: &str) -> Self {
        let good = "case \"$*\" in *tasks=5*) exec cat \"$here/good\";; esac";
        self.0.file("good", good_stream());
        self.with_program(&format!(
            "#!/bin/sh\nhere=${{0%/*}}\necho $$ >>\"$here/groups\"\n{good}\n{script}\n"
        ))
    }

    pub fn with_program(self, program: &str) -> Self {
        let _alone = WRITING.lock();
        let port = self.0.file("chronoscope-linux", program);
        fs::set_permissions(port, Permissions::from_mode(0o755)).unwrap();
        self
    }

    pub fn with_stream(self, name: &str, stream: &[u8]) -> Self {
        self.0.file(name, stream);
        self
    }

    pub fn command(&self, words: &[&str]) -> Command {
        // Half a gigabyte must suffice, whatever a port sends.
        let mut command = Command::new("sh");
        command.env("COLUMNS", "1000").env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"));
        command
            .args(["-c", "ulimit -v 500000; exec \"$@\"", "sh", &self.0.path("chronoscope")])
            .args(words);
        command
    }

    pub fn run(&self, words: &[&str]) -> Answer {
        let mut command = self.command(words);
        let shown = format!("{command:?}");
        let child = {
            let _alone = WRITING.lock();
            command
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        };
        Answer::new(child.wait_with_output().unwrap(), shown)
    }

    /// Runs a bad case and a good one, and checks that the bad one gives the reason and the good
    /// one is unaffected.
    #[track_caller]
    pub fn expect(&self, why: &str) {
        let start = Instant::now();
        let words = [
            "run",
            "switch",
            "--set",
            "tasks=2,5",
            "--repeat",
            "2",
            "--watchdog",
            "1s",
            "-q",
            "--format",
            "json",
        ];
        let answer = self.run(&words);
        assert!(start.elapsed() < Duration::from_secs(20), "{why}: it took {:?}", start.elapsed());
        answer.exits(4);
        assert_eq!(answer.stderr, "");
        let run = answer.json();
        let [bad, good] = run["cases"].as_array().unwrap().as_slice() else { panic!("{run}") };
        assert_eq!(bad["verdict"]["status"], "inconclusive", "{bad}");
        let reasons: Vec<_> = bad["verdict"]["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert!(
            reasons.len() == 1 && reasons[0].contains(why) && !reasons[0].contains('\n'),
            "{why}: {reasons:?}"
        );
        assert_eq!(
            (&good["verdict"]["status"], &good["repetitions"]),
            (&"pass".into(), &2.into()),
            "{good}"
        );
        self.left_nobody();
    }

    /// Checks that no process is left of any group that a port led.
    #[track_caller]
    pub fn left_nobody(&self) {
        let groups = fs::read_to_string(self.0.path("groups")).unwrap_or_default();
        let groups: Vec<&str> = groups.lines().collect();
        let left = || {
            let processes = fs::read_dir("/proc").unwrap().flatten();
            processes.filter_map(|process| {
                let stat = fs::read_to_string(process.path().join("stat")).ok()?;
                // After the name in parentheses: state, parent, group. A zombie has ended; its
                // parent will reap it.
                let fields: Vec<_> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
                (fields[0] != "Z" && groups.contains(&fields[2])).then_some(stat)
            })
        };
        // Killed processes take a moment to end.
        let deadline = Instant::now() + Duration::from_secs(5);
        while left().next().is_some() {
            assert!(Instant::now() < deadline, "left behind: {:?}", left().collect::<Vec<_>>());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

pub fn hello() -> Record<'static> {
    Record::Hello { version: VERSION, kernel: "linux", release: "1", request: "switch" }
}

pub fn clock() -> Record<'static> {
    Record::Clock(Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 1 })
}

pub fn samples(series: u8, value: u64) -> Record<'static> {
    Record::Samples(Samples { series, block: (0..28).map(|_| Sample { gap: 10, value }).collect() })
}

pub fn evidence(value: f64) -> Record<'static> {
    Record::Evidence(Evidence { name: "switches", value, low: 1.0, high: f64::INFINITY })
}

pub fn good_stream() -> Vec<u8> {
    let control = Series { id: 1, ..Series::control("mark to mark") };
    frames(&[
        hello(),
        clock(),
        Record::Series(Series::measured("switch")),
        samples(0, 3000),
        Record::Series(control),
        samples(1, 20),
        evidence(56.0),
        Record::End { records: 7 },
    ])
}
