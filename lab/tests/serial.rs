//! The machine `serial`: boards at the other end of a pseudo-terminal. One is played by the test, one is QEMU's.

mod common;

use std::{
    env,
    fs::File,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use chronoscope_suite::wire::{self, Clock, Domain, MAX_FRAME, Record, Sample, Samples, Series, VERSION};
use common::{Answer, Folder, cases, chronoscope, program, run};
use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use serde_json::Value;

/// A board that answers requests as the test says; the end of its answers is the end of the board.
struct Board {
    device: String,
}

impl Board {
    /// `answer` is given how many requests came before, and the request.
    fn new(mut answer: impl FnMut(usize, &str) -> Option<Vec<u8>> + Send + 'static) -> Self {
        let board = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&board).unwrap();
        unlockpt(&board).unwrap();
        let device = ptsname(&board, Vec::new()).unwrap().into_string().unwrap();
        let mut board = File::from(board);
        thread::spawn(move || {
            let (mut line, mut requests) = (Vec::new(), 0);
            loop {
                let mut byte = [0];
                match board.read(&mut byte) {
                    // Nobody has the line open.
                    Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                        thread::sleep(Duration::from_millis(2));
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => panic!("{error}"),
                    Ok(_) if byte != *b"\n" => line.push(byte[0]),
                    Ok(_) if line.is_empty() => {}
                    Ok(_) => {
                        let request = String::from_utf8(std::mem::take(&mut line)).unwrap();
                        let Some(answer) = answer(requests, &request) else { return };
                        board.write_all(&answer).unwrap();
                        requests += 1;
                    }
                }
            }
        });
        Self { device }
    }

    fn target(&self, kernel: &str) -> String {
        format!("{kernel}@serial:{}", self.device)
    }

    /// What the lab says of a board that is given one second.
    fn run(&self, kernel: &str, more: &[&str]) -> Answer {
        let target = self.target(kernel);
        let arguments = ["run", "switch", "--repeat", "2", "--watchdog", "1s", "--no-store", "--target", &target];
        chronoscope(&[&arguments, more].concat())
    }

    /// One line says why there is nothing to show.
    #[track_caller]
    fn fails(&self, kernel: &str, why: &str) {
        let start = Instant::now();
        let answer = self.run(kernel, &["-q", "--format", "json"]);
        assert!(start.elapsed() < Duration::from_secs(20), "{answer:?}");
        assert_eq!(answer.exits(4).stderr, "");
        let reasons = answer.json()["cases"][0]["verdict"]["reasons"].clone();
        let [Value::String(reason)] = reasons.as_array().unwrap().as_slice() else { panic!("{reasons}") };
        assert!(reason.contains(why) && !reason.contains('\n'), "no `{why}` in `{reason}`");
    }
}

fn bytes(records: &[Record<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        let mut frame = [0; MAX_FRAME + 1];
        let length = wire::encode(record, &mut frame).unwrap();
        bytes.extend_from_slice(&frame[..length]);
    }
    bytes
}

fn hello(request: &str) -> Vec<u8> {
    bytes(&[Record::Hello { version: VERSION, kernel: "bare", release: "1.0", request }])
}

/// What comes behind the hello.
fn rest() -> Vec<u8> {
    let samples = |series, value| {
        Record::Samples(Samples { series, block: (0..28).map(|_| Sample { gap: 10, value }).collect() })
    };
    bytes(&[
        Record::Clock(Clock { domain: Domain::Cycles, hertz: 84_000_000, resolution: 1 }),
        Record::Series(Series::measured("switch")),
        samples(0, 300),
        Record::Series(Series { id: 1, ..Series::control("mark to mark") }),
        samples(1, 2),
        Record::Evidence(wire::Evidence { name: "switches", value: 56.0, low: 1.0, high: f64::INFINITY }),
        Record::End { records: 7 },
    ])
}

