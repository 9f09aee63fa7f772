//! Firmware that is no image of the lab's. Start-up code that waits for its chip's clocks runs with the
//! registers of a named chip, and without them the lab names the one that it waits for. An interrupt at
//! every instruction of a round finds the longest wait.

use std::process::Command;

use crate::common::{Folder, chronoscope, run};

/// The vectors of a program: the stack, the start, and SysTick's handler.
const VECTORS: &str = "
    .syntax unified
    .word 0x20001000, reset + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, tick + 1
";

/// Waits for HSE, the regulator, the flash's wait states, the PLL and the system clock, then for five
/// ticks of a millisecond at 168 MHz, and ends by semihosting.
const STARTUP: &str = "
    .thumb_func
reset:
    ldr r0, =0x40023800
    ldr r1, [r0]
    orr r1, #0x10000
    str r1, [r0]
external:
    ldr r1, [r0]
    tst r1, #0x20000
    beq external
    ldr r2, =0x40007004
regulator:
    ldr r1, [r2]
    tst r1, #0x4000
    beq regulator
    ldr r2, =0x40023c00
    ldr r1, =0x705
    str r1, [r2]
wait_states:
    ldr r3, [r2]
    cmp r1, r3
    bne wait_states
    ldr r1, [r0]
    orr r1, #0x1000000
    str r1, [r0]
