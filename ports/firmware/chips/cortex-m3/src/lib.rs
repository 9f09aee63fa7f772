//! The machine `cortex-m3`: an STM32F205 as QEMU emulates it (`netduino2`). It has the memory map,
//! the timers and the interrupts of the STM32F405, so the crate of that chip serves both.

#![no_std]

pub use chronoscope_cortex_m4::*;
