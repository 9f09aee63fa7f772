//! The chip's part of the vector table: which handler each interrupt line has.

use crate::{interrupts, timers::Line};

type Handler = unsafe extern "C" fn();

unsafe extern "C" {
    fn DefaultHandler();
    fn ALARM();
}

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [Handler; 32] = {
    let mut table: [Handler; 32] = [DefaultHandler; 32];
    table[Line::Alarm as usize] = ALARM;
    table[Line::Timer as usize] = interrupts::timer;
    table[Line::Software as usize] = interrupts::software;
    table
};
