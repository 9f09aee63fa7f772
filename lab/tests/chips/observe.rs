//! `chronoscope observe`: a program with a known number of instructions between its events must show
//! exactly that number; images from elsewhere; and the marks of ports.

use std::{env, fs, path::Path, process::Command};

use chronoscope_base::digest::sha256;
use serde_json::Value;

use crate::{
    common::{Answer, Folder, chronoscope, gives_the_same_bytes_twice, run},
    plugin::{assembled, target as target_folder},
};

/// Ten rounds of 15 instructions: three from `FROM` to `TO`, a new address space, and a call of
/// machine mode whose handler has eight. Each round prints six bits of the cycle counter.
pub const SOURCE: &str = "
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
pub const FROM: &str = "0x80000018";
pub const TO: &str = "0x80000024";

/// The start of the machine's memory, where a firmware or an image without one is.
pub const MEMORY: u64 = 0x8000_0000;

/// The address to which OpenSBI's `fw_jump` jumps in supervisor mode.
pub const AFTER_FIRMWARE: u64 = 0x8020_0000;

/// A processor's family: the numbers in the header of an ELF file.
#[derive(Clone, Copy)]
pub struct Family {
    class: u8,
    machine: u16,
}

pub const RV64: Family = Family { class: 2, machine: 243 };
pub const RV32: Family = Family { class: 1, machine: 243 };
pub const ARM: Family = Family { class: 1, machine: 40 };

/// An ELF program of this code, without symbols.
pub fn elf(family: Family, base: u64, code: &[u8]) -> Vec<u8> {
    let is_wide = family.class == 2;
    let mut elf = vec![0x7f, b'E', b'L', b'F', family.class, 1, 1];
    elf.resize(16, 0);
    let halves = |elf: &mut Vec<u8>, halves: &[u16]| {
        elf.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
    };
    let words = |elf: &mut Vec<u8>, words: &[u32]| {
        elf.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    };
    let longs = |elf: &mut Vec<u8>, longs: &[u64]| match is_wide {
        true => elf.extend(longs.iter().flat_map(|long| long.to_le_bytes())),
        false => elf.extend(longs.iter().flat_map(|long| (*long as u32).to_le_bytes())),
    };
    let (header, segment): (u16, u16) = if is_wide { (64, 56) } else { (52, 32) };
    // A program (2); one segment to load, and no sections.
    halves(&mut elf, &[2, family.machine]);
    words(&mut elf, &[1]);
    longs(&mut elf, &[base, header.into(), 0]);
    words(&mut elf, &[0]);
    halves(&mut elf, &[header, segment, 1, if is_wide { 64 } else { 40 }, 0, 0]);
    let (offset, length) = (u64::from(header + segment), code.len() as u64);
    words(&mut elf, &[1]);
    if is_wide {
        words(&mut elf, &[7]);
    }
    longs(&mut elf, &[offset, base, base, length, length]);
    if !is_wide {
        words(&mut elf, &[7]);
    }
    longs(&mut elf, &[4096]);
    elf.extend(code);
    elf
}

/// The image of `SOURCE` in the folder.
pub fn image(folder: &Folder) -> String {
    let code = fs::read(assembled(folder, "riscv64", SOURCE)).unwrap();
    folder.file("rounds.elf", elf(RV64, MEMORY, &code))
}

