//! The decoder of Thumb instructions, as far as their timing depends on it: the class, the length,
//! and the registers that decide whether two loads overlap.
//!
//! Source: *Armv7-M Architecture Reference Manual*, DDI 0403E, chapter A5 (encodings). Encodings that
//! neither Armv6-M nor Armv7-M has are [unknown](Unknown).

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its effect on time.
    pub class: Class,
    /// The instruction takes 4 bytes, not 2.
    pub is_wide: bool,
}

/// The classes of instructions whose timing differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Data processing, and hints that do nothing.
    Data,
    /// A product of 32 bits.
    Multiply {
        /// With an addition or subtraction.
        accumulates: bool,
    },
    /// A product of 64 bits.
    LongMultiply {
        /// With an addition.
        accumulates: bool,
    },
    /// `sdiv`, `udiv`.
    Divide,
    /// A load of one register other than the program counter.
    Load {
        /// The loaded register.
        register: u8,
        /// A bit for each register of the address.
        address: u16,
        /// The address is relative to the program counter.
        is_literal: bool,
    },
    /// A store of one register.
    Store {
        /// The offset is a register.
        by_register: bool,
    },
    /// A load of several registers without the program counter.
    LoadMany {
        /// The number of words.
        words: u8,
    },
    /// A store of several registers.
    StoreMany {
        /// The number of words.
        words: u8,
    },
    /// `ldrex`, `strex`, and loads for their hint alone.
    Exclusive,
    /// A branch to an address in the instruction or in a register.
    Branch {
        /// Sets the link register.
        links: bool,
        /// Is conditional by itself, not by an IT instruction.
        is_conditional: bool,
    },
    /// A load of the program counter, alone or as the last of several words.
    LoadBranch {
        /// The number of words; 1 is `ldr pc`.
        words: u8,
    },
    /// `tbb`, `tbh`.
    TableBranch,
    /// An if-then instruction: `it` and its longer forms.
    IfThen {
        /// The number of instructions that it makes conditional.
        instructions: u8,
    },
    /// `cps`.
    ChangeState,
    /// `mrs`.
    ReadSpecial,
    /// `msr`.
    WriteSpecial,
    /// `isb`.
    InstructionBarrier,
    /// `dsb`, `dmb`.
    DataBarrier,
    /// `svc`.
    Call,
    /// `wfi`, `wfe`.
    Sleep,
    /// `bkpt`, by which an emulated image speaks to its host.
    Breakpoint,
    /// Floating-point arithmetic and moves of one register.
    Float,
    /// A floating-point product with an addition.
    FloatAccumulate,
    /// A floating-point quotient or root.
    FloatDivide,
    /// A move between two general and two floating-point registers.
    FloatPair,
    /// `vldr`, `vstr`, and their forms of several registers.
    FloatTransfer {
        /// The number of words.
        words: u8,
    },
}

/// The encoding of no instruction of Armv6-M and Armv7-M.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

impl Instruction {
    /// Decodes the instruction at the beginning of `word`, which has the first half-word in its low
    /// bits. Of a narrow instruction the high bits are ignored.
    ///
    /// # Errors
    /// [`Unknown`] for the encoding of no instruction of these architectures.
    pub const fn decode(word: u32) -> Result<Self, Unknown> {
        let (first, second) = ((word & 0xffff) as u16, (word >> 16) as u16);
        let is_wide = first >> 11 >= 0b11101;
        let class = if is_wide { wide(first, second) } else { narrow(first) };
        match class {
            Ok(class) => Ok(Self { class, is_wide }),
            Err(unknown) => Err(unknown),
        }
    }

    /// The length in bytes.
    pub const fn bytes(&self) -> u32 {
        if self.is_wide { 4 } else { 2 }
    }

    /// Returns whether the instruction may access data.
    pub const fn accesses_memory(&self) -> bool {
        matches!(
            self.class,
            Class::Load { .. }
                | Class::Store { .. }
                | Class::LoadMany { .. }
                | Class::StoreMany { .. }
                | Class::Exclusive
                | Class::LoadBranch { .. }
                | Class::TableBranch
                | Class::FloatTransfer { .. }
        )
    }

