//! A disk that is full, or a file that may grow no more, at each write.

use std::{
    fs,
    process::{Command, Stdio},
};

use chronoscope_store::{Place, Store};

use crate::{
    common::Answer,
    played::{Lab, WRITING},
};

/// A case that the played port answers at once.
const RUN: [&str; 8] = ["run", "switch", "--set", "tasks=5", "--repeat", "1", "-q", "--format"];

fn lab(name: &str) -> Lab {
    Lab::new(name).with_port("exit 1")
}

/// Runs a shell script with the lab as `$1` and its arguments after it.
fn shell(script: &str, lab: &Lab, words: &[&str]) -> Answer {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", &lab.0.path("chronoscope")]).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = {
        let _alone = WRITING.lock();
        command.spawn().unwrap()
    };
    Answer::new(child.wait_with_output().unwrap(), format!("{command:?}"))
}

/// Runs the lab with a limit on the size of files, in blocks of 512 bytes.
fn limited(lab: &Lab, blocks: usize, words: &[&str]) -> Answer {
    shell(&format!("ulimit -f {blocks}; exec \"$@\""), lab, words)
}

/// Checks that the error is a single line of the program, and returns it.
#[track_caller]
fn line(answer: &Answer) -> &str {
    let line = answer.exits(1).stderr.strip_suffix('\n').unwrap_or_else(|| panic!("{answer:#?}"));
    assert!(line.starts_with("chronoscope: ") && !line.contains('\n'), "{answer:#?}");
    line
}

#[test]
fn a_file_that_may_grow_no_more_leaves_the_old_one() {
    for format in ["json", "csv", "html"] {
        let lab = lab(&format!("limit-{format}"));
        let file = lab.0.file("out", "old");
        let before = fs::read_dir(&lab.0.0).unwrap().count();
        let mut failed = 0;
        for blocks in (0..).map(|step| step * step) {
            let answer =
                limited(&lab, blocks, &[&RUN[..], &[format, "--no-store", "-o", &file]].concat());
            // The played port writes a line in the same folder.
            let files = fs::read_dir(&lab.0.0).unwrap().count();
            if answer.status == Some(0) {
                let size = fs::metadata(&file).unwrap().len();
                assert!(size <= 512 * blocks as u64 && size > 3, "{size} of {blocks} blocks");
                break;
            }
            failed += 1;
            if blocks > 0 {
                assert!(
                    line(&answer).contains("out: File too large"),
                    "{blocks} blocks: {answer:#?}"
                );
            }
            assert_eq!(fs::read_to_string(&file).unwrap(), "old", "{blocks} blocks");
            assert!(files <= before + 1, "{blocks} blocks: a file was left behind");
        }
        assert!(failed > 1, "{format}: {failed} limits were too small");
    }
}

#[test]
fn a_store_that_may_grow_no_more_keeps_its_runs() {
    let lab = lab("limit-store");
    let store = lab.0.path("runs.sqlite");
    let words = [&RUN[..], &["csv", "--store", &store]].concat();
    lab.run(&words).exits(0);
    let place = Place::File(store.clone().into());
    let runs = || Store::open(&place).unwrap().runs(None, 99).unwrap().len();
    assert_eq!(runs(), 1);
    let pages = fs::metadata(&store).unwrap().len() / 4096;
    for page in 1..=pages + 8 {
        // SQLite writes whole pages of 4096 bytes.
        let answer = limited(&lab, 8 * page as usize, &words);
        if answer.status == Some(0) {
            assert!(page >= pages && runs() == 2, "{page} pages: {answer:#?}");
            return;
        }
        assert!(line(&answer).contains("runs.sqlite"), "{page} pages: {answer:#?}");
        answer.shows("switch");
        assert_eq!(runs(), 1, "{page} pages");
    }
    panic!("{pages} pages and eight more were not enough for a second run");
}

