//! `chronoscope observe`: a program with a known number of instructions between its events must show
//! exactly that number, and must not notice that it is observed.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    common::{Answer, Folder, chronoscope, gives_the_same_bytes_twice, run},
    plugin::{assembled, plugin, target as target_folder},
};

/// QEMU's options, with the serial line on standard output.
const VIRT: &str = "-machine virt -bios none -icount shift=0,sleep=off,align=off -display none \
                    -monitor none -serial stdio -kernel";

/// Ten rounds of 15 instructions: three from `FROM` to `TO`, a new address space, and a call of
/// machine mode whose handler has eight. Each round prints six bits of the cycle counter.
const SOURCE: &str = "
    .option norvc
    lla t0, handler
    csrw mtvec, t0
    li a7, 7
    li t2, 1
    li t3, 11
round:
    nop
    nop
    nop
    csrw satp, t2
    ecall
    addi t2, t2, 1
    bne t2, t3, round
    li t4, 0x100000
    li t5, 0x5555
    sw t5, (t4)
forever:
    j forever
    .balign 4
handler:
    csrr t5, mcycle
    andi t5, t5, 63
    lui t4, 0x10000
    sb t5, (t4)
    csrr t1, mepc
    addi t1, t1, 4
    csrw mepc, t1
    mret
";
const FROM: &str = "0x80000018";
const TO: &str = "0x80000024";

/// The start of the machine's memory, where a firmware or an image without one is.
const MEMORY: u64 = 0x8000_0000;

/// The address to which OpenSBI's `fw_jump` jumps in supervisor mode.
const AFTER_FIRMWARE: u64 = 0x8020_0000;

/// An ELF program for RV64 of this code, without symbols.
fn elf(base: u64, code: &[u8]) -> Vec<u8> {
    const HEADERS: u64 = 64 + 56;
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    let halves = |elf: &mut Vec<u8>, halves: &[u16]| {
        elf.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
    };
    let words = |elf: &mut Vec<u8>, words: &[u32]| {
        elf.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    };
    let longs = |elf: &mut Vec<u8>, longs: &[u64]| {
        elf.extend(longs.iter().flat_map(|long| long.to_le_bytes()));
    };
    // A program (2) for RISC-V (243); one segment to load, and no sections.
    halves(&mut elf, &[2, 243]);
    words(&mut elf, &[1]);
    longs(&mut elf, &[base, 64, 0]);
    words(&mut elf, &[0]);
    halves(&mut elf, &[64, 56, 1, 64, 0, 0]);
    words(&mut elf, &[1, 7]);
    let length = code.len() as u64;
    longs(&mut elf, &[HEADERS, base, base, length, length, 4096]);
    elf.extend(code);
    elf
}

/// The image of `SOURCE` in the folder.
fn image(folder: &Folder) -> String {
    let code = fs::read(assembled(folder, "riscv64", SOURCE)).unwrap();
    folder.file("rounds.elf", elf(MEMORY, &code))
}

/// The number of samples, the smallest and the largest of the series with that name.
#[track_caller]
fn figures(case: &Value, name: &str) -> [u64; 3] {
    let series = case["series"].as_array().expect("a case has series");
    let series = series.iter().find(|series| series["name"] == name);
    let series = series.unwrap_or_else(|| panic!("no series {name} in {case:#}"));
    ["count", "min", "max"].map(|key| series[key].as_f64().expect("a number") as u64)
}

#[test]
fn every_event_is_counted_to_the_instruction() {
    let folder = Folder::new("observe-exact");
    let image = image(&folder);
    let observe = ["observe", &image, "--machine", "virt", "--from", FROM, "--to", TO];
    let run = chronoscope(&[&observe[..], &["-q", "--no-store", "--format", "json"]].concat());
    let run = run.exits(0).json();
    let case = &run["cases"][0];
    assert_eq!(case["clock"]["domain"], "instructions", "{case:#}");
    assert_eq!(figures(case, &format!("{FROM} to {TO}")), [10, 3, 3]);
    assert_eq!(figures(case, "from switch to switch"), [8, 15, 15]);
    assert_eq!(figures(case, "call of machine mode 0x7"), [10, 8, 8]);
    gives_the_same_bytes_twice(&[&observe[..], &["-q", "--no-store"]].concat(), 4);
}

