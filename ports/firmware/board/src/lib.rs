//! The machine that an image is built for. Ports to one machine alone may name its crate
//! themselves.

#![no_std]

include!(concat!(env!("OUT_DIR"), "/chip.rs"));
