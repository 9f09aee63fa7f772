//! Programs with marks of their own that `chronoscope watch` measures: `./chronoscope example own
//! loop-c`. Each command is printed before it runs, so that a reader can type it for a program of
//! theirs.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    command, packages,
    repository::{root, target},
};

/// A program, the commands that build it and start its board, and the one that watches it. They run
/// in the repository's folder; `OUT` stands for the folder of built files.
struct Example {
    name: &'static str,
    about: &'static str,
    /// A compiler, and the occasion for which `tools/packages.txt` lists it.
    needs: (&'static str, &'static str),
    build: &'static [&'static str],
    watch: &'static str,
}

static EXAMPLES: [Example; 6] = [
    Example {
        name: "firmware",
        about: "an STM32F405 in C: how long is each round, in µs of the chip, without a board?",
        needs: ("arm-none-eabi-gcc", "arm-none-eabi-gcc"),
        build: &["arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -O2 -g -nostdlib -I mark/include \
                -T mark/examples/firmware/link.ld mark/examples/firmware/main.c -o OUT/firmware.elf"],
        watch: "OUT/firmware.elf --chip stm32f405 --clock 84MHz",
    },
    Example {
        name: "board",
        about: "the same as on a board, which sends its marks; here QEMU is the board",
        needs: ("arm-none-eabi-gcc", "arm-none-eabi-gcc"),
        build: &[
            "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -O2 -g -nostdlib -DCHRONO_MARK_BOARD \
             -I mark/include -T mark/examples/firmware/link.ld mark/examples/firmware/board.c \
             -o OUT/board.elf",
            "qemu-system-arm -M netduinoplus2 -kernel OUT/board.elf -semihosting \
             -icount shift=0,sleep=off -display none -monitor none -serial file:OUT/marks.bin",
        ],
        watch: "OUT/board.elf --stream OUT/marks.bin",
    },
    Example {
        name: "loop-c",
        about: "a periodic loop of Linux in C",
        needs: ("gcc", "build"),
        build: &["gcc -O2 -I mark/include mark/examples/loop.c -o OUT/loop-c"],
        watch: "--limit control<=5ms -- OUT/loop-c",
    },
    Example {
        name: "loop-rust",
        about: "the same in Rust",
        needs: ("gcc", "build"),
        build: &[
            "cargo build --quiet --release --locked --package chronoscope-mark --example loop",
        ],
        watch: "-- TARGET/release/examples/loop",
    },
    Example {
        name: "loop-python",
        about: "a loop in Python, whose marks are in a library of C",
        needs: ("python3", "example"),
        build: &["gcc -O2 -shared -fPIC -I mark/include mark/examples/marks.c -o OUT/marks.so"],
        watch: "--marks OUT/marks.so -- python3 mark/examples/loop.py OUT/marks.so",
    },
    Example {
        name: "requests-cpp",
        about: "requests of C++ that overlap, with ids, and the number that waits",
        needs: ("g++", "example"),
        build: &["g++ -O2 -pthread -I mark/include mark/examples/requests.cpp -o OUT/requests"],
        watch: "-- OUT/requests",
    },
];

/// Prints the examples.
pub fn list() {
    EXAMPLES.iter().for_each(|example| println!("{:12} {}", example.name, example.about));
}

/// Builds an example and watches it.
pub fn run(name: &str) -> Result<()> {
    let Some(example) = EXAMPLES.iter().find(|example| example.name == name) else {
        let names = EXAMPLES.each_ref().map(|example| example.name).join(", ");
        bail!("there is no example {name} of own programs, but: {names}");
    };
    let (compiler, occasion) = example.needs;
    packages::need(&[compiler], occasion)?;
    let target = target()?;
    let out = target.join("own");
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let words = |line: &str| {
        let word = |word: &str| {
            word.replace("OUT", &out.display().to_string())
                .replace("TARGET", &target.display().to_string())
        };
        line.split_whitespace().map(word).collect::<Vec<String>>()
    };
    example.build.iter().try_for_each(|line| shown(&words(line)))?;
    shown(&[vec!["./chronoscope".to_owned(), "watch".to_owned()], words(example.watch)].concat())
}

/// Prints a command and runs it in the repository's folder.
fn shown(words: &[String]) -> Result<()> {
    println!("$ {}", words.join(" "));
    let (program, arguments) = words.split_first().context("a command has a program")?;
    command::run(Command::new(program).args(arguments).current_dir(root()))
}
