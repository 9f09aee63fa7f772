//! Errors on the command line or in a study are reported in one line that names the remedy, with
//! exit status 1, before anything runs.

use std::{fs, io, os::unix::ffi::OsStrExt, process::Command};

use crate::common::{Answer, Folder, chronoscope, program, program_path, run};

#[test]
fn the_command_line() {
    // The arguments, and a text that the answer must contain.
    let table: &[(&[&str], &str)] = &[
        (&[], "say what to do: run"),
        (&["frobnicate"], "frobnicate"),
        (&["rum"], "did you mean `run`?"),
        (&["run", "swich"], "did you mean `switch`?"),
        (&["run", "zebra"], "`chronoscope list` shows all"),
        (&["run", "a\nb"], "unknown experiment `a\u{fffd}b`"),
        (&["list", "swich"], "did you mean `switch`?"),
        (&["run", "--target", "linux@mars"], "`linux@mars`: did you mean linux@"),
        (&["run", "--target", "tandm@cortex-m4"], "did you mean tandem@cortex-m4, "),
        (&["run", "quik"], "did you mean the study `quick`?"),
        (&["run", "quick", "--study", "peers"], "two studies"),
        (&["explain", "median-ish"], "there is no word `median-ish`"),
        (&["report", "missing.json"], "no such file: missing.json: write a number, last"),
        (&["run", "--target", "linux"], "as linux@host"),
        (&["run", "--target", "mine=no-such-file@cortex-m4"], "not there: build the image first"),
        (&["run", "--target", "mine=no-such-file@host"], "not there: build the image first"),
        (&["run", "--target", "mine=Cargo.toml@rv32"], "it is no ELF file"),
        (&["run", "--target", "mine=Cargo.toml@host"], "make it executable"),
        (&["run", "--target", "mine=/bin/sh@rv32"], "processors, and rv32 is Riscv32"),
        (&["run", "--target", "tandem=/bin/sh@ibex"], "takes no image"),
        (&["run", "--target", "mine=@host"], "as mine=app.elf@cortex-m4"),
        (&["run", "--target", "a b=/bin/sh@host"], "`a b` in"),
        (&["run", "--target", "linux@host,linux=/bin/sh@host"], "two targets are called"),
        (&["run", "--chip", "X", "--machine", "serial:/dev/null"], "without an image"),
        (
            &["run", "switch", "--target", "tandem@cortex-m4", "--chip", "z80"],
            "`chip=z80`: the chips with a model are stm32f401",
        ),
        (
            &["run", "switch", "--target", "tandem@cortex-m3", "--chip", "stm32f405"],
            "has a Cortex-M4, and cortex-m3 is a Cortex-M3",
        ),
        (&["run", "switch", "--target", "tandem@cortex-m4", "--clock", "84MHz"], "--chip"),
        (&["run", "--target", "@"], "as linux@host"),
        (&["run", "--target", ""], "as linux@host"),
        (&["run", "--frob"], "'--frob'"),
        (&["run", "--studdy", "x"], "'--study'"),
        (&["run", "-Z"], "'-Z'"),
        (&["run", "-smp", "80"], "write them apart (-s -m -p)"),
        (&["run", "-mqD", "1h"], "write them apart"),
        (&["run", "-l"], "a value is required"),
        (&["run", "-l", "0"], "at least 1"),
        (&["run", "-l", "-5"], "at least 1"),
        (&["run", "-l", "99999999999999999999"], "at least 1"),
        (&["run", "-p", "0"], "from 1 to 91"),
        (&["run", "-p", "100"], "from 1 to 91"),
        (&["run", "-p", "-1"], "whole number"),
        (&["run", "switch", "-t", "1e9"], "whole number"),
        (&["run", "switch", "-t", "1"], "from 2 to"),
        (&["run", "switch", "-t", "4294967297"], "from 2 to"),
        (
            &["run", "-a", "5000"],
            "it is a processor, a list as 0+2, a range as 0-3, all, isolated, or free",
        ),
        (&["run", "-a", "every"], "it is a processor, a list"),
        (&["run", "-b", "0"], "at least 1"),
        (&["run", "-b", "nan"], "at least 1"),
        (&["run", "--repeat", "0"], "at least 1"),
        (&["run", "--repeat", "-3"], "at least 1"),
        (&["run", "--vary", "0"], "`--vary`: `0` start states: write their number from 1 to 1000"),
        (&["run", "--vary", "-1"], "from 1 to 1000"),
        (&["run", "--vary", "1001"], "from 1 to 1000"),
        (&["run", "--vary", "8:x"], "as 16 or 16:7"),
        (&["run", "--vary", "8:4294967296"], "as 16 or 16:7"),
        (&["run", "switch", "--set", "vary=3"], "no experiment here has a parameter `vary`"),
        (&["compare", "linux@host", "linux@host", "--vary", "x"], "from 1 to 1000"),
        (&["compare", "last", "last", "--vary", "4"], "`--vary` is for variants"),
        (&["run", "-D", "0"], "s, m, h or d"),
        (&["run", "-D", "1y"], "s, m, h or d"),
        (&["run", "-D", "400d"], "up to a year"),
        (&["run", "-D", "99999999999999999999d"], "up to a year"),
        (&["run", "-D", "h"], "s, m, h or d"),
        (&["run", "-D", "1µ"], "s, m, h or d"),
        (&["run", "--watchdog", "0"], "`--watchdog 0`"),
        (&["run", "switch", "--set", "tasks"], "write NAME=VALUE"),
        (&["run", "switch", "--set", "=3"], "write NAME=VALUE"),
        (&["run", "switch", "--set", "tasks="], "from 2 to"),
        (&["run", "switch", "--set", "tasks=2,,3"], "from 2 to"),
        (&["run", "switch", "--set", "tasks=2.5"], "from 2 to"),
        (&["run", "switch", "--set", "tasks=+3"], "from 2 to"),
        (&["run", "switch", "--set", "tasks=2 loops=10"], "from 2 to"),
        (&["run", "switch", "--set", "taks=3"], "did you mean `tasks`?"),
        (&["run", "switch", "--set", "pair=thread-thred"], "did you mean `thread-thread`?"),
        (&["run", "switch", "--set", "policy=fif"], "did you mean `fifo`?"),
        (&["run", "switch", "--set", "tasks=2", "--set", "tasks=5"], "set twice"),
        (&["run", "switch", "-t", "2", "--set", "tasks=5"], "set twice"),
        (&["run", "switch", "-i", "0"], "interval_us"),
        (&["run", "--format", "xml"], "possible values: answer, table, json"),
        (&["run", "switch", "-o", "/nonexistent/x"], "cannot write /nonexistent/x"),
        (&["run", "--study", "quik"], "there is no study `quik`; did you mean `quick`?"),
        (&["run", "--study", "zebra"], "the studies are isolated, microcontrollers, p1-"),
        (&["serve"], "`serve` was dropped: `chronoscope report --history -o FOLDER` writes"),
        (&["serve", "--port", "0"], "`serve` was dropped: "),
        (&["report", "--extrapolate", "day"], "`--extrapolate` was dropped: no recording"),
        (&["report", "1", "--extrapolate=1h"], "`--extrapolate` was dropped: "),
        (&["quick"], "`quick` is a study: `chronoscope run quick` runs it"),
        (&["switch"], "`switch` is an experiment: `chronoscope run switch` runs it"),
        (&["run", "--study", "./quick"], "no such file"),
        (
            &["run", "switch", "--target", "linux@vm", "--kernel-image", "/nonexistent"],
            "cannot read /nonexistent: No such file",
        ),
        (
            &["run", "switch", "--target", "linux@vm", "--kernel-image", "/dev/zero"],
            "cannot read /dev/zero: it is a pipe or a device",
        ),
        (&["run", "switch", "--target", "linux@vm", "--kernel-image", "/"], "Is a directory"),
        (&["run", "switch", "--append", "quiet"], "--kernel-image FILE --target linux@vm"),
        (
            &["run", "switch", "--kernel-image", "/etc/passwd"],
            "`--kernel-image` is the kernel of linux@vm, and no case runs there",
        ),
        (&["compare", "last"], "not provided: <B>"),
        (&["compare", "last", "last", "--threshold", "-3"], "from 0 to 1000"),
        (&["history", "--limit", "0"], "'--limit <N>'"),
        (&["plan"], "--claim <RATE>"),
        (&["plan", "--claim", "never"], "`--claim never` is no rate between 0 and 1"),
        (&["plan", "--claim", "1e-300"], "no run is long enough"),
        (&["plan", "--claim", "1 in 1e6", "-i", "0"], "at least 1"),
        (
            &["plan", "--claim", "1 in 1e6", "/nonexistent"],
            "no such file: /nonexistent: write a number",
        ),
        (&["run", "switch", "-o", "/"], "cannot write /"),
        (&["doctor", "--format", "csv"], "possible values: table, json"),
        (&["doctor", "everything"], "everything"),
    ];
    for (words, text) in table {
        chronoscope(words).complains(text);
    }
}

