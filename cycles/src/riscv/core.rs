//! The cores as data. Each number names its source; a number that no manual gives was measured on the
//! core's own logic, by which a test holds all of them (`lab/tests/chips/rtl_model.rs`).

use crate::Cost;

/// A core's timing with memories that answer in the next cycle.
///
/// A cost is the number of cycles until the next instruction begins to execute.
#[derive(Clone, Copy, Debug)]
pub struct Core {
    /// The name, as in the table of chips.
    pub name: &'static str,
    /// The manual's page with the timing of instructions.
    pub source: &'static str,
    /// The stages that decide what waits for what.
    pub pipeline: Pipeline,
    /// The low half of a product.
    pub multiply: Cost,
    /// The high half of a product.
    pub multiply_high: Cost,
    /// A quotient or a remainder.
    pub divide: Cost,
    /// A load or a store of one word.
    pub access: Cost,
    /// The other word of an access that is not aligned.
    pub split: Cost,
    /// A jump.
    pub jump: Cost,
    /// A branch that is taken.
    pub branch: Cost,
    /// More for a jump to a wide instruction that begins in the upper half of a word.
    pub straddle: Cost,
    /// An access to a control register that empties the pipeline.
    pub flush: Cost,
    /// `fence`.
    pub fence: Cost,
    /// `fence.i`.
    pub refetch: Cost,
    /// `mret`.
    pub leave: Cost,
    /// `ecall`, with the entry into its handler.
    pub call: Cost,
    /// From the end of the last instruction before an interrupt's handler to the handler's first one.
    pub entry: Cost,
}

/// The stages that decide what waits for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipeline {
    /// Ibex with two stages: an instruction is complete when the next one begins.
    Two,
    /// Ibex with a stage that writes back: an access is complete one cycle later.
    WriteBack,
    /// CV32E40P: decode, execute, write back.
    Four,
}

/// The configuration of the same name, without its unit of bit manipulation: multiplication in three
/// cycles. `flush`, `leave`, `call` and `entry` are in no manual: they were measured on the core's logic.
/// An entry takes 3 cycles, and 2 where the instruction before has emptied the pipeline. The line of an
/// interrupt reaches the core while it executes the instruction after the store that raised it, so one
/// instruction may come before the handler.
pub const IBEX: Core = Core {
    name: "Ibex small",
    source: "Ibex Reference Guide, Pipeline Details, multi- and single-cycle instructions",
    pipeline: Pipeline::Two,
    multiply: Cost::exactly(3),
    multiply_high: Cost::exactly(4),
    // A quotient by zero takes 2. All others were measured to take 37, one fewer than in the manual.
    divide: Cost::between(2, 37, 38),
    access: Cost::exactly(2),
    split: Cost::exactly(1),
    jump: Cost::exactly(2),
    branch: Cost::exactly(3),
    straddle: Cost::exactly(1),
    flush: Cost::exactly(3),
    fence: Cost::exactly(1),
    refetch: Cost::exactly(2),
    leave: Cost::exactly(3),
    call: Cost::exactly(3),
    entry: Cost::between(2, 3, 4),
};

/// The configuration `maxperf`: a stage that writes back, an adder for the targets of branches,
/// multiplication in one cycle. The same are measured as of [`IBEX`].
pub const IBEX_MAXPERF: Core = Core {
    name: "Ibex maxperf",
    pipeline: Pipeline::WriteBack,
    multiply: Cost::exactly(1),
    multiply_high: Cost::exactly(2),
    access: Cost::exactly(1),
    branch: Cost::exactly(2),
    entry: Cost::between(2, 4, 4),
    ..IBEX
};

/// CV32E40P without its own extensions. `fence`, `leave`, `call` and `entry` are in no manual: they were measured
/// on the core's logic.
pub const CV32E40P: Core = Core {
    name: "CV32E40P",
    source: "CV32E40P User Manual 1.8, Pipeline Details, cycle counts per instruction type",
    pipeline: Pipeline::Four,
    multiply: Cost::exactly(1),
    multiply_high: Cost::exactly(5),
    // By the number of leading zeros of the divisor.
    divide: Cost::between(3, 19, 35),
    access: Cost::exactly(1),
    split: Cost::exactly(1),
    jump: Cost::exactly(2),
    branch: Cost::exactly(3),
    straddle: Cost::exactly(1),
    flush: Cost::exactly(4),
    // Each empties the pipeline. The manual counts the refill alone, the core's logic takes 4 for `fence`.
    fence: Cost::exactly(4),
    refetch: Cost::between(2, 4, 5),
    leave: Cost::exactly(5),
    call: Cost::exactly(5),
    entry: Cost::between(2, 4, 4),
};

/// All cores with rules.
pub const CORES: [&Core; 3] = [&IBEX, &IBEX_MAXPERF, &CV32E40P];

impl Core {
    /// The core of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        CORES.into_iter().find(|core| core.name == name)
    }
}
