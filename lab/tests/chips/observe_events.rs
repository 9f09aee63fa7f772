//! Tests of `chronoscope observe`: it finds interrupts, calls, masks and tasks in programs with a
//! known number of instructions; no program notices it; its runs are like any other.

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    common::{Folder, chronoscope, run},
    observe::{
        AFTER_FIRMWARE, ARM, FROM, Family, MEMORY, OPENSBI, RV32, RV64, SOURCE, elf, figures,
    },
    plugin::{assembled, plugin},
};

/// The start of the flash memory of the STM32.
const FLASH: u64 = 0x0800_0000;

/// The machines with a Cortex-M3 or later, and where each has its vectors.
const MACHINES: [(&str, u64); 5] = [
    ("netduinoplus2", FLASH),
    ("netduino2", FLASH),
    ("mps2-an385", 0),
    ("mps2-an386", 0),
    ("mps2-an500", 0),
];

/// Ten rounds on a Cortex-M: PRIMASK for 4 instructions, BASEPRI for 3, a system call with the
/// number 5 and a handler of 3, an interrupt that is set pending 3 instructions before it is
/// enabled, another task, and another stack pointer of tasks. Each round prints six bits of SysTick.
const CORTEX_M: &str = "
    .syntax unified
    .thumb
    .word 0x20001000, reset + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, call + 1, 0, 0, 0, 0
    .word interrupt + 1
