//! The cycles of a Cortex-M.
//!
//! QEMU calls nothing when an instruction reads a device. But it translates an instruction that
//! accesses a device anew, as a block of its own, when the block that it is in first reaches it. From
//! then on the instruction is known as such a one.

use std::{
    collections::HashMap,
    ffi::{c_uint, c_void},
    ptr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use chronoscope_cycles::{Access as Data, Class, Instruction, Model, Next, Step};

use super::{Family, Log, Observer, observer};
use crate::{
    api::{Access, Block},
    clock,
    emulator::Processor,
    exceptions::{LINK, goes_on, running},
    give_up,
    observe::About,
};

/// An instruction of the image, kept for as long as QEMU runs.
struct Row {
    at: u32,
    /// `None` for code that no Armv7-M has; it may follow the last instruction of a function.
    instruction: Option<Instruction>,
    /// QEMU reports its accesses to memory.
    is_watched: bool,
    /// Accesses a device in the way that is noted.
    is_noted: AtomicBool,
}

pub(super) struct Arm {
    pub(super) model: Model,
    notes_stores: bool,
    rows: HashMap<(u32, u32, bool), &'static Row>,
    /// The instruction that executes, with its access to data.
    current: Option<(&'static Row, Data)>,
    /// The exception that has begun or ended after it.
    way: Option<Next>,
    /// The active exceptions, each with whether its frame has room for floating-point registers.
    active: Vec<(u32, bool)>,
}

impl Arm {
    /// The state after a reset.
    pub(super) fn new(model: Model, notes_stores: bool) -> Self {
        let (rows, active) = (HashMap::new(), Vec::new());
        Self { model, notes_stores, rows, current: None, way: None, active }
    }

    /// Registers the callbacks of a block in translation.
    pub(super) fn watch(&mut self, block: Block<'_>, log: &mut Log) {
        let Some((processor, _)) = &log.guest else { return };
        block.on_execution(on_begin, About::new(processor, block).packed());
        let mut conditional = 0_u8;
        for instruction in block.instructions() {
            let row = self.row(instruction.address() as u32, instruction.word(), conditional > 0);
            conditional = match row.instruction {
                Some(Instruction { class: Class::IfThen { instructions }, .. }) => instructions,
                _ => conditional.saturating_sub(1),
            };
            if row.is_watched {
                instruction.on_access(on_access, 0);
            }
            if block.len() == 1 {
                self.alone(row, log);
            }
            instruction.on_execution(on_instruction, ptr::from_ref(row).expose_provenance());
            clock::count(instruction);
        }
    }

    fn row(&mut self, at: u32, word: u32, is_conditional: bool) -> &'static Row {
        let needs_addresses = self.model.needs_addresses();
        self.rows.entry((at, word, is_conditional)).or_insert_with(|| {
            let instruction = Instruction::decode(word).ok();
            let is_load = instruction
                .is_some_and(|instruction| matches!(instruction.class, Class::Load { .. }));
            let accesses = instruction.is_some_and(|instruction| instruction.accesses_memory());
            Box::leak(Box::new(Row {
                at,
                instruction,
                is_watched: accesses && is_conditional || is_load && needs_addresses,
                is_noted: AtomicBool::new(false),
            }))
        })
    }

    /// Takes in an instruction that QEMU translates as a block of its own.
    fn alone(&mut self, row: &'static Row, log: &mut Log) {
        let may_be = row.instruction.is_some_and(|instruction| match instruction.class {
            Class::Load { .. } => !self.notes_stores,
            Class::Store { .. } => self.notes_stores,
            _ => false,
        });
        if !may_be || row.is_noted.swap(true, Relaxed) {
            return;
        }
        for other in self.rows.values().filter(|other| other.at == row.at) {
            other.is_noted.store(true, Relaxed);
        }
        if self.current.is_some_and(|(current, _)| current.at == row.at) {
            // QEMU executes it now.
            log.record(self.model.sum(), true);
        }
    }

    /// Finds out whether an exception has begun or ended before a block.
    fn note_exceptions(&mut self, about: About, processor: &Processor) {
        if !about.in_handler {
            if let Some((_, has_float)) = self.active.first().copied() {
                self.active.clear();
                self.way = Some(Next::Return { has_float });
            }
            return;
        }
        let link = processor.register(LINK);
        if about.is_vector && link >> 24 == 0xff {
            let exception = running(processor);
            let mut has_left = false;
            while let Some((last, _)) = self.active.last() {
                if goes_on(processor, *last, self.active.len(), exception, link) {
                    break;
                }
                self.active.pop();
                has_left = true;
            }
            let has_float = link & 0x10 == 0;
            self.active.push((exception, has_float));
            self.way = Some(if has_left { Next::Chain } else { Next::Entry { has_float } });
        } else if self.active.len() > 1 {
            let running = running(processor);
            while let Some((_, has_float)) = self.active.pop_if(|(last, _)| *last != running) {
                self.way = Some(Next::Return { has_float });
            }
        }
    }

    /// Ends the current instruction, and begins the next one.
    fn begin(&mut self, next: &'static Row, log: &mut Log) {
        let way = self.way.take();
        if let Some((row, access)) = self.current.take() {
            let Some(instruction) = row.instruction else {
                give_up(&format!("the instruction at {:#x} is none of Armv7-M", row.at));
            };
            let is_wide = next.instruction.is_some_and(|instruction| instruction.is_wide);
            self.model.step(&Step {
                at: row.at,
                instruction,
                access,
                next: way.unwrap_or(Next::At(next.at)),
                straddles: is_wide && next.at & 2 != 0,
            });
        }
        log.note_times(self.model.sum());
        let is_noted = next.is_noted.load(Relaxed);
        let access = if next.is_watched && !is_noted { Data::None } else { Data::Unknown };
        self.current = Some((next, access));
        if is_noted {
            log.record(self.model.sum(), false);
        }
    }
}

/// Called when a block begins to execute.
extern "C" fn on_begin(_: c_uint, about: *mut c_void) {
    let about = About::unpacked(about.addr());
    if let Some(Observer { family: Family::Arm(arm), log }) = observer()
        && about.is_notable(arm.active.len() as u64)
        && let Some((processor, _)) = &log.guest
    {
        arm.note_exceptions(about, processor);
    }
}

/// Called before each instruction.
extern "C" fn on_instruction(_: c_uint, row: *mut c_void) {
    // SAFETY: the pointer is of a row, which is never freed and changes by atomic operations only.
    let row = unsafe { &*ptr::with_exposed_provenance::<Row>(row.addr()) };
    if let Some(Observer { family: Family::Arm(arm), log }) = observer() {
        arm.begin(row, log);
    }
}

/// Called after each access to memory of a watched instruction.
extern "C" fn on_access(_: c_uint, _: Access, address: u64, _: *mut c_void) {
    if let Some(Observer { family: Family::Arm(arm), .. }) = observer()
        && let Some((_, access)) = &mut arm.current
    {
        *access = Data::To(address as u32);
    }
}