/// The number of samples, the smallest and the largest of the series with that name.
#[track_caller]
pub fn figures(case: &Value, name: &str) -> [u64; 3] {
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
fn an_image_that_never_ends_is_observed_to_its_limit() {
    let folder = Folder::new("observe-endless");
    let code = fs::read(assembled(&folder, "riscv64", "here: nop\n j here\n")).unwrap();
    let image = folder.file("endless.elf", elf(RV64, MEMORY, &code));
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
pub const OPENSBI: &str = "/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_jump.elf";
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
    let image = folder.file("kernel.elf", elf(RV64, AFTER_FIRMWARE, &code));
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

/// A kernel whose own marks stand beside the observer.
struct Marked {
    target: &'static str,
    image: &'static str,
    /// QEMU's machine.
    machine: &'static str,
    /// The place that each switch executes once; without one, switches are new values of `satp`.
    switch: Option<&'static str>,
    /// The parameters of the case.
    request: &'static str,
}

const MARKED: [Marked; 4] = [
    Marked {
        target: "freertos@cortex-m4",
        image: "thumbv7em-none-eabihf/release/chronoscope-freertos",
        machine: "netduinoplus2",
        switch: Some("vTaskSwitchContext"),
        request: "tasks=2",
    },
    Marked {
        target: "tandem@cortex-m4",
        image: "thumbv7em-none-eabihf/release/chronoscope-tandem",
        machine: "netduinoplus2",
        switch: Some("tandem::paths::waits::cortex_m::wait_in"),
        request: "tasks=2",
    },
    Marked {
        target: "tandem@rv64",
        image: "riscv64imac-unknown-none-elf/release/chronoscope-tandem",
        machine: "virt",
        switch: Some("tandem::paths::waits::riscv::wait_in_losing_upper"),
        request: "tasks=2",
    },
    Marked {
        target: "tandem@rv64",
        image: "riscv64imac-unknown-none-elf/release/chronoscope-tandem-processes",
        machine: "virt",
        switch: None,
        request: "pair=process-process",
    },
];

/// The options of a command that shall answer with JSON alone.
const QUIET: [&str; 4] = ["-q", "--no-store", "--format", "json"];

/// The median of the series with that name.
#[track_caller]
fn median(run: &Answer, name: &str) -> Value {
    let run = run.json();
    let series = run["cases"][0]["series"].as_array().unwrap().clone();
    let series = series.iter().find(|series| series["name"] == name);
    let series = series.unwrap_or_else(|| panic!("no {name} in {run:#}"));
    series["p50"].clone()
}

#[test]
fn the_observer_and_the_port_s_own_marks_agree() {
    for Marked { target, image, machine, switch, request } in MARKED {
        let run = ["run", "switch", "--set", "loops=2000", "--repeat", "1", "--target", target];
        // Builds the image, too.
        let marked = chronoscope(&[&run[..], &["--set", request], &QUIET].concat());
        let image = target_folder().join("firmware").join(image).display().to_string();
        let observe = ["observe", &image, "--machine", machine];
        let request = format!("switch loops=2000 {request}");
        let request = ["--append", &request];
        let switch: Vec<&str> = switch.into_iter().flat_map(|place| ["--switch", place]).collect();
        let observed = chronoscope(&[&observe[..], &request, &switch, &QUIET].concat());
        let marked = median(&marked, "switch");
        assert!(marked.as_f64().is_some_and(|median| median > 90.0), "{target}: {marked}");
        let observed = median(&observed, "from switch to switch");
        assert_eq!(observed, marked, "{target} {}", request[1]);
    }
}

/// tandem's vectors have the entry of exceptions first, and its code goes on inside the table.
#[test]
fn system_calls_of_processes_are_told_by_their_numbers() {
    let [.., Marked { target, image, machine, request, .. }] = MARKED;
    let ask = ["run", "switch", "--set", "loops=200", "--repeat", "1", "--target", target];
    // Builds the image, too.
    chronoscope(&[&ask[..], &["--set", request], &QUIET].concat()).exits(0);
    let image = target_folder().join("firmware").join(image).display().to_string();
    let observe = ["observe", &image, "--machine", machine];
    let request = format!("switch loops=200 {request}");
    let run = chronoscope(&[&observe[..], &["--append", &request], &QUIET].concat());
    let run = run.exits(0).json();
    let case = &run["cases"][0];
    let series = case["series"].as_array().unwrap();
    let calls = |series: &&Value| series["name"].as_str().unwrap().starts_with("system call ");
    let counts = series.iter().filter(calls).map(|series| series["count"].as_f64().unwrap());
    let [most, whole] =
        counts.fold([0.0_f64; 2], |[most, whole], count| [most.max(count), whole + count]);
    // Each task yields, and calls for its mark; the rest is its start and end.
    assert!(most >= 200.0 && whole < 700.0, "{case:#}");
    // The only other trap is the timer's, at the start.
    let [others, ..] = figures(case, "interrupt or fault, supervisor mode");
    assert!(others <= 3, "{case:#}");
}

#[test]
fn files_without_symbols_show_the_same_switches() {
    let [Marked { target, image, machine, switch, .. }, ..] = MARKED;
    let ask = ["run", "switch", "--set", "loops=200", "--repeat", "1", "--target", target];
    // Builds the image, too.
    let marked = chronoscope(&[&ask[..], &QUIET].concat());
    let folder = Folder::new("observe-closed");
    let (flat, hex) = (folder.path("app.bin"), folder.path("app.hex"));
    let image = target_folder().join("firmware").join(image).display().to_string();
    run(Command::new("llvm-objcopy").args(["-O", "binary", &image, &flat])).exits(0);
    run(Command::new("llvm-objcopy").args(["-O", "ihex", &image, &hex])).exits(0);
    let request = ["--machine", machine, "--append", "switch loops=200 tasks=2"];
    let observe = |words: &[&str]| {
        let observed = chronoscope(&[&["observe"], words, &request, &QUIET].concat());
        observed.exits(0);
        assert_eq!(median(&observed, "from switch to switch"), median(&marked, "switch"));
        observed
    };
    for words in [&[&*flat, "--at", "0x08000000"][..], &[&hex]] {
        let observed = observe(words);
        assert_eq!(median(&observed, "PendSV").as_f64(), Some(66.0));
        // The digest is of the user's file.
        let own = observed.json()["cases"][0]["identity"]["given image"].clone();
        assert_eq!(own, format!("sha256 {}", sha256(&fs::read(words[0]).unwrap())));
    }
    let place = switch.expect("a switch executes it");
    observe(&[&flat, "--at", "0x08000000", "--symbols", &image, "--switch", place]);
    let refused = |words: &[&str], why: &str| {
        chronoscope(&[&["observe"], words, &request].concat()).complains(why);
    };
    refused(&[&hex, "--switch", place], "has no symbol");
    refused(&[&flat], "or for a flat file its place, as --at 0x8000000");
    refused(&[&flat, "--at", "0x80f0000"], "has no room there: netduinoplus2 has memory at 0x0 to");
    refused(&[&flat, "--at", "8"], "is no address: write it as 0x8000000");
    refused(&[&hex, "--at", "0x08000000"], "has an address in each of its lines: leave out --at");
    let text = fs::read_to_string(&hex).unwrap();
    let cut = folder.file("cut.hex", &text[..text.len() - 20]);
    refused(&[&cut], "is no line of Intel HEX");
    refused(&[&folder.file("empty.hex", ":00000001FF\n")], "has no bytes to load: it is empty");
    let locks = folder.file("locks.bin", [0xff; 512]);
    let observed =
        chronoscope(&[&["observe", &locks, "--at", "0x08000000"], &request[..2]].concat());
    assert!(observed.exits(4).stdout.contains("fatal: Lockup: can't escalate"), "{observed:?}");
    let archive = folder.path("programs.a");
    run(Command::new("llvm-ar").args(["rcs", &archive, &image, &hex])).exits(0);
    refused(&[&archive], "is an archive of 2 files (chronoscope-freertos, app.hex): take one");
}

#[test]
fn a_kernel_that_is_linked_at_virtual_addresses_is_put_into_the_memory() {
    let folder = Folder::new("observe-virtual");
    let code = fs::read(assembled(&folder, "riscv64", SOURCE)).unwrap();
    let image = folder.file("kernel.elf", elf(RV64, 0xffff_ffff_c000_0000, &code));
    let observe = ["observe", &image, "--machine", "virt", "--from", FROM, "--to", TO];
    chronoscope(&observe).complains(
        "is to be loaded at 0xffffffffc0000000, where virt has no memory: name its place, as --at \
         0x80000000",
    );
    let nowhere = chronoscope(&[&observe[..], &["--at", "0x87ffffff"]].concat());
    nowhere.complains("has no room there: virt has memory at 0x80000000 to 0x88000000");
    let run = chronoscope(&[&observe[..], &["--at", "0x80000000"], &QUIET].concat());
    let run = run.exits(0).json();
    let case = &run["cases"][0];
    assert_eq!(figures(case, &format!("{FROM} to {TO}")), [10, 3, 3]);
    assert_eq!(case["parameters"]["at"], "0x80000000", "{case:#}");
}

/// A study observes an image that the command line names, as the command does.
#[test]
fn a_study_s_case_observes_an_image() {
    let folder = Folder::new("observe-study");
    let image = image(&folder);
    let study = |entry: &str| {
        let text = format!(
            "name = \"own\"\ntitle = \"Own\"\n[[case]]\nexperiment = \"observe\"\n\
             target = \"rounds=$rounds@virt\"\n{entry}"
        );
        folder.file("own.toml", text)
    };
    let given = format!("rounds={image}");
    let run = |entry: &str| {
        let study = study(entry);
        chronoscope(&[&["run", "--study", &study, "--image", &given], &QUIET[..]].concat())
    };
    let places = format!("from = \"{FROM}\", to = \"{TO}\"");
    let limit = "[[case.limit]]\nstatistic = \"max\"\nat-most = 2\n";
    let published = "[[case.published]]\nsource = \"P\"\non = \"a board\"\nstatistic = \"mean\"\n\
                     value = \"4 us\"\n";
    let entry =
        format!("repeat = 2\nset = {{ {places}, limit = [1000, 5000] }}\n{limit}{published}");
    let answer = run(&entry);
    let own = answer.exits(2).json();
    let cases = own["cases"].as_array().unwrap();
    let observe = ["observe", &image, "--machine", "virt", "--from", FROM, "--to", TO];
    let alone = chronoscope(&[&observe[..], &["--limit", "5000"], &QUIET].concat());
    let alone = &alone.exits(0).json()["cases"][0];
    assert_eq!((cases.len(), &cases[1]["target"]), (2, &alone["target"]));
    assert_eq!(cases[1]["parameters"], alone["parameters"]);
    let [count, ..] = figures(&cases[1], "from switch to switch");
    assert_eq!(count, 2 * figures(alone, "from switch to switch")[0]);
    assert_eq!(figures(&cases[1], &format!("{FROM} to {TO}")), [20, 3, 3]);
    assert!(cases[1].to_string().contains("a board"), "{:#}", cases[1]);
    run(&format!("set = {{ {places}, loops = 3 }}")).complains("has no setting `loops` in a study");
    run("set = { load = \"a@0x80\" }").complains("has no setting `load` in a study");
    run("set = { view = \"./own.toml\" }").complains("is a file, and a study opens none");
    run("set = { limit = \"many\" }").complains("is no number here");
    run("set = { from = \"giv\" }").complains("has no symbols");
    let many = |name: &str| format!("{name} = {:?}", (1..=101).collect::<Vec<u32>>());
    run(&format!("set = {{ {}, {} }}", many("limit"), many("nested"))).complains("10000 cases");
    let named = study("").replace("own.toml", "none.toml");
    folder.file(
        "none.toml",
        fs::read_to_string(study("")).unwrap().replace("rounds=$rounds", "rounds"),
    );
    chronoscope(&["run", "--study", &named])
        .complains("has no image to observe: write rounds=$image@");
    let listed = chronoscope(&["run", "--study", &study(""), "--image", &given, "--list"]);
    assert!(listed.exits(0).stdout.contains("observe"), "{listed:?}");
}

/// Round n writes n to `satp`, and is in the address space n - 1 until then.
#[test]
fn a_program_s_places_count_in_its_own_address_space() {
    let folder = Folder::new("observe-programs");
    let image = image(&folder);
    let program = |name: &str, symbols: &[&str]| {
        let file = folder.path(name);
        let mut objcopy = Command::new("llvm-objcopy");
        for symbol in symbols {
            objcopy.arg(format!("--add-symbol={symbol},global,function"));
        }
        run(objcopy.args([&folder.path("image.o"), &file])).exits(0);
        file
    };
    let program_a = program("a.elf", &[&format!("enter={FROM}"), &format!("both={FROM}")]);
    let program_b = program("b.elf", &[&format!("leave={TO}"), &format!("both={FROM}")]);
    let observe = |files: &[&str], from: &str| {
        let mut words =
            vec!["observe", &*image, "--machine", "virt", "--from", from, "--to", "leave"];
        files.iter().for_each(|file| words.extend(["--symbols", *file]));
        chronoscope(&[&words[..], &QUIET].concat())
    };
    let all = observe(&[&program_a, &program_b], "enter");
    assert_eq!(figures(&all.exits(0).json()["cases"][0], "enter to leave"), [10, 3, 3]);
    let one = observe(&[&format!("{program_a}@0x5"), &program_b], "enter");
    let case = &one.exits(0).json()["cases"][0];
    assert_eq!(figures(case, "enter to leave"), [1, 3, 3]);
    assert_eq!(case["parameters"]["symbols"], "a@0x5+b", "{case:#}");
    // A view's sequence has the same places.
    let view = "kernel = \"a\"\noffsets-of = \"any\"\n[[sequence]]\nname = \"call\"\nfrom = \"enter\"\nto = \"leave\"\n";
    let view = folder.file("view.toml", view);
    for (file, count) in [(program_a.clone(), 10), (format!("{program_a}@0x5"), 1)] {
        let words = ["observe", &image, "--machine", "virt", "--view", &view];
        let files = ["--symbols", &file, "--symbols", &program_b];
        let seen = chronoscope(&[&words[..], &files, &QUIET].concat()).exits(0).json();
        assert_eq!(figures(&seen["cases"][0], "call"), [count, 3, 3]);
    }
    observe(&[&program_a, &program_b], "both").complains("name one of them as --symbols");
    observe(&[&program_b], "enter").complains("give an address");
    let other = env::current_exe().unwrap();
    observe(&[other.to_str().unwrap()], "enter").complains("is for other processors than");
}

/// The most instructions that raise an interrupt: the address of a register, its value, and the
/// store, or a write of a control register.
const RAISING: u64 = 5;

/// The address of the instruction that reads the clock for the mark in the handler of the experiment
/// `interrupt`: from TIM5 on the STM32, from the register `cycle` on RISC-V.
fn mark_of_handler(image: &str) -> String {
    let mut objdump = Command::new("llvm-objdump");
    let text = run(objdump.args(["-d", "--no-show-raw-insn", image])).exits(0).stdout.clone();
    let (_, handler) = text
        .split_once("experiments9interrupt3run28_$u7b$$u7b$closure")
        .expect("the handler is a closure of the experiment's function");
    let mut lines = handler.lines();
    let read = match handler.find("rdcycle").is_some_and(|at| at < 1000) {
        true => lines.find(|line| line.contains("rdcycle")),
        // The upper half of the timer's address comes just before.
        false => {
            lines.find(|line| line.contains("movt") && line.contains("#16384"));
            lines.find(|line| line.contains("ldr"))
        }
    };
    let (address, _) = read.and_then(|line| line.split_once(':')).expect("a read of the clock");
    format!("0x{}", address.trim())
}

/// The time of each sample of the series with that name.
fn times(case: &Value, name: &str) -> Vec<u64> {
    let series = case["series"].as_array().unwrap().iter().find(|series| series["name"] == name);
    let series = series.unwrap_or_else(|| panic!("no {name} in {case:#}"));
    let samples = series["samples"].as_array().unwrap();
    samples.iter().map(|sample| sample[0].as_f64().unwrap() as u64).collect()
}

#[test]
fn an_interrupt_takes_as_long_for_the_observer_as_by_the_marks() {
    let [freertos, tandem, rv64, _] = MARKED;
    const OF_STM32: &str = "interrupt 40, pended to handler";
    const OF_VIRT: &str = "supervisor software interrupt, pended to handler";
    // In a view whose tasks are handlers, the series has the handler's name.
    const OF_HANDLER: &str = "chronoscope_cortex_m4::interrupts::software, pended to handler";
    let rtic = Marked {
        target: "rtic@cortex-m4",
        image: "thumbv7em-none-eabihf/release/chronoscope-rtic",
        ..freertos
    };
    let by_view = ["--view", "rtic"];
    for (marked, name, view) in [
        (freertos, OF_STM32, &[][..]),
        (tandem, OF_STM32, &[]),
        (rv64, OF_VIRT, &[]),
        (rtic, OF_HANDLER, &by_view),
    ] {
        let Marked { target, image, machine, .. } = marked;
        let run = ["run", "interrupt", "--set", "loops=100", "--repeat", "1", "--target", target];
        // Builds the image, too.
        let run = chronoscope(&[&run[..], &QUIET].concat()).exits(0).json();
        let [count, shortest, longest] = figures(&run["cases"][0], "interrupt");
        let [_, cost, _] = figures(&run["cases"][0], "mark to mark");
        assert!(count == 100 && shortest == longest, "{target}: {run:#}");

        let image = target_folder().join("firmware").join(image).display().to_string();
        let mark = mark_of_handler(&image);
        let observe = ["observe", &image, "--machine", machine, "--from", &mark];
        let request = ["--append", "interrupt loops=100"];
        let observed = chronoscope(&[&observe[..], &request, view, &QUIET].concat());
        let observed = observed.exits(0).json();
        let case = &observed["cases"][0];
        // The last ten interrupts have no marks.
        let pended = &times(case, name)[..100];
        let marks = times(case, &format!("{mark} to {mark}"));
        let [_, _, waited] = figures(case, name);
        for (pended, mark) in pended.iter().zip(&marks) {
            // Before the interrupt is pending, the task's mark ends and raises it.
            let difference = shortest - (mark - pended);
            assert!((1..=cost + RAISING).contains(&difference), "{target}: {difference}");
            assert!(waited < mark - pended, "{target}: {case:#}");
        }
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
    complains(&image, &["--machine", "virt", "--load", &text], "name a file and its address");
    complains(&image, &["--machine", "virt", "--load", "none@0x80"], "there is no such image");
    complains(&image, &["--machine", "virt", "--disk", "none"], "there is no such image");
    complains(&image, &["--machine", "virt", "--task", "main"], "has no symbols of variables");
    complains(
        &image,
        &["--machine", "virt", "--stimuli", "9"],
        "are not offered on virt: an observer",
    );
    assert!(!Path::new(&store).exists());
}
