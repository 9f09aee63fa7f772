//! The timers of the MPS2 AN505, by their secure addresses: the dual timer of Arm's Cortex-M System
//! Design Kit for the clock, two of its simple timers for the alarms. All count down at 20 MHz, 50 ns
//! a tick.

use crate::registers::{read, write};

/// The instructions, of 64 ns, in 256 ticks.
pub const COARSE: u32 = 200;
/// 1 − 50 / 64, as a multiple and a shift.
pub const SLOWER: (i32, u32) = (7, 5);

/// The ticks in a number of instructions, rounded up.
#[inline(always)]
pub fn ticks(instructions: u32) -> u32 {
    instructions + (instructions * 7).div_ceil(25)
}

/// An interrupt line: its number in the chip's table.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Line {
    /// TIMER0: the experiments' timer.
    Timer = 3,
    /// TIMER1: the kernel's alarm.
    Alarm = 4,
    /// No device: raised in software by experiments.
    Software = 20,
}

const FINE: usize = 0x5000_2000;
const COARSE_TIMER: usize = 0x5000_2020;
const VALUE: usize = 0x04;
const CONTROL: usize = 0x08;

pub static EXPERIMENT: Timer = Timer(0x5000_0000);
pub static KERNEL: Timer = Timer(0x5000_1000);
const COUNT: usize = 0x04;
const CLEAR: usize = 0x0c;

pub fn start() {
    const RUN_32_BITS: u32 = 1 << 7 | 1 << 1;
    const EVERY_256TH: u32 = 2 << 2;
    write(FINE + CONTROL, RUN_32_BITS);
    write(COARSE_TIMER + CONTROL, RUN_32_BITS | EVERY_256TH);
}

/// The ticks since the start. Wraps.
#[inline(always)]
pub fn fine() -> u32 {
    !read(FINE + VALUE)
}

/// The ticks since the start, in units of 256.
#[inline(always)]
pub fn coarse() -> u32 {
    !read(COARSE_TIMER + VALUE)
}

/// A timer that raises an interrupt.
pub struct Timer(usize);

impl Timer {
    /// Has the interrupt come when [`fine`] is `due`, or as soon as possible.
    #[inline(always)]
    pub fn set(&self, due: u32) {
        /// The interrupt must not come before the timer is enabled to raise it.
        const SHORTEST: i32 = 8;
        const RUN_AND_INTERRUPT: u32 = 1 << 3 | 1;
        self.stop();
        let left = due.wrapping_sub(fine()).cast_signed().max(SHORTEST);
        // Without a reload value, which is 0 after reset, the timer stops at the end.
        write(self.0 + COUNT, left.cast_unsigned());
        write(self.0, RUN_AND_INTERRUPT);
    }

    #[inline(always)]
    pub fn stop(&self) {
        write(self.0, 0);
        write(self.0 + CLEAR, 1);
    }
}