    /// Returns whether the instruction may go on elsewhere than at the next address.
    pub const fn may_branch(&self) -> bool {
        matches!(self.class, Class::Branch { .. } | Class::LoadBranch { .. } | Class::TableBranch)
    }
}

const PC: u16 = 15;

const fn bit(register: u16) -> u16 {
    1 << register
}

const fn count(list: u16) -> u8 {
    list.count_ones() as u8
}

const fn jump(links: bool, is_conditional: bool) -> Class {
    Class::Branch { links, is_conditional }
}

const fn load(register: u16, address: u16, is_literal: bool) -> Class {
    Class::Load { register: register as u8, address, is_literal }
}

const fn narrow(first: u16) -> Result<Class, Unknown> {
    let (low, base, offset) = (first & 7, first >> 3 & 7, first >> 6 & 7);
    Ok(match first >> 8 {
        0x43 if first & 0xc0 == 0x40 => Class::Multiply { accumulates: false },
        0x00..=0x43 | 0x45 => Class::Data,
        // `add` and `mov` of any registers.
        0x44 | 0x46 if first >> 4 & 8 | low == PC => jump(false, false),
        0x44 | 0x46 => Class::Data,
        0x47 => jump(first & 0x80 != 0, false),
        0x48..=0x4f => load(first >> 8 & 7, 0, true),
        0x50..=0x55 => Class::Store { by_register: true },
        0x56..=0x5f => load(low, bit(base) | bit(offset), false),
        0x60..=0x67 | 0x70..=0x77 | 0x80..=0x87 | 0x90..=0x97 => {
            Class::Store { by_register: false }
        }
        0x68..=0x6f | 0x78..=0x7f | 0x88..=0x8f => load(low, bit(base), false),
        0x98..=0x9f => load(first >> 8 & 7, bit(13), false),
        0xa0..=0xb0 | 0xb2 | 0xba => Class::Data,
        0xb1 | 0xb3 | 0xb9 | 0xbb => jump(false, true),
        0xb4 | 0xb5 => Class::StoreMany { words: count(first & 0x1ff) },
        0xb6 if first & 0xe0 == 0x60 => Class::ChangeState,
        0xbc => Class::LoadMany { words: count(first & 0xff) },
        0xbd => Class::LoadBranch { words: count(first & 0x1ff) },
        0xbe => Class::Breakpoint,
        0xbf if first & 0xf != 0 => {
            Class::IfThen { instructions: 4 - (first & 0xf).trailing_zeros() as u8 }
        }
        0xbf => hint(first >> 4 & 0xf),
        0xc0..=0xc7 => Class::StoreMany { words: count(first & 0xff) },
        0xc8..=0xcf => Class::LoadMany { words: count(first & 0xff) },
        0xd0..=0xdd => jump(false, true),
        0xdf => Class::Call,
        0xe0..=0xe7 => jump(false, false),
        _ => return Err(Unknown),
    })
}

const fn hint(number: u16) -> Class {
    if number == 2 || number == 3 { Class::Sleep } else { Class::Data }
}

const fn wide(first: u16, second: u16) -> Result<Class, Unknown> {
    match first >> 9 & 0xf {
        0b0100 if first & 0x40 == 0 => many(first, second),
        0b0100 => dual(first, second),
        0b0101 => Ok(Class::Data),
        0b0110 | 0b0111 => float(first, second),
        0b1000..=0b1011 if second & 0x8000 == 0 => Ok(Class::Data),
        0b1000..=0b1011 => control(first, second),
        0b1100 => single(first, second),
        0b1101 if first & 0x100 == 0 => Ok(Class::Data),
        0b1101 => multiply(first, second),
        _ => Err(Unknown),
    }
}

/// `ldm`, `stm` and their forms.
const fn many(first: u16, second: u16) -> Result<Class, Unknown> {
    let words = count(second);
    match (first >> 7 & 3, first & 0x10 != 0) {
        (0 | 3, _) => Err(Unknown),
        (_, false) => Ok(Class::StoreMany { words }),
        (_, true) if second >> PC == 1 => Ok(Class::LoadBranch { words }),
        (_, true) => Ok(Class::LoadMany { words }),
    }
}

