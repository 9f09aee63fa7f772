//! The machine `serial`, with boards that the test plays.

use std::{
    env,
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt,
    process::Stdio,
    sync::mpsc,
    time::{Duration, Instant},
};

use crate::board::Board;
use crate::common::{self, Answer, Folder, chronoscope, frames, program, run};
use chronoscope_suite::wire::{self, Clock, Domain, Record, Sample, Samples, Series, VERSION};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Runs `switch` on the board and returns the lab's answer. The watchdog of 60 s is longer than any
/// test.
fn run_on(board: &Board, kernel: &str, more: &[&str]) -> Answer {
    let target = board.target(kernel);
    let arguments =
        ["run", "switch", "--repeat", "2", "--watchdog", "60s", "--no-store", "--target", &target];
    chronoscope(&[&arguments, more].concat())
}

/// The watchdog's seconds for a board that falls silent. A busy machine may hold up the board, which
/// is a thread of this test, for longer than the first: only the last must be enough.
const SILENCES: [u64; 3] = [4, 12, 36];

/// Checks that one line says why there is no result. `SECONDS` in it is the watchdog's time.
#[track_caller]
fn fails(board: &Board, kernel: &str, why: &str) {
    let mut reasons = SILENCES.map(|seconds| (seconds, None));
    for (seconds, reason) in &mut reasons {
        let given = reason.insert(reason_of_failure(board, kernel, *seconds));
        if given.contains(&why.replace("SECONDS", &seconds.to_string())) && !given.contains('\n') {
            return;
        }
    }
    panic!("no `{why}` in {reasons:#?}");
}

/// Returns the reason that the lab gives for a case without a result.
#[track_caller]
fn reason_of_failure(board: &Board, kernel: &str, watchdog_s: u64) -> String {
    let (target, watchdog) = (board.target(kernel), format!("{watchdog_s}s"));
    let arguments =
        ["run", "switch", "-q", "--repeat", "2", "--watchdog", &watchdog, "--no-store", "--format"];
    let answer = chronoscope(&[&arguments[..], &["json", "--target", &target]].concat());
    assert_eq!(answer.exits(4).stderr, "");
    let reasons = answer.json()["cases"][0]["verdict"]["reasons"].clone();
    let [Value::String(reason)] = reasons.as_array().unwrap().as_slice() else {
        panic!("{reasons}")
    };
    reason.clone()
}

pub fn hello(request: &str) -> Vec<u8> {
    frames(&[Record::Hello { version: VERSION, kernel: "bare", release: "1.0", request }])
}

/// The records after the hello.
fn rest() -> Vec<u8> {
    let samples = |series, value| {
        Record::Samples(Samples {
            series,
            block: (0..28).map(|_| Sample { gap: 10, value }).collect(),
        })
    };
    frames(&[
        Record::Clock(Clock { domain: Domain::Cycles, hertz: 84_000_000, resolution: 1 }),
        Record::Series(Series::measured("switch")),
        samples(0, 300),
        Record::Series(Series { id: 1, ..Series::control("mark to mark") }),
        samples(1, 2),
        Record::Evidence(wire::Evidence {
            name: "switches",
            value: 56.0,
            low: 1.0,
            high: f64::INFINITY,
        }),
        Record::End { records: 7 },
    ])
}

pub fn whole(request: &str) -> Vec<u8> {
    [hello(request), rest()].concat()
}

#[test]
fn a_board_is_measured() {
    let board = Board::new(|_, request| Some(whole(request)));
    let answer = run_on(&board, "bare", &["--format", "json"]);
    let run = answer.exits(0).json();
    let case = &run["cases"][0];
    assert_eq!((case["repetitions"].as_u64(), common::median(case)), (Some(2), 300.0), "{case:#}");
    assert_eq!(case["clock"]["domain"], "cycles");
    assert!(!answer.stderr.contains("skipped"), "{answer:?}");
    // The target accepts any kernel.
    let machine = format!("serial:{}:9600", board.device);
    let arguments = [
        "run",
        "switch",
        "-q",
        "--no-store",
        "--repeat",
        "1",
        "--format",
        "json",
        "--machine",
        &machine,
    ];
    let run = chronoscope(&arguments).exits(0).json();
    assert_eq!(run["cases"][0]["release"], "bare 1.0");
    assert_eq!(run["cases"][0]["target"], format!("board@{machine}"));
}

#[test]
fn noise_is_skipped_wherever_it_is() {
    let boot = b"U-Boot 2024.01\r\nbooting\r\n";
    let board = Board::new(move |_, request| {
        let noise = [boot, &[0xff, 0xfe, 0, 0x80][..]].concat();
        Some([&noise, &hello(request), &boot[..], &rest()].concat())
    });
    let answer = run_on(&board, "bare", &["--format", "csv"]);
    answer.exits(0);
    assert!(
        answer.stderr.contains(&format!("skipped 28 bytes on {} before", board.device)),
        "{answer:?}"
    );
    assert!(
        answer.stderr.contains(&format!("skipped 25 bytes on {} amid", board.device)),
        "{answer:?}"
    );
    let quiet = Board::new(|_, request| Some(whole(request)));
    let without = |answer: &Answer, board: &Board| answer.stdout.replace(&board.device, "");
    assert_eq!(
        without(&answer, &board),
        without(&run_on(&quiet, "bare", &["--format", "csv"]), &quiet)
    );
}

