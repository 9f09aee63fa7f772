//! The instructions and CSRs of RV32 in machine mode.

macro_rules! store {
    ($operands:literal) => {
        concat!("sw ", $operands)
    };
}

macro_rules! load {
    ($operands:literal) => {
        concat!("lw ", $operands)
    };
}

/// Subtracts words of 32 bits.
macro_rules! subtract {
    ($operands:literal) => {
        concat!("sub ", $operands)
    };
}
pub(super) use {load, store, subtract};

/// `mcycle`, `mie` and `mepc`.
pub const CYCLES: usize = 0xb00;
pub const ENABLED: usize = 0x304;
pub const EPC: usize = 0x341;

/// The value from which the probe fills the registers.
pub fn spread(pattern: u32) -> usize {
    pattern as usize
}

/// The value of a register.
pub fn fold(value: usize, _: u32) -> u32 {
    value as u32
}
