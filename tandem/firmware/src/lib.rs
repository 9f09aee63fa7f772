//! The emulated boards on which this folder's firmware runs: QEMU's `netduinoplus2`, an STM32F405,
//! and QEMU's `virt`, an RV32IMC.
#![no_std]

pub mod board;

// For its implementation of critical sections.
#[cfg(target_arch = "arm")]
use cortex_m as _;
