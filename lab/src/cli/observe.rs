//! The command line of `chronoscope observe`.

use std::path::PathBuf;

use clap::Args;

use super::{Keep, Output, one_or_more};
use chronoscope_machine::observe::LIMIT;

pub const HELP: &str = "\
Figures are numbers of executed instructions. The image is not changed, and its output is not either.

  chronoscope observe kernel.elf --machine virt                  switches, system calls and traps
  chronoscope observe app.elf --machine netduinoplus2 --from give --to take
                                                                 how long from the one to the other?
  chronoscope observe app.elf --machine netduinoplus2 --view freertos
                                                                 each task by its name
  chronoscope observe app.elf --chip stm32f405 --clock 84MHz     in us of a chip
  chronoscope observe app.elf --chip stm32f405 --phase TIM2 --to actuate
                                                                 the longest, whatever the timer's phase
  chronoscope observe uboot.elf --machine virt --firmware fw_jump.elf
                                                                 a kernel above a firmware
Exit status: that of a run; 1 if nothing could be observed, 130 if interrupted.";

#[derive(Args)]
pub struct Observe {
    /// The image: an ELF file for the machine, Intel HEX, or a flat file with --at.
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,
    /// Put the image at this address of the machine's memory, as 0x08000000.
    #[arg(long, value_name = "ADDRESS")]
    pub at: Option<String>,
    /// Find symbols in this ELF file, too: of a program that the image starts, or of a flat image. With
    /// a value of satp, its places count in that address space alone. May be given several times.
    #[arg(long, value_name = "FILE[@SATP]")]
    pub symbols: Vec<String>,
    /// The machine by QEMU's name: virt (RISC-V), netduinoplus2, netduino2, mps2-an385, mps2-an386,
    /// mps2-an500, mps2-an505, lm3s6965evb or microbit (Cortex-M). With --chip, the one with the chip's
    /// core.
    #[arg(long, required_unless_present = "chip")]
    pub machine: Option<String>,
    /// Give the time on this chip, as stm32f405, by a model of its core with bounds.
    #[arg(long)]
    pub chip: Option<String>,
    /// The rate of the chip's clock, as 84MHz.
    #[arg(long, value_name = "RATE", requires = "chip")]
    pub clock: Option<String>,
    /// The rate of the chip's crystal [default: 8MHz].
    #[arg(long, value_name = "RATE", requires = "chip")]
    pub crystal: Option<String>,
    /// Write what the image sends over serial lines to this file, and show its last lines.
    #[arg(long, value_name = "FILE", conflicts_with = "arrivals")]
    pub console: Option<PathBuf>,
    /// Have a word of the machine's memory read a value, as 0x50060800=1, in place of a device that
    /// is not there. May be given several times.
    #[arg(long, value_name = "ADDRESS=VALUE")]
    pub answer: Vec<String>,
    /// Run this ELF file first, in machine mode, as OpenSBI's fw_jump.elf (virt).
    #[arg(long, value_name = "FILE")]
    pub firmware: Option<PathBuf>,
    /// Copy this file to the machine's memory before the start, as scheduler.bin@0x86000000. May be
    /// given several times.
    #[arg(long, value_name = "FILE@ADDRESS")]
    pub load: Vec<String>,
    /// Give the machine a disk with this content (virt, virtio). Writes to it are dropped.
    #[arg(long, value_name = "FILE")]
    pub disk: Option<PathBuf>,
    /// Measure from each execution of this symbol or address (0x80000000).
    #[arg(long, value_name = "SYMBOL|ADDRESS")]
    pub from: Option<String>,
    /// Measure to the next execution of this one [default: the same as --from].
    #[arg(long, value_name = "SYMBOL|ADDRESS")]
    pub to: Option<String>,
    /// An execution of this is a switch, instead of a new value of satp or PSP.
    #[arg(long, value_name = "SYMBOL|ADDRESS")]
    pub switch: Option<String>,
    /// The variable that holds the running task, as FreeRTOS' pxCurrentTCB: shows the time by task,
    /// and each new value is a switch unless --switch says otherwise.
    #[arg(long, value_name = "SYMBOL|ADDRESS")]
    pub task: Option<String>,
    /// Show the tasks by their names, by this view of the image's kernel: freertos, rtic,
    /// tandem, threadx, or a file.
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = ["task", "switch", "arrivals"])]
    pub view: Option<String>,
    /// End the observation after this number of instructions.
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = LIMIT, value_parser = one_or_more)]
    pub limit: u64,
    /// A limit on a series, as 'control response p99 <= 2000', in instructions, or with --chip as a time.
    /// May be given several times.
    #[arg(long, value_name = "LIMIT", conflicts_with = "arrivals")]
    pub bound: Vec<String>,
    /// The image's command line, which it reads through semihosting.
    #[arg(long, value_name = "WORDS", default_value = "")]
    pub append: String,
    /// Raise an interrupt at every instruction of the round from --from to its next execution, and
    /// measure how long each waits, or how long it takes to --to: `timer` for the processor's own timer or
    /// the first interrupt that the image has enabled, or the number of an exception (Cortex-M, RV32).
    #[arg(long, value_name = "timer|NUMBER", requires = "from", conflicts_with_all = ["switch", "task"])]
    pub arrivals: Option<String>,
    /// With --arrivals: have this exception arrive, too, at every instruction before and after (Cortex-M).
    #[arg(long, value_name = "NUMBER", requires = "arrivals")]
    pub nested: Option<u8>,
    /// Measure from each request of this timer's interrupt to --to, with the timer at many phases against
    /// all else, and find the longest: TIM2 tries 200 phases, TIM2:1000 a thousand. With --chip.
    #[arg(long, value_name = "TIMER[:COUNT]", requires = "to", requires = "chip", conflicts_with_all = ["from", "arrivals"])]
    pub phase: Option<String>,
    /// Raise interrupts at seeded moments: refused on all machines.
    #[arg(long, hide = true, value_name = "COUNT")]
    pub stimuli: Option<String>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub keep: Keep,
}
