//! Set-up that takes long, waits, fails or is interrupted, with programs of the test in the place of
//! the builders, the package manager and QEMU.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    common::{self, Answer},
    played::{Lab, WRITING},
};

/// The time limit for expected events; no test needs to be fast to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// The commands of a program that reports its process group and then waits for ever.
const WAIT: &str = "echo $$ >>\"$here/groups\"; touch \"$here/waits\"; exec sleep 1000";

impl Lab {
    /// Adds a program to the folder, which is the first of PATH. It finds the folder in `$here`.
    fn with_tool(self, name: &str, script: &str) -> Self {
        let _alone = WRITING.lock();
        let file =
            self.0.file(&format!("{name}.sh"), format!("#!/bin/sh\nhere=${{0%/*}}\n{script}\n"));
        common::copy_program(file, self.0.path(name));
        self
    }

    /// An index of one image, `mine@cortex-m4`, which the tool `builder` builds.
    fn with_index(self) -> Self {
        fs::create_dir_all(self.0.path("target/firmware")).unwrap();
        let index = json!({ "schema": 1, "builder": ["../../builder"], "images": [{
            "target": "mine@cortex-m4", "kernel": "mine", "kind": "thread", "variant": "plain",
            "path": "image", "sha256": null,
        }]});
        self.0.file("target/firmware/index.json", index.to_string());
        self
    }

    /// Everything that comes before the download of a kernel, and the name of its package.
    fn with_guest(self) -> Self {
        let built = "$CARGO_TARGET_DIR/guest/x86_64-unknown-linux-gnu/release";
        self.with_tool("xtask", &format!("mkdir -p {built}; echo port >{built}/chronoscope-linux"))
            .with_tool("qemu-system-x86_64", "echo QEMU emulator version 8.2.0")
            .with_tool("apt-cache", "echo '  Depends: linux-image-6.1.0-1-rt-amd64'")
    }

