//! Images that talk over a UART, in QEMU, whose UART is the other end of a pseudo-terminal.

use std::{
    env,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::board::Board;
use crate::common::{builder, cases, chronoscope, run};
use chronoscope_chips::Table;
use serde_json::Value;

/// Checks that figures, evidence and all other results are equal, however they were transmitted.
/// The machine's parameters are ignored.
#[track_caller]
fn assert_same(measured: &[Value], own: &[Value]) {
    assert_eq!(measured.len(), own.len());
    for (measured, own) in measured.iter().zip(own) {
        let [measured, own] = [measured, own].map(without_statements);
        assert_eq!(measured["verdict"], own["verdict"]);
        for (name, value) in measured.as_object().unwrap() {
            let same = *value == own[name] || ["target", "parameters"].contains(&name.as_str());
            assert!(
                same,
                "{}: {name} is {value:#} and not {:#}",
                measured["experiment"], own[name]
            );
        }
    }
}

/// The case without the intervals and limits of its series. A board may vary from start to start,
/// so no statement about it is exact; an emulator's may be.
fn without_statements(case: &Value) -> Value {
    let mut case = case.clone();
    for series in case["series"].as_array_mut().unwrap() {
        let series = series.as_object_mut().unwrap();
        for name in ["p50_interval", "p50_interval_basis", "upper_limits"] {
            series.remove(name);
        }
    }
    case
}

fn target_folder() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    env::var_os("CARGO_TARGET_DIR").map_or_else(own, PathBuf::from)
}

/// The command that starts an image as the lab does. `profile` is its cargo profile.
fn qemu(chip: &str, profile: &str, kernel: &str) -> Command {
    let table = Table::read();
    let chip = table.chip(chip).unwrap();
    let mut qemu = Command::new(chip.program());
    qemu.args(chip.arguments(None));
    qemu.args(["-icount", "shift=0,sleep=off,align=off", "-display", "none", "-monitor", "none"]);
    let image = format!("firmware/{}/{profile}/chronoscope-{kernel}", chip.triple);
    qemu.arg("-kernel").arg(target_folder().join(image)).stdin(Stdio::null());
    qemu
}

/// The chip with an image that talks over its UART, a pseudo-terminal's other end.
struct Emulated {
    qemu: Child,
    device: String,
}

impl Emulated {
    fn new(chip: &str, kernel: &str) -> Self {
        let table = Table::read();
        let triple = &table.chip(chip).unwrap().triple;
        let mut build = builder();
        build.args([
            "firmware",
            triple,
            "build",
            "--locked",
            "--profile",
            "uart",
            "--features",
            "board/uart",
            "--package",
        ]);
        build.arg(format!("chronoscope-{kernel}"));
        build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        run(&mut build).exits(0);
        let mut qemu = qemu(chip, "uart", kernel);
        qemu.args(["-chardev", "pty,id=line", "-serial", "chardev:line"]).stdout(Stdio::piped());
        let mut emulated =
            Self { qemu: qemu.stderr(Stdio::null()).spawn().unwrap(), device: String::new() };
        let mut told = String::new();
        BufReader::new(emulated.qemu.stdout.take().unwrap()).read_line(&mut told).unwrap();
        let device = told
            .split(' ')
            .find(|word| word.starts_with("/dev/"))
            .unwrap_or_else(|| panic!("{told}"));
        emulated.device = device.to_owned();
        emulated
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

/// Experiments in which nothing sleeps: QEMU sometimes wakes late, which only repeated starts would
/// reveal.
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
    let fed = cases(
        &[&AWAKE[..], &["--repeat", "2", "--no-store", "--target", &board.target("bare")]].concat(),
    );
    assert_same(&fed, &own);
}

#[test]
fn an_emulated_board_is_measured_as_by_semihosting() {
    let boards = [
        ("rv32", "bare", &AWAKE[..]),
        ("rv32", "tandem", &AWAKE[..2]),
        ("rv64", "tandem", &AWAKE[..2]),
    ];
    for (chip, kernel, experiments) in boards {
        let emulator = format!("{kernel}@{chip}");
        let own = [experiments, &["--repeat", "2", "--target", &emulator]].concat();
        let board = Emulated::new(chip, kernel);
        let target = board.target(kernel);
        let over_its_line =
            [experiments, &["--repeat", "2", "--no-store", "--target", &target]].concat();
        // A busy machine may give the emulator no processor for the ten seconds of a silent line.
        let is_whole =
            |cases: &[Value]| cases.iter().all(|case| case["verdict"]["status"] == "pass");
        let mut fed = cases(&over_its_line);
        for _ in 0..2 {
            if !is_whole(&fed) {
                fed = cases(&over_its_line);
            }
        }
        assert_same(&fed, &cases(&own));
    }
}

#[test]
fn an_emulated_stm32_answers_over_its_usart() {
    let own = cases(&["switch", "--repeat", "1", "--target", "bare@cortex-m4"]);
    let board = Emulated::new("cortex-m4", "bare");
    let first = ["switch", "--repeat", "1", "--no-store", "--target", &board.target("bare")];
    assert_same(&cases(&first), &own);
    // QEMU's timers of this chip do not survive a reset, and the image says so.
    let second = chronoscope(&[&["run", "-q", "--watchdog", "15s"], &first[..]].concat());
    second.exits(4).shows("the board said `chronoscope: this QEMU's timers fire after");
}
