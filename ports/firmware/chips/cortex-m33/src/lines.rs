//! The chip's interrupt lines: how urgent they are, and whether they are enabled.

use cortex_m::{
    interrupt::InterruptNumber,
    peripheral::{NVIC, Peripherals},
};

pub use crate::timers::Line;

// SAFETY: these are the fixed numbers of the chip's vector table.
unsafe impl InterruptNumber for Line {
    fn number(self) -> u16 {
        self as u16
    }
}

/// Sets the urgency of a line's handler: 0 pre-empts all others, 3 none.
pub fn set_urgency(line: Line, level: u8) {
    // SAFETY: the registers that it gives access to are used for this line alone, before the line
    // is enabled.
    let mut peripherals = unsafe { Peripherals::steal() };
    // SAFETY: the program has no critical sections based on priorities.
    unsafe { peripherals.NVIC.set_priority(line, level << 6) };
}

/// Lets the line's interrupts in. Handlers may run before the function returns.
pub fn enable(line: Line) {
    // SAFETY: the program has no critical sections based on masking single lines.
    unsafe { NVIC::unmask(line) };
}
