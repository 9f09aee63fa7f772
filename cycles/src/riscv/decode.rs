//! The decoder of RV32IMC, as far as timing depends on it: the class, the length, the registers.
//!
//! Source: *The RISC-V Instruction Set Manual, Volume I*, version 20191213, chapters 2, 7, 9, 16 and
//! 24. Encodings of other extensions are [unknown](Unknown).

use crate::Unknown;

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its effect on time.
    pub class: Class,
    /// The register of the result; 0 if there is none.
    pub result: u8,
    /// The registers that are read; 0 where there is none.
    pub sources: [u8; 2],
    /// The instruction takes 4 bytes, not 2.
    pub is_wide: bool,
}

/// The classes of instructions whose timing differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Arithmetic and logic of one cycle.
    Compute,
    /// The low half of a product.
    Multiply,
    /// The high half of a product.
    MultiplyHigh,
    /// A quotient or a remainder.
    Divide,
    /// A load.
    Load {
        /// The bytes: 1, 2 or 4.
        bytes: u8,
    },
    /// A store.
    Store {
        /// The bytes: 1, 2 or 4.
        bytes: u8,
    },
    /// `jal`.
    Jump {
        /// The target less the instruction's address.
        offset: i32,
    },
    /// `jalr`.
    JumpRegister,
    /// A conditional branch.
    Branch {
        /// The target less the instruction's address.
        offset: i32,
    },
    /// An access to a control register.
    Control {
        /// The register's number.
        register: u16,
        /// The change of the register.
        change: Change,
    },
    /// `fence`.
    Fence,
    /// `fence.i`.
    FenceInstructions,
    /// `ecall` and `ebreak`.
    Call,
    /// `mret`.
    Return,
    /// `wfi`.
    Sleep,
}

/// The changes of a control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The register is only read.
    None,
    /// The register is written, or bits of it are set.
    Write,
    /// Bits of the register are cleared.
    Clear,
}

impl Instruction {
    /// Decodes the instruction at the beginning of `word`. Of a narrow instruction the high bits are
    /// ignored.
    ///
    /// # Errors
    /// [`Unknown`] for the encoding of no instruction of RV32IMC with control registers.
    pub const fn decode(word: u32) -> Result<Self, Unknown> {
        if word & 3 == 3 { wide(word) } else { narrow(word & 0xffff) }
    }

    /// The length in bytes.
    pub const fn bytes(&self) -> u32 {
        if self.is_wide { 4 } else { 2 }
    }

    /// Returns whether the instruction may access data, and by more than a byte.
    pub const fn may_be_misaligned(&self) -> bool {
        matches!(self.class, Class::Load { bytes: 2.. } | Class::Store { bytes: 2.. })
    }

    /// Returns whether the instruction, executed at `at`, can be followed by the one at `next`
    /// without a trap. A jump to an address in a register can be followed by any.
    pub const fn leads_to(&self, at: u32, next: u32) -> bool {
        let is_next = next == at.wrapping_add(self.bytes());
        match self.class {
            Class::Jump { offset } => next == at.wrapping_add_signed(offset),
            Class::Branch { offset } => is_next || next == at.wrapping_add_signed(offset),
            Class::JumpRegister | Class::Return => true,
            _ => is_next,
        }
    }

    /// Returns whether the instruction reads the register, which is not 0.
    pub const fn reads(&self, register: u8) -> bool {
        register != 0 && (self.sources[0] == register || self.sources[1] == register)
    }
}

const fn made(class: Class, result: u32, sources: [u32; 2], is_wide: bool) -> Instruction {
    Instruction {
        class,
        result: result as u8,
        sources: [sources[0] as u8, sources[1] as u8],
        is_wide,
    }
}

/// The bits `first` and above of `word`, `count` of them, moved to bit `to`.
const fn bits(word: u32, first: u32, count: u32, to: u32) -> u32 {
    (word >> first & ((1 << count) - 1)) << to
}

/// Extends the sign at bit `bit`.
const fn signed(value: u32, bit: u32) -> i32 {
    let unused = 31 - bit;
    (value << unused).cast_signed() >> unused
}