fn whole(request: &str) -> Vec<u8> {
    [hello(request), rest()].concat()
}

#[test]
fn a_board_is_measured() {
    let board = Board::new(|_, request| Some(whole(request)));
    let answer = board.run("bare", &["--format", "json"]);
    let run = answer.exits(0).json();
    let case = &run["cases"][0];
    assert_eq!((case["repetitions"].as_u64(), common::median(case)), (Some(2), 300.0), "{case:#}");
    assert_eq!(case["clock"]["domain"], "cycles");
    assert!(!answer.stderr.contains("skipped"), "{answer:?}");
    // Whatever kernel it runs.
    let machine = format!("serial:{}:9600", board.device);
    let arguments = ["run", "switch", "-q", "--no-store", "--repeat", "1", "--format", "json", "--machine", &machine];
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
    let answer = board.run("bare", &["--format", "csv"]);
    answer.exits(0);
    assert!(answer.stderr.contains(&format!("skipped 28 bytes on {} before", board.device)), "{answer:?}");
    assert!(answer.stderr.contains(&format!("skipped 25 bytes on {} amid", board.device)), "{answer:?}");
    let quiet = Board::new(|_, request| Some(whole(request)));
    let without = |answer: &Answer, board: &Board| answer.stdout.replace(&board.device, "");
    assert_eq!(without(&answer, &board), without(&quiet.run("bare", &["--format", "csv"]), &quiet));
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
    let arguments = ["run", "switch", "--no-store", "--repeat", "1", "--watchdog", "20s", "--format", "csv"];
    let answer = chronoscope(&[&arguments[..], &["--target", &board.target("bare")]].concat());
    answer.exits(0);
    assert!(answer.stderr.contains("before the stream"), "{answer:?}");
}

#[test]
fn boards_that_fail_say_so_in_one_line() {
    Board::new(|_, _| Some(Vec::new())).fails("bare", "in 1 s: is the board powered, flashed");
    let wrong_rate = |_, _: &str| Some(vec![0x9e, 0xff, 0x06, 0x00, 0xe0, 0xf8, 0x9e, 0x80]);
    Board::new(wrong_rate).fails("bare", "is 115200 the board's baud rate");
    let starts = |_, _: &str| Some(b"\0panicked: no clock\n\0".to_vec());
    Board::new(starts).fails("board", "the board said `panicked: no clock`");
    let cut = |_, request: &str| Some(whole(request)[..200].to_vec());
    Board::new(cut).fails("bare", "stopped after");
    let complains = |_, request: &str| Some([&whole(request)[..150], b"\0chronoscope: hard fault at 0x8\n\0"].concat());
    Board::new(complains).fails("bare", "the board failed: hard fault at 0x8");
    let damaged = |_, request: &str| {
        let mut stream = whole(request);
        let place = stream.len() - 60;
        stream[place] ^= 4;
        Some(stream)
    };
    Board::new(damaged).fails("bare", "bytes amid the stream were none of it");
    let other = |_, request: &str| Some(whole(request));
    Board::new(other).fails("tandem", "the board runs `bare` and not tandem");
    let version = Record::Hello { version: VERSION + 1, kernel: "bare", release: "1", request: "" };
    let version = bytes(&[version]);
    Board::new(move |_, _| Some(version.clone())).fails("bare", "build both from one tree");
    Board::new(|_, _| None).fails("bare", "was the board unplugged?");
    let endless =
        |_, request: &str| Some([hello(request), bytes(&[Record::Log(&"again ".repeat(100))]).repeat(30_000)].concat());
    Board::new(endless).fails("bare", "does not end");
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
    chronoscope(&["run", "switch", "--machine", "rv32"]).complains("only a serial line is named so");
    let inconclusive = |device: &str, why: &str| {
        let target = format!("bare@serial:{device}");
        chronoscope(&["run", "switch", "-q", "--no-store", "--target", &target]).exits(4).shows(why);
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
        // The second test of the line is an ordinary run.
        let end = asked.send(()).is_err();
        Some(if end { whole(request) } else { Vec::new() })
    });
    for signal in [Signal::INT, Signal::TERM] {
        let mut lab = program();
        lab.args(["run", "switch", "--no-store", "--target", &board.target("bare")]);
        let lab = lab.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait.recv_timeout(Duration::from_secs(20)).unwrap();
        let start = Instant::now();
        kill_process(Pid::from_child(&lab), signal).unwrap();
        let answer = Answer::of(lab.wait_with_output().unwrap(), format!("{signal:?}"));
        answer.exits(130);
        assert!(start.elapsed() < Duration::from_secs(5), "{answer:?}");
        assert!(answer.stderr.contains("interrupted: 0 of 1 cases"), "{answer:?}");
    }
    drop(wait);
    board.run("bare", &["-q"]).exits(0);
}