reset:
    ldr r1, =0xe000e010
    movs r2, #5
    ldr r3, =0xffffff
    str r3, [r1, #4]
    str r2, [r1]
    ldr r1, =0xe000e100
    movs r2, #1
    str r2, [r1]
    movs r7, #10
round:
    cpsid i
    nop
    nop
    nop
    cpsie i
    movs r0, #0x20
    msr basepri, r0
    nop
    movs r0, #0
    msr basepri, r0
    svc #5
    ldr r1, =0xe000e200
    movs r2, #1
    cpsid i
    str r2, [r1]
    nop
    nop
    cpsie i
    ldr r1, =0x20000100
    str r7, [r1]
    lsls r0, r7, #8
    msr psp, r0
    ldr r1, =0xe000e018
    ldr r2, [r1]
    and r2, r2, #63
    ldr r1, =0x40011004
    str r2, [r1]
    subs r7, #1
    bne round
    svc #6
";

/// The end of such a program, and the handlers of 3 and 2 instructions.
const END: &str = "
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xab
forever:
    b forever
call:
    nop
    nop
    bx lr
interrupt:
    nop
    bx lr
    .ltorg
";

/// Ten such rounds for any Cortex-M, without BASEPRI and SysTick. FLASH and MEMORY stand for addresses.
const ARMV6_M: &str = "
    .syntax unified
    .thumb
    .word MEMORY + 0x1000, FLASH + reset + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, FLASH + call + 1, 0, 0, 0, 0
    .word FLASH + interrupt + 1
reset:
    ldr r1, =0xe000e100
    movs r2, #1
    str r2, [r1]
    movs r7, #10
round:
    cpsid i
    nop
    nop
    nop
    cpsie i
    svc #5
    ldr r1, =0xe000e200
    movs r2, #1
    cpsid i
    str r2, [r1]
    nop
    nop
    cpsie i
    ldr r1, =MEMORY + 0x100
    str r7, [r1]
    lsls r0, r7, #8
    msr psp, r0
    subs r7, #1
    bne round
";

/// Five timers of machine mode, each 2 us ahead. The processor sleeps until they are due. Interrupts
/// are off for 10 instructions before each sleep, and for 5 in the handler.
const TIMERS: &str = "
    .option norvc
    lla t0, handler
    csrw mtvec, t0
    lui t4, 0x2004
    li t5, -1
    sd t5, (t4)
    li t0, 0x80
    csrw mie, t0
    li t1, 5
    csrsi mstatus, 8
round:
    csrci mstatus, 8
    lui t4, 0x200c
    ld t5, -8(t4)
    addi t5, t5, 20
    lui t4, 0x2004
    sd t5, (t4)
    nop
    nop
    nop
    addi t1, t1, -1
    csrsi mstatus, 8
    wfi
    bnez t1, round
    li t4, 0x100000
    li t5, 0x5555
    sw t5, (t4)
forever:
    j forever
    .balign 4
handler:
    csrr t6, mcause
    li t5, -1
    sd t5, (t4)
    nop
    mret
";

/// Masks on a Cortex-M: BASEPRI_MAX, which only raises the mask, for 8 instructions; FAULTMASK for 2,
/// and inside it PRIMASK, together 3; none by code without privileges; PRIMASK in a handler for 2.
const MASKS: &str = "
    .syntax unified
    .thumb
    .word 0x20001000, reset + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, call + 1, 0, 0, 0, 0
reset:
    movs r0, #0x40
    msr basepri_max, r0
    nop
    movs r0, #0x80
    msr basepri_max, r0
    movs r0, #0x20
    msr basepri_max, r0
    movs r0, #0
    msr basepri_max, r0
    msr basepri, r0
    cpsid f
    nop
    cpsie f
    cpsid i
    cpsid f
    cpsie i
    cpsie f
    movs r0, #1
    msr control, r0
    cpsid i
    nop
    nop
    msr primask, r0
    svc #1
call:
    cpsid i
    nop
    cpsie i
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xab
    .ltorg
";

#[test]
fn each_way_to_mask_interrupts_of_a_cortex_m_is_seen() {
    let folder = Folder::new("observe-masks");
    let case = observed(&cortex_m4(&folder, MASKS), "netduinoplus2", &[]);
    let series = case["series"].as_array().unwrap();
    let masked = series.iter().find(|series| series["name"] == "interrupts masked").unwrap();
    let lengths = masked["samples"].as_array().unwrap().iter().map(|sample| sample[1].as_f64());
    assert_eq!(lengths.collect::<Option<Vec<_>>>().unwrap(), [8.0, 2.0, 3.0, 2.0], "{case:#}");
}

/// The image ends QEMU with a status of its own, at each of the starts that a model of time needs.
#[test]
fn an_image_that_ends_with_a_failure_has_the_time_of_its_chip() {
    let folder = Folder::new("observe-failed");
    let image = cortex_m4(&folder, &MASKS.replace("=0x20026", "=0x20023"));
    let observe =
        ["observe", &image, "--chip", "stm32f405", "-q", "--no-store", "--format", "json"];
    let run = chronoscope(&observe).exits(0).json();
    let case = &run["cases"][0];
    assert_eq!(case["clock"]["domain"], "modelled", "{case:#}");
    let series = case["series"].as_array().unwrap();
    let masked = series.iter().find(|series| series["name"] == "interrupts masked").unwrap();
    assert_eq!(masked["count"], 4, "{case:#}");
}

/// Three rounds, at the address 0xa, and a sleep that nothing ends.
const ASLEEP: &str = "
    .syntax unified
    .thumb
    .word 0x20001000, reset + 1
reset:
    movs r0, #3
round:
    subs r0, #1
    bne round
asleep:
    wfi
    b asleep
";

/// With a chip's time, for which the image starts twice.
#[test]
fn an_image_that_sleeps_for_good_is_observed_until_then() {
    let folder = Folder::new("observe-asleep");
    let image = cortex_m4(&folder, ASLEEP);
    let observe = ["observe", &image, "--chip", "stm32f405", "--from", "0xa"];
    let rest = ["-q", "--no-store", "--format", "json"];
    let case = chronoscope(&[&observe[..], &rest].concat()).exits(0).json()["cases"][0].clone();
    assert_eq!(case["series"][0]["count"], 2, "{case:#}");
    let log = case["log"].to_string();
    assert!(log.contains("the image sleeps, and no timer or interrupt is due"), "{log}");
}

/// A kernel in supervisor mode above a firmware. Five times it disables its interrupts for three
/// instructions, and calls the firmware with its interrupts enabled.
const SUPERVISOR: &str = "
    .option norvc
    li s0, 5
    csrsi sstatus, 2
again:
    csrci sstatus, 2
    nop
    nop
    csrsi sstatus, 2
    li a6, 0
    li a7, 0x10
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
fn a_firmware_s_calls_mask_the_kernel_s_interrupts() {
    let folder = Folder::new("observe-supervisor");
    let code = fs::read(assembled(&folder, "riscv64", SUPERVISOR)).unwrap();
    let image = folder.file("kernel.elf", elf(RV64, AFTER_FIRMWARE, &code));
    let case = observed(&image, "virt", &["--firmware", OPENSBI]);
    let [calls, _, longest] = figures(&case, "call of machine mode 0x10");
    assert_eq!(calls, 5);
    assert_eq!(figures(&case, "interrupts masked, supervisor mode"), [10, 3, longest]);
    assert_eq!(
        figures(&case, "interrupts masked, machine mode"),
        figures(&case, "call of machine mode 0x10")
    );
}

/// Twenty interrupts of SysTick, every 1001 cycles of the processor's clock and then every 3001 of the
/// reference clock, while the processor executes `nop`.
const TICKS: &str = "
    .syntax unified
    .thumb
    .word 0x20001000, reset + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, tick + 1
reset:
    ldr r4, =0xe000e010
    ldr r0, =1000
    str r0, [r4, #4]
    movs r7, #10
    movs r0, #7
    str r0, [r4]
busy:
    .rept 64
    nop
    .endr
    cmp r7, #0
    bne busy
    movs r0, #0
    str r0, [r4]
    str r0, [r4, #8]
    ldr r0, =3000
    str r0, [r4, #4]
    movs r7, #10
    movs r0, #3
    str r0, [r4]
    b again
again:
    .rept 64
    nop
    .endr
    cmp r7, #0
    bne again
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xab
forever:
    b forever
tick:
    subs r7, #1
    bx lr
    .ltorg
";

#[test]
fn systick_s_interrupts_are_due_when_the_emulator_raises_them() {
    let folder = Folder::new("observe-systick");
    let code = fs::read(assembled(&folder, "thumbv7em", TICKS)).unwrap();
    for (machine, base) in MACHINES {
        let image = folder.file("ticks.elf", elf(ARM, base, &code));
        let case = observed(&image, machine, &[]);
        let [count, _, longest] = figures(&case, "SysTick, due to handler");
        assert!(count == 20 && longest <= 1, "{machine}: {case:#}");
        assert_eq!(figures(&case, "SysTick"), [20, 2, 2], "{machine}");
    }
}

#[test]
fn events_without_a_systick_are_counted_to_the_instruction() {
    let folder = Folder::new("observe-armv6-m");
    for (machine, flash, memory) in [
        ("microbit", 0, 0x2000_0000_u32),
        ("lm3s6965evb", 0, 0x2000_0000),
        ("mps2-an505", 0x1000_0000, 0x3800_0000),
    ] {
        let text = [ARMV6_M, END].concat().replace("FLASH", &flash.to_string());
        let text = text.replace("MEMORY", &memory.to_string());
        let code = fs::read(assembled(&folder, "thumbv6m", &text)).unwrap();
        let image = folder.file("rounds.elf", elf(ARM, flash, &code));
        let case = observed(&image, machine, &["--task", &format!("{:#x}", memory + 0x100)]);
        assert_eq!(figures(&case, "system call 5"), [10, 3, 3], "{machine}");
        assert_eq!(figures(&case, "interrupt 0"), [10, 2, 2], "{machine}");
        assert_eq!(figures(&case, "interrupt 0, pended to handler"), [10, 3, 3], "{machine}");
        assert_eq!(figures(&case, "interrupts masked"), [20, 4, 4], "{machine}");
        let [count, shortest, longest] = figures(&case, "from switch to switch");
        assert!(count == 8 && shortest == longest, "{machine}: {case:#}");
    }
}

/// Observes the program, and returns its case.
fn observed(image: &str, machine: &str, options: &[&str]) -> Value {
    let observe = ["observe", image, "--machine", machine];
    let quiet = ["-q", "--no-store", "--format", "json"];
    let run = chronoscope(&[&observe[..], options, &quiet].concat()).exits(0).json();
    run["cases"][0].clone()
}

/// The image of a program for a Cortex-M4 in the folder.
fn cortex_m4(folder: &Folder, source: &str) -> String {
    let code = fs::read(assembled(folder, "thumbv7em", source)).unwrap();
    folder.file("image.elf", elf(ARM, FLASH, &code))
}

/// The image of `CORTEX_M` in the folder.
fn cortex_m(folder: &Folder) -> String {
    cortex_m4(folder, &[CORTEX_M, END].concat())
}

#[test]
fn calls_masks_interrupts_and_tasks_of_a_cortex_m_are_counted_to_the_instruction() {
    let folder = Folder::new("observe-cortex-m");
    let code = fs::read(assembled(&folder, "thumbv7em", &[CORTEX_M, END].concat())).unwrap();
    for (machine, base) in MACHINES {
        let image = folder.file("rounds.elf", elf(ARM, base, &code));
        let case = observed(&image, machine, &[]);
        assert_eq!(figures(&case, "system call 5"), [10, 3, 3], "{machine}");
        assert_eq!(figures(&case, "interrupt 0"), [10, 2, 2], "{machine}");
        assert_eq!(figures(&case, "interrupt 0, pended to handler"), [10, 3, 3], "{machine}");
        // The first mask, BASEPRI's, and the one around the interrupt that is set pending.
        assert_eq!(figures(&case, "interrupts masked"), [30, 3, 4], "{machine}");
        // A switch is a new value of PSP.
        let [count, shortest, longest] = figures(&case, "from switch to switch");
        assert!(count == 8 && shortest == longest && shortest > 30, "{case:#}");
        assert_eq!(figures(&case, "in stack pointer 0x200"), [1, longest, longest]);
    }
    let image = cortex_m(&folder);
    let case = observed(&image, "netduinoplus2", &["--task", "0x20000100"]);
    let [count, shortest, longest] = figures(&case, "from switch to switch");
    assert!(count == 8 && shortest == longest, "{case:#}");
    assert_eq!(figures(&case, "in task 0x5"), [1, longest, longest]);
    let whole = case["figures"].as_array().unwrap().clone();
    let whole = whole.iter().find(|figure| figure["name"] == "in task 0x5").unwrap();
    assert_eq!(
        (&whole["value"], &whole["unit"]),
        (&(longest as f64).into(), &"instructions".into())
    );
}

#[test]
fn a_timer_is_late_by_the_emulator_s_rounding_alone() {
    let folder = Folder::new("observe-timers");
    let code = fs::read(assembled(&folder, "riscv64", TIMERS)).unwrap();
    let case = observed(&folder.file("timers.elf", elf(RV64, MEMORY, &code)), "virt", &[]);
    let [count, _, longest] = figures(&case, "machine timer, due to handler");
    // QEMU's timer is late by up to 99 ns, and the processor sleeps until then.
    assert!(count == 5 && longest < 100, "{case:#}");
    assert_eq!(figures(&case, "interrupt or fault, machine mode"), [5, 5, 5]);
    assert_eq!(figures(&case, "interrupts masked, machine mode"), [10, 5, 10]);
}

#[test]
fn an_image_does_not_notice_the_observer() {
    const CLOCK: &str = "-icount shift=0,sleep=off,align=off -rtc clock=vm -display none \
                         -monitor none -serial stdio -semihosting-config enable=on,target=native";
    const VIRT: &str = "-machine virt -bios none";
    let folder = Folder::new("observe-unnoticed");
    let events = folder.path("events");
    let watched = format!("at={FROM},task=0x20000100,hertz=168000000");
    let options = format!("{},observe={events},{watched}", plugin());
    let riscv = |triple: &str, family: Family| {
        let code = fs::read(assembled(&folder, triple, SOURCE)).unwrap();
        folder.file(&format!("{triple}.elf"), elf(family, MEMORY, &code))
    };
    let arm = cortex_m(&folder);
    for (program, machine, image) in [
        ("qemu-system-riscv64", VIRT, riscv("riscv64", RV64)),
        ("qemu-system-riscv32", VIRT, riscv("riscv32", RV32)),
        ("qemu-system-arm", "-machine netduinoplus2", arm.clone()),
        ("qemu-system-arm", "-machine netduino2", arm),
    ] {
        let output = |observer: &[&str]| {
            // A faulty image would run for ever.
            let mut qemu = Command::new("timeout");
            qemu.args(["60", program]).args(machine.split(' ')).args(CLOCK.split_whitespace());
            qemu.args(["-kernel", &image]).args(observer).stdin(Stdio::null());
            run(&mut qemu).exits(0).stdout.clone()
        };
        let alone = output(&[]);
        assert!(alone.len() >= 10, "{machine}: {alone:?}");
        assert_eq!(output(&["-plugin", &options]), alone, "{program} {machine}");
        assert!(fs::metadata(&events).unwrap().len() > 24 * 30, "{program} {machine}");
    }
}

/// Reads a word that is in no part of the image, prints its lowest byte as the number of a system
/// call, and sees whether the first socket of virtio has a disk (device 2).
const LOADED: &str = "
    .option norvc
    lla t0, handler
    csrw mtvec, t0
    li t0, 0x86000000
    lw a7, (t0)
    ecall
    li t0, 0x10001000
    lw a7, 8(t0)
    ecall
    li t4, 0x100000
    li t5, 0x5555
    sw t5, (t4)
forever:
    j forever
    .balign 4
handler:
    csrr t1, mepc
    addi t1, t1, 4
    csrw mepc, t1
    mret
";

#[test]
fn files_and_disks_are_put_into_the_machine() {
    let folder = Folder::new("observe-loaded");
    let code = fs::read(assembled(&folder, "riscv64", LOADED)).unwrap();
    let image = folder.file("loaded.elf", elf(RV64, MEMORY, &code));
    let file = folder.file("word.bin", [77, 0, 0, 0]);
    let disk = folder.file("disk.img", [0; 512]);
    let load = format!("{file}@0x86000000");
    let case = observed(&image, "virt", &["--load", &load, "--disk", &disk]);
    assert_eq!(figures(&case, "call of machine mode 0x4d"), [1, 4, 4]);
    assert_eq!(figures(&case, "call of machine mode 0x2"), [1, 4, 4]);
    for name in ["loaded at 0x86000000", "disk"] {
        assert!(case["identity"][name].as_str().unwrap().starts_with("sha256 "), "{case:#}");
    }
    assert_eq!(case["parameters"]["load"], "word@0x86000000");
    assert!(case["log"][0].as_str().unwrap().contains("the host decides"), "{case:#}");
}

/// Copies 256 KiB a hundred times, six instructions a word: the observer looks at each store.
const COPY: &str = "
    li s3, 100
again:
    li t0, 0x80100000
    li t1, 0x80200000
    li s0, 32768
word:
    ld t2, (t0)
    sd t2, (t1)
    addi t0, t0, 8
    addi t1, t1, 8
    addi s0, s0, -1
    bnez s0, word
    addi s3, s3, -1
    bnez s3, again
    li t4, 0x100000
    li t5, 0x5555
    sw t5, (t4)
forever:
    j forever
";

#[test]
fn the_observer_slows_qemu_by_less_than_a_factor_of_five() {
    let folder = Folder::new("observe-slower");
    let code = fs::read(assembled(&folder, "riscv64", COPY)).unwrap();
    let image = folder.file("copy.elf", elf(RV64, MEMORY, &code));
    let options = format!("{},observe={}", plugin(), folder.path("events"));
    // Processor time of QEMU in milliseconds, which other processes do not change much. The shell
    // prints its children's times in its last line.
    let spent = |observer: &[&str]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "timeout 60 \"$@\"; times", "sh", "qemu-system-riscv64"]);
        shell.args("-machine virt -bios none -icount shift=0,sleep=off -display none".split(' '));
        shell.args(["-monitor", "none", "-serial", "null", "-kernel", &image]).args(observer);
        let answer = run(shell.stdin(Stdio::null())).exits(0).stdout.clone();
        let times = answer.lines().last().unwrap().split(' ');
        let milliseconds = times.map(|time| {
            let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
            let [minutes, seconds] = [minutes, seconds].map(|part| part.parse::<f64>().unwrap());
            1000.0 * (60.0 * minutes + seconds)
        });
        milliseconds.sum::<f64>()
    };
    let median = |mut times: [f64; 3]| {
        times.sort_by(f64::total_cmp);
        times[1]
    };
    let pairs = [0; 3].map(|_| [spent(&[]), spent(&["-plugin", &options])]);
    let [alone, observed] = [0, 1].map(|which| median(pairs.map(|pair| pair[which])));
    assert!(alone > 10.0 && observed < 5.0 * alone, "{pairs:?}");
}

#[test]
fn an_observation_is_reported_compared_held_against_a_baseline_and_drawn_like_any_run() {
    let folder = Folder::new("observe-run");
    let image = cortex_m(&folder);
    let (store, baseline) = (folder.path("store.db"), folder.path("baseline.toml"));
    let ask = |words: &[&str]| chronoscope(&[words, &["--store", &store]].concat());
    let observe = ["observe", &image, "--machine", "netduinoplus2", "-q"];
    let first = ask(&observe).exits(0).stdout.clone();
    assert!(first.contains("From switch to switch: "), "{first}");
    ask(&observe).exits(0);
    let full = ask(&["report", "1", "--full"]).exits(0).stdout.clone();
    assert!(full.contains("interrupts masked") && full.contains("system call 5"), "{full}");
    let page = ask(&["report", "1", "--format", "html"]).exits(0).stdout.clone();
    assert!(page.contains("interrupt 0, pended to handler"));
    // A call that is made once has no median to compare.
    assert!(full.contains("(system call 6)"), "{full}");
    let compared = ask(&["compare", "1", "2"]).exits(0).stdout.clone();
    assert!(compared.contains("from switch to switch") && compared.contains("same"), "{compared}");
    ask(&["baseline", "write", "1", "-o", &baseline]).exits(0);
    let checked = ask(&["baseline", "check", &baseline, "2"]).exits(0).stdout.clone();
    assert!(checked.contains("interrupts masked"), "{checked}");
    assert!(ask(&["history", "observe"]).exits(0).stdout.contains("observe"));

    // All tracks of the timeline are counted from the first instruction: an interrupt's handler
    // begins where its wait ends.
    let wave = ask(&["trace", "1", "--format", "vcd"]).exits(0).stdout.clone();
    let mut time = "";
    let mut changes = Vec::new();
    for line in wave.lines() {
        match line.strip_prefix('#') {
            Some(at) => time = at,
            None => changes.push((time, line)),
        }
    }
    let (_, waits) = changes.iter().find(|(_, line)| line.starts_with("sinterrupt_0,_")).unwrap();
    let end = format!("s- {}", waits.rsplit(' ').next().unwrap());
    let begun = changes.iter().position(|(_, line)| line == waits).unwrap();
    let (ends, _) = changes[begun..].iter().find(|(_, line)| **line == end).unwrap();
    let (begins, _) = changes.iter().find(|(_, line)| line.starts_with("sinterrupt_0 ")).unwrap();
    assert_eq!(ends, begins, "{wave}");
}
