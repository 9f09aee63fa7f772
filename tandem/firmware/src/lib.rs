//! The emulated boards on which this folder's firmware runs. `build.rs` has the table of them.
#![no_std]

pub mod board;
pub mod samples;

// For its implementation of critical sections.
#[cfg(target_arch = "arm")]
use cortex_m as _;
