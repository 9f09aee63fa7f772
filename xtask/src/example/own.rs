//! Programs with marks of their own that `chronoscope watch` measures: `./chronoscope example own
//! loop-c`. Each command is printed before it runs, so that a reader can type it for a program of
//! theirs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    command,
    firmware::freertos_source,
    packages,
    repository::{root, target},
};

/// A program, the commands that build it and start its board, and the one that watches it. They run
/// in the repository's folder. ROOT stands for it, OUT for the folder of the examples' files, TARGET for
/// cargo's, and FREERTOS for that kernel's source.
struct Example {
    name: &'static str,
    about: &'static str,
    /// A compiler, and the occasion for which `tools/packages.txt` lists it.
    needs: (&'static str, &'static str),
    build: &'static [&'static str],
    watch: &'static str,
}

static EXAMPLES: [Example; 9] = [
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
        name: "freertos",
        about: "an application of FreeRTOS in C: how many instructions does a task work, at worst?",
        needs: ("arm-none-eabi-gcc", "arm-none-eabi-gcc"),
        build: &[
            "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -O2 -g \
             -ffreestanding -nostdlib -I mark/include -I ports/c/freestanding -I lab/tests/chips/views \
             -I FREERTOS/include -I FREERTOS/portable/GCC/ARM_CM4F -T lab/tests/chips/views/link.ld \
             lab/tests/chips/views/main.c lab/tests/chips/views/marks.c FREERTOS/tasks.c \
             FREERTOS/queue.c FREERTOS/list.c FREERTOS/portable/GCC/ARM_CM4F/port.c \
             FREERTOS/portable/MemMang/heap_4.c -lgcc -o OUT/freertos.elf",
        ],
        watch: "OUT/freertos.elf --machine netduinoplus2",
    },
    Example {
        name: "embassy",
        about: "tasks of embassy by their names, as a board sends them; here QEMU is the board",
        needs: ("qemu-system-arm", "qemu-system-arm"),
        build: &[
            "cargo xtask firmware thumbv7em-none-eabihf build --quiet --release --locked \
             --manifest-path ROOT/lab/tests/firmware/crates/Cargo.toml --features embassy-hooks \
             --bin test-embassy-hooks",
            "qemu-system-arm -M netduinoplus2 -semihosting -icount shift=0,sleep=off -display none \
             -monitor none -serial file:OUT/embassy.bin \
             -kernel TARGET/firmware/thumbv7em-none-eabihf/release/test-embassy-hooks",
        ],
        watch: "TARGET/firmware/thumbv7em-none-eabihf/release/test-embassy-hooks --stream OUT/embassy.bin",
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
    Example {
        name: "nodes-cpp",
        about: "two nodes in one executor, as ROS 2 has them: the period of one, and how late it comes",
        needs: ("g++", "example"),
        build: &["g++ -O2 -I mark/include mark/examples/nodes.cpp -o OUT/nodes"],
        watch: "--limit controller<=5ms -- OUT/nodes",
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
    let freertos = match example.name {
        "freertos" => freertos_source()?,
        _ => PathBuf::new(),
    };
    let places: [(&str, &Path); 4] =
        [("ROOT", root()), ("OUT", &out), ("TARGET", &target), ("FREERTOS", &freertos)];
    let words = |line: &str| {
        let word = |word: &str| {
            let place = |word: String, (name, path): &(&str, &Path)| {
                word.replace(name, &path.display().to_string())
            };
            places.iter().fold(word.to_owned(), place)
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
