//! `chronoscope watch` of firmware: marks in images of C and Rust, counted by the observer.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::common::{Folder, chronoscope, gives_the_same_bytes_twice, run, samples};

/// The folder of the crate, its header and its examples.
pub fn marks() -> String {
    format!("{}/../mark", env!("CARGO_MANIFEST_DIR"))
}

/// An image that a compiler of C makes of this source for a family of processors.
pub fn compiled(
    folder: &Folder,
    family: &[&str],
    source: &str,
    script: &str,
    more: &[&str],
) -> String {
    let image = folder.path(&format!("image{}.elf", more.join("")));
    let header = format!("{}/include", marks());
    let options = ["-O2", "-Wall", "-Wextra", "-Werror", "-nostdlib", "-I", &header, "-T", script];
    let mut compiler = Command::new(family[0]);
    compiler.args(&family[1..]).args(options).args(more).args([source, "-o", &image]);
    run(&mut compiler).exits(0);
    image
}

pub const CORTEX_M4: &[&str] = &["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"];
pub const RV32: &[&str] =
    &["riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "-mcmodel=medany"];
const RV64: &[&str] =
    &["riscv64-unknown-elf-gcc", "-march=rv64imc", "-mabi=lp64", "-mcmodel=medany"];

pub fn example(folder: &Folder) -> String {
    let example = format!("{}/examples/firmware", marks());
    let (source, script) = (format!("{example}/main.c"), format!("{example}/link.ld"));
    compiled(folder, CORTEX_M4, &source, &script, &[])
}

/// The lengths of a series of a command's only case.
#[track_caller]
pub fn lengths(arguments: &[&str], name: &str) -> Vec<u64> {
    let rest = ["-q", "--no-store", "--format", "json"];
    let run = chronoscope(&[arguments, &rest[..]].concat()).exits(0).json();
    samples(&run["cases"][0], name).into_iter().map(|length| length as u64).collect()
}

/// The addresses of an image's marks, by readelf.
fn addresses(image: &str) -> Vec<(String, String)> {
    let notes = run(Command::new("readelf").args(["-n", "-W", image])).exits(0).stdout.clone();
    let value = |line: &str, key: &str| {
        let text = line.trim().strip_prefix(key)?.split(',').next()?.to_owned();
        Some(text)
    };
    let names = notes.lines().filter_map(|line| value(line, "Name: "));
    names.zip(notes.lines().filter_map(|line| value(line, "Location: "))).collect()
}

#[test]
fn marks_give_what_observe_gives_between_their_addresses() {
    let folder = Folder::new("watch-firmware");
    let image = example(&folder);
    let addresses = addresses(&image);
    let address = |name: &str| {
        let found = addresses.iter().find(|(own, _)| own == name);
        found.unwrap_or_else(|| panic!("{addresses:?}")).1.clone()
    };
    let (from, to) = (address("control__begin"), address("control__end"));
    let between = |machine: &[&str]| {
        let observe = ["observe", &image, "--from", &from, "--to", &to];
        lengths(&[&observe[..], machine].concat(), &format!("{from} to {to}"))
    };
    for machine in [&["--machine", "netduinoplus2"][..], &["--chip", "stm32f405"]] {
        let watch = [&["watch", &image][..], machine].concat();
        let control = lengths(&watch, "control");
        assert_eq!((control.len(), control), (100, between(machine)));
    }
    let observe = ["observe", &image, "--machine", "netduinoplus2"];
    let control = lengths(&observe, "control");
    assert_eq!(control, lengths(&["watch", &image, "--machine", "netduinoplus2"], "control"));
    let watch = ["watch", &image, "--machine", "netduinoplus2", "-q", "--no-store"];
    gives_the_same_bytes_twice(&watch, 4);
    let slept = "`sample` is not judged: the processor slept in 99 of 99 rounds";
    chronoscope(&[&watch[..], &["--full"]].concat()).exits(0).shows(slept);
}

/// Round N has N turns, and its number is N.
const TURNS: &str = "
    #include <chronoscope_mark.h>
    static volatile unsigned turns;
    void start(void) {
        __asm__ volatile(\"li sp, 0x80100000\");
        for (unsigned long round = 0; round < 50; round++) {
            BEGIN(turns);
            for (unsigned long turn = 0; turn < round; turn++) turns++;
            END(turns);
            CHRONO_VALUE_UNORDERED(round, round);
        }
        *(volatile unsigned *)0x100000 = 0x5555;
        for (;;) {}
    }
";
pub const AT_MEMORY: &str = "
    ENTRY(start)
    SECTIONS { . = 0x80000000; .text : { *(.text*) } .bss : { *(.bss*) *(.sbss*) } }
";

#[test]
fn marks_on_risc_v_count_each_turn() {
    for (name, family) in [("rv32", RV32), ("rv64", RV64)] {
        let folder = Folder::new(&format!("watch-{name}"));
        let source = folder.file("turns.c", TURNS);
        let script = folder.file("link.ld", AT_MEMORY);
        let defines = ["-DBEGIN=CHRONO_BEGIN", "-DEND=CHRONO_END"];
        let image = compiled(&folder, family, &source, &script, &defines);
        let watch = ["watch", &image, "--machine", "virt"];
        let turns = lengths(&watch, "turns");
        let steps: Vec<u64> = turns[1..].windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(turns.len() == 50 && steps.iter().all(|step| *step == steps[0]), "{turns:?}");
        assert_eq!(lengths(&watch, "round"), (0..50).collect::<Vec<u64>>());
    }
}

/// Marks around a call, which moves no register for them.
const CALLED: &str = "
    #include <chronoscope_mark.h>
    static volatile unsigned turns;
    __attribute__((noinline)) static void turn(void) { turns++; }
    void start(void) {
        for (;;) {
            CHRONO_BEGIN_UNORDERED(turns);
            turn();
            CHRONO_END_UNORDERED(turns);
            CHRONO_INSTANT_UNORDERED(turned);
        }
    }
";

#[test]
fn a_mark_is_no_byte_of_the_program_and_off_nothing_at_all() {
    let folder = Folder::new("watch-bytes");
    let source = folder.file("called.c", CALLED);
    let script = folder.file("link.ld", AT_MEMORY);
    for family in [CORTEX_M4, RV32, RV64] {
        let code = |more: &[&str]| {
            let image = compiled(&folder, family, &source, &script, more);
            let binary = folder.path("code");
            run(Command::new("llvm-objcopy").args(["-O", "binary", &image, &binary])).exits(0);
            (fs::read(binary).unwrap(), addresses(&image).len())
        };
        let (marked, marks) = code(&[]);
        let (off, none) = code(&["-DCHRONO_MARK_OFF"]);
        assert_eq!((marks, none), (3, 0));
        assert_eq!(marked, off, "{family:?}");
        let (with_nops, marks) = code(&["-DCHRONO_MARK_NOP"]);
        assert!(marks == 3 && with_nops.len() > marked.len());
    }
}

/// Ten calls of a function of three instructions, which keeps the frame: seven with the call.
const RUST: &str = "
    #![no_std]
    #![no_main]
    use chronoscope_mark::{begin, end, value};
    core::arch::global_asm!(
        \".pushsection .vectors, \\\"a\\\"\", \".word 0x20001000\", \".word start\", \".popsection\"
    );
    #[unsafe(no_mangle)]
    extern \"C\" fn start() -> ! {
        for round in 0..core::hint::black_box(10) {
            begin!(nops);
            nops();
            end!(nops);
            begin!(unordered request, round);
            end!(unordered request, round);
            value!(round, round);
        }
        unsafe { core::arch::asm!(\"bkpt 0xab\", in(\"r0\") 0x18, in(\"r1\") 0x20026, options(noreturn)) }
    }
    #[inline(never)]
    fn nops() {
        unsafe { core::arch::asm!(\"nop\", \"nop\", \"nop\") };
    }
    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
";
pub const MANIFEST: &str = "
    [package]
    name = \"nops\"
    version = \"0.0.0\"
    edition = \"2024\"
    [profile.release]
    panic = \"abort\"
    [workspace]
    [dependencies]
    chronoscope-mark = { path = ";
pub const AT_FLASH: &str = "
    ENTRY(start)
    SECTIONS {
        . = 0x08000000;
        .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) }
        /DISCARD/ : { *(.ARM.*) }
    }
";

#[test]
fn the_crate_s_marks_are_watched() {
    let folder = Folder::new("watch-crate");
    fs::create_dir_all(folder.path("src")).unwrap();
    folder.file("src/main.rs", RUST);
    folder.file("Cargo.toml", format!("{MANIFEST}\"{}\" }}\n", marks()));
    let script = folder.file("link.ld", AT_FLASH);
    let built = folder.path("target");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--offline", "--target", "thumbv7em-none-eabihf"]);
    cargo.env("RUSTFLAGS", format!("-C link-arg=-T{script}")).env("CARGO_TARGET_DIR", &built);
    run(cargo.current_dir(folder.path(""))).exits(0);
    let image = format!("{built}/thumbv7em-none-eabihf/release/nops");
    assert!(Path::new(&image).exists());
    let watch = ["watch", &image, "--machine", "netduinoplus2"];
    assert_eq!(lengths(&watch, "nops"), [7; 10]);
    assert_eq!(lengths(&watch, "request"), [0; 10]);
    assert_eq!(lengths(&watch, "round"), (0..10).collect::<Vec<u64>>());
}

#[test]
fn an_image_that_cannot_be_watched_is_one_line() {
    let folder = Folder::new("watch-refused");
    let image = example(&folder);
    let watch =
        |arguments: &[&str]| chronoscope(&[&["watch", "-q", "--no-store"][..], arguments].concat());
    watch(&[&image]).complains("name its machine or its chip, as --chip stm32f405");
    let on =
        |more: &[&str]| watch(&[&[&image[..], "--machine", "netduinoplus2"][..], more].concat());
    on(&["--limit", "control <= 5us"]).complains("an emulator counts instructions");
    on(&["--limit", "control <= 30"]).exits(2).shows("rounds of control took over 30 instructions");
    on(&["--from", "control"]).complains("chronoscope observe IMAGE --from");
    let bare = folder.path("bare.elf");
    let (example, script) = (
        format!("{}/examples/firmware", marks()),
        format!("{}/examples/firmware/link.ld", marks()),
    );
    let bare_image =
        compiled(&folder, CORTEX_M4, &format!("{example}/main.c"), &script, &["-DCHRONO_MARK_OFF"]);
    fs::copy(bare_image, &bare).unwrap();
    watch(&[&bare, "--machine", "netduinoplus2"])
        .complains("bare.elf has no marks: `observe` measures");
    let never = chronoscope(&[
        "watch",
        &image,
        "--machine",
        "netduinoplus2",
        "--instructions",
        "10",
        "-q",
        "--no-store",
    ]);
    let json: Value = Value::String(never.exits(4).stdout.clone());
    assert!(json.as_str().unwrap().contains("`control` was never reached"), "{json}");
}

/// The sizes that the compiler's own `size` prints.
#[test]
fn limits_guard_the_sizes_of_an_image() {
    let folder = Folder::new("watch-sizes");
    let image = example(&folder);
    let printed = run(Command::new("arm-none-eabi-size").arg(&image)).exits(0).stdout.clone();
    let words: Vec<u64> = printed
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let [text, data, bss, ..] = words[..] else { panic!("{printed}") };
    let watch = |limits: &[&str]| {
        let watch = ["watch", &image, "--machine", "netduinoplus2", "--no-store"];
        chronoscope(&[&watch[..], limits].concat())
    };
    let (flash, memory) = (text + data, data + bss);
    let [fits, full] = [flash, flash - 1].map(|most| format!("flash <= {most}"));
    watch(&["--limit", &fits, "--limit", &format!("RAM <= {memory}")])
        .exits(0)
        .shows("2 of 2 limits hold");
    watch(&["--limit", &full]).exits(2);
    watch(&["--limit", &format!("RAM <= {}", memory - 1)]).exits(2).shows("RAM");
    watch(&["--limit", "flash <= 1ms"]).complains("`flash` is a number");
}