    /// The lab with this folder's programs, cache and images.
    fn set_up(&self, words: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = self.command(words);
        command
            .env("PATH", format!("{}:{path}", self.0.0.display()))
            .env("CARGO_TARGET_DIR", self.0.path("target"))
            .env("CHRONOSCOPE_IMAGES", self.0.path("target/firmware"))
            .env("XDG_CACHE_HOME", self.0.path("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn answer(&self, words: &[&str]) -> Answer {
        let mut command = self.set_up(words);
        let child = {
            let _alone = WRITING.lock();
            command.spawn().unwrap()
        };
        Answer::new(child.wait_with_output().unwrap(), format!("{command:?}"))
    }
}

fn words(target: &str) -> [&str; 9] {
    ["run", "switch", "--target", target, "--repeat", "1", "--no-store", "--format", "json"]
}

/// The only reason of a run's only case.
#[track_caller]
fn reason(answer: &Answer) -> String {
    let run = answer.exits(1).json();
    let verdict = &run["cases"][0]["verdict"];
    assert_eq!(verdict["status"], "error", "{verdict}");
    let reasons = verdict["reasons"].as_array().unwrap();
    assert_eq!(reasons.len(), 1, "{verdict}");
    reasons[0].as_str().unwrap().to_owned()
}

#[test]
fn a_build_is_shown_and_a_failed_one_leaves_its_log() {
    let builder = "echo 'chronoscope: waiting for apt, which another program holds' >&2\n\
                   echo compiling; sleep 2; echo 'error: no room in flash' >&2; exit 1";
    let lab = Lab::new("set-up-build").with_index().with_tool("builder", builder);
    let answer = lab.answer(&words("mine@cortex-m4"));
    let log = lab.0.path("target/set-up/building-mine-cortex-m4.log");
    let retry = "cargo xtask images build mine@cortex-m4 plain";
    assert_eq!(
        reason(&answer),
        format!(
            "mine@cortex-m4 could not be built: error: no room in flash (log: {log}; try again: {retry})"
        )
    );
    let kept = fs::read_to_string(&log).unwrap();
    assert!(kept.starts_with("compiling\n") && kept.ends_with("no room in flash\n"), "{kept}");
    // The builder's line for the user comes at once, the step's own after a second.
    let lines: Vec<&str> = answer.stderr.lines().filter(|line| !line.contains(" % ")).collect();
    let [waiting, begin, end] = lines.as_slice() else { panic!("{answer:#?}") };
    assert_eq!(*waiting, "chronoscope: waiting for apt, which another program holds");
    assert_eq!(*begin, "chronoscope: building mine@cortex-m4");
    assert!(end.starts_with("chronoscope: building mine@cortex-m4: took "), "{end}");
    // With -q nothing is shown, and a build that takes no time is not shown either.
    assert_eq!(lab.answer(&[&words("mine@cortex-m4")[..], &["-q"]].concat()).stderr, "");
    let quick = Lab::new("set-up-quick").with_index().with_tool("builder", "exit 1");
    let answer = quick.answer(&words("mine@cortex-m4"));
    assert!(!answer.stderr.contains("building"), "{answer:#?}");
}

#[test]
fn a_download_waits_for_apt_and_names_its_cause() {
    let apt = "case $* in\n\
               *update*) echo >>\"$here/updates\"; [ $(wc -l <\"$here/updates\") -gt 1 ] || {\n\
               echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7' >&2\n\
               exit 100; };;\n\
               *) echo 'Err:1 a mirror'; echo 'E: Failed to fetch the package' >&2; exit 100;;\n\
               esac";
    let lab = Lab::new("set-up-apt").with_guest().with_tool("apt-get", apt);
    let answer = lab.answer(&words("linux-rt@vm"));
    let log = lab.0.path("cache/chronoscope/fetching-Linux-6.1-rt-from-Debian.log");
    assert_eq!(
        reason(&answer),
        format!(
            "fetching Linux 6.1-rt from Debian: apt-get failed: Failed to fetch the package \
             (log: {log}; try again: the same command)"
        )
    );
    assert_eq!(
        fs::read_to_string(&log).unwrap(),
        "Err:1 a mirror\nE: Failed to fetch the package\n"
    );
    let said = &answer.stderr;
    let waiting = "chronoscope: waiting for apt, which another program holds: apt-get failed: Could not get lock";
    assert!(said.contains(waiting) && said.matches("waiting").count() == 1, "{said}");
    assert!(said.contains("chronoscope: fetching Linux 6.1-rt from Debian\n"), "{said}");
    assert!(said.contains("fetching Linux 6.1-rt from Debian: took "), "{said}");
    assert_eq!(fs::read_to_string(lab.0.path("updates")).unwrap().lines().count(), 2);
}

/// The first signal ends every step of set-up.
#[test]
fn a_signal_ends_set_up() {
    let held = "echo 'E: Could not get lock' >&2; touch \"$here/waits\"; exit 100";
    let guest = |name: &str| Lab::new(&format!("set-up-stop-{name}")).with_guest();
    let chip = Lab::new("set-up-stop-image").with_index();
    let table = [
        ("mine@cortex-m4", chip.with_tool("builder", WAIT)),
        ("linux-rt@vm", guest("port").with_tool("xtask", WAIT)),
        ("linux-rt@vm", guest("qemu").with_tool("qemu-system-x86_64", WAIT)),
        ("linux-rt@vm", guest("lists").with_tool("apt-cache", WAIT)),
        ("linux-rt@vm", guest("apt").with_tool("apt-get", WAIT)),
        ("linux-rt@vm", guest("held").with_tool("apt-get", held)),
    ];
    for (target, lab) in table {
        let mut command = lab.set_up(&words(target));
        let mut child = {
            let _alone = WRITING.lock();
            command.spawn().unwrap()
        };
        let begin = Instant::now();
        while !Path::new(&lab.0.path("waits")).exists() {
            assert!(begin.elapsed() < PATIENCE && child.try_wait().unwrap().is_none(), "{target}");
            thread::sleep(Duration::from_millis(10));
        }
        let begin = Instant::now();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let answer = Answer::new(child.wait_with_output().unwrap(), format!("{command:?}"));
        // Two seconds, and as many as a busy machine needs.
        assert!(begin.elapsed() < PATIENCE, "{answer:#?}");
        let told = "chronoscope: interrupted: 0 of 1 cases are complete";
        assert!(answer.exits(130).stderr.contains(told), "{answer:#?}");
        lab.left_nobody();
    }
}
