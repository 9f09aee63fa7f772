//! The model: takes executed instructions in their order, and adds up their cycles.

use super::{
    core::{Core, Pipeline},
    decode::{Change, Class, Instruction},
};
use crate::{Cause, Cost, Sum};

/// The instruction after another one.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    /// Its address.
    pub at: u32,
    /// The instruction.
    pub instruction: Instruction,
    /// A trap leads to it: an interrupt or an exception.
    pub is_trap: bool,
}

/// An executed instruction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its address.
    pub at: u32,
    /// The instruction.
    pub instruction: Instruction,
    /// The address of its access to data; `None` if there was none, or if it is taken for aligned.
    pub address: Option<u32>,
    /// The instruction after it.
    pub next: Next,
}

/// The model of a core with memories that answer in the next cycle.
#[derive(Clone, Debug)]
pub struct Model {
    core: &'static Core,
    sum: Sum,
    /// The instruction before, if it was no jump.
    before: Option<Instruction>,
}

impl Model {
    /// The model of a core after a reset.
    pub fn new(core: &'static Core) -> Self {
        Self { core, sum: Sum::default(), before: None }
    }

    /// The core's rules.
    pub const fn core(&self) -> &'static Core {
        self.core
    }

    /// The cycles so far, until the next instruction begins to execute.
    pub const fn sum(&self) -> &Sum {
        &self.sum
    }

    /// Adds an executed instruction, and the way to the next one. Takes constant time.
    pub fn step(&mut self, step: &Step) {
        self.sum.instructions += 1;
        let Step { instruction, next, .. } = *step;
        let refills = step.is_jump() || instruction.class == Class::Fence;
        let (cost, cause) = match next.is_trap && refills {
            // An entry takes the place of a refill. A branch may not be taken.
            true => (Cost::between(1, 2, 3), Cause::Exception),
            false => self.own(step),
        };
        self.sum.add(cost, cause);
        if step.is_split() {
            self.sum.add(self.core.split, Cause::Access);
        }
        let leaves = next.is_trap || step.is_jump();
        if next.is_trap && instruction.class != Class::Call {
            self.sum.add(self.core.entry, Cause::Exception);
        } else if !next.is_trap {
            let wait = wait(self.core.pipeline, self.before, instruction, next.instruction);
            self.sum.add(wait, Cause::Access);
        }
        if leaves && next.instruction.is_wide && next.at & 2 != 0 {
            self.sum.add(self.core.straddle, Cause::Branch);
        }
        self.before = (!leaves).then_some(instruction);
    }

    /// The cost of the instruction itself, with the refill of a jump.
    fn own(&self, step: &Step) -> (Cost, Cause) {
        let core = self.core;
        match step.instruction.class {
            Class::Multiply => (core.multiply, Cause::Arithmetic),
            Class::MultiplyHigh => (core.multiply_high, Cause::Arithmetic),
            Class::Divide => (core.divide, Cause::Arithmetic),
            Class::Load { .. } | Class::Store { .. } => (core.access, Cause::Access),
            Class::Jump { .. } | Class::JumpRegister => (core.jump, Cause::Branch),
            Class::Fence => (core.fence, Cause::System),
            Class::FenceInstructions => (core.refetch, Cause::System),
            Class::Branch { .. } if step.is_jump() => (core.branch, Cause::Branch),
            Class::Control { register, change } if flushes(core.pipeline, register, change) => {
                (core.flush, Cause::System)
            }
            Class::Return => (core.leave, Cause::Exception),
            Class::Call if step.next.is_trap => (core.call, Cause::Exception),
            Class::Compute
            | Class::Call
            | Class::Branch { .. }
            | Class::Control { .. }
            | Class::Sleep => (Cost::exactly(1), Cause::System),
        }
    }
}

impl Step {
    /// Returns whether the core fetches anew after the instruction. A jump to the next address does so
    /// too.
    const fn is_jump(&self) -> bool {
        match self.instruction.class {
            Class::Branch { .. } => self.next.at != self.at.wrapping_add(self.instruction.bytes()),
            Class::Jump { .. } | Class::JumpRegister | Class::Return | Class::FenceInstructions => {
                true
            }
            _ => false,
        }
    }

    /// Returns whether the access is of two words.
    fn is_split(&self) -> bool {
        let (Class::Load { bytes } | Class::Store { bytes }) = self.instruction.class else {
            return false;
        };
        self.address.is_some_and(|address| address % 4 + u32::from(bytes) > 4)
    }
}

/// Returns whether an access to a control register empties the pipeline.
const fn flushes(pipeline: Pipeline, register: u16, change: Change) -> bool {
    match pipeline {
        // `mstatus`, `mie`, `mseccfg` and the registers of the PMP, if bits of them may become set.
        Pipeline::Two | Pipeline::WriteBack => {
            matches!(change, Change::Write)
                && matches!(register, 0x300 | 0x304 | 0x747 | 0x3a0..=0x3bf)
        }
        // `mstatus`, `mtvec`, `mepc`, `mcause`, the counters and the debugger's registers.
        Pipeline::Four => matches!(
            register,
            0x300 | 0x305 | 0x341 | 0x342 | 0x320..=0x33f | 0xb00..=0xbff | 0xc00..=0xcff | 0x7b0..=0x7b3
        ),
    }
}

/// The cycles for which an instruction waits for a result of the ones before it.
fn wait(
    pipeline: Pipeline,
    earlier: Option<Instruction>,
    before: Instruction,
    instruction: Instruction,
) -> Cost {
    let is_load = |before: &Instruction| matches!(before.class, Class::Load { .. });
    let needs = |before: &Instruction| instruction.reads(before.result);
    match pipeline {
        Pipeline::Two => Cost::exactly(0),
        Pipeline::WriteBack => Cost::exactly(u32::from(is_load(&before) && needs(&before))),
        Pipeline::Four if instruction.class == Class::JumpRegister => {
            let after_load = |load: &Instruction| is_load(load) && needs(load);
            let cycles = match (needs(&before), is_load(&before)) {
                (true, true) => 2,
                (true, false) => 1,
                (false, _) => u32::from(earlier.as_ref().is_some_and(after_load)),
            };
            // One more to fetch, unless the core has only just fetched anew.
            let fetch = u32::from(cycles > 0);
            Cost::between(cycles, cycles + fetch, cycles + fetch)
        }
        Pipeline::Four => {
            let writes_it = before.result != 0 && instruction.result == before.result;
            Cost::exactly(u32::from(is_load(&before) && (needs(&before) || writes_it)))
        }
    }
}