#[test]
fn an_image_does_not_notice_the_observer() {
    let folder = Folder::new("observe-unnoticed");
    let image = image(&folder);
    let events = folder.path("events");
    let options = format!("{},observe={events},at={FROM}", plugin());
    let output = |observer: &[&str]| {
        // A faulty image would run for ever.
        let mut qemu = Command::new("timeout");
        qemu.args(["60", "qemu-system-riscv64"]).args(VIRT.split_whitespace()).arg(&image);
        run(qemu.args(observer).stdin(Stdio::null())).exits(0).stdout.clone()
    };
    let alone = output(&[]);
    assert!(alone.len() >= 10, "{alone:?}");
    assert_eq!(output(&["-plugin", &options]), alone);
    assert!(fs::metadata(events).unwrap().len() > 24 * 30);
}

#[test]
fn an_image_that_never_ends_is_observed_to_its_limit() {
    let folder = Folder::new("observe-endless");
    let code = fs::read(assembled(&folder, "riscv64", "here: nop\n j here\n")).unwrap();
    let image = folder.file("endless.elf", elf(MEMORY, &code));
    let observe = ["observe", &image, "--machine", "virt", "--limit", "100000", "--from"];
    let rest = ["0x80000000", "-q", "--no-store", "--format", "json"];
    let answer = chronoscope(&[&observe[..], &rest].concat());
    let run = answer.json();
    let [count, shortest, longest] = figures(&run["cases"][0], "0x80000000 to 0x80000000");
    assert!(count > 49_000 && (shortest, longest) == (2, 2), "{run:#}");
    let evidence = run["cases"][0]["evidence"].as_array().unwrap().clone();
    let instructions = evidence.iter().find(|fact| fact["name"] == "instructions").unwrap();
    let instructions = instructions["value"].as_f64().unwrap();
    assert!((100_000.0..100_100.0).contains(&instructions), "{run:#}");
}

/// Debian's OpenSBI and U-Boot, which nobody has prepared for an observation.
const OPENSBI: &str = "/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_jump.elf";
const U_BOOT: &str = "/usr/lib/u-boot/qemu-riscv64_smode/uboot.elf";

/// A kernel in supervisor mode: five times it asks the firmware for the version of SBI and prints a
/// letter, then it switches the machine off.
const SUPERVISOR: &str = "
    li s0, 5
again:
    li a6, 0
    li a7, 0x10
    ecall
    li a0, 'x'
    li a7, 1
    ecall
    addi s0, s0, -1
    bnez s0, again
    li a0, 0
    li a1, 0
    li a6, 0
    li a7, 0x53525354
    ecall
forever:
    j forever
";

#[test]
fn calls_of_a_firmware_that_was_built_elsewhere_are_told_by_their_numbers() {
    let folder = Folder::new("observe-opensbi");
    let code = fs::read(assembled(&folder, "riscv64", SUPERVISOR)).unwrap();
    let image = folder.file("kernel.elf", elf(AFTER_FIRMWARE, &code));
    let observe = ["observe", &image, "--machine", "virt", "--firmware", OPENSBI];
    let run = chronoscope(&[&observe[..], &["-q", "--no-store", "--format", "json"]].concat());
    let run = run.exits(0).json();
    let case = &run["cases"][0];
    for call in ["call of machine mode 0x10", "call of machine mode 0x1"] {
        let [count, shortest, longest] = figures(case, call);
        // The saving of the registers alone takes more than 30 instructions.
        assert!(count == 5 && shortest > 60 && longest < 10_000, "{call}: {case:#}");
    }
    assert!(case["identity"]["firmware"].as_str().unwrap().starts_with("sha256 "), "{case:#}");
    gives_the_same_bytes_twice(&[&observe[..], &["-q", "--no-store"]].concat(), 3);
}