/// The same figures, evidence and all else, whatever they were measured through. (Parameters of a machine are among the others.)
#[track_caller]
fn assert_same(measured: &[Value], own: &[Value]) {
    assert_eq!(measured.len(), own.len());
    for (measured, own) in measured.iter().zip(own) {
        for (name, value) in measured.as_object().unwrap() {
            let same = *value == own[name] || ["target", "parameters"].contains(&name.as_str());
            assert!(same, "{}: {name} is {value:#} and not {:#}", measured["experiment"], own[name]);
        }
    }
}

fn target_folder() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    env::var_os("CARGO_TARGET_DIR").map_or_else(own, PathBuf::from)
}

/// QEMU's chips as the lab starts them.
const CHIPS: [(&str, &str, &str, &[&str]); 2] = [
    ("cortex-m4", "thumbv7em-none-eabihf", "qemu-system-arm", &["-machine", "netduinoplus2"]),
    (
        "rv32",
        "riscv32imc-unknown-none-elf",
        "qemu-system-riscv32",
        &[
            "-machine",
            "virt",
            "-bios",
            "none",
            "-cpu",
            "rv32,a=off,f=off,d=off,h=off,s=off,u=off",
            "-rtc",
            "base=1970-01-01T00:00:00,clock=vm",
        ],
    ),
];

/// The chip with a kernel's image.
fn qemu(chip: &str, profile: &str, kernel: &str) -> Command {
    let (_, triple, program, arguments) = CHIPS.into_iter().find(|(name, ..)| *name == chip).unwrap();
    let mut qemu = Command::new(program);
    qemu.args(arguments).args(["-icount", "shift=0,sleep=off,align=off", "-display", "none", "-monitor", "none"]);
    let image = format!("firmware/{triple}/{profile}/chronoscope-{kernel}");
    qemu.arg("-kernel").arg(target_folder().join(image)).stdin(Stdio::null());
    qemu
}

/// The chip with an image that talks over its UART, which is a pseudo-terminal's other end.
struct Emulated {
    qemu: Child,
    device: String,
}

impl Emulated {
    fn new(chip: &str, kernel: &str) -> Self {
        let (_, triple, ..) = CHIPS.into_iter().find(|(name, ..)| *name == chip).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut build = Command::new(root.join("tools/firmware-cargo"));
        build.args([triple, "build", "--locked", "--profile", "uart", "--features", "board/uart", "--package"]);
        build.arg(format!("chronoscope-{kernel}")).current_dir(root.join("ports/firmware"));
        build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        run(&mut build).exits(0);
        let mut qemu = qemu(chip, "uart", kernel);
        qemu.args(["-chardev", "pty,id=line", "-serial", "chardev:line"]).stdout(Stdio::piped());
        let mut qemu = qemu.stderr(Stdio::null()).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(qemu.stdout.take().unwrap()).read_line(&mut told).unwrap();
        let device = told.split(' ').find(|word| word.starts_with("/dev/")).unwrap_or_else(|| panic!("{told}"));
        let device = device.to_owned();
        Self { qemu, device }
    }

