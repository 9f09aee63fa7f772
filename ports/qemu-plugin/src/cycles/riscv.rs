//! The cycles of a RISC-V core.
//!
//! A trap is an instruction that the one before does not lead to. After a jump to an address in a
//! register, it is an instruction of the table of handlers, to which no program jumps.

use std::{
    collections::HashMap,
    ffi::{c_uint, c_void},
    ptr,
};

use chronoscope_cycles::riscv::{Class, Instruction, Model, Next, Step};

use super::{Family, Log, Observer, observer};
use crate::{
    api::{Access, Block},
    clock, give_up,
};

/// The control registers of the clock and of the handlers' address.
const CLOCK: u16 = 0xb00;
const HANDLERS: u16 = 0x305;

/// The bytes of a table of handlers, one jump for each of the architecture's causes.
const TABLE: u32 = 4 * 16;

/// An instruction of the image, kept for as long as QEMU runs.
struct Row {
    at: u32,
    /// `None` for code that RV32IMC does not have; it may follow the last instruction of a function.
    instruction: Option<Instruction>,
}

impl Row {
    fn controls(&self, register: u16) -> bool {
        let class = self.instruction.map(|instruction| instruction.class);
        matches!(class, Some(Class::Control { register: named, .. }) if named == register)
    }
}

pub(super) struct Riscv {
    pub(super) model: Model,
    rows: HashMap<(u32, u32), &'static Row>,
    /// The instruction that executes, with the address that it has accessed.
    current: Option<(&'static Row, Option<u32>)>,
    /// The value of `mtvec`.
    handlers: u32,
}

impl Riscv {
    /// The state after a reset.
    pub(super) fn new(model: Model) -> Self {
        Self { model, rows: HashMap::new(), current: None, handlers: 0 }
    }

    /// Registers the callbacks of a block in translation.
    pub(super) fn watch(&mut self, block: Block<'_>) {
        for (index, instruction) in block.instructions().enumerate() {
            let (at, word) = (instruction.address() as u32, instruction.word());
            let row = *self.rows.entry((at, word)).or_insert_with(|| {
                Box::leak(Box::new(Row { at, instruction: Instruction::decode(word).ok() }))
            });
            if row.instruction.is_some_and(|instruction| instruction.may_be_misaligned()) {
                instruction.on_access(on_access, 0);
            }
            instruction.on_execution(on_instruction, ptr::from_ref(row).expose_provenance());
            clock::count(instruction);
            clock::count_after_sleep(instruction, block.len() - index - 1);
        }
    }

    /// Ends the current instruction, and begins the next one.
    fn begin(&mut self, next: &'static Row, log: &mut Log) {
        let Some(follower) = next.instruction else {
            give_up(&format!("the instruction at {:#x} is none of RV32IMC", next.at));
        };
        if let Some((row, address)) = self.current.take()
            && let Some(instruction) = row.instruction
        {
            let (at, is_trap) = (row.at, self.is_trap(instruction, row.at, next.at));
            let next = Next { at: next.at, instruction: follower, is_trap };
            self.model.step(&Step { at, instruction, address, next });
            if row.controls(HANDLERS)
                && let Some((processor, _)) = &log.guest
            {
                // A write of a control register ends its block, so the registers are current.
                self.handlers = processor.register(instruction.sources[0].into());
            }
        }
        log.note_times(self.model.sum());
        self.current = Some((next, None));
        if next.controls(CLOCK) {
            log.record(self.model.sum(), false);
        }
    }

    fn is_trap(&self, instruction: Instruction, at: u32, next: u32) -> bool {
        let offset = next.wrapping_sub(self.handlers & !3);
        let is_vectored = self.handlers & 3 == 1;
        let is_handler = offset == 0 || is_vectored && offset < TABLE && offset.is_multiple_of(4);
        let by_register = matches!(instruction.class, Class::JumpRegister | Class::Return);
        !instruction.leads_to(at, next) || by_register && is_handler
    }
}

/// Called before each instruction.
extern "C" fn on_instruction(_: c_uint, row: *mut c_void) {
    // SAFETY: the pointer is of a row, which is never freed and never changes.
    let row = unsafe { &*ptr::with_exposed_provenance::<Row>(row.addr()) };
    if let Some(Observer { family: Family::Riscv(riscv), log }) = observer() {
        riscv.begin(row, log);
    }
}

/// Called after each access to memory of an instruction that may be misaligned.
extern "C" fn on_access(_: c_uint, _: Access, address: u64, _: *mut c_void) {
    if let Some(Observer { family: Family::Riscv(riscv), .. }) = observer()
        && let Some((_, accessed)) = &mut riscv.current
    {
        *accessed = Some(address as u32);
    }
}