const fn wide(word: u32) -> Result<Instruction, Unknown> {
    let (result, one, two) = (bits(word, 7, 5, 0), bits(word, 15, 5, 0), bits(word, 20, 5, 0));
    let (kind, upper) = (bits(word, 12, 3, 0), word >> 25);
    let instruction = match word & 0x7f {
        // `lui` and `auipc`.
        0x37 | 0x17 => made(Class::Compute, result, [0; 2], true),
        0x13 if (kind != 1 || upper == 0) && (kind != 5 || matches!(upper, 0 | 0x20)) => {
            made(Class::Compute, result, [one, 0], true)
        }
        0x33 => {
            let class = match (upper, kind) {
                (0, _) | (0x20, 0 | 5) => Class::Compute,
                (1, 0) => Class::Multiply,
                (1, 1..=3) => Class::MultiplyHigh,
                (1, _) => Class::Divide,
                _ => return Err(Unknown),
            };
            made(class, result, [one, two], true)
        }
        0x03 if matches!(kind, 0 | 1 | 2 | 4 | 5) => {
            made(Class::Load { bytes: 1 << (kind & 3) }, result, [one, 0], true)
        }
        0x23 if kind <= 2 => made(Class::Store { bytes: 1 << kind }, 0, [one, two], true),
        0x6f => {
            let offset = bits(word, 31, 1, 20)
                | bits(word, 12, 8, 12)
                | bits(word, 20, 1, 11)
                | bits(word, 21, 10, 1);
            made(Class::Jump { offset: signed(offset, 20) }, result, [0; 2], true)
        }
        0x67 if kind == 0 => made(Class::JumpRegister, result, [one, 0], true),
        0x63 if kind != 2 && kind != 3 => {
            let offset = bits(word, 31, 1, 12)
                | bits(word, 7, 1, 11)
                | bits(word, 25, 6, 5)
                | bits(word, 8, 4, 1);
            made(Class::Branch { offset: signed(offset, 12) }, 0, [one, two], true)
        }
        0x0f if kind == 0 => made(Class::Fence, 0, [0; 2], true),
        0x0f if kind == 1 => made(Class::FenceInstructions, 0, [0; 2], true),
        0x73 => return system(word, kind, result, one),
        _ => return Err(Unknown),
    };
    Ok(instruction)
}

const fn system(word: u32, kind: u32, result: u32, one: u32) -> Result<Instruction, Unknown> {
    let class = match (kind, word) {
        (0, 0x0000_0073 | 0x0010_0073) => Class::Call,
        (0, 0x3020_0073) => Class::Return,
        (0, 0x1050_0073) => Class::Sleep,
        (0 | 4, _) => return Err(Unknown),
        // `csrrs` and `csrrc` of nothing only read.
        _ => {
            let change = match kind & 3 {
                1 => Change::Write,
                _ if one == 0 => Change::None,
                2 => Change::Write,
                _ => Change::Clear,
            };
            Class::Control { register: (word >> 20) as u16, change }
        }
    };
    let source = if kind & 4 == 0 { one } else { 0 };
    Ok(made(class, result, [source, 0], true))
}

const fn narrow(half: u32) -> Result<Instruction, Unknown> {
    if half == 0 {
        return Err(Unknown);
    }
    // Registers of three bits are x8 to x15.
    let (low, high) = (8 + bits(half, 2, 3, 0), 8 + bits(half, 7, 3, 0));
    let (result, two) = (bits(half, 7, 5, 0), bits(half, 2, 5, 0));
    let is_long = half >> 12 & 1 == 1;
    const STACK: u32 = 2;
    const LINK: u32 = 1;
    let instruction = match (half & 3, half >> 13) {
        (0, 0) => made(Class::Compute, low, [STACK, 0], false),
        (0, 2) => made(Class::Load { bytes: 4 }, low, [high, 0], false),
        (0, 6) => made(Class::Store { bytes: 4 }, 0, [high, low], false),
        (1, 0) => made(Class::Compute, result, [result, 0], false),
        (1, 1 | 5) => {
            let offset = bits(half, 12, 1, 11)
                | bits(half, 11, 1, 4)
                | bits(half, 9, 2, 8)
                | bits(half, 8, 1, 10)
                | bits(half, 7, 1, 6)
                | bits(half, 6, 1, 7)
                | bits(half, 3, 3, 1)
                | bits(half, 2, 1, 5);
            let link = if half >> 13 == 1 { LINK } else { 0 };
            made(Class::Jump { offset: signed(offset, 11) }, link, [0; 2], false)
        }
        (1, 2) => made(Class::Compute, result, [0; 2], false),
        (1, 3) if result == STACK => made(Class::Compute, STACK, [STACK, 0], false),
        (1, 3) => made(Class::Compute, result, [0; 2], false),
        // Shifts by more than 31 and the operations of 64 bits are none of RV32.
        (1, 4) if is_long && !matches!(bits(half, 10, 2, 0), 2) => return Err(Unknown),
        (1, 4) => {
            let other = if bits(half, 10, 2, 0) == 3 { low } else { 0 };
            made(Class::Compute, high, [high, other], false)
        }
        (1, _) => {
            let offset = bits(half, 12, 1, 8)
                | bits(half, 10, 2, 3)
                | bits(half, 5, 2, 6)
                | bits(half, 3, 2, 1)
                | bits(half, 2, 1, 5);
            made(Class::Branch { offset: signed(offset, 8) }, 0, [high, 0], false)
        }
        (2, 0) if !is_long => made(Class::Compute, result, [result, 0], false),
        (2, 2) if result != 0 => made(Class::Load { bytes: 4 }, result, [STACK, 0], false),
        (2, 4) => match (is_long, result, two) {
            (false, 0, 0) => return Err(Unknown),
            (false, _, 0) => made(Class::JumpRegister, 0, [result, 0], false),
            (false, _, _) => made(Class::Compute, result, [two, 0], false),
            (true, 0, 0) => made(Class::Call, 0, [0; 2], false),
            (true, _, 0) => made(Class::JumpRegister, LINK, [result, 0], false),
            (true, _, _) => made(Class::Compute, result, [result, two], false),
        },
        (2, 6) => made(Class::Store { bytes: 4 }, 0, [STACK, two], false),
        _ => return Err(Unknown),
    };
    Ok(instruction)
}
