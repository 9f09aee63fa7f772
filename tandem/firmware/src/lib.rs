//! The emulated boards that the firmware of this folder runs on: QEMU's `netduinoplus2`, an STM32F405, and
//! QEMU's `virt`, an RV32IMC.
#![no_std]

pub mod board;

// Its implementation of critical sections.
#[cfg(target_arch = "arm")]
use cortex_m as _;
