//! The machine that an image is built for. Ports to one machine alone may name its crate
//! themselves.

#![no_std]

#[cfg(machine = "cortex-m0")]
pub use chronoscope_cortex_m0::*;
#[cfg(machine = "cortex-m4")]
pub use chronoscope_cortex_m4::*;
#[cfg(machine = "cortex-m33")]
pub use chronoscope_cortex_m33::*;
#[cfg(machine = "rv32")]
pub use chronoscope_rv32::*;
#[cfg(machine = "rv64")]
pub use chronoscope_rv64::*;
