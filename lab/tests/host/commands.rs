//! The program takes every command that the documents show. Runs are only planned here (`--list`);
//! `chips/tutorials.rs` completes the tutorials' runs.

use crate::common::documented::{Desk, DocumentedCommand, commands, documents, is_done};

/// Parts of commands that cannot be run anywhere else: files of other machines, measurements of
/// many seconds, tools that act on the machine.
const ELSEWHERE: [&str; 10] = [
    "/srv/",
    "--place ",
    "[--",
    "completions bash >",
    "--on slurm",
    "postgres://",
    "=target/firmware/",
    "theirs.toml",
    "hwbinder-latency",
    "chronoscope schedule ",
];

/// Observations are of images that readers have: here the command line is read, and no image found.
const NO_IMAGES: &str = "IMAGE=no.elf KERNEL=no.elf OS=no.elf FW=no.elf T=no; ";

/// Programs and processes under watch are the reader's, too.
const NO_PROGRAMS: [&str; 5] = [
    "there is no program",
    "there is no process",
    "there is no such image",
    "has no symbols",
    "has no marks",
];

/// The commands in the words of other tools, the lengths of their runs in the documents, and a short one.
const TOOLS: [(&str, &[&str], &str); 3] = [
    ("chronoscope cyclictest ", &["-D 10s", "-D 1m", "-l 10000"], "-l 5"),
    ("chronoscope oslat ", &["-D 10", "-D 1m"], "-D 1"),
    ("chronoscope timerlat ", &["-d 10s", "-d 1m"], "-d 1s"),
];

/// A short run, whose shards replace the shards of the study that the documents name.
const SHARDS: &str = "run switch --set policy=other --set mlock=no -l 50 --repeat 2 -q --no-store";

#[test]
fn every_command_in_the_documents_is_taken() {
    let desk = Desk::new("commands");
    for part in ["1", "2"] {
        let file = format!("--set tasks=2,3 --shard {part}/2 --format json -o part-{part}.json");
        desk.shell(&format!("chronoscope {SHARDS} {file}")).exits(0);
    }
    let mut taken = 0;
    let mut faults = Vec::new();
    for shown in documents().iter().flat_map(|document| commands(document)) {
        let DocumentedCommand { document, text, .. } = shown;
        if text.starts_with("chronoscope observe ") {
            let answer = desk.shell(&(NO_IMAGES.to_owned() + &text.replace("app.elf", "no.elf")));
            if !answer.stderr.contains("there is no such image") {
                faults.push(format!("{document}: {text}: {}", answer.stderr.trim_end()));
            }
            continue;
        }
        if text.starts_with("chronoscope watch ") {
            let answer = desk.shell(&text);
            if !NO_PROGRAMS.iter().any(|part| answer.stderr.contains(part)) {
                faults.push(format!("{document}: {text}: {}", answer.stderr.trim_end()));
            }
            continue;
        }
        if text.starts_with("chronoscope bisect ") {
            let answer = desk.shell(&text);
            // The commits are the reader's.
            if !answer.stderr.contains("not a git repository") {
                faults.push(format!("{document}: {text}: {}", answer.stderr.trim_end()));
            }
            continue;
        }
        if let Some((_, all, short)) = TOOLS.iter().find(|(tool, ..)| text.starts_with(tool)) {
            let line = all.iter().fold(text.clone(), |text, long| text.replace(long, short));
            let answer = desk.shell(&(line + " --no-store"));
            // A gap that is longer than the limit ends the run with status 1.
            let is_stopped = answer.stderr.contains("Trace threshold");
            // Where tracefs is not mounted.
            let has_no_trace = answer.stderr.contains("the kernel's trace cannot be had");
            if !is_done(&answer) && !has_no_trace && !is_stopped {
                faults.push(format!("{document}: {text}: {}", answer.stderr.trim_end()));
            }
            continue;
        }
        if ELSEWHERE.iter().any(|part| text.contains(part)) {
            continue;
        }
        // What other tools make of the output is not tested here.
        let own = text.split(['|', '>']).next().unwrap_or_default().trim_end();
        let mut line = own.to_owned();
        if line.starts_with("chronoscope run") && !line.contains("--list") {
            line = line.split(" -o ").next().unwrap_or_default().to_owned();
            line = line.replace("--format html", "") + " --list";
        }
        if line.contains("compare linux@host") {
            line += " --set loops=50 --set policy=other --set mlock=no --repeat 3 -q --no-store";
        }
        if line.contains("compare mine=") {
            continue;
        }
        let answer = desk.shell(&line);
        // The kernels of the example are the reader's.
        if line.contains("compare linux=") && answer.stderr.contains("old/bzImage is not there") {
            continue;
        }
        taken += 1;
        if !is_done(&answer) {
            faults.push(format!("{document}: {line}: {}", answer.stderr.trim_end()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(taken > 60, "only {taken} commands were found");
}
