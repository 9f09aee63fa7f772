//! `tools/packages` with programs of the test in the place of apt-get, sudo and id.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{self, Command, Output, Stdio},
};

/// A folder with programs, the first one in PATH; removed on drop.
struct Programs(PathBuf);

impl Programs {
    /// apt-get runs the script `apt_get`; no package is installed, and sleeping takes no time.
    fn new(name: &str, apt_get: &str) -> Self {
        let folder = env::temp_dir().join(format!("chronoscope-packages-{}-{name}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let programs = Self(folder);
        programs.add("apt-get", &format!("echo \"$@\" >>\"$here/calls\"\n{apt_get}"));
        programs.add("dpkg-query", "exit 1");
        programs.add("sleep", "echo slept >>\"$here/sleeps\"");
        programs.add(
            "sudo",
            "printf '%s\\n' \"$*\" >>\"$here/sudo.calls\"\n[ \"$1\" = -n ] || exec \"$@\"",
        );
        programs
    }

    fn add(&self, name: &str, script: &str) {
        let path = self.0.join(name);
        // Written by another process: a child of this one might hold the file open for writing, and
        // Linux would refuse to start it.
        let text = format!("#!/bin/sh\nhere=${{0%/*}}\n{script}\n");
        let mut write = Command::new("sh");
        write.args(["-c", "printf %s \"$1\" >\"$2\"", "sh"]).arg(text).arg(&path);
        let status = write.status().unwrap();
        assert!(status.success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn of_user(self) -> Self {
        self.add("id", "echo 1000");
        self
    }

    fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.0.join(name)).unwrap_or_default().lines().count()
    }

    fn install(&self, ci: &str) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/packages");
        let path = env::var("PATH").unwrap();
        let mut command = Command::new(script);
        command.arg("vm").env("PATH", format!("{}:{path}", self.0.display())).env("CI", ci);
        command.env("CARGO_TARGET_DIR", self.0.join("target")).stdin(Stdio::null());
        command.output().unwrap()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const HELD: &str =
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt)";

#[test]
fn a_busy_apt_is_waited_for() {
    let script =
        format!("[ $(wc -l <\"$here/calls\") -gt 3 ] || {{ echo '{HELD}' >&2; exit 100; }}");
    let programs = Programs::new("busy", &script);
    let output = programs.install("");
    assert!(output.status.success(), "{output:?}");
    assert_eq!((programs.lines("calls"), programs.lines("sleeps")), (4, 3));
    let message = stderr(&output);
    assert!(
        message.contains("waiting for apt, which another program holds: Could not get"),
        "{message}"
    );
    assert_eq!(message.matches("waiting").count(), 1, "{message}");
}

#[test]
fn a_wait_ends_with_its_cause() {
    let programs = Programs::new("held", &format!("echo '{HELD}' >&2; exit 100"));
    let output = programs.install("");
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    let last = message.lines().next_back().unwrap();
    assert!(last.contains("qemu-system-x86: Could not get lock"), "{message}");
    assert!(last.contains("as root, apt-get update && apt-get install"), "{message}");
    assert!(programs.lines("sleeps") >= 120, "ten minutes");
}

#[test]
fn another_failure_is_reported_at_once() {
    let programs = Programs::new("lost", "echo 'E: Unable to locate package x' >&2; exit 100");
    let output = programs.install("");
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(
        message.lines().next_back().unwrap().contains(": Unable to locate package x (the whole")
    );
    assert_eq!(programs.lines("sleeps"), 0);
}

#[test]
fn without_a_terminal_sudo_is_not_started() {
    let programs = Programs::new("user", "exit 0").of_user();
    let output = programs.install("");
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.contains("needs Debian packages: qemu-system-x86"), "{message}");
    assert!(
        message.contains("apt-get install --no-install-recommends qemu-system-x86"),
        "{message}"
    );
    assert_eq!((programs.lines("sudo.calls"), programs.lines("calls")), (0, 0));
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn in_ci_sudo_installs() {
    let programs = Programs::new("ci", "exit 0").of_user();
    let output = programs.install("true");
    assert!(output.status.success(), "{output:?}");
    assert_eq!((programs.lines("sudo.calls"), programs.lines("calls")), (2, 1));
}
