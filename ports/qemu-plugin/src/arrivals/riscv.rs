//! The interrupts of a RISC-V with the controllers of QEMU's `virt`.
//!
//! A number below 16 is the architecture's own, a bit of `mie`: 3 and 7 are the software interrupt and
//! the timer of machine mode, 1 and 5 of supervisor mode. From 16 on it is 16 more than a line of
//! PLIC's. Both become pending by the lines (`qemu_set_irq`) that QEMU's own devices raise.

use std::{
    ffi::{c_int, c_void},
    sync::{OnceLock, atomic::Ordering::Relaxed},
};

use super::{Interrupt, Interrupts, Read, Step};
use crate::{
    emulator::{Device, Processor, Worker, device, function},
    give_up,
    state::Field,
};

/// PLIC: the bits of the pending lines, the bits of those that may interrupt a context, and how far apart
/// contexts are. Machine mode is the first context, supervisor mode the second.
const PENDING_LINES: u64 = 0x0c00_1000;
const ENABLED_LINES: u64 = 0x0c00_2000;
const CONTEXT: u64 = 0x80;
/// The number of PLIC's first line, which is never raised, and the number of lines that `virt` has.
const FIRST: u32 = 16;
const LINES: u32 = 96;

/// The architecture's own interrupts: timers, and software. A kernel's timer is before the lines.
const TIMERS: [u32; 2] = [5, 7];
const SOFTWARE: [u32; 2] = [1, 3];
/// The interrupts by which PLIC's lines come, and their contexts.
const EXTERNAL: [(u32, u64); 2] = [(11, 0), (9, 1)];

pub struct Riscv {
    worker: Worker,
    enabled: Field,
    pending: Field,
    delegated: Field,
    /// The handler's address and the cause of a trap, of machine mode and of supervisor mode.
    vectors: [Field; 2],
    causes: [Field; 2],
}

impl Riscv {
    pub fn find() -> Result<Self, String> {
        Ok(Self {
            worker: Worker::find()?,
            enabled: Field::find(c"env.mie")?,
            pending: Field::find(c"env.mip")?,
            delegated: Field::find(c"env.mideleg")?,
            vectors: [Field::find(c"env.mtvec")?, Field::find(c"env.stvec")?],
            causes: [Field::find(c"env.mcause")?, Field::find(c"env.scause")?],
        })
    }

    /// The mode whose handler an interrupt enters: 0 for machine mode, 1 for supervisor mode.
    fn mode(&self, processor: &Processor, cause: u32) -> usize {
        (self.delegated.value(processor) >> cause & 1) as usize
    }

    /// Returns whether the mode's last trap was by this interrupt.
    fn is_last(&self, processor: &Processor, cause: u32) -> bool {
        let last = self.causes[self.mode(processor, cause)];
        last.value(processor) == last.highest() | u64::from(cause)
    }

    /// The first address of the handler.
    fn handler(&self, processor: &Processor, cause: u32) -> u32 {
        let vector = self.vectors[self.mode(processor, cause)].value(processor) as u32;
        let is_vectored = vector & 3 == 1;
        (vector & !3) + if is_vectored { 4 * cause } else { 0 }
    }
}

/// The numbers of PLIC's lines that may interrupt a context.
fn lines(processor: &Processor, context: u64) -> impl Iterator<Item = u32> {
    let enabled = processor.words(ENABLED_LINES + CONTEXT * context);
    (1..LINES).filter(move |line| has_line(enabled, *line))
}

fn has_line(lines: [u32; 3], line: u32) -> bool {
    lines[line as usize / 32] >> (line % 32) & 1 != 0
}

impl Interrupts for Riscv {
    /// A mark reads the processor's counter: `csrr` of `mcycle` or `cycle`.
    fn read(&self, word: u32) -> Option<Read> {
        const COUNTERS: [u32; 2] = [0xb00, 0xc00];
        let is_read = word & 0xf_f07f == 0x2073 && COUNTERS.contains(&(word >> 20));
        is_read.then_some(Read::Counter)
    }

    fn enabled(&self, processor: &Processor) -> Vec<Interrupt> {
        let enabled = self.enabled.value(processor);
        let is_enabled = |cause: &u32| enabled >> cause & 1 != 0;
        let own =
            |causes: [u32; 2]| causes.into_iter().filter(is_enabled).map(|cause| (cause, cause));
        let external = EXTERNAL.into_iter().filter(|(cause, _)| is_enabled(cause));
        let lines = external.flat_map(|(cause, context)| {
            lines(processor, context).map(move |line| (FIRST + line, cause))
        });
        let all = own(TIMERS).chain(lines).chain(own(SOFTWARE));
        all.map(|(number, cause)| {
            let handler = self.handler(processor, cause);
            Interrupt { number, cause, handler, priority: 0 }
        })
        .collect()
    }

