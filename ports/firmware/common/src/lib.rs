//! What all machines of this workspace have in common. Each machine's crate passes it on; ports know it by `board::`.

#![no_std]

#[cfg(not(feature = "uart"))]
pub mod host;
pub mod kernel;
pub mod rtt;
pub mod serial;

/// Room for a request.
pub type Buffer = [u8; chronoscope_suite::request::MAX_REQUEST + 1];