pll:
    ldr r1, [r0]
    tst r1, #0x2000000
    beq pll
    movs r1, #2
    str r1, [r0, #8]
system_clock:
    ldr r1, [r0, #8]
    and r1, #12
    cmp r1, #8
    bne system_clock
    ldr r0, =0xe000e010
    ldr r1, =167999
    str r1, [r0, #4]
    movs r1, #7
    str r1, [r0]
    movs r4, #0
ticks:
    cmp r4, #5
    bne ticks
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xab
    b .
    .thumb_func
tick:
    adds r4, #1
    bx lr
    .ltorg
";

/// The image of this source, in the chip's flash, with its symbols.
fn linked(folder: &Folder, source: &str) -> String {
    let source = VECTORS.to_owned() + source;
    linked_by(&["arm-none-eabi-ld"], folder, "thumbv7em-none-eabi", "0x08000000", &source)
}

/// The linker of RISC-V of 32 bits.
const RISC_V: &[&str] = &["riscv64-unknown-elf-ld", "-m", "elf32lriscv"];

/// The image of this source, which begins at an address.
fn linked_by(linker: &[&str], folder: &Folder, triple: &str, origin: &str, source: &str) -> String {
    let (source, object) = (folder.file("app.s", source), folder.path("app.o"));
    let image = folder.path("app.elf");
    let assemble = ["--triple", triple, "--filetype=obj", "-o", &object, &source];
    run(Command::new("llvm-mc").args(assemble)).exits(0);
    let text = format!("-Ttext={origin}");
    let mut command = Command::new(linker[0]);
    command.args(&linker[1..]).args([&text, "-e", origin, "-o", &image, &object]);
    run(&mut command).exits(0);
    image
}

/// The start of a program with SysTick on, which does not come by itself meanwhile.
const TICKING: &str = "
    .thumb_func
reset:
    ldr r0, =0xe000e010
    ldr r1, =16000000
    str r1, [r0, #4]
    movs r1, #7
    str r1, [r0]
";

/// A round of 18 instructions: `cpsid`, ten that it masks, `cpsie`, five more and a branch. SysTick's handler
/// has two.
const ROUND: &str = "
    .thumb_func
round:
    cpsid i
    .rept 10
    nop
    .endr
    cpsie i
    .rept 5
    nop
    .endr
    b round
    .thumb_func
tick:
    nop
    .thumb_func
answered:
    bx lr
    .ltorg
";

#[test]
fn every_arrival_in_a_round_of_one_s_own_waits_for_its_mask() {
    let folder = Folder::new("arrivals");
    let image = linked(&folder, &[TICKING, ROUND].concat());
    let observe = ["observe", &image, "--machine", "netduinoplus2", "--no-store"];
    let observe = |more: &[&str]| chronoscope(&[&observe[..], more].concat());
    let round = ["--from", "round", "--arrivals"];
    let run = observe(&[&round[..], &["timer", "-q", "--format", "json"]].concat()).json();
    let samples = run["cases"][0]["series"][0]["samples"].as_array().unwrap();
    let waits: Vec<f64> = samples.iter().map(|sample| sample[1].as_f64().unwrap()).collect();
    // The instruction after `cpsie` waits for none.
    let masked = (1..=11).rev().map(f64::from);
    let expected: Vec<f64> = masked.chain([0.0; 7]).collect();
    assert_eq!(waits, expected);
    let answer = observe(&[&round[..], &["15"]].concat());
    answer
        .exits(0)
        .shows("All 18 arrivals tried: an interrupt waits at most 11 instructions in app");
    answer.shows("Exhaustive").shows("arrival at instruction 0");
    let chip = observe(&[&round[..], &["15", "--chip", "stm32f405", "--clock", "10MHz"]].concat());
    chip.exits(0).shows("All 18 arrivals tried: an interrupt waits at most 2.").shows(" µs in app");
    observe(&[&round[..], &["44"]].concat()).shows("has not enabled that exception, but: 15");
    observe(&[&round[..], &["x"]].concat()).complains("give the number of an exception");
    observe(&["--arrivals", "timer"]).complains("--from");
    // The handler has an instruction before its answer.
    let to = observe(&[&round[..], &["15", "--to", "answered"]].concat());
    to.exits(0).shows(
        "All 18 arrivals tried: from an interrupt to answered at most 12 instructions in app",
    );
}

/// A vector of the chip's first interrupt, the instructions that enable it, and its handler of six.
const LINE: [&str; 3] = [
    ".word line + 1",
    "
    ldr r0, =0xe000e100
    movs r1, #1
    str r1, [r0]
",
    "
    .thumb_func
line:
    .rept 5
    nop
    .endr
    bx lr
",
];

/// SysTick comes first where both are pending as the mask ends, by its number; its handler has two
/// instructions.
#[test]
fn every_pair_of_arrivals_waits_for_the_other_one_s_handler() {
    let folder = Folder::new("pairs");
    let [vector, enabled, handler] = LINE;
    let image = linked(&folder, &[vector, TICKING, enabled, ROUND, handler].concat());
    let observe =
        ["observe", &image, "--machine", "netduinoplus2", "--no-store", "--from", "round"];
    let observe = |more: &[&str]| chronoscope(&[&observe[..], more].concat());
    for (measured, other, longest) in [("16", "15", 13), ("15", "16", 11)] {
        let answer = observe(&["--arrivals", measured, "--nested", other]);
        answer.exits(0).shows(&format!(
            " pairs of arrivals tried: an interrupt waits at most {longest} instructions in app"
        ));
    }
    observe(&["--arrivals", "15", "--nested", "15"]).shows("no pair with itself");
    observe(&["--arrivals", "15", "--nested", "44"])
        .shows("has not enabled that exception, but: 15, 16");
    observe(&["--nested", "15"]).complains("--arrivals");
}

/// A round of 15 instructions on a RISC-V. The first four mask the timer's interrupt, one of them by a
/// store to a device; a call of machine mode enters the same handler as the timer, which does not come by
/// itself. The timer's path through the handler leaves its line as it is.
const TRAPS: &str = "
    .option norelax
    .globl start
start:
    la t0, handler
    csrw mtvec, t0
    li s0, 0x02004000
    li t0, -1
    sw t0, 4(s0)
    li s0, 0x02000000
    li t0, 0x80
    csrw mie, t0
    .globl round
round:
    csrci mstatus, 8
    nop
    sw zero, 0(s0)
    nop
    csrsi mstatus, 8
    sw zero, 0(s0)
    ecall
    nop
    j round
    .balign 4
handler:
    csrr t0, mcause
    bltz t0, 1f
    csrr t0, mepc
    addi t0, t0, 4
    csrw mepc, t0
1:
    mret
";

/// The same with a table of vectors, whose entries are jumps.
const VECTORED: &str = "
    .option norelax
    .globl start
start:
    la t0, table + 1
    csrw mtvec, t0
    li s0, 0x02004000
    li t0, -1
    sw t0, 4(s0)
    li s0, 0x02000000
    li t0, 0x80
    csrw mie, t0
    .globl round
round:
    csrsi mstatus, 8
    sw zero, 0(s0)
    csrci mstatus, 8
    nop
    j round
    .balign 64
table:
    .rept 7
    j table
    .endr
    j timer
    nop
    nop
timer:
    nop
    mret
";

#[test]
fn every_arrival_on_a_risc_v_waits_for_its_mask_and_for_other_traps() {
    for (name, source, expected) in [
        ("traps", TRAPS, &[4, 3, 2, 1, 0, 0, 6, 5, 4, 3, 2, 1, 0, 0, 0][..]),
        ("vectored", VECTORED, &[0, 0, 3, 2, 1]),
    ] {
        let folder = Folder::new(name);
        let image = linked_by(RISC_V, &folder, "riscv32", "0x80000000", source);
        let observe = ["observe", &image, "--machine", "virt", "--no-store", "--from", "round"];
        let observe = |more: &[&str]| chronoscope(&[&observe[..], more].concat());
        for number in ["timer", "7"] {
            let run = observe(&["--arrivals", number, "-q", "--format", "json"]).json();
            let samples = run["cases"][0]["series"][0]["samples"].as_array().unwrap();
            let waits: Vec<i64> =
                samples.iter().map(|sample| sample[1].as_f64().unwrap() as i64).collect();
            assert_eq!(waits, expected, "{name}");
        }
        observe(&["--arrivals", "27"]).shows("has not enabled that exception, but: 7");
    }
}

/// The entry of the table is a jump to the place.
#[test]
fn every_arrival_on_a_risc_v_comes_to_a_place() {
    let folder = Folder::new("place");
    let image = linked_by(RISC_V, &folder, "riscv32", "0x80000000", VECTORED);
    let observe = ["observe", &image, "--machine", "virt", "--no-store", "--from", "round"];
    let arrivals = ["--to", "timer", "--arrivals", "7"];
    chronoscope(&[&observe[..], &arrivals].concat())
        .exits(0)
        .shows("All 5 arrivals tried: from an interrupt to timer at most 4 instructions in app");
}

#[test]
fn a_start_up_goes_on_with_the_registers_of_its_chip() {
    let folder = Folder::new("startup");
    let image = linked(&folder, STARTUP);
    let observe = |more: &[&str]| {
        let few = ["observe", &image, "--no-store", "--limit", "20000000"];
        chronoscope(&[&few[..], more].concat())
    };
    for chip in ["stm32f405", "stm32f429", "stm32f205"] {
        let answer = observe(&["--chip", chip, "-q", "--format", "json"]);
        let run = answer.exits(0).json();
        let series = run["cases"][0]["series"].as_array().unwrap();
        let ticks = series.iter().find(|series| series["name"] == "SysTick").unwrap();
        assert_eq!(ticks["count"], 5, "{chip}: {run:#}");
    }
    // Without them, the place and the remedy.
    let plain = observe(&["--machine", "netduinoplus2"]);
    plain
        .exits(4)
        .shows("100 % of the instructions: external, waiting for 0x40023800, which --chip stm32f4");
    let further = observe(&["--machine", "netduinoplus2", "--answer", "0x40023800=0x20000"]);
    further.exits(4).shows("regulator, waiting for 0x40007004, which --chip stm32f4");
    for wrong in ["0x40023800", "40023800=1", "0x40023801=1", "0x40023800=x"] {
        observe(&["--machine", "netduinoplus2", "--answer", wrong]).complains("address of a word");
    }
}
