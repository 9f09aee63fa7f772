//! This machine as RTIC expects a chip's crate to look: interrupts that a program may name, and how many priorities there
//! are. Handlers and vector table are the machine crate's.

use board::lines::Line;
use cortex_m::interrupt::InterruptNumber;

pub use self::Interrupt as interrupt;

/// Of 16 priorities, the experiments' interrupts have the most urgent, and the alarm the next.
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

// SAFETY: the numbers are those of the machine's lines.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}
