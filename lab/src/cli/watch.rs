//! The command line of `chronoscope watch`.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use super::{Keep, Output, one_or_more};

pub const HELP: &str = "\
Examples:
  chronoscope watch -- ./app               each mark of a program
  chronoscope watch --pid 812 -D 10s       of one that runs
  chronoscope watch --limit 'control <= 500us' -- ./app
  chronoscope watch --from step --to uretprobe:./app:step -- ./app
                                           of a program without marks
  chronoscope watch --wakeups --pid 812 -D 10s
                                           how late do its threads run, once woken?
  chronoscope watch app.elf --chip stm32f405
                                           of firmware, in an emulator
  chronoscope watch app.elf --stream /dev/ttyUSB0
                                           of a board, which sends its marks

Marks are of the crate chronoscope-mark, or of chronoscope_mark.h. In a process
they are watched by uprobes, which need root. Exit status: that of a run; 130 if
interrupted.";

#[derive(Args)]
pub struct Watch {
    /// Firmware with marks, which an emulator runs: an ELF file.
    #[arg(value_name = "IMAGE", conflicts_with_all = ["pid", "command"])]
    pub image: Option<PathBuf>,
    /// The board that runs the image sends its marks here: /dev/ttyUSB0:921600, tcp://HOST:PORT or
    /// a file.
    #[arg(long, value_name = "LINE", requires = "image", conflicts_with_all = ["machine", "chip", "instructions"])]
    pub stream: Option<String>,
    /// The image's machine by QEMU's name: virt (RISC-V), netduinoplus2 or netduino2 (Cortex-M).
    #[arg(long, requires = "image")]
    pub machine: Option<String>,
    /// Give the time on this chip, as stm32f405, by a model of its core with bounds.
    #[arg(long, requires = "image")]
    pub chip: Option<String>,
    /// The rate of the chip's clock, as 84MHz.
    #[arg(long, value_name = "RATE", requires = "chip")]
    pub clock: Option<String>,
    /// End after this number of the image's instructions.
    #[arg(long, value_name = "COUNT", default_value_t = 100_000_000, value_parser = one_or_more)]
    pub instructions: u64,
    /// Watch this process, until it ends.
    #[arg(long)]
    pub pid: Option<u32>,
    /// The marks are in this file, which the program loads: a library.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["image", "from"])]
    pub marks: Option<PathBuf>,
    /// Measure from this function of the program or of another file, in place of its marks, or from an
    /// event of the kernel in a thread of the process: tracepoint:GROUP:EVENT. Without --to, to its
    /// next one.
    #[arg(long, value_name = "[uprobe:FILE:]FUNCTION")]
    pub from: Option<String>,
    /// Measure to this function, or to the return of one: uretprobe:FILE:FUNCTION.
    #[arg(long, value_name = "[u(ret)probe:FILE:]FUNCTION", requires = "from")]
    pub to: Option<String>,
    /// Measure how long each wake-up of the program's threads takes until the thread runs, by the
    /// kernel's events, in place of its marks.
    #[arg(long, conflicts_with_all = ["image", "marks", "from"])]
    pub wakeups: bool,
    /// End after this time: a number and s, m, h or d.
    #[arg(short = 'D', value_name = "TIME")]
    pub duration: Option<String>,
    /// A limit, as 'control <= 500us' or 'control p99 <= 200us'. Can be repeated.
    #[arg(long, value_name = "LIMIT")]
    pub limit: Vec<String>,
    /// The program and its arguments.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "pid", required_unless_present_any = ["image", "pid"])]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub keep: Keep,
}
