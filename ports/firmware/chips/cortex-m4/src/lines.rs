//! The chip's interrupt lines, and the owner of each.

use cortex_m::{
    interrupt::InterruptNumber,
    peripheral::{NVIC, Peripherals},
};

/// An interrupt line: its number in the chip's table.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Line {
    /// TIM2: the kernel's alarm.
    Alarm = 28,
    /// TIM3: the experiments' timer.
    Timer = 29,
    /// EXTI15_10: raised in software by experiments.
    Software = 40,
    /// Lines of unused devices (Ethernet, CAN 2, USB): a port may raise them in software.
    Spare0 = 61,
    Spare1,
    Spare2,
    Spare3,
    Spare4,
    Spare5,
    Spare6,
    Spare7,
    Spare8,
}

// SAFETY: these are the fixed numbers of the chip's vector table.
unsafe impl InterruptNumber for Line {
    fn number(self) -> u16 {
        self as u16
    }
}

/// Sets the urgency of a line's handler: 0 pre-empts all others, 15 none.
pub fn set_urgency(line: Line, level: u8) {
    // SAFETY: the registers that it gives access to are used for this line alone, before the line
    // is enabled.
    let mut peripherals = unsafe { Peripherals::steal() };
    // SAFETY: the program has no critical sections based on priorities.
    unsafe { peripherals.NVIC.set_priority(line, level << 4) };
}

/// Lets the line's interrupts in. Handlers may run before the function returns.
pub fn enable(line: Line) {
    // SAFETY: the program has no critical sections based on masking single lines.
    unsafe { NVIC::unmask(line) };
}
