//! The parts that all machines of this workspace share. Each machine's crate exports them again;
//! ports name them `board::`.

#![no_std]

#[cfg(not(feature = "uart"))]
pub mod host;
pub mod kernel;
pub mod rtt;
pub mod serial;

/// Room for a request.
pub type Buffer = [u8; chronoscope_suite::request::MAX_REQUEST + 1];