#[test]
fn lists_that_multiply_without_end() {
    let many = (2..=1000).map(|tasks| tasks.to_string()).collect::<Vec<_>>().join(",");
    let lists = ["tasks", "batch", "pad"].map(|name| format!("{name}={many}"));
    let words = ["run", "switch", "--set", &lists[0], "--set", &lists[1], "--set", &lists[2]];
    chronoscope(&words).complains("more than 10000 cases");
}

#[test]
fn words_that_are_not_text() {
    let word = |bytes: &[u8]| std::ffi::OsStr::from_bytes(bytes).to_owned();
    run(program().arg("run").arg(word(b"\xff\xfe"))).complains("");
    // A path may be any bytes.
    let mut command = program();
    run(command.args(["run", "--study"]).arg(word(b"/nonexistent/\xff"))).complains("no such file");
}

/// A study with one of everything, into which the tests below put their mistakes.
pub const STUDY: &str = r#"name = "s"
title = "A study"
repeat = 1

[[case]]
experiment = "switch"
target = "linux@host"
set = { tasks = [2, 5] }
deadline = "1 ms"
limit = [{ statistic = "p99", at-most = "1 s" }]

[[case.published]]
source = "P5.switch"
on = "a board"
statistic = "p50"
by = "tasks"
at = [2, 5]
value = ["7 us", 8e3]
note = "not the same machine"
"#;

