//! The machine code of an experiment's body: between two marks of a thread there is only the
//! kernel's operation, and nothing of the future that the body is written as. The release images
//! are disassembled, so a regression of the compiler's output fails here.

use std::{env, path::PathBuf, process::Command};

use crate::common::chronoscope;

/// The image of a kernel, built by running it.
fn image(kernel: &str) -> String {
    chronoscope(&[
        "run",
        "switch",
        "-q",
        "--repeat",
        "1",
        "--target",
        &format!("{kernel}@cortex-m4"),
    ])
    .exits(0);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(root).join("target"), PathBuf::from);
    let image = target.join(format!("firmware/thumbv7em-none-eabihf/release/chronoscope-{kernel}"));
    image.into_os_string().into_string().expect("the path is UTF-8")
}

/// The output of an LLVM program (Debian's package `llvm`).
fn llvm(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output =
        output.unwrap_or_else(|error| panic!("{program}: {error}: install Debian's package llvm"));
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).expect("it writes UTF-8")
}

#[derive(Debug)]
struct Instruction {
    address: u64,
    name: String,
    operands: String,
}

impl Instruction {
    /// The target of the instruction, if it is a branch within a function.
    fn target(&self) -> Option<u64> {
        let is_branch = matches!(self.name.as_str(), "cbz" | "cbnz")
            || self.name.starts_with('b') && !self.is_call();
        let target = self.operands.split_whitespace().find_map(|word| word.strip_prefix("0x"))?;
        u64::from_str_radix(target, 16).ok().filter(|_| is_branch)
    }

    fn is_call(&self) -> bool {
        self.name.starts_with("bl") && !matches!(self.name.as_str(), "bls" | "blt" | "ble")
    }

    fn is_load(&self) -> bool {
        self.name.starts_with("ldr")
    }
}

fn disassembled(image: &str) -> Vec<Instruction> {
    let text = llvm("llvm-objdump", &["--disassemble", "--no-show-raw-insn", image]);
    let instruction = |line: &str| {
        let (address, rest) = line.trim_start().split_once(':')?;
        let mut words = rest.trim().splitn(2, '\t');
        Some(Instruction {
            address: u64::from_str_radix(address, 16).ok()?,
            name: words.next()?.trim_end_matches(".w").to_owned(),
            operands: words.next().unwrap_or_default().to_owned(),
        })
    };
    text.lines().filter_map(instruction).collect()
}

/// The loads that belong to a mark of the plain step of `switch`, for this kind of task.
fn marks(image: &str, instructions: &[Instruction], kind: &str) -> Vec<usize> {
    let loads: Vec<usize> =
        (0..instructions.len()).filter(|&place| instructions[place].is_load()).collect();
    let addresses = loads.iter().map(|&place| format!("{:#x}", instructions[place].address));
    let addresses: Vec<String> = addresses.collect();
    let mut arguments = vec!["--inlines", "--obj", image];
    arguments.extend(addresses.iter().map(String::as_str));
    let text = llvm("llvm-symbolizer", &arguments);
    // An answer for each address, with all functions that were inlined there.
    let answers = text.trim_end().split("\n\n");
    // The body that yields, on the common primitives, without padding: its two constants are true.
    let body = format!("::{kind}, chronoscope_suite::experiments::waking::Common, true, true>");
    let is_mark = |answer: &str| {
        answer.contains("clock.rs") && answer.contains("mark.rs") && answer.contains(&body)
    };
    loads
        .into_iter()
        .zip(answers)
        .filter(|(_, answer)| is_mark(answer))
        .map(|(place, _)| place)
        .collect()
}

/// The loop around an instruction: from the target of the first backward branch to that branch.
fn loop_around(instructions: &[Instruction], place: usize) -> Option<&[Instruction]> {
    let address = instructions[place].address;
    let is_back = |instruction: &Instruction| {
        instruction.target().is_some_and(|target| target <= address && address - target < 100)
    };
    let end =
        (place..instructions.len().min(place + 60)).find(|&place| is_back(&instructions[place]))?;
    let target = instructions[end].target()?;
    let start = instructions.iter().position(|instruction| instruction.address == target)?;
    Some(&instructions[start..=end])
}

/// Checks the code between two marks of threads that yield: at most one clock read and one call
/// into the kernel, and no branches except at the loop's end, for the mark's bounds, and back. A
/// state machine would add a load and a test of its state to each step.
fn assert_plain(kernel: &str, calls: usize) {
    let image = image(kernel);
    let instructions = disassembled(&image);
    let marks = marks(&image, &instructions, "Thread");
    let [mark] = marks[..] else {
        panic!("{kernel}: the step of `switch` has {} clock reads", marks.len())
    };
    let step =
        loop_around(&instructions, mark).unwrap_or_else(|| panic!("{kernel}: the step is no loop"));
    let count = |what: fn(&Instruction) -> bool| {
        step.iter().filter(|instruction| what(instruction)).count()
    };
    assert_eq!(count(Instruction::is_call), calls, "{kernel}: calls in {step:#?}");
    assert!(
        count(|instruction| instruction.target().is_some()) <= 3,
        "{kernel}: branches in {step:#?}"
    );
    assert_eq!(
        count(|instruction| instruction.name.starts_with("tb")),
        0,
        "{kernel}: a jump table in {step:#?}"
    );
    assert!(step.len() <= 40, "{kernel}: {} instructions in {step:#?}", step.len());
}

#[test]
fn nothing_of_the_future_is_left_in_a_step_of_tandem() {
    assert_plain("tandem", 1);
}

#[test]
fn nothing_of_the_future_is_left_in_a_step_without_a_kernel() {
    assert_plain("bare", 0);
}

/// A body that does suspend has no such loop: the test would detect a state machine.
#[test]
fn a_coroutine_leaves_its_body_at_every_step() {
    let image = image("tandem");
    let instructions = disassembled(&image);
    let marks = marks(&image, &instructions, "Coroutine");
    assert!(!marks.is_empty());
    for mark in marks {
        let step = loop_around(&instructions, mark);
        assert!(step.is_none_or(|step| !step.iter().any(Instruction::is_call)), "{step:#?}");
    }
}