/// A tmpfs in a mount namespace, which root may make, and others where they may make a user
/// namespace.
#[test]
fn a_full_disk_is_reported_in_a_line_at_each_size() {
    let lab = lab("full");
    fs::create_dir(lab.0.path("disk")).unwrap();
    let flags = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    // The disk holds nothing, part of a store, and at last a whole one with its page.
    let on_disk = |kilobytes: usize, script: &str| {
        let disk = lab.0.path("disk");
        let script = format!(
            "exec unshare {flags} sh -c 'mount -t tmpfs -o size={kilobytes}k tmpfs \"$0\" || exit 99; {script}' {disk} \"$@\""
        );
        let store = format!("{disk}/runs.sqlite");
        shell(&script, &lab, &[&RUN[..], &["csv", "--store", &store]].concat())
    };
    let able = on_disk(64, "exit 0");
    assert_eq!(
        able.status,
        Some(0),
        "this test needs a mount namespace, with CAP_SYS_ADMIN or user namespaces: {able:#?}"
    );
    let mut failed = 0;
    // A tmpfs has whole pages.
    for kilobytes in (4..).step_by(4) {
        let answer = on_disk(
            kilobytes,
            "\"$@\"; status=$?; \"$1\" history --store \"$0/runs.sqlite\" >&2; exit $status",
        );
        if answer.status == Some(0) {
            answer.shows("switch");
            break;
        }
        failed += 1;
        assert!(kilobytes < 4096, "{answer:#?}");
        answer.exits(1);
        // An unwritable store is reported before the measurement, whose figures are shown
        // nevertheless. The first line is of the run, the next ones may be of the history.
        assert!(answer.stdout.is_empty() || answer.stdout.contains("switch"), "{answer:#?}");
        let lines: Vec<&str> = answer.stderr.lines().collect();
        assert!(lines[0].starts_with("chronoscope: "), "{kilobytes} KiB: {answer:#?}");
        let told =
            ["does not fit on its disk", "No space left on device", "cannot be read or written"];
        assert!(told.iter().any(|text| lines[0].contains(text)), "{kilobytes} KiB: {answer:#?}");
        assert!(
            !answer.stderr.contains("panicked") && !answer.stderr.contains("is damaged"),
            "{answer:#?}"
        );
    }
    assert!(failed > 2, "{failed} disks were too small");
}

/// The store and its journal are on one disk that becomes full. Once the disk has
/// room, `recover` keeps the error's promise.
#[test]
fn a_full_disk_keeps_what_is_promised() {
    let lab = lab("promise");
    let disk = lab.0.path("disk");
    fs::create_dir(&disk).unwrap();
    let flags = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let store = format!("{disk}/runs.sqlite");
    let (mut promised, mut refused) = (0, 0);
    for kilobytes in (960..4096).step_by(12) {
        let script = format!(
            "exec unshare {flags} sh -c 'mount -t tmpfs -o size={kilobytes}k tmpfs \"$0\" || exit 99; \
             \"$@\"; status=$?; mount -o remount,size=64m \"$0\"; \
             echo then >&2; \"$1\" recover --store \"$0/runs.sqlite\" >&2; \
             \"$1\" history --store \"$0/runs.sqlite\" >&2; exit $status' {disk} \"$@\""
        );
        let answer = shell(&script, &lab, &[&RUN[..], &["csv", "--store", &store]].concat());
        if answer.status == Some(0) {
            break;
        }
        answer.exits(1);
        let (error, then) = answer.stderr.split_once("then\n").unwrap();
        let is_stored = then.contains("pass");
        let is_promised = error.contains("`chronoscope recover");
        assert_eq!(is_stored, is_promised, "{kilobytes} KiB: {answer:#?}");
        promised += u32::from(is_promised);
        refused += u32::from(answer.stdout.is_empty());
    }
    assert!(promised > 0 && refused > 0, "{promised} promised, {refused} refused at the start");
}