#[test]
fn a_study() {
    let folder = Folder::new("study");
    // The replaced part of the study, its replacement, and a text that the answer must contain.
    let table: &[(&str, &str, &str)] = &[
        ("title", "titel", "line 2: unknown field `titel`"),
        ("title", "titel", "did you mean `title`?"),
        ("experiment", "experimnt", "line 6: unknown field `experimnt`"),
        ("experiment", "experimnt", "did you mean `experiment`?"),
        ("at-most", "atmost", "did you mean `at-most`?"),
        ("at-most", "atmost", "line 10"),
        ("by =", "buy =", "line 16: unknown field `buy`"),
        ("[[case]]", "[answer]\nquestio = \"\"\n[[case]]", "line 6: unknown field `questio`"),
        (
            "[[case]]",
            "[[answer.also]]\ntext = \"\"\n[[answer.also]]\ntxt = \"\"\n[[case]]",
            "line 8: unknown field `txt`",
        ),
        ("\"s\"", "3", "line 1: invalid type"),
        ("\"s\"", "\"s", "line 1"),
        ("repeat = 1", "repeat = -1", "line 3"),
        ("repeat = 1", "repeat = 0", "repeat is at least 1"),
        ("repeat = 1", "repeat = \"often\"", "line 3: invalid type"),
        ("[[case]]", "[case]", "line 5"),
        ("[[case]]", "[[cases]]", "line 12"),
        ("[[case]]\nexperiment", "repeet = 1\n[[case]]\nexperiment", "did you mean `repeat`?"),
        (
            "\"switch\"",
            "\"swich\"",
            "case 1 of `s`: unknown experiment `swich`; did you mean `switch`?",
        ),
        ("\"switch\"", "7", "line 6: invalid type"),
        ("linux@host", "linux@mars", "case 1 of `s`: unknown target"),
        ("linux@host", "linux", "`linux` is not a target"),
        ("tasks = [2, 5]", "taks = [2, 5]", "did you mean `tasks`?"),
        ("tasks = [2, 5]", "tasks = [2, 1]", "from 2 to"),
        ("tasks = [2, 5]", "tasks = []", "`tasks` is given no value"),
        ("tasks = [2, 5]", "tasks = { a = 1 }", "from 2 to"),
        ("tasks = [2, 5]", "tasks = 2026-01-01", "from 2 to"),
        ("\"1 ms\"", "\"1 parsec\"", "`1 parsec` is not a time"),
        ("\"1 ms\"", "5", "line 9: invalid type"),
        ("\"1 ms\"", "\"0 us\"", "every sample would miss it"),
        ("\"1 ms\"", "\"0.0 s\"", "every sample would miss it"),
        ("\"p99\"", "\"p95\"", "line 10: there is no statistic `p95`"),
        ("\"p99\"", "\"P99\"", "there is no statistic `P99`"),
        ("\"p99\"", "\"maxx\"", "there is no statistic `maxx`"),
        ("\"p99\"", "\"avg\"", "min, p50, p90"),
        ("\"p99\"", "\"\"", "there is no statistic ``"),
        ("\"1 s\"", "\"1 x\"", "line 10: `1 x` is not a time"),
        ("\"1 s\"", "true", "write a number, or a time such as \"50 us\""),
        ("\"1 s\"", "nan", "`NaN` is no quantity"),
        ("\"1 s\"", "inf", "`inf` is no quantity"),
        (", at-most = \"1 s\"", "", "write at-most or at-least"),
        ("at-most = \"1 s\"", "at-most = 1, at-least = 2", "nothing keeps the limits"),
        (
            "deadline = \"1 ms\"\nlimit = [{ statistic = \"p99\"",
            "limit = [{ statistic = \"misses\"",
            "needs a deadline",
        ),
        ("\"p50\"", "\"p51\"", "line 15: there is no statistic `p51`"),
        ("repeat = 1\n", "repeat = 1\njudge = [\"p98\"]\n", "no statistic `p98` can be judged"),
        ("[2, 5]\nvalue", "[2, 5, 10]\nvalue", "`P5.switch` has 2 values for 3 places"),
        ("by = \"tasks\"\nat = [2, 5]\n", "", "a row of them needs `by` and `at`"),
        (
            "by = \"tasks\"",
            "by = \"taks\"",
            "published: `switch` has no parameter `taks`; did you mean `tasks`?",
        ),
        ("value = [\"7 us\", 8e3]", "value = [\"7 us\", \"8 eons\"]", "`8 eons` is not a time"),
        ("source = \"P5.switch\"\n", "", "missing field `source`"),
    ];
    for (from, to, text) in table {
        assert!(STUDY.contains(from), "{from}");
        let path = folder.file("study.toml", STUDY.replacen(from, to, 1));
        let answer = chronoscope(&["run", "--study", &path]);
        answer.complains(text);
    }
}

