//! The file of events: records of three little-endian words of 64 bits, which are the kind, the
//! number of instructions executed before, and a value. The last record is [`kind::END`].

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use crate::{clock, devices, give_up};

/// The kinds of events.
pub mod kind {
    /// The last event. The value is the reason: see [`super::Reason`].
    pub const END: u64 = 0;
    /// A write of the address space's register (`satp`) or of the stack pointer of tasks (PSP). The
    /// value is the one written.
    pub const SPACE: u64 = 1;
    /// The first instruction of a handler in supervisor mode that `ecall` has entered. The value is
    /// register a7.
    pub const SYSTEM_CALL: u64 = 2;
    /// A [`SYSTEM_CALL`] in machine mode.
    pub const MACHINE_CALL: u64 = 3;
    /// The first instruction of a handler in supervisor mode entered otherwise: by an interrupt or
    /// a fault. The value is the interrupt's number from a vectored entry, or 0.
    pub const SUPERVISOR_TRAP: u64 = 4;
    /// A [`SUPERVISOR_TRAP`] in machine mode.
    pub const MACHINE_TRAP: u64 = 5;
    /// The instruction after `sret`.
    pub const SUPERVISOR_RETURN: u64 = 6;
    /// The instruction after `mret`.
    pub const MACHINE_RETURN: u64 = 7;
    /// A watched address begins to execute. The value is its index among the options `at`.
    pub const HIT: u64 = 8;
    /// The first instruction of a Cortex-M exception's handler. The value is the exception's
    /// number; for SVCall, the number in the `svc` instruction is added from bit 16 on.
    pub const EXCEPTION: u64 = 9;
    /// The first instruction after a Cortex-M exception. The value is the exception's number.
    pub const EXCEPTION_RETURN: u64 = 10;
    /// Interrupts are enabled again, on Cortex-M or for machine mode. The value is the number of
    /// instructions executed while they were disabled.
    pub const MASKED: u64 = 11;
    /// [`MASKED`] for the interrupts of supervisor mode.
    pub const SUPERVISOR_MASKED: u64 = 12;
    /// The handler in supervisor mode has read `scause`. The value is the one read.
    pub const SUPERVISOR_CAUSE: u64 = 13;
    /// The handler in machine mode has read `mcause`.
    pub const MACHINE_CAUSE: u64 = 14;
    /// The image has set an interrupt's pending bit. The value is the exception's number on
    /// Cortex-M, and the bit's number in `mip` on RISC-V.
    pub const PENDED: u64 = 15;
    /// The image has cleared an interrupt's pending bit.
    pub const UNPENDED: u64 = 16;
    /// The timer of machine mode was set. The value is its due time in ns of the guest's time.
    pub const MACHINE_TIMER: u64 = 17;
    /// The timer of supervisor mode was set.
    pub const SUPERVISOR_TIMER: u64 = 18;
    /// The value is the guest's time in ns less the number of executed instructions. It grows when
    /// the processor sleeps; 0 before the first of these events.
    pub const AHEAD: u64 = 19;
    /// The image has stored another value to the variable of the option `task`. The value is the
    /// stored one.
    pub const TASK: u64 = 20;
    /// SysTick's handler begins. The value is the time in ns since the timer's interrupt was due.
    pub const SYSTICK: u64 = 21;
    /// One of the blocks with the most executed instructions, at the end of the observation. The value
    /// is the address; a [`BUSY`] follows.
    pub const BUSY_AT: u64 = 22;
    /// The instructions of the block, as often as it began; before the first [`BUSY_AT`], of all blocks.
    /// A block that ends at an access to a device counts in full.
    pub const BUSY: u64 = 23;
    /// A register at the end of the observation, from r0 on: on Cortex-M r0 to r12.
    pub const REGISTER: u64 = 24;
    /// The register of a watched address that is hit next. Valid where each block has one instruction
    /// (QEMU's `-singlestep`).
    pub const ARGUMENT: u64 = 25;
    /// Instructions that may put the processor to sleep were executed since the watched address that
    /// was hit last. The value is their number since the start.
    pub const SLEPT: u64 = 26;
    /// A word that is read: a [`WORD`] follows. The value is the address.
    pub const WORD_AT: u64 = 27;
    /// The word at the address of the [`WORD_AT`] before: a field of a task's record (option `field`)
    /// that the image has changed or that is new, or a word beside the address in such a field, which
    /// comes before the field.
    pub const WORD: u64 = 28;
    /// The timer whose phases are tried has raised its interrupt. The value is the guest's time in ns; a
    /// [`REQUEST`] follows.
    pub const REQUEST_AT: u64 = 29;
    /// The number of that request in the upper 32 bits, and in the lower ones the ns since then.
    pub const REQUEST: u64 = 30;
}

/// The reason for the end of an observation.
#[derive(Clone, Copy)]
pub enum Reason {
    ImageEnded = 0,
    InstructionLimit = 1,
    EventLimit = 2,
    /// All requests that were asked for have come.
    Requests = 3,
}

pub struct Events {
    file: BufWriter<File>,
    /// The number of events that may still be recorded.
    left: u64,
}

impl Events {
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path, most: u64) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(path)?), left: most })
    }

    /// Records an event at the current instruction. Ends QEMU when all events are recorded.
    pub fn record(&mut self, kind: u64, value: u64) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        written(self.write(kind, value));
        if left == 0 {
            self.finish(Reason::EventLimit);
            exit();
        }
    }

    /// Records an event at the end of the observation, however many there were.
    pub fn add(&mut self, kind: u64, value: u64) {
        written(self.write(kind, value));
    }

    /// Writes the last record, and what serial ports have sent.
    pub fn finish(&mut self, reason: Reason) {
        devices::finish();
        written(self.write(kind::END, reason as u64));
        written(self.file.flush());
    }

    fn write(&mut self, kind: u64, value: u64) -> io::Result<()> {
        let words = [kind, clock::executed(), value];
        words.iter().try_for_each(|word| self.file.write_all(&word.to_le_bytes()))
    }
}

/// Ends QEMU without its exit handlers, after the image's output so far.
pub fn exit() -> ! {
    // SAFETY: ends the process and does not return.
    unsafe { libc::_exit(0) }
}

fn written(outcome: io::Result<()>) {
    if let Err(error) = outcome {
        give_up(&format!("the events cannot be written: {error}"));
    }
}

/// The time for which interrupts are disabled.
#[derive(Default)]
pub struct Masked {
    since: Option<u64>,
    /// Interrupts have never been enabled: the image has not started to use them.
    is_new: bool,
}

impl Masked {
    /// The state of a processor that starts with disabled interrupts. The time until they are first
    /// enabled is not recorded.
    pub fn from_reset() -> Self {
        Self { since: Some(0), is_new: true }
    }

    /// Notes whether interrupts are disabled from now on, and records an event of `kind` when they
    /// are enabled again.
    pub fn set(&mut self, masked: bool, kind: u64, events: &mut Events) {
        match self.since {
            None if masked => self.since = Some(clock::executed()),
            Some(since) if !masked => {
                self.since = None;
                if !std::mem::take(&mut self.is_new) {
                    events.record(kind, clock::executed() - since);
                }
            }
            _ => {}
        }
    }
}
