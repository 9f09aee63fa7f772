//! Microcontrollers: emulated, simulated, and at the end of a serial line.

#[path = "../common/board.rs"]
mod board;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/victim.rs"]
mod victim;

mod cortex_m4;
mod cortex_m4_code;
mod interrupts;
mod p1;
mod plugin;
mod rtl;
mod rv32;
mod serial;
mod serial_images;