#[test]
fn a_file_that_is_no_study() {
    let folder = Folder::new("file");
    let large = folder.path("large");
    // A sparse file takes no room on the disk.
    fs::File::create(&large).unwrap().set_len(100 << 20).unwrap();
    let table = [
        (folder.file("empty", ""), "line 1: missing field"),
        (folder.file("binary", b"\x7fELF\x02\x01\xff\xfe"), "cannot read the study"),
        (folder.file("nul", b"\0\0\0"), "line 1"),
        (
            folder.file("empty-list", "name = \"n\"\ntitle = \"t\"\ncase = []\n"),
            "there is nothing to run",
        ),
        (folder.file("deep", "a = ".to_owned() + &"[".repeat(100_000)), "line 1"),
        (folder.path("."), "Is a directory"),
        (folder.path("missing"), "no such file"),
        (folder.path("two\nlines"), "no such file"),
        (large, "is not a study"),
        ("/dev/zero".to_owned(), "not a regular file"),
    ];
    for (path, text) in table {
        chronoscope(&["run", "--study", &path]).complains(text);
    }
}

/// A file without an end, or of a size that no kernel has, is refused before it fills the memory.
#[test]
fn a_kernel_without_bounds() {
    let folder = Folder::new("kernel");
    let large = folder.path("large");
    fs::File::create(&large).unwrap().set_len(600 << 20).unwrap();
    chronoscope(&["run", "switch", "--target", "linux@vm", "--kernel-image", &large])
        .complains("is larger than 512 MiB");
    let modules = folder.path("modules");
    fs::create_dir(&modules).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path("modules/a.ko")).unwrap();
    let image = folder.file("image", "an image");
    let kernel = ["run", "switch", "--target", "linux@vm", "--kernel-image", &image];
    chronoscope(&[&kernel[..], &["--kernel-modules", &modules]].concat())
        .complains("modules/a.ko: it is a pipe or a device");
}

