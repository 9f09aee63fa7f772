//! The chip's part of the vector table: which handler each interrupt line has.

use crate::{interrupts, lines::Line};

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

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [Handler; 82] = {
    let mut table: [Handler; 82] = [DefaultHandler; 82];
    table[Line::Alarm as usize] = ALARM;
    table[Line::Timer as usize] = interrupts::timer;
    table[Line::Software as usize] = interrupts::software;
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
