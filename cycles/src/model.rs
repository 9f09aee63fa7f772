//! The model: takes executed instructions in their order, and adds up their cycles.

use crate::{
    core::{Core, Pipelined, Rules, Simple},
    cost::{Cause, Cost, Sum},
    decode::{Class, Instruction},
    flash::{self, Flash},
};

/// Most nested exceptions of which the model keeps the state. Deeper ones lose it, which widens no
/// bound of the code that follows.
const DEPTH: usize = 16;

/// The cycles by which an exception frame with the floating-point registers is longer. The core writes
/// them when the handler first uses the unit, or not at all (DDI 0439B, 7.2; Arm's application note
/// 298, *Cortex-M4(F) lazy stacking*).
const FLOAT_FRAME: u32 = 17;

/// The way from an instruction to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The instruction at this address, of the same context.
    At(u32),
    /// The first instruction of a handler that has interrupted.
    Entry {
        /// The frame has room for floating-point registers.
        has_float: bool,
    },
    /// The instruction after a handler's return.
    Return {
        /// The frame has room for floating-point registers.
        has_float: bool,
    },
    /// The first instruction of a handler that followed another handler.
    Chain,
}

/// An instruction's access to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The instruction has accessed this address.
    To(u32),
    /// The instruction has accessed nothing: its condition was false.
    None,
    /// The access is not known.
    Unknown,
}

/// An executed instruction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its address.
    pub at: u32,
    /// The instruction.
    pub instruction: Instruction,
    /// Its access to data.
    pub access: Access,
    /// The instruction after it.
    pub next: Next,
    /// The target of a branch is a wide instruction, whose second half lies in another word.
    pub straddles: bool,
}

/// The model of a core with its flash.
#[derive(Clone, Debug)]
pub struct Model {
    core: &'static Core,
    flash: flash::State,
    sum: Sum,
    /// The instruction before, in the same context.
    before: Option<Instruction>,
    /// The number of instructions that the last IT instruction still makes conditional.
    conditional: u8,
    /// The number of conditional instructions left in each interrupted context.
    interrupted: [u8; DEPTH],
    depth: usize,
}

impl Model {
    /// The model of a core after a reset.
    pub fn new(core: &'static Core, flash: Flash) -> Self {
        Self {
            core,
            flash: flash::State::new(flash),
            sum: Sum::default(),
            before: None,
            conditional: 0,
            interrupted: [0; DEPTH],
            depth: 0,
        }
    }

    /// The core's rules.
    pub const fn core(&self) -> &'static Core {
        self.core
    }

    /// The cycles so far.
    pub const fn sum(&self) -> &Sum {
        &self.sum
    }

    /// Returns whether the model needs the addresses of loads.
    pub fn needs_addresses(&self) -> bool {
        self.flash.has_wait_states()
    }

    /// Adds an executed instruction, and the way to the next one. Takes time in the order of the lines
    /// of the flash's cache where a line begins, else constant time.
    pub fn step(&mut self, step: &Step) {
        self.sum.instructions += 1;
        let is_conditional = self.conditional > 0;
        self.conditional = self.conditional.saturating_sub(1);
        let (cost, cause) = self.cost(step, is_conditional);
        self.sum.add(cost, cause);
        self.sum.add(self.flash.fetch(step.at, step.instruction.bytes()), Cause::Flash);
        if let Access::To(address) = step.access
            && matches!(step.instruction.class, Class::Load { .. })
        {
            self.sum.add(self.flash.load(address), Cause::Flash);
        }
        if let Class::IfThen { instructions } = step.instruction.class {
            self.conditional = instructions;
        }
        self.before = Some(step.instruction);
        self.follow(step, cost);
    }

    /// The cost of the instruction itself, with the refill of a branch.
    fn cost(&self, step: &Step, is_conditional: bool) -> (Cost, Cause) {
        let after = step.at.wrapping_add(step.instruction.bytes());
        // A handler's return is a branch too; its refill is part of the return.
        let is_taken =
            step.instruction.may_branch() && !matches!(step.next, Next::At(next) if next == after);
        let is_skipped = is_conditional && !is_taken && step.access == Access::None;
        let leaves = !matches!(step.next, Next::At(_));
        match &self.core.rules {
            _ if is_skipped && step.instruction.accesses_memory() => {
                (Cost::exactly(1), Cause::Access)
            }
            Rules::Simple(rules) => simple(rules, step.instruction.class, is_taken && !leaves),
            Rules::Pipelined(rules) => {
                let (mut cost, mut cause) = pipelined(rules, step.instruction.class, self.before);
                if is_conditional && step.instruction.accesses_memory() && !is_taken {
                    let is_unknown = step.access == Access::Unknown;
                    cost.least = if is_unknown { 1 } else { cost.least };
                }
                if is_taken && !leaves {
                    cost.least += 1;
                    cost.estimate_halves += if step.straddles { 6 } else { 4 };
                    cost.most += 3;
                    cause = Cause::Branch;
                }
                (cost, cause)
            }
        }
    }

    /// Adds the way to the next instruction. `cost` is of the instruction that an exception may have
    /// given up and begun anew.
    fn follow(&mut self, step: &Step, cost: Cost) {
        let more = |cost: Cost, has_float: bool| Cost {
            most: cost.most + if has_float { FLOAT_FRAME } else { 0 },
            ..cost
        };
        let way = match step.next {
            Next::At(_) => return,
            Next::Entry { has_float } => {
                if let Some(place) = self.interrupted.get_mut(self.depth) {
                    *place = self.conditional;
                }
                self.depth += 1;
                self.conditional = 0;
                let is_many = matches!(
                    step.instruction.class,
                    Class::LoadMany { .. } | Class::StoreMany { .. } | Class::LoadBranch { .. }
                );
                let given_up = if is_many { cost.most } else { 2 };
                let entry = more(self.core.entry, has_float);
                Cost { most: entry.most + given_up, ..entry }
            }
            Next::Return { has_float } => {
                self.depth = self.depth.saturating_sub(1);
                self.conditional = self.interrupted.get(self.depth).copied().unwrap_or_default();
                more(self.core.exit, has_float)
            }
            Next::Chain => {
                self.conditional = 0;
                self.core.chain
            }
        };
        self.sum.add(way, Cause::Exception);
        self.before = None;
    }
}

