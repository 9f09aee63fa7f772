//! The system calls of tandem's processes, for programs in user mode on RV64.
//!
//! A program is an ELF image linked at 0x4000_0000 without writable statics: link it with
//! `program.x`, which this crate gives the linker. Its function `_start` receives the address and
//! the length of the request. A process has one stack of 4 KiB, the first one of 32 KiB; below it,
//! nothing is mapped. `docs/processes.md` describes families, handles and limits.
//!
//! # Registers
//! A call changes the registers that a function call may change, and `s2` to `s11`. `gp` is 0 after
//! every call that waits.
//!
//! # Soundness
//! A call changes no memory of the process's. `spawn` starts a task that may use memory which other
//! processes of its family share; its contract names the conditions.

#![no_std]

#[cfg(target_arch = "riscv64")]
mod call;
#[cfg(target_arch = "riscv64")]
pub mod coroutine;
#[cfg(target_arch = "riscv64")]
pub use call::*;
