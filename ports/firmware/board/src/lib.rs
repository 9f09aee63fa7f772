//! The machine that an image is built for. Ports to one machine alone may name its crate
//! themselves.

#![no_std]

#[cfg(target_arch = "arm")]
pub use chronoscope_cortex_m4::*;
#[cfg(target_arch = "riscv32")]
pub use chronoscope_rv32::*;
