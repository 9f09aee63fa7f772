//! The instructions and CSRs of RV64 in supervisor mode.

macro_rules! store {
    ($operands:literal) => {
        concat!("sd ", $operands)
    };
}

macro_rules! load {
    ($operands:literal) => {
        concat!("ld ", $operands)
    };
}

/// Subtracts words of 32 bits.
macro_rules! subtract {
    ($operands:literal) => {
        concat!("subw ", $operands)
    };
}
pub(super) use {load, store, subtract};

/// `cycle`, `sie` and `sepc`.
pub const CYCLES: usize = 0xc00;
pub const ENABLED: usize = 0x104;
pub const EPC: usize = 0x141;

/// The value from which the probe fills the registers: the pattern in both halves.
pub fn spread(pattern: u32) -> usize {
    (pattern as usize) << 32 | pattern as usize
}

/// The low half of a register's value. If the upper half is not the pattern, all ones, which no
/// register should have.
pub fn fold(value: usize, pattern: u32) -> u32 {
    if value >> 32 == pattern as usize { value as u32 } else { u32::MAX }
}
