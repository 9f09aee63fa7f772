//! The program in tandem's README, compiled as it stands there.
#![no_std]
#![no_main]

include!(concat!(env!("OUT_DIR"), "/readme.rs"));

/// The feature `device` of `cortex-m-rt`, which the other examples need, leaves the table to them.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [usize; 1] = [0];