/// Loads and stores of two registers, exclusive ones, and branches by a table.
const fn dual(first: u16, second: u16) -> Result<Class, Unknown> {
    let is_load = first & 0x10 != 0;
    if first & 0x120 != 0 {
        let words = 2;
        return Ok(if is_load { Class::LoadMany { words } } else { Class::StoreMany { words } });
    }
    if first & 0x80 == 0 {
        return Ok(Class::Exclusive);
    }
    match (second >> 4 & 0xf, is_load) {
        (0 | 1, true) => Ok(Class::TableBranch),
        (4 | 5, _) => Ok(Class::Exclusive),
        _ => Err(Unknown),
    }
}

/// Loads and stores of one register.
const fn single(first: u16, second: u16) -> Result<Class, Unknown> {
    let (base, register) = (first & 0xf, second >> 12);
    let by_register = first & 0x80 == 0 && second & 0xfc0 == 0 && base != PC;
    let size = first >> 5 & 3;
    if size == 3 {
        return Err(Unknown);
    }
    match (first & 0x10 != 0, first & 0x100 != 0) {
        (false, true) => Err(Unknown),
        (false, false) => Ok(Class::Store { by_register }),
        (true, _) if register == PC && size == 2 => Ok(Class::LoadBranch { words: 1 }),
        (true, _) if register == PC => Ok(Class::Exclusive),
        (true, _) if base == PC => Ok(load(register, 0, true)),
        (true, _) => {
            let offset = if by_register { bit(second & 0xf) } else { 0 };
            Ok(load(register, bit(base) | offset, false))
        }
    }
}

/// Branches, special registers, barriers and hints.
const fn control(first: u16, second: u16) -> Result<Class, Unknown> {
    match second & 0xd000 {
        0x9000 => return Ok(jump(false, false)),
        0xd000 => return Ok(jump(true, false)),
        0x8000 => {}
        _ => return Err(Unknown),
    }
    match first >> 4 & 0x7f {
        0x38 | 0x39 => Ok(Class::WriteSpecial),
        0x3a if second & 0x700 == 0 => Ok(hint(second & 0xff)),
        0x3b => match second >> 4 & 0xf {
            2 => Ok(Class::Data),
            4 | 5 => Ok(Class::DataBarrier),
            6 => Ok(Class::InstructionBarrier),
            _ => Err(Unknown),
        },
        0x3e | 0x3f => Ok(Class::ReadSpecial),
        other if other & 0x38 != 0x38 => Ok(jump(false, true)),
        _ => Err(Unknown),
    }
}

/// Products and quotients.
const fn multiply(first: u16, second: u16) -> Result<Class, Unknown> {
    let operation = first >> 4 & 7;
    if first & 0x80 == 0 {
        return Ok(Class::Multiply { accumulates: second >> 12 != PC });
    }
    match operation {
        1 | 3 if second >> 4 & 0xf == 0xf => Ok(Class::Divide),
        0 | 2 => Ok(Class::LongMultiply { accumulates: false }),
        4..=6 => Ok(Class::LongMultiply { accumulates: true }),
        _ => Err(Unknown),
    }
}

/// The floating-point unit of single precision.
const fn float(first: u16, second: u16) -> Result<Class, Unknown> {
    let coprocessor = second >> 8 & 0xf;
    if coprocessor != 10 && coprocessor != 11 {
        return Err(Unknown);
    }
    if first & 0x200 == 0 {
        if first & 0x1e0 == 0x40 {
            return Ok(Class::FloatPair);
        }
        let is_single_access = first & 0x120 == 0x100;
        let words = match is_single_access {
            true => coprocessor as u8 - 9,
            false => (second & 0xff) as u8,
        };
        return Ok(Class::FloatTransfer { words });
    }
    if first & 0x100 != 0 {
        return Err(Unknown);
    }
    if second & 0x10 != 0 {
        return Ok(Class::Float);
    }
    let is_root = first & 0xf == 1 && second >> 6 & 3 == 3;
    Ok(match first >> 4 & 0b1011 {
        0b0000 | 0b0001 | 0b1001 | 0b1010 => Class::FloatAccumulate,
        0b1000 => Class::FloatDivide,
        0b1011 if is_root => Class::FloatDivide,
        _ => Class::Float,
    })
}