    fn pend(&self, interrupt: Interrupt) {
        self.worker.run(raise, interrupt.number as usize);
    }

    /// The processor's state does not say that a handler runs: the cause remains until the next trap.
    /// The handler begins at its first instruction. After an instruction that accesses a device, QEMU
    /// does not call the plugin for it, but for the one after it.
    fn has_begun(&self, processor: &Processor, interrupt: Interrupt, step: Step) -> bool {
        let Interrupt { cause, handler, .. } = interrupt;
        let is_entry =
            step.at == handler || step.at == after(processor, handler) && step.before != handler;
        is_entry && self.is_last(processor, cause)
    }

    /// A handler that has begun, but has not yet asked PLIC or cleared the device, does so for an interrupt
    /// that comes then.
    fn is_taken(&self, processor: &Processor, interrupt: Interrupt) -> bool {
        let Interrupt { number, cause, .. } = interrupt;
        let is_pending = match number.checked_sub(FIRST) {
            None => self.pending.value(processor) >> number & 1 != 0,
            Some(line) => has_line(processor.words(PENDING_LINES), line),
        };
        !is_pending && self.is_last(processor, cause)
    }

    /// The line of a timer or of a software interrupt stays raised, unless the handler happens to have
    /// its device lower it.
    fn began(&self, interrupt: Interrupt) {
        if interrupt.number < FIRST {
            self.worker.run(lower, interrupt.number as usize);
        }
    }
}

/// The address of the instruction after one: an entry of a table of vectors is a jump.
fn after(processor: &Processor, at: u32) -> u32 {
    let [word] = processor.words(at.into());
    at.wrapping_add_signed(distance(word))
}

/// How far it is from an instruction to the next one, if it is no branch and no return.
fn distance(word: u32) -> i32 {
    // Bits of a number, moved from one place to another; the highest one is its sign.
    let offset = |highest: u32, parts: &[(u32, u32, u32)]| {
        let bits = parts.iter().map(|(from, bits, to)| (word >> from & ((1 << bits) - 1)) << to);
        let value: u32 = bits.sum();
        (value << (31 - highest)).cast_signed() >> (31 - highest)
    };
    match word {
        _ if word & 0x7f == 0x6f => {
            offset(20, &[(31, 1, 20), (12, 8, 12), (20, 1, 11), (21, 10, 1)])
        }
        _ if word & 0xe003 == 0xa001 => offset(
            11,
            &[
                (12, 1, 11),
                (11, 1, 4),
                (9, 2, 8),
                (8, 1, 10),
                (7, 1, 6),
                (6, 1, 7),
                (3, 3, 1),
                (2, 1, 5),
            ],
        ),
        _ if word & 3 == 3 => 4,
        _ => 2,
    }
}

type Input = unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void;
type SetLine = unsafe extern "C" fn(*mut c_void, c_int);

/// QEMU's functions for a line, and PLIC.
struct Lines {
    input: Input,
    set: SetLine,
    controller: Device,
}

static LINES_OF_QEMU: OnceLock<Lines> = OnceLock::new();

extern "C" fn raise(cpu: *mut c_void, number: usize) {
    set(cpu, number as u32, 1);
}

extern "C" fn lower(cpu: *mut c_void, number: usize) {
    set(cpu, number as u32, 0);
}

/// Sets the level of an interrupt's line, between two blocks.
fn set(cpu: *mut c_void, number: u32, level: c_int) {
    let lines = LINES_OF_QEMU.get_or_init(|| found().unwrap_or_else(|error| give_up(&error)));
    let (device, line) = match number.checked_sub(FIRST) {
        None => (cpu, number),
        Some(line) => (lines.controller.load(Relaxed), line),
    };
    // SAFETY: QEMU passed the processor; it and PLIC live as long as QEMU. A processor has 64 lines, and
    // `virt`'s PLIC all below LINES. QEMU runs this with its lock of devices held.
    unsafe { (lines.set)((lines.input)(device, line as c_int), level) }
}

fn found() -> Result<Lines, String> {
    // SAFETY: they have these types in QEMU 7.2 (include/hw/qdev-core.h, include/hw/irq.h).
    unsafe {
        Ok(Lines {
            input: function(c"qdev_get_gpio_in")?,
            set: function(c"qemu_set_irq")?,
            controller: device(c"riscv.sifive.plic")?,
        })
    }
}