#[test]
fn a_request_that_is_lost_or_damaged_is_sent_again() {
    let board = Board::new(|requests, request| {
        Some(match requests {
            0 => Vec::new(),
            1 => whole(&request[3..]),
            _ => whole(request),
        })
    });
    let arguments =
        ["run", "switch", "--no-store", "--repeat", "1", "--watchdog", "20s", "--format", "csv"];
    let answer = chronoscope(&[&arguments[..], &["--target", &board.target("bare")]].concat());
    answer.exits(0);
    assert!(answer.stderr.contains("before the stream"), "{answer:?}");
}

/// A board that is busy once it has answered: the lab repeats a request whose answer is late, as on a
/// busy machine, and a board that measures does not read the second one. Starts are further apart.
fn once(mut answer: impl FnMut(&str) -> Vec<u8>) -> impl FnMut(usize, &str) -> Option<Vec<u8>> {
    let mut answered: Option<Instant> = None;
    move |_, request| {
        let is_busy = answered.is_some_and(|then| then.elapsed() < Duration::from_secs(2));
        answered = Some(Instant::now());
        Some(if is_busy { Vec::new() } else { answer(request) })
    }
}

#[test]
fn boards_that_fail_say_so_in_one_line() {
    fails(
        &Board::new(|_, _| Some(Vec::new())),
        "bare",
        "in SECONDS s: check that the board is powered, flashed",
    );
    let wrong_rate = |_, _: &str| Some(vec![0x9e, 0xff, 0x06, 0x00, 0xe0, 0xf8, 0x9e, 0x80]);
    fails(&Board::new(wrong_rate), "bare", "is 115200 the board's baud rate");
    let boots = |_, _: &str| Some(b"U-Boot 2024.01\r\n".to_vec());
    fails(&Board::new(boots), "bare", "the board said `U-Boot 2024.01`");
    let starts = |_, _: &str| Some(b"\0panicked: no clock\n\0".to_vec());
    fails(&Board::new(starts), "board", "the board said `panicked: no clock`");
    let cut = |request: &str| whole(request)[..200].to_vec();
    fails(&Board::new(once(cut)), "bare", "stopped after");
    let complains =
        |request: &str| [&whole(request)[..150], b"\0chronoscope: hard fault at 0x8\n\0"].concat();
    fails(&Board::new(once(complains)), "bare", "the board failed: hard fault at 0x8");
    let damaged = |_, request: &str| {
        let mut stream = whole(request);
        let place = stream.len() - 60;
        stream[place] ^= 4;
        Some(stream)
    };
    fails(&Board::new(damaged), "bare", "bytes amid the stream were none of it");
    let other = |_, request: &str| Some(whole(request));
    fails(&Board::new(other), "tandem", "the board runs `bare` and not tandem");
    let version = Record::Hello { version: VERSION + 1, kernel: "bare", release: "1", request: "" };
    let version = frames(&[version]);
    fails(&Board::new(move |_, _| Some(version.clone())), "bare", "build both from one tree");
    fails(&Board::new(|_, _| None), "bare", "was the board unplugged?");
    let endless = |_, request: &str| {
        Some(
            [hello(request), frames(&[Record::Log(&"again ".repeat(100))]).repeat(30_000)].concat(),
        )
    };
    fails(&Board::new(endless), "bare", "does not end");
}

#[test]
fn a_line_that_cannot_be_had() {
    let wrong = |target: &str, why: &str| {
        chronoscope(&["run", "switch", "-q", "--no-store", "--target", target]).complains(why);
    };
    wrong("bare@serial:/dev/ttyUSB0:fast", "`fast` is no baud rate");
    wrong("bare@serial:/dev/ttyUSB0:0", "`0` is no baud rate");
    wrong("bare@serial:ttyUSB0", "write its device");
    wrong("bare@serial", "unknown target `bare@serial`");
    chronoscope(&["run", "switch", "--machine", "rv32"])
        .complains("only a serial line is named so");
    let inconclusive = |device: &str, why: &str| {
        let target = format!("bare@serial:{device}");
        chronoscope(&["run", "switch", "-q", "--no-store", "--target", &target])
            .exits(4)
            .shows(why);
    };
    inconclusive("/dev/ttyUSB99", "is the board plugged in?");
    let folder = Folder::new("serial-line");
    inconclusive(&folder.file("file", "a file"), "is no serial line");
    let board = Board::new(|_, request| Some(whole(request)));
    let held = File::options().read(true).write(true).open(&board.device).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    inconclusive(&board.device, "is in use");
    chronoscope(&["list"]).exits(0).shows("KERNEL@serial:DEVICE[:BAUD]");
}

