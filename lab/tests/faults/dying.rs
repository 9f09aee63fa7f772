//! A port that dies at each record, and one whose bytes arrive in pieces.

use std::{
    fs,
    process::Stdio,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    common::Answer,
    played::{Lab, WRITING, good_stream},
};

#[test]
fn ports_that_die_at_each_record() {
    let good = good_stream();
    let mut ends: Vec<usize> =
        (0..good.len()).filter(|at| good[*at] == 0).map(|at| at + 1).collect();
    assert_eq!(ends.pop(), Some(good.len()), "the stream ends with its last record");
    assert_eq!(ends.len(), 7);
    for (name, end, why) in [
        ("exit", "exit 0", "the stream was cut short after"),
        ("kill", "kill -9 $$", "killed by signal 9"),
    ] {
        let lab = Lab::new(&format!("dies-{name}")).with_port(&format!("cat \"$here/bad\"; {end}"));
        // Before the first record, after each, and within each.
        let inside = ends.iter().map(|end| end + 3);
        for length in inside.chain(ends.iter().copied()).chain([0, good.len() - 1]) {
            fs::write(lab.0.path("bad"), &good[..length]).unwrap();
            lab.expect(why);
        }
    }
}

/// Stopping and continuing a process interrupts its blocking system calls.
#[test]
fn a_stream_in_pieces_under_interruptions_is_the_same() {
    let pieces = good_stream().len().div_ceil(7);
    let lab = Lab::new("pieces").with_port("exit 1").with_program(&format!(
        "#!/bin/sh\nat=0\nwhile [ $at -lt {pieces} ]; do\n\
         dd if=\"${{0%/*}}/good\" bs=7 skip=$at count=1 2>/dev/null\nat=$((at + 1))\ndone\n"
    ));
    let words = ["run", "switch", "--repeat", "2", "-q", "--no-store", "--format", "json"];
    let mut command = lab.command(&words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = {
        let _alone = WRITING.lock();
        command.spawn().unwrap()
    };
    let pid = Pid::from_child(&child);
    let begin = Instant::now();
    let waiter = std::thread::spawn(move || child.wait_with_output().unwrap());
    while !waiter.is_finished() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the lab does not end");
        // The process may end between the look and the signal.
        let _ = kill_process(pid, Signal::STOP);
        std::thread::sleep(Duration::from_millis(2));
        let _ = kill_process(pid, Signal::CONT);
        std::thread::sleep(Duration::from_millis(10));
    }
    let answer = Answer::new(waiter.join().unwrap(), format!("{command:?}"));
    let run = answer.exits(0).json();
    assert_eq!(answer.stderr, "");
    let series = &run["cases"][0]["series"][0];
    assert_eq!((&series["count"], &series["p50"]), (&56.into(), &3000.0.into()), "{series}");
    assert_eq!(run["cases"][0]["verdict"]["status"], "pass");
}
