//! The cores as data. Each number names its source.
//!
//! Of Cortex-M4, published measurements of chips were compared with the bounds; the other cores have
//! the numbers of their manuals alone.

use crate::cost::Cost;

/// A core's timing without wait states.
#[derive(Clone, Copy, Debug)]
pub struct Core {
    /// The name, as Arm writes it.
    pub name: &'static str,
    /// The manual and the table with the timing of instructions.
    pub source: &'static str,
    /// The timing of instructions.
    pub rules: Rules,
    /// From the end of an instruction to the first one of the handler.
    pub entry: Cost,
    /// From the end of a handler to the first instruction of the interrupted code.
    pub exit: Cost,
    /// From the end of a handler to the first instruction of the next one.
    pub chain: Cost,
}

/// The two families of timing.
#[derive(Clone, Copy, Debug)]
pub enum Rules {
    /// Every instruction has its number of cycles.
    Simple(Simple),
    /// Loads and stores overlap, and a refill of the pipeline has a range.
    Pipelined(Pipelined),
}

/// The timing of an Armv6-M core.
#[derive(Clone, Copy, Debug)]
pub struct Simple {
    /// A taken branch.
    pub branch: u32,
    /// A branch that sets the link register.
    pub link: u32,
    /// `pop` of the program counter, without its words.
    pub pop: u32,
    /// `mrs`, `msr` and barriers.
    pub system: u32,
    /// A product: chips have either multiplier.
    pub multiply: Cost,
}

/// The timing of an Armv7-M core with three stages.
#[derive(Clone, Copy, Debug)]
pub struct Pipelined {
    /// A product with an addition.
    pub accumulate: Cost,
    /// A product of 64 bits.
    pub long: Cost,
    /// A product of 64 bits with an addition.
    pub long_accumulate: Cost,
}

/// Arm's note *Beginner guide on interrupt latency and interrupt latency of the Cortex-M processors*:
/// 12 cycles to the handler on M3 and M4, 15 on M0+, 16 on M0. The return of M3 and M4 takes 10 to 12
/// cycles, a tail-chained entry 6 (DDI 0337H, 5.7 and DDI 0439B, 3.9: "best case").
const ENTRY: Cost = Cost::exactly(12);
const EXIT: Cost = Cost::between(10, 10, 12);
const CHAIN: Cost = Cost::between(6, 6, 9);

/// Cortex-M4, with its floating-point unit.
pub const M4: Core = Core {
    name: "Cortex-M4",
    source: "Cortex-M4 Technical Reference Manual, DDI 0439B, tables 3-1 and 7-1",
    rules: Rules::Pipelined(Pipelined {
        accumulate: Cost::exactly(1),
        long: Cost::exactly(1),
        long_accumulate: Cost::exactly(1),
    }),
    entry: ENTRY,
    exit: EXIT,
    chain: CHAIN,
};

/// Cortex-M3.
pub const M3: Core = Core {
    name: "Cortex-M3",
    source: "Cortex-M3 Technical Reference Manual, DDI 0337H, table 18-1",
    rules: Rules::Pipelined(Pipelined {
        accumulate: Cost::exactly(2),
        long: Cost::between(3, 4, 5),
        long_accumulate: Cost::between(4, 5, 7),
    }),
    entry: ENTRY,
    exit: EXIT,
    chain: CHAIN,
};

/// Cortex-M0.
pub const M0: Core = Core {
    name: "Cortex-M0",
    source: "Cortex-M0 Technical Reference Manual, DDI 0432C, table 3-1",
    rules: Rules::Simple(Simple {
        branch: 3,
        link: 4,
        pop: 4,
        system: 4,
        multiply: Cost::between(1, 1, 32),
    }),
    entry: Cost::exactly(16),
    // No manual gives the return: as long as the entry at most, and no shorter than its eight loads.
    exit: Cost::between(8, 12, 16),
    chain: Cost::between(6, 10, 16),
};

/// Cortex-M0+.
pub const M0_PLUS: Core = Core {
    name: "Cortex-M0+",
    source: "Cortex-M0+ Technical Reference Manual, DDI 0484C, table 3-1",
    rules: Rules::Simple(Simple {
        branch: 2,
        link: 3,
        pop: 3,
        system: 3,
        multiply: Cost::between(1, 1, 32),
    }),
    entry: Cost::exactly(15),
    exit: Cost::between(8, 12, 15),
    chain: Cost::between(6, 10, 15),
};

/// All cores with a published table.
pub const CORES: [&Core; 4] = [&M0, &M0_PLUS, &M3, &M4];

impl Core {
    /// The core of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        CORES.into_iter().find(|core| core.name == name)
    }
}