#[test]
fn a_signal_ends_it_and_leaves_the_line_closed() {
    let (asked, wait) = mpsc::channel();
    let board = Board::new(move |_, request| {
        // When the lab has gone, the board is an ordinary one.
        let end = asked.send(()).is_err();
        Some(if end { whole(request) } else { Vec::new() })
    });
    for signal in [Signal::INT, Signal::TERM] {
        // A waiting lab repeats its request.
        while wait.try_recv().is_ok() {}
        let mut lab = program();
        lab.args(["run", "switch", "--no-store", "--target", &board.target("bare")]);
        let lab = lab.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait.recv_timeout(Duration::from_secs(60)).unwrap();
        let start = Instant::now();
        kill_process(Pid::from_child(&lab), signal).unwrap();
        let answer = Answer::new(lab.wait_with_output().unwrap(), format!("{signal:?}"));
        answer.exits(130);
        assert!(start.elapsed() < Duration::from_secs(30), "{answer:?}");
        assert!(answer.stderr.contains("interrupted: 0 of 1 cases"), "{answer:?}");
    }
    drop(wait);
    run_on(&board, "bare", &["-q"]).exits(0);
}

/// The board moves to another cable: its target stays, and its runs are compared.
#[test]
fn a_board_keeps_its_name_on_another_cable() {
    let folder = Folder::new("boards");
    let log = folder.path("log");
    let runs = [0, 1].map(|cable| {
        let board = Board::new(|_, request| Some(whole(request)));
        let script = |what: &str| format!("['sh', '-c', 'echo {what} {{image}} >> {log}']");
        let boards = format!(
            "[bench-1]\nline = '{}'\nchip = 'STM32F405RGTx'\nflash = {}\nreset = {}",
            board.device,
            script("flash"),
            script("reset")
        );
        let boards = folder.file("boards.toml", boards);
        let file = folder.path(&format!("{cable}.json"));
        let words =
            ["run", "switch", "--no-store", "--repeat", "2", "--target", "bare@board:bench-1"];
        let more = ["--format", "json", "-o", &file, "--flash", "image.elf"];
        run(program().env("CHRONOSCOPE_BOARDS", boards).args([&words[..], &more].concat()))
            .exits(0);
        file
    });
    let commands = std::fs::read_to_string(&log).unwrap();
    assert_eq!(commands, "flash image.elf\nreset {image}\n".repeat(2));
    let of: Value = serde_json::from_str(&std::fs::read_to_string(&runs[0]).unwrap()).unwrap();
    assert_eq!(of["cases"][0]["target"], "bare@board:bench-1");
    assert_eq!(of["cases"][0]["identity"]["chip"], "STM32F405RGTx");
    let compared = chronoscope(&["compare", &runs[0], &runs[1], "--format", "json"]).json();
    assert_eq!(compared["only_in_a"].as_array().unwrap().len(), 0, "{compared:#}");
}

#[test]
fn boards_that_are_unknown_are_told() {
    let folder = Folder::new("no-boards");
    let boards = folder.path("boards.toml");
    let ask = |target: &str| {
        let words = ["run", "switch", "--no-store", "--target", target];
        run(program().env("CHRONOSCOPE_BOARDS", &boards).args(words))
    };
    ask("bare@board:bench-1").complains("boards.toml: describe the board there");
    folder.file("boards.toml", "[bench-1]\nline = '/dev/null'\nreset = ['false']");
    ask("bare@board:bench-2").complains("has no board `bench-2`; did you mean `bench-1`");
    ask("bare@board:bench-1").exits(1).shows("`reset` of the board `bench-1`: false failed");
    folder.file("boards.toml", "[bench-1]\nline = 7");
    ask("bare@board:bench-1").complains("boards.toml: line 2");
}

#[test]
fn an_image_is_flashed_by_probe_rs() {
    let folder = Folder::new("serial-flash");
    let image = folder.file("image", "an image");
    let board = Board::new(|_, request| Some(whole(request)));
    let flash = |path: &str, image: &str| {
        let target = board.target("bare");
        let flash = ["--flash", image, "--chip", "STM32F405RGTx", "--target", &target];
        run(program()
            .env("PATH", path)
            .args(["run", "switch", "-q", "--no-store", "--repeat", "1"])
            .args(flash))
    };
    let nowhere = folder.path("nowhere");
    flash(&nowhere, &image).complains("probe-rs is not installed");
    flash(&nowhere, &nowhere).complains("is not there: build the image first");
    let log = folder.path("log");
    let fake = folder.file(
        "probe-rs",
        format!("#!/bin/sh\necho \"$@\" >>{log}\n[ \"$1\" = download ] || exit 0\n"),
    );
    fs::set_permissions(&fake, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.0.display(), env::var("PATH").unwrap());
    flash(&path, &image).exits(0);
    let said = fs::read_to_string(&log).unwrap();
    assert_eq!(
        said,
        format!("download --chip STM32F405RGTx {image}\nreset --chip STM32F405RGTx\n")
    );
    folder.file("probe-rs", "#!/bin/sh\necho 'Error: no probe was found' >&2\nexit 1\n");
    flash(&path, &image).complains("no probe was found");
    chronoscope(&["run", "switch", "--flash", &image]).complains("--chip");
}