#[test]
fn an_image_that_was_built_elsewhere_is_observed_at_its_addresses() {
    // In U-Boot's loop that copies it to the end of the memory, five instructions a turn:
    // `ld t5, 0(t0)`.
    let load = 0x0002_bf03_u32.to_le_bytes();
    let bytes = fs::read(U_BOOT.replace("uboot.elf", "u-boot.bin")).unwrap();
    let found: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&load)).collect();
    let [at] = found[..] else { panic!("U-Boot has no such loop, or several: {found:?}") };
    let from = format!("{:#x}", AFTER_FIRMWARE + at as u64);
    let observe = ["observe", U_BOOT, "--machine", "virt", "--firmware", OPENSBI];
    let rest = ["--limit", "20000000", "--from", &from, "-q", "--no-store", "--format", "json"];
    let run = chronoscope(&[&observe[..], &rest].concat()).exits(0).json();
    let [count, shortest, longest] = figures(&run["cases"][0], &format!("{from} to {from}"));
    // A turn copies eight bytes of the program's 600 KiB and of its tables.
    assert!((70_000..200_000).contains(&count), "{count}");
    assert_eq!((shortest, longest), (5, 5));
}

/// The kernels whose own marks stand beside the observer: the target, its image, QEMU's machine, and
/// the place that each switch executes once.
const MARKED: [(&str, &str, &str, &str); 3] = [
    (
        "freertos@cortex-m4",
        "thumbv7em-none-eabihf/release/chronoscope-freertos",
        "netduinoplus2",
        "vTaskSwitchContext",
    ),
    (
        "tandem@cortex-m4",
        "thumbv7em-none-eabihf/release/chronoscope-tandem",
        "netduinoplus2",
        "tandem::arch::chosen::paths::wait_in",
    ),
    (
        "tandem@rv64",
        "riscv64imac-unknown-none-elf/release/chronoscope-tandem",
        "virt",
        "tandem::arch::chosen::switch::wait_in_losing_upper",
    ),
];

#[test]
fn the_observer_and_the_port_s_own_marks_agree() {
    let median = |run: &Answer, name: &str| {
        let run = run.json();
        let series = run["cases"][0]["series"].as_array().unwrap().clone();
        let series = series.iter().find(|series| series["name"] == name);
        series.unwrap_or_else(|| panic!("no {name} in {run:#}"))["p50"].clone()
    };
    for (target, image, machine, switch) in MARKED {
        let run = ["run", "switch", "--set", "loops=2000", "--repeat", "1", "--target", target];
        let quiet = ["-q", "--no-store", "--format", "json"];
        // Builds the image, too.
        let marked = chronoscope(&[&run[..], &quiet].concat());
        let image = target_folder().join("firmware").join(image).display().to_string();
        let observe = ["observe", &image, "--machine", machine, "--switch", switch];
        let request = ["--append", "switch loops=2000 tasks=2"];
        let observed = chronoscope(&[&observe[..], &request, &quiet].concat());
        let [marked, observed] =
            [median(&marked, "switch"), median(&observed, "from switch to switch")];
        assert!(marked.as_f64().is_some_and(|median| median > 90.0), "{target}: {marked}");
        assert_eq!(observed, marked, "{target}");
    }
}

#[test]
fn what_cannot_be_observed_is_one_line_and_nothing_is_written() {
    let folder = Folder::new("observe-refused");
    let image = image(&folder);
    let text = folder.file("text.elf", "no image");
    let cut = folder.file("cut.elf", &fs::read(&image).unwrap()[..40]);
    let store = folder.path("store.db");
    let complains = |image: &str, rest: &[&str], text: &str| {
        let store = ["observe", image, "--store", &store];
        chronoscope(&[&store[..], rest].concat()).complains(text);
    };
    let virt = ["--machine", "virt"];
    complains(&folder.path("none"), &virt, "there is no such image");
    complains(&text, &virt, "it is no ELF file");
    complains(&cut, &virt, "it is no ELF file");
    complains(&image, &["--machine", "vird"], "did you mean virt");
    complains(&image, &["--machine", "netduino2"], "an image for Riscv64 processors");
    complains(&image, &["--machine", "virt", "--firmware", &text], "it is no ELF file");
    let own = env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    complains(&image, &["--machine", "virt", "--firmware", own], "is for other processors");
    complains(&image, &["--machine", "virt", "--from", "main"], "has no symbols");
    complains(&image, &["--machine", "virt", "--from", "0xx"], "is no address");
    complains(&image, &["--machine", "virt", "--limit", "0"], "at least 1");
    assert!(!Path::new(&store).exists());
}
