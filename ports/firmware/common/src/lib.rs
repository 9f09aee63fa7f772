//! What all machines of this workspace have in common. Each machine's crate passes it on; ports know it by `board::`.

#![no_std]

pub mod host;
pub mod kernel;
pub mod rtt;
