//! `chronoscope observe --view`: a kernel's tasks by their names. A program with a known number of
//! instructions between its events must show exactly that number; figures of a real kernel must be the
//! marks' and the kernel's own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    common::{Answer, Folder, chronoscope, documented::root, gives_the_same_bytes_twice, run},
    observe::figures,
    plugin::target as target_folder,
};

/// The options of a command that shall answer with JSON alone.
const QUIET: [&str; 4] = ["-q", "--no-store", "--format", "json"];

/// A record of two tasks, and the stores of a kernel: `a` becomes ready, runs 5 instructions later, and
/// waits for the object 10 after that; then it waits for the object while `b` holds it.
const KERNEL: &str = "
    .syntax unified
    .cpu cortex-m4
    .thumb
    .text
    .word 0x20001000
    .word reset + 1
    .macro set field, value
    ldr r1, =\\value
    str r1, [r0, #\\field]
    .endm
    .thumb_func
    .globl reset, place, other
reset:
    ldr r5, =current
    ldr r0, =b
    set 0, ready
    set 4, 0
    set 8, b
    set 12, 0x62
    ldr r0, =a
    set 0, waiting
    set 4, 0
    set 8, a
    set 12, 0x61
    ldr r0, =object
    set 0, 0x1234
    set 8, b
    ldr r1, =b
    str r1, [r5]
    ldr r0, =a
    str r0, [r5]
    str r1, [r5]
    movs r7, #20
place:
    set 0, ready
    nop
    nop
    nop
    nop
    str r0, [r5]
other:
    nop
    nop
    movs r1, #0
    str r1, [r0]
    nop
    nop
    nop
    nop
    ldr r1, =waiting
    str r1, [r0]
    ldr r1, =b
    str r1, [r5]
    ldr r1, =ready
    str r1, [r0]
    ldr r1, =object + 4
    str r1, [r0, #4]
    ldr r1, =waiting
    str r1, [r0]
    nop
    ldr r1, =ready
    str r1, [r0]
    movs r1, #0
    str r1, [r0, #4]
    str r0, [r5]
    ldr r1, =waiting
    str r1, [r0]
    ldr r1, =b
    str r1, [r5]
    subs r7, #1
    bne place
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xab
    b .
    .ltorg
    .bss
    .macro variable name, bytes
    .balign 4
    .globl \\name
    .type \\name, %object
    .size \\name, \\bytes
\\name: .space \\bytes
    .endm
    variable current, 4
    variable a, 16
    variable b, 16
    variable object, 12
    variable ready, 4
    variable waiting, 4
";

const VIEW: &str = r#"
kernel = "two"
offsets-of = "two"
[running]
variable = "current"
[task]
state = { at = { offset = 0 }, ready-in = "ready" }
wait = { at = { offset = 4 } }
name = { at = { offset = 12 }, bytes = 4 }
[[task.check]]
at = { offset = 8 }
is = "task"
[[object]]
list = { offset = 4 }
check = { at = { offset = 0 }, is = 0x1234 }
held-if = { at = { offset = 0 }, is = 0x1234 }
holder = { offset = 8 }
[[sequence]]
name = ["odd turns", "even turns"]
from = "place"
to = "other"
published = "6 in nobody's report"
[[sequence]]
name = "never"
from = "reset"
to = "nowhere"
[[sequence]]
name = "once"
from = "other"
to = "reset"
"#;

/// The image of the kernel of two tasks.
fn two(folder: &Folder) -> String {
    let (source, object) = (folder.file("two.s", KERNEL), folder.path("two.o"));
    let image = folder.path("two.elf");
    let triple = ["--triple", "thumbv7em-none-eabi", "--filetype=obj", "-o"];
    run(Command::new("llvm-mc").args(triple).args([&object, &source])).exits(0);
    let places = ["-Ttext=0x08000000", "-Tbss=0x20000000", "-e", "reset", "-o"];
    run(Command::new("arm-none-eabi-ld").args(places).args([&image, &object])).exits(0);
    image
}

#[track_caller]
fn notes(case: &Value) -> String {
    case["log"].to_string()
}

#[test]
fn each_figure_of_a_task_is_counted_to_the_instruction() {
    let folder = Folder::new("view-exact");
    let (image, view) = (two(&folder), folder.file("two.toml", VIEW));
    let observe = ["observe", &image, "--machine", "netduinoplus2", "--view", &view];
    let json = chronoscope(&[&observe[..], &QUIET].concat()).exits(0).json();
    let case = &json["cases"][0];
    // Ready, four instructions and the store that makes it run.
    assert_eq!(figures(case, "a ready to running"), [40, 0, 5], "{case:#}");
    gives_the_same_bytes_twice(&[&observe[..], &["-q", "--no-store"]].concat(), 4);
    assert!(notes(case).contains("nowhere"), "{case:#}");
}
