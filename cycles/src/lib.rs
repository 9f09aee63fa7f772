#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod core;
mod cost;
mod decode;
mod flash;
mod model;
pub mod riscv;
#[cfg(test)]
mod tests;

pub use self::{
    core::{CORES, Core, M0, M0_PLUS, M3, M4, Pipelined, Rules, Simple},
    cost::{Cause, Cost, Sum},
    decode::{Class, Instruction, Unknown},
    flash::Flash,
    model::{Access, Model, Next, Step},
};
