//! The chip as RTIC expects its crate: the interrupts that a program may name, and the number of
//! priority bits. The chip's own crate has the handlers and the vector table.

use board::lines::Line;
use cortex_m::interrupt::InterruptNumber;

pub use self::Interrupt as interrupt;

/// The chip has 16 priorities. The experiments' interrupts have the most urgent, the alarm the
/// next.
pub const NVIC_PRIO_BITS: u8 = 4;

/// The lines that belong to the kernel, by the names of their handlers.
#[derive(Clone, Copy)]
#[expect(non_camel_case_types, reason = "RTIC names a handler as its interrupt")]
#[repr(u16)]
pub enum Interrupt {
    LINE_0 = Line::Spare0 as u16,
    LINE_1 = Line::Spare1 as u16,
    LINE_2 = Line::Spare2 as u16,
    LINE_3 = Line::Spare3 as u16,
    LINE_4 = Line::Spare4 as u16,
    LINE_5 = Line::Spare5 as u16,
    LINE_6 = Line::Spare6 as u16,
    LINE_7 = Line::Spare7 as u16,
    LINE_8 = Line::Spare8 as u16,
}

// SAFETY: these are the numbers of the chip's lines.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}