/// Opening a pipe without a writer would wait for ever; `timeout` would then end it with 124.
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = Folder::new("pipe");
    let pipe = folder.path("pipe");
    run(Command::new("mkfifo").arg(&pipe)).exits(0);
    for words in [
        &["report"][..],
        &["compare", "last"],
        &["trace"],
        &["capture"],
        &["run", "--study"],
        &["baseline", "check"],
        &["baseline", "write"],
        &["run", "switch", "--target", "linux@vm", "--kernel-image"],
    ] {
        let store = ["--store", &folder.path("store")].map(str::to_owned);
        let store = if words[0] == "capture" { &[][..] } else { &store[..] };
        let mut command = Command::new("timeout");
        command.arg("60").arg(program_path()).args(words).arg(&pipe).args(store);
        let answer = run(&mut command);
        answer.exits(1);
        if words[0] != "compare" {
            answer.complains("it is a pipe or a device, not a regular file");
        }
    }
    // Standard input is open already, so reading it does not wait for a writer.
    let mut piped = Command::new("sh");
    piped.args(["-c", "printf '{' | \"$0\" report /dev/stdin"]).arg(program_path());
    run(&mut piped).complains("this file is cut short");
}

#[test]
fn an_experiment_that_the_study_does_not_have() {
    let folder = Folder::new("none");
    let path = folder.file("study.toml", STUDY.replacen("\"switch\"", "\"delay\"", 1));
    chronoscope(&["run", "switch", "--study", &path])
        .complains("nothing to run: `s` has no such case");
}

#[test]
fn nobody_who_reads() {
    let path = program_path();
    let path = path.to_str().expect("the program's path is UTF-8");
    // A full disk, for either output, is an error but no panic, which would be status 101.
    for command in ["list >/dev/full", "explain tasks >/dev/full", "run swich 2>/dev/full"] {
        let answer = run(Command::new("sh").args(["-c", &format!("{path} {command}")]));
        answer.exits(1);
        assert!(!answer.stderr.contains("panicked"), "{answer:#?}");
    }
    // The program's stack is its own, however little the shell's limit leaves.
    run(Command::new("sh").args(["-c", &format!("ulimit -s 64; {path} list")])).exits(0);
    // The standard library opens /dev/null in the place of a closed stream.
    let closed = run(Command::new("sh").args(["-c", &format!("{path} list >&-")]));
    closed.complains("cannot write to standard output, which is closed");
    // A reader that has gone away is no error: here it is gone before the first byte.
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let output = program().arg("list").stdout(writer).output().unwrap();
    let answer = Answer::new(output, "list with nobody who reads".to_owned());
    assert_eq!(answer.exits(0).stderr, "", "{answer:#?}");
}

/// A shell's function stands for cargo, and prints the flags that it would compile with.
#[test]
fn flags_of_the_user_s_firmware_do_not_reach_the_lab_s_own_build() {
    let folder = Folder::new("own-flags");
    let script =
        "root=$1 target=$2 program=$2/none stamp=$2/stamp built=; . \"$root/tools/setup.sh\"
        cargo() { echo \"cargo with ${RUSTFLAGS-no flags} for ${CARGO_BUILD_TARGET-the host}\"; }
        nice() { \"$@\"; }
        build_xtask; build";
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", root, &folder.path("target")]);
    shell.env("RUSTFLAGS", "-C link-arg=-Tlink.x").env("CARGO_BUILD_TARGET", "thumbv7em-none-eabi");
    let answer = run(&mut shell);
    assert_eq!(answer.stdout.matches("cargo with no flags for the host").count(), 3, "{answer:?}");
    assert!(!answer.stdout.contains("cargo with -C"), "{answer:?}");
}
