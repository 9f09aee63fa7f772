#![doc = include_str!("../README.md")]
//!
//! Times are in ns since a reset, and never go back. The crate knows no emulator.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bank;
mod chip;
mod clocks;
mod exti;
mod gpio;
mod options;
mod phases;
#[cfg(test)]
mod tests;
mod timer;
mod uart;

pub use self::{
    chip::{MOST_SENT, Peripherals, Sent},
    options::is_option,
    phases::Request,
};
