//! The button of the Discovery board, PA0: its interrupt calls a function of the program.
//!
//! QEMU has no model of the pins: [`press`] raises the interrupt instead of the button.

use crate::{modify, write};
use core::cell::Cell;
use critical_section::Mutex;

pub(crate) const INTERRUPT: usize = 6;
const LINE: u32 = 1 << 0;

const EXTI_IMR: usize = 0x4001_3c00;
const EXTI_RTSR: usize = 0x4001_3c08;
const EXTI_PR: usize = 0x4001_3c14;
const NVIC_ISER0: usize = 0xe000_e100;
const NVIC_ISPR0: usize = 0xe000_e200;

static HANDLER: Mutex<Cell<fn()>> = Mutex::new(Cell::new(|| ()));

/// Has `handler` called by the interrupt each time the button is pressed.
pub fn on_press(handler: fn()) {
    critical_section::with(|cs| HANDLER.borrow(cs).set(handler));
    modify(EXTI_RTSR, |bits| bits | LINE);
    modify(EXTI_IMR, |bits| bits | LINE);
    write(NVIC_ISER0, 1 << INTERRUPT);
}

/// Raises the interrupt by software.
pub fn press() {
    write(NVIC_ISPR0, 1 << INTERRUPT);
}

pub(crate) extern "C" fn on_interrupt() {
    write(EXTI_PR, LINE);
    let handler = critical_section::with(|cs| HANDLER.borrow(cs).get());
    handler();
}
