//! The temporary folder of the machines' instruments: one without room is an error of the set-up,
//! with the place, and not a doubt about the kernel.

use std::{fs, process::Command};

use crate::common::{Answer, Folder, program, run};

const RUN: [&str; 9] =
    ["run", "switch", "-q", "--set", "pins=yes", "--set", "loops=10", "--repeat=1", "--no-store"];

/// Checks the answer to a run whose recordings had no room, for this cause.
#[track_caller]
fn is_of_the_set_up(answer: &Answer, place: &str, cause: &str) {
    let run = answer.exits(1).json();
    let verdict = &run["cases"][0]["verdict"];
    assert_eq!(verdict["status"], "error", "{verdict}");
    let [reason] = verdict["reasons"].as_array().unwrap().as_slice() else { panic!("{verdict}") };
    let reason = reason.as_str().unwrap();
    for part in [place, cause, "TMPDIR"] {
        assert!(reason.contains(part), "no `{part}` in {reason}");
    }
    assert!(!reason.contains("loads plugins"), "{reason}");
}

#[test]
fn a_full_temporary_folder_is_an_error_of_the_set_up() {
    let folder = Folder::new("full-folder");
    let disk = folder.path("disk");
    fs::create_dir(&disk).unwrap();
    let flags = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    for target in ["tandem@cortex-m4", "tandem@ibex"] {
        let lab = program();
        let script = "mount -t tmpfs -o size=64k tmpfs \"$TMPDIR\" || exit 99\n\
                      cat /dev/zero >\"$TMPDIR/rest\" 2>/dev/null; exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args([flags, "sh", "-c", script, "sh"]).arg(lab.get_program());
        command.args(RUN).args(["--target", target, "--format", "json"]).env("TMPDIR", &disk);
        command.envs(lab.get_envs().filter_map(|(name, value)| Some((name, value?))));
        is_of_the_set_up(&run(&mut command), &disk, "No space left on device");
    }
}

#[test]
fn a_missing_temporary_folder_is_an_error_of_the_set_up() {
    let folder = Folder::new("missing-folder");
    let missing = folder.path("missing");
    for target in ["tandem@cortex-m4", "tandem@ibex"] {
        let mut command = program();
        command.args(RUN).args(["--target", target, "--format", "json"]).env("TMPDIR", &missing);
        is_of_the_set_up(&run(&mut command), &missing, "cannot make the folder");
    }
}
