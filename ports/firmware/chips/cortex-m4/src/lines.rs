//! The chip's interrupt lines, and who they belong to.

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
    /// Lines of devices that nobody uses here (Ethernet, CAN 2, USB): a port may raise them in software.
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

// SAFETY: the numbers are those of the chip's table, and fixed.
unsafe impl InterruptNumber for Line {
    fn number(self) -> u16 {
        self as u16
    }
}

/// How urgent a line's handler is: 0 pre-empts all others, 15 none.
pub fn set_urgency(line: Line, level: u8) {
    // SAFETY: the registers that it gives access to are used for this line alone, before the line is enabled.
    let mut peripherals = unsafe { Peripherals::steal() };
    // SAFETY: the program has no critical sections based on priorities.
    unsafe { peripherals.NVIC.set_priority(line, level << 4) };
}

pub fn enable(line: Line) {
    // SAFETY: the program has no critical sections based on masking single lines.
    unsafe { NVIC::unmask(line) };
}

type Handler = unsafe extern "C" fn();

unsafe extern "C" {
    fn DefaultHandler();
    fn ALARM();
    fn LINE_0();
    fn LINE_1();
    fn LINE_2();
    fn LINE_3();
    fn LINE_4();
    fn LINE_5();
    fn LINE_6();
    fn LINE_7();
    fn LINE_8();
}

/// The chip's part of the vector table.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [Handler; 82] = {
    let mut table: [Handler; 82] = [DefaultHandler; 82];
    table[Line::Alarm as usize] = ALARM;
    table[Line::Timer as usize] = crate::interrupts::timer;
    table[Line::Software as usize] = crate::interrupts::software;
    table[Line::Spare0 as usize] = LINE_0;
    table[Line::Spare1 as usize] = LINE_1;
    table[Line::Spare2 as usize] = LINE_2;
    table[Line::Spare3 as usize] = LINE_3;
    table[Line::Spare4 as usize] = LINE_4;
    table[Line::Spare5 as usize] = LINE_5;
    table[Line::Spare6 as usize] = LINE_6;
    table[Line::Spare7 as usize] = LINE_7;
    table[Line::Spare8 as usize] = LINE_8;
    table
};