    fn target(&self, kernel: &str) -> String {
        format!("{kernel}@serial:{}", self.device)
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// Experiments that nothing sleeps in: QEMU wakes late now and then, which only several starts that agree tell.
const AWAKE: [&str; 3] = ["switch", "message", "interrupt"];

#[test]
fn a_recorded_stream_is_measured_as_the_machine_s_own() {
    let own = cases(&[&AWAKE[..], &["--repeat", "2", "--target", "bare@rv32"]].concat());
    let board = Board::new(|_, request| {
        let words: String = request.split(' ').map(|word| format!(",arg={word}")).collect();
        let mut qemu = qemu("rv32", "release", "bare");
        qemu.arg("-semihosting-config").arg(format!("enable=on,target=native{words}"));
        Some(qemu.args(["-serial", "null"]).output().unwrap().stdout)
    });
    let fed = cases(&[&AWAKE[..], &["--repeat", "2", "--no-store", "--target", &board.target("bare")]].concat());
    assert_same(&fed, &own);
}

#[test]
fn an_emulated_board_is_measured_as_by_semihosting() {
    for (kernel, experiments) in [("bare", &AWAKE[..]), ("tandem", &AWAKE[..2])] {
        let emulator = format!("{kernel}@rv32");
        let own = [experiments, &["--repeat", "2", "--target", &emulator]].concat();
        let board = Emulated::new("rv32", kernel);
        let target = board.target(kernel);
        let over_its_line = [experiments, &["--repeat", "2", "--no-store", "--target", &target]].concat();
        assert_same(&cases(&over_its_line), &cases(&own));
    }
}

#[test]
fn an_emulated_stm32_answers_over_its_usart() {
    let own = cases(&["switch", "--repeat", "1", "--target", "bare@cortex-m4"]);
    let board = Emulated::new("cortex-m4", "bare");
    let first = ["switch", "--repeat", "1", "--no-store", "--target", &board.target("bare")];
    assert_same(&cases(&first), &own);
    // QEMU's timers of this chip do not outlive a reset, and the image says so.
    let second = chronoscope(&[&["run", "-q", "--watchdog", "4s"], &first[..]].concat());
    second.exits(4).shows("the board said `chronoscope: this QEMU's timers fire after");
}

#[test]
fn an_image_is_flashed_by_probe_rs() {
    let folder = Folder::new("serial-flash");
    let image = folder.file("image", "an image");
    let board = Board::new(|_, request| Some(whole(request)));
    let flash = |path: &str, image: &str| {
        let target = board.target("bare");
        let flash = ["--flash", image, "--chip", "STM32F405RGTx", "--target", &target];
        run(program().env("PATH", path).args(["run", "switch", "-q", "--no-store", "--repeat", "1"]).args(flash))
    };
    let nowhere = folder.path("nowhere");
    flash(&nowhere, &image).complains("probe-rs is not installed");
    flash(&nowhere, &nowhere).complains("is not there: build the image first");
    let log = folder.path("log");
    let fake = folder.file("probe-rs", format!("#!/bin/sh\necho \"$@\" >>{log}\n[ \"$1\" = download ] || exit 0\n"));
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&fake, executable).unwrap();
    let path = format!("{}:{}", folder.0.display(), env::var("PATH").unwrap());
    flash(&path, &image).exits(0);
    let said = std::fs::read_to_string(&log).unwrap();
    assert_eq!(said, format!("download --chip STM32F405RGTx {image}\nreset --chip STM32F405RGTx\n"));
    folder.file("probe-rs", "#!/bin/sh\necho 'Error: no probe was found' >&2\nexit 1\n");
    flash(&path, &image).complains("no probe was found");
    chronoscope(&["run", "switch", "--flash", &image]).complains("--chip");
}
