//! `chronoscope observe`: a program with a known number of instructions between its events must show
//! exactly that number, and must not notice that it is observed.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    common::{Folder, chronoscope, gives_the_same_bytes_twice, run},
    plugin::{assembled, plugin},
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

/// An ELF program for RV64 of this code, at the start of the machine's memory, without symbols.
fn elf(code: &[u8]) -> Vec<u8> {
    const BASE: u64 = 0x8000_0000;
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
    longs(&mut elf, &[BASE, 64, 0]);
    words(&mut elf, &[0]);
    halves(&mut elf, &[64, 56, 1, 64, 0, 0]);
    words(&mut elf, &[1, 7]);
    let length = code.len() as u64;
    longs(&mut elf, &[HEADERS, BASE, BASE, length, length, 4096]);
    elf.extend(code);
    elf
}

/// The image of `SOURCE` in the folder.
fn image(folder: &Folder) -> String {
    let code = fs::read(assembled(folder, "riscv64", SOURCE)).unwrap();
    folder.file("rounds.elf", elf(&code))
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
    let image = folder.file("endless.elf", elf(&code));
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
    complains(&image, &["--machine", "virt", "--from", "main"], "has no symbols");
    complains(&image, &["--machine", "virt", "--from", "0xx"], "is no address");
    complains(&image, &["--machine", "virt", "--limit", "0"], "at least 1");
    assert!(!Path::new(&store).exists());
}