fn simple(rules: &Simple, class: Class, is_taken: bool) -> (Cost, Cause) {
    let words = |words: u8| (Cost::exactly(1 + u32::from(words)), Cause::Access);
    match class {
        Class::Load { .. } | Class::Store { .. } => (Cost::exactly(2), Cause::Access),
        Class::LoadMany { words: count } | Class::StoreMany { words: count } => words(count),
        Class::LoadBranch { words } => {
            // The program counter is one of the words, and of the cost too.
            (Cost::exactly(rules.pop + u32::from(words) - 1), Cause::Branch)
        }
        Class::Branch { links: true, .. } if is_taken => (Cost::exactly(rules.link), Cause::Branch),
        Class::Branch { .. } if is_taken => (Cost::exactly(rules.branch), Cause::Branch),
        Class::Multiply { .. } => (rules.multiply, Cause::Arithmetic),
        Class::ReadSpecial
        | Class::WriteSpecial
        | Class::InstructionBarrier
        | Class::DataBarrier => (Cost::exactly(rules.system), Cause::System),
        Class::Sleep => (Cost::exactly(2), Cause::System),
        _ => (Cost::exactly(1), Cause::System),
    }
}

fn pipelined(rules: &Pipelined, class: Class, before: Option<Instruction>) -> (Cost, Cause) {
    let before_class = before.map(|before| before.class);
    let many = |words: u8| (Cost::exactly(1 + u32::from(words)), Cause::Access);
    match class {
        Class::Load { address, .. } => (load(address, before_class), Cause::Access),
        Class::Store { by_register } => {
            let follows_a_load = matches!(before_class, Some(Class::Load { .. }));
            let cost = match by_register && !follows_a_load {
                true => Cost::exactly(2),
                false => Cost::between(1, 1, 2),
            };
            (cost, Cause::Access)
        }
        Class::LoadMany { words } | Class::StoreMany { words } => many(words),
        Class::LoadBranch { words } => many(words),
        Class::FloatTransfer { words } => many(words),
        Class::Exclusive => (Cost::exactly(2), Cause::Access),
        Class::TableBranch => (Cost::exactly(2), Cause::Branch),
        Class::IfThen { .. } => {
            // Folded into the instruction before if that is a narrow one.
            let is_folded = before.is_some_and(|before| !before.is_wide);
            (Cost::between(0, u32::from(!is_folded), 1), Cause::System)
        }
        Class::ChangeState | Class::ReadSpecial => (Cost::between(1, 1, 2), Cause::System),
        Class::WriteSpecial => (Cost::between(1, 2, 2), Cause::System),
        Class::InstructionBarrier => (Cost::between(2, 2, 4), Cause::System),
        Class::DataBarrier => (Cost::between(1, 1, 4), Cause::System),
        Class::Divide => (Cost::between(2, 6, 12), Cause::Arithmetic),
        Class::Multiply { accumulates: true } => (rules.accumulate, Cause::Arithmetic),
        Class::LongMultiply { accumulates: false } => (rules.long, Cause::Arithmetic),
        Class::LongMultiply { accumulates: true } => (rules.long_accumulate, Cause::Arithmetic),
        Class::Float => (
            // One more if the next instruction needs the result.
            Cost { least: 1, estimate_halves: 3, most: 2 },
            Cause::Arithmetic,
        ),
        Class::FloatPair => (Cost::between(1, 2, 2), Cause::Arithmetic),
        Class::FloatAccumulate => (Cost::between(3, 3, 4), Cause::Arithmetic),
        Class::FloatDivide => (Cost::between(14, 14, 15), Cause::Arithmetic),
        Class::Data
        | Class::Multiply { accumulates: false }
        | Class::Branch { .. }
        | Class::Call
        | Class::Sleep
        | Class::Breakpoint => (Cost::exactly(1), Cause::System),
    }
}

/// A load takes one cycle after another load that does not give its address, else two; a third one
/// after a store that the write buffer still holds (DDI 0439B, 3.3.3).
fn load(address: u16, before: Option<Class>) -> Cost {
    let overlaps = matches!(
        before,
        Some(Class::Load { register, .. }) if address >> register & 1 == 0
    );
    let least = if overlaps { 1 } else { 2 };
    let most = if matches!(before, Some(Class::Store { .. })) { 3 } else { 2 };
    Cost::between(least, least, most)
}
