//! The differences between the two processors: RV32 in machine mode, RV64 in supervisor mode.
//! Numbers of CSRs, bits in them, and the instructions whose names differ.

/// Assembles a store of a word, as `sw` or `sd`.
#[cfg(target_arch = "riscv32")]
macro_rules! store {
    ($operands:literal) => {
        concat!("sw ", $operands)
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! store {
    ($operands:literal) => {
        concat!("sd ", $operands)
    };
}

/// Assembles a load of a word, as `lw` or `ld`.
#[cfg(target_arch = "riscv32")]
macro_rules! load {
    ($operands:literal) => {
        concat!("lw ", $operands)
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! load {
    ($operands:literal) => {
        concat!("ld ", $operands)
    };
}

/// Assembles the return from a trap.
#[cfg(target_arch = "riscv32")]
macro_rules! trap_return {
    () => {
        "mret"
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! trap_return {
    () => {
        "sret"
    };
}
pub(crate) use {load, store, trap_return};

/// The bytes of a word, of a pointer and of a register.
pub(crate) const WORD: usize = size_of::<usize>();

#[cfg(target_arch = "riscv32")]
mod chosen {
    /// `mstatus`.
    pub(crate) const STATUS: usize = 0x300;
    /// `mscratch`, `mepc`, `mcause` and `mtval`.
    pub(crate) const SCRATCH: usize = 0x340;
    pub(crate) const EPC: usize = 0x341;
    pub(crate) const CAUSE: usize = 0x342;
    pub(crate) const VALUE: usize = 0x343;
    /// `mtvec`.
    pub(crate) const VECTORS: usize = 0x305;

    /// MIE, the bit of `mstatus` that enables interrupts.
    pub(crate) const INTERRUPTS_ON: usize = 1 << 3;
    /// The bits of `mstatus` at the `mret` that resumes a pre-empted task: to machine mode (MPP),
    /// with interrupts on (MPIE).
    pub(crate) const AFTER_TRAP: usize = 3 << 11 | 1 << 7;
}

#[cfg(target_arch = "riscv64")]
mod chosen {
    /// `sstatus`.
    pub(crate) const STATUS: usize = 0x100;
    /// `sscratch`, `sepc`, `scause` and `stval`.
    pub(crate) const SCRATCH: usize = 0x140;
    pub(crate) const EPC: usize = 0x141;
    pub(crate) const CAUSE: usize = 0x142;
    pub(crate) const VALUE: usize = 0x143;
    /// `stvec`.
    pub(crate) const VECTORS: usize = 0x105;

    /// SIE, the bit of `sstatus` that enables interrupts.
    pub(crate) const INTERRUPTS_ON: usize = 1 << 1;
    /// The bits of `sstatus` at the `sret` that resumes a pre-empted task: to supervisor mode
    /// (SPP), with interrupts on (SPIE).
    pub(crate) const AFTER_TRAP: usize = 1 << 8 | 1 << 5;
}

pub(crate) use chosen::*;
